"""``entail agreement``: figures of a project, and of one where nothing can be compared yet."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from entail.cli import main
from entail.teams.projects import Plan, Projects
from entail.teams.work import Work
from entail.trees.log.acts import Write
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store.database import open_database


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the database of a test apart."""
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))


def write_copies(*, submitted: int) -> None:
    """Make a project with one hypothesis, two copies that share one of three premises, some submitted."""
    with closing(open_database()) as database:
        projects, work, log = Projects(database), Work(database), TreeLog(database)
        project = projects.create("Weather", author="Ada", plan=Plan(overlap=2))
        projects.add_hypotheses(project.id, ["snow is cold"], actor="Ada")
        for name, text in (("Bo", "ice is cold"), ("Cy", "frost is cold"))[:submitted]:
            piece = work.next_piece(project.id, actor=name)
            assert piece is not None
            for base, sentence in enumerate(("snow is ice", text), start=1):
                act = Write(node=ROOT, text=sentence)
                log.viewed_by(name).act(str(piece.tree_id), act, author=name, base=base)
            work.move(piece.id, "submit", actor=name)


def test_it_says_how_far_annotators_agree(capsys: pytest.CaptureFixture[str]) -> None:
    write_copies(submitted=2)
    assert main(["agreement", "weather", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["project"] == "Weather"
    assert data["trees"]["leaves"]["observed"] == pytest.approx(1 / 3)
    assert [row["annotators"] for row in data["hypotheses"]] == [["Bo", "Cy"]]
    assert main(["agreement", "Weather"]) == 0
    assert "snow is cold" in capsys.readouterr().out


def test_a_copy_that_is_missing_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    write_copies(submitted=1)
    assert main(["agreement", "Weather", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["hypotheses"], data["waiting"]) == ([], 1)


def test_an_unknown_project_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agreement", "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err
