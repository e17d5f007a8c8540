"""The page of measured figures: the shipped file, drawn as it is, and a damaged one."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

from entail.errors import DataError
from entail.ui.results.figures import FILE, read_figures
from tests.ui.conftest import opened


def test_every_experiment_has_a_figure_and_a_bar_for_each_method(app: AppTest) -> None:
    app = opened(app, "Results")
    assert not app.error
    experiments = read_figures().experiments
    assert {"premises", "effort", "direction", "explanations", "passages"} <= {
        experiment.name for experiment in experiments
    }
    assert [(metric.label, metric.value) for metric in app.metric] == [
        (experiment.label, experiment.figure) for experiment in experiments
    ]
    assert len(app.get("vega_lite_chart")) == len(experiments)
    assert all(0 < experiment.rivals < len(experiment.rows) for experiment in experiments)


def test_the_page_and_the_tables_of_documents_are_made_from_the_result_files(
    load_script: Callable[[str], ModuleType],
) -> None:
    script = load_script("write_readme")
    assert FILE.read_text(encoding="utf-8") == script.page_json()
    for page, (name, write) in script.TABLES.items():
        text = (script.ROOT / page).read_text(encoding="utf-8")
        assert f"<!-- {name}: scripts/write_readme.py -->\n{write()}\n<!-- /{name} -->" in text, page


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    content["experiments"][0]["rows"][0].append(0.5)
    (tmp_path / "figures.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError):
        read_figures(tmp_path / "figures.json")
