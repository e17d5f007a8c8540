"""Commands for work of several people: agreement, differences, merged trees, and projects as files."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from entail.cli import main
from entail.teams.projects import Plan, Projects
from entail.teams.work import Work
from entail.trees.log.acts import Write
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store.database import open_database


def write_copies(*, submitted: int) -> list[str]:
    """Make a project with one hypothesis, two copies that share one of three premises, some submitted.

    Return the ids of the trees.
    """
    trees = []
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
            trees.append(str(piece.tree_id))
    return trees


def test_it_says_how_far_annotators_agree(run_json: Any, capsys: pytest.CaptureFixture[str]) -> None:
    write_copies(submitted=2)
    data = run_json("agreement", "weather")
    assert data["project"] == "Weather"
    assert data["trees"]["leaves"]["observed"] == pytest.approx(1 / 3)
    assert [row["annotators"] for row in data["hypotheses"]] == [["Bo", "Cy"]]
    assert main(["agreement", "Weather"]) == 0
    assert "snow is cold" in capsys.readouterr().out
    assert "nothing" in run_json("agreement", "nothing", code=1)["error"]["message"]


def test_a_copy_that_is_missing_is_waited_for_and_the_other_is_hidden(run_json: Any, tmp_path: Path) -> None:
    write_copies(submitted=1)
    data = run_json("agreement", "Weather")
    assert (data["hypotheses"], data["waiting"]) == ([], 1)
    assert run_json("export-project", "Weather", str(tmp_path / "weather"))["copies"] == 0


def test_trees_are_compared_and_merged_by_id_and_by_file(run_json: Any, tmp_path: Path) -> None:
    bo, cy = write_copies(submitted=2)
    data = run_json("diff", bo, cy)
    assert data["similarity"] == pytest.approx(1 / 2)
    assert [(row["kind"], row["text"]) for row in data["only_first"]] == [("premise", "ice is cold")]
    assert [row["text"] for row in data["only_second"]] == ["frost is cold"]
    assert data["reworded"] == []
    merged = tmp_path / "merged.jsonl"
    row = json.loads(run_json("merge", bo, cy, "--out", str(merged))["tree"])
    assert row["meta"]["triples"] == {"sent1": "snow is ice"}
    data = run_json("diff", str(merged), f"{merged}#1")
    assert (data["similarity"], data["only_first"]) == (1, [])
    assert "ice is cold" in run_json("merge", bo, bo, cy, "--majority")["tree"]
    (tmp_path / "two.jsonl").write_text(merged.read_text() * 2 + json.dumps({**row, "hypothesis": "x"}))
    for names in ([bo], [bo, "no-tree"], [bo, f"{tmp_path}/two.jsonl"], [bo, f"{tmp_path}/two.jsonl#3"]):
        assert run_json("merge", *names, code=1)["error"]["message"]


@pytest.mark.parametrize("out", ["weather", "weather.zip"])
def test_a_project_is_exported_and_imported(run_json: Any, tmp_path: Path, out: str) -> None:
    write_copies(submitted=2)
    data = run_json("export-project", "Weather", str(tmp_path / out))
    assert (data["copies"], data["trees"], data["agreement"]) == (2, 0, 1)
    data = run_json("import-project", str(tmp_path / out), "--name", "Copy", "--owner", "Ada")
    assert (data["project"], data["hypotheses"], data["trees"]) == ("Copy", 1, 2)
    assert run_json("import-project", str(tmp_path / out), code=1)["error"]["type"] == "TeamError"
    assert run_json("agreement", "Copy")["trees"]["leaves"]["observed"] == pytest.approx(1 / 3)
