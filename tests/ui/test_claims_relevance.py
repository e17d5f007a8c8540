"""Relevance analysis on the Claims page."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from entail.data.records import Corpus
from entail.errors import EncoderError
from entail.judge.judges import NliJudge
from entail.ui.shared.resources import Workspace
from tests.tuning.test_relevance import classifier
from tests.ui.conftest import by, opened, said, settled

THREE = (
    ("Tesla was born in Smiljan.", "Where was Tesla born?", "Smiljan"),
    ("Tesla studied in Graz for years.", "Where did Tesla study?", "Graz"),
    ("Edison was born in Milan.", "Where was Edison born?", "Milan"),
)
NLI = "\n".join(
    json.dumps({"premise": p, "hypothesis": h, "label": label})
    for p, h, label in (
        ("ba be", "ba be", "entailment"),
        ("bi bo", "fo fu", "neutral"),
        ("bu da", "ra", "contradiction"),
    )
).encode()


class Fake:
    """A judge that prefers some places, and counts its calls."""

    asked: list[int]

    def __init__(self, name: str) -> None:
        self.name = name

    def entailment(self, premises: Sequence[str], hypotheses: Sequence[str], *, progress: Any = None) -> Any:
        Fake.asked.append(len(premises))
        scores = {"Smiljan": 0.9, "Graz": 0.6}
        return np.array([next((p for name, p in scores.items() if name in text), 0.1) for text in premises])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[Fake]:
    Fake.asked = []
    monkeypatch.setattr("entail.ui.claims.judges.list_judges", lambda: ["nli-fake"])
    monkeypatch.setattr("entail.runtime.models.NliJudge", Fake)
    return Fake


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a judge and a tuned encoder, whatever is packaged."""
    monkeypatch.setattr("entail.ui.claims.judges.list_judges", list)
    monkeypatch.setattr("entail.ui.claims.fields.tuned_encoders", list)


@pytest.fixture
def written(shared: Workspace, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Return what writes passages with questions, and gives the address over them."""

    def write(rows: Sequence[tuple[str, str, str]] = THREE) -> dict[str, str]:
        paragraphs = [
            {"context": text, "qas": [{"id": text, "question": question, "answers": [{"text": answer}]}]}
            for text, question, answer in rows
        ]
        folder = tmp_path / "data" / "passage-files"
        folder.mkdir(exist_ok=True)
        content = json.dumps({"data": [{"title": "", "paragraphs": paragraphs}]})
        (folder / "some.json").write_text(content, encoding="utf-8")
        return {"over": "file-some.json"}

    return write


def on_relevance(app: AppTest, **address: str) -> AppTest:
    return opened(app, "pages/Claims.py", mode="relevance", **address)


def charts(app: AppTest) -> list[str]:
    """Return the alternative text of each figure."""
    alt_texts = [chart.proto.alt for chart in app.get("vega_lite_chart")]
    return alt_texts[::2]


def buttons(app: AppTest) -> list[str]:
    return [button.label for button in app.get("download_button")]


def test_figure_2_is_measured_once(
    app: AppTest, written: Callable[..., dict[str, str]], fake: type[Fake]
) -> None:
    app = on_relevance(app, **written())
    assert "**39 % of comparisons**" in said(app)
    assert "All 3 questions, judged by nli-fake" in said(app)
    (alt,) = charts(app)
    assert "39 %" in alt
    (table,) = (frame.value for frame in app.dataframe)
    assert table["group"].tolist() == ["passages that answer", "hard negatives"]
    assert table["mean"].tolist() == pytest.approx([1.6 / 3, 1.9 / 3])
    assert table["above"].tolist() == ["", "39 %"]
    assert buttons(app) == ["Questions (CSV)"]
    settled(app.run())
    assert fake.asked == [6]


def test_the_number_of_questions_is_kept(
    app: AppTest, written: Callable[..., dict[str, str]], fake: type[Fake]
) -> None:
    rows = [
        (f"The city {name} lies by a lake.", f"Where is the city {name}?", f"{name} lies")
        for name in (2 * letter for letter in "BCDEFGHIJKLM")
    ]
    app = on_relevance(app, questions="10", **written(rows))
    assert app.number_input(key="claims_questions").value == 10
    assert "10 of 12 questions" in said(app)
    app = settled(app.number_input(key="claims_questions").set_value(20).run())
    assert "All 12 questions" in said(app)
    assert app.query_params["questions"] == "20"
    app = settled(app.number_input(key="claims_questions").set_value(None).run())
    assert app.number_input(key="claims_questions").value == 20, "an emptied field is none"
    app = settled(app.segmented_control(key="claims_mode").set_value("many").run())
    app = settled(app.segmented_control(key="claims_mode").set_value("relevance").run())
    assert app.number_input(key="claims_questions").value == 20
    assert app.query_params["judge"] == "nli-fake"
    assert len(fake.asked) == 2


def test_a_cross_encoder_can_be_entered(
    app: AppTest, written: Callable[..., dict[str, str]], tiny_home: Path, gaussian: str
) -> None:
    address = written((("ba be bi", "Where is ba?", "be bi"), ("bo bu ba", "Where is bo?", "bu ba")))
    app = on_relevance(by(app), **address)
    assert not [field for field in app.selectbox if field.key == "claims_judge"], gaussian
    assert not charts(app)
    classifier(tiny_home / "nli", tiny_home / "tiny", ["contradiction", "entailment", "neutral"])
    app.text_input(key="claims_other").set_value("nli")
    app = settled(app.run())
    assert app.selectbox(key="claims_judge").options == ["nli"]
    premises, claim = ["ba be bi", "bo bu ba"], "There exists a known place where ba is."
    expected = NliJudge("nli").entailment(premises, [claim] * 2).tolist()
    assert app.dataframe[0].value["mean"].tolist() == pytest.approx(expected, abs=1e-5)
    assert "without a hard negative: 1." in said(app)


def test_passages_that_cannot_be_measured_are_explained(
    app: AppTest, shared: Workspace, written: Callable[..., dict[str, str]], fake: type[Fake]
) -> None:
    info = shared.corpora.add_corpus(Corpus.of("plain", ["Ice is cold.", "Fire is hot."]), author="Ada")
    assert "no questions with known passages" in said(on_relevance(app, over=f"corpus-{info.id}"))
    assert "expected passages that look as if they answered" in said(on_relevance(app, **written(THREE[:1])))
    assert not fake.asked


def upload(app: AppTest, content: bytes, name: str = "nli.jsonl") -> AppTest:
    field = app.file_uploader(key="claims_nli")
    return settled(field.upload(name, content, "application/json").run())


def test_figure_3_by_two_retrievers(
    app: AppTest, tiny_home: Path, gaussian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = on_relevance(app, encoders="tiny|other|bm25")
    field = app.multiselect(key="claims_retrievers")
    assert field.value == ["tiny", "other"]
    assert not {"bm25", "tfidf", "ngrams", gaussian} & set(field.options)
    app = upload(app, NLI)
    assert len(charts(app)) == 2
    assert "nli.jsonl: 3 pairs (1 entailment, 1 neutral, 1 contradiction)" in said(app)
    tables = [frame.value for frame in app.dataframe]
    assert [table["group"].tolist() for table in tables] == [["entailing", "neutral", "irrelevant"]] * 2
    assert tables[0]["mean"].tolist()[0] == pytest.approx(1, abs=1e-5)
    assert tables[0]["n"].tolist() == [1, 1, 2]
    assert buttons(app) == ["Pairs (CSV)"] * 2
    assert app.query_params["encoders"] == "tiny|other"
    monkeypatch.setattr("entail.ui.claims.relevance.compare_premises", lambda *a, **b: 1 / 0)
    app = settled(app.multiselect(key="claims_retrievers").set_value(["other"]).run())
    assert len(charts(app)) == 1
    assert not app.error, "a rerun measures nothing again"
    app = settled(app.multiselect(key="claims_retrievers").set_value([]).run())
    assert "Choose one or two encoders." in said(app)


def test_failures_of_both_figures_are_shown(
    app: AppTest, written: Callable[..., dict[str, str]], tiny_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise EncoderError(f"{name} is not here")

    monkeypatch.setattr("entail.ui.claims.judges.list_judges", lambda: ["lost"])
    monkeypatch.setattr("entail.runtime.models.NliJudge", missing)
    app = on_relevance(app, encoders="tiny", **written())
    for content, message in (
        (b'{"premise": "a", "hypothesis": "b", "label": "maybe"}', "expected at least one pair"),
        (b'{"premise": "a", "hypothesis": "b", "label": "neutral"}', "found 1 pairs of 1 premises"),
    ):
        app = upload(app, content)
        first, second = (str(element.value).replace("\\", "") for element in app.error)
        assert first == "lost is not here"
        assert message in second
        assert [button.label for button in app.button].count("Try again") == 2
