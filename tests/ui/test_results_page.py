"""The page of measured figures: one source with the README, a chart and a document for each figure."""

from collections.abc import Callable
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

from entail.errors import DataError
from entail.ui.results.figures import FILE, read_document, read_figures, results_folder
from tests.ui.conftest import opened


def test_the_shipped_figures_are_those_of_the_result_files(load_script: Callable[[str], ModuleType]) -> None:
    assert FILE.read_text(encoding="utf-8") == load_script("write_readme").page_json()


def test_the_tables_of_readme_and_documents_are_those_of_the_result_files(
    load_script: Callable[[str], ModuleType],
) -> None:
    script = load_script("write_readme")
    for page, (name, write) in script.TABLES.items():
        text = (script.ROOT / page).read_text(encoding="utf-8")
        assert f"<!-- {name}: scripts/write_readme.py -->\n{write()}\n<!-- /{name} -->" in text, page


def test_every_figure_has_a_chart_and_a_document(app: AppTest) -> None:
    app = opened(app, "pages/Results.py")
    headlines = read_figures().headlines
    assert [headline.key for headline in headlines] == [
        "premises",
        "effort",
        "direction",
        "explanations",
        "passages",
    ]
    assert len(app.get("vega_lite_chart")) == len(headlines)
    for headline in headlines:
        assert (results_folder() / f"{headline.page}.md").is_file()
        app = app.button(key=f"document-{headline.key}").click().run()
        assert not app.exception
        assert not app.error
        assert any(read_document(headline.page)[:200] in str(element.value) for element in app.markdown)


def test_documents_have_neither_comments_nor_links_that_lead_nowhere() -> None:
    text = read_document("reranker_minilm")
    assert "<!--" not in text
    assert "](aeenc_minilm.md)" not in text
    assert "the retriever" in text


def test_a_missing_document_is_named() -> None:
    with pytest.raises(DataError, match=r"nothing\.md"):
        read_document("nothing")
