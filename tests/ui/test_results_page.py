"""The page of measured figures: the shipped file, drawn as it is, and a damaged one."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from entail.errors import DataError
from entail.ui.results.figures import FILE, read_figures
from tests.ui.conftest import opened


def test_every_experiment_has_a_finding_and_a_table(app: AppTest) -> None:
    app = opened(app, "pages/Results.py")
    assert not app.exception
    assert not app.error
    experiments = read_figures().experiments
    assert {"premises", "effort", "direction", "explanations", "passages"} <= {
        experiment.name for experiment in experiments
    }
    assert [table.value.values.tolist() for table in app.dataframe] == [
        experiment.rows for experiment in experiments
    ]
    assert all(len(experiment.finding) == 2 for experiment in experiments)


@pytest.mark.parametrize("damage", ["cells", "missing"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    if damage == "cells":
        content["experiments"][0]["rows"][0].append(0.5)
    else:
        del content["experiments"]
    (tmp_path / "figures.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError):
        read_figures(tmp_path / "figures.json")
