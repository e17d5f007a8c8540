"""The program that runs every arm of Tables 2 and 5, in miniature."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load_script: Callable[[str], ModuleType]
) -> ModuleType:
    loaded = load_script("reproduce_tuning")
    monkeypatch.setattr(loaded, "RESULTS", tmp_path / "results")
    return loaded


def test_a_row_is_run_once_and_all_are_told(
    tiny_home: Path, tmp_path: Path, squad: dict[str, Path], program: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--train", str(squad["train"]), "--dev", str(squad["dev"]), "--work", str(tmp_path / "work")]
    arguments += ["--nli", str(squad["nli"]), "--nli-pairs", "1", "--questions", "30", "--base", "tiny"]
    arguments += ["--tuning-epochs", "1", "--epochs", "1", "--batch-size", "8", "--longest", "32"]
    assert program.main([*arguments, "--rows", "bm25", "base", "none", "0.8/H"]) == 0
    assert program.main([*arguments, "--rows", "bm25", "none", "p[SEP]q", "--warmup", "1"]) == 0
    assert program.main([*arguments, "--rows", "0.8/H alone"]) == 0
    output = capsys.readouterr().err
    assert "bm25, seed None: is there already" in output
    assert "none, seed 0: is there already" in output
    result = json.loads((tmp_path / "results" / "tuning.json").read_text(encoding="utf-8"))
    rows = result["figures"]["rows"]
    assert [row["arm"] for row in rows] == ["bm25", "base", "none", "0.8/H", "p[SEP]q", "0.8/H alone"]
    assert set(rows[5]["stages"]) == {"tuning", "measuring"}
    assert rows[5]["stages"]["tuning"]["loss"] is None  # it was trained for the other row
    assert rows[5]["revision"] != rows[3]["revision"]
    assert "epochs" not in rows[5]["budget"]
    assert rows[0]["budget"] == {"dev_questions": 12, "passages": 48}
    tuned = rows[3]
    assert tuned["budget"]["nli_pairs"] == 1
    assert tuned["stages"]["tuning"]["counts"]["pairs"] == 31
    assert tuned["stages"]["contrast"]["steps"] == rows[2]["stages"]["contrast"]["steps"] == 4
    assert tuned["configs"]["tuning"]["prompt"] == "hypothesis"
    assert tuned["gold"]["R@100"] == 1
    assert set(tuned) >= {"commit", "seconds", "seed", "hardware", "finished", "revision"}
    assert str(tmp_path) not in json.dumps(result)
    page = (tmp_path / "results" / "tuning.md").read_text(encoding="utf-8")
    assert page.count("## tiny") == 2  # two budgets of the first stage
    assert "| DPR without tuning | 1 |" in page
    assert "beta 0.8, hypothesis: entailment tuning | 48.53 | 70.08 | 80.94" in page
    assert "with tuning R@1 at least 1 point above without" in page


def test_a_row_bears_its_command_and_the_seconds_of_a_run_that_was_broken_off(
    tiny_home: Path, tmp_path: Path, squad: dict[str, Path], program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--train", str(squad["train"]), "--dev", str(squad["dev"]), "--work", str(tmp_path / "work")]
    arguments += ["--questions", "30", "--base", "tiny", "--rows", "0.8/H"]
    arguments += ["--tuning-epochs", "1", "--epochs", "1", "--batch-size", "8", "--longest", "32"]
    train = program.train_tuning

    def slowly(*args: Any, watch: Any, **options: Any) -> Any:
        calls = iter(range(100))

        def step(event: Any) -> None:
            time.sleep(0.5)
            watch(event)

        return train(*args, watch=step, stop=lambda: next(calls) == 1, **options)

    monkeypatch.setattr(program, "train_tuning", slowly)
    with pytest.raises(SystemExit, match="stopped on request after step 2"):
        program.main(arguments)
    monkeypatch.setattr(program, "train_tuning", train)
    monkeypatch.setattr(sys, "orig_argv", ["python", "reproduce_tuning.py", "--rows", "0.8/H"])
    assert program.main(arguments) == 0
    (arm_row,) = program._rows(tmp_path / "results" / "tuning.json")
    stages = arm_row["stages"]
    assert stages["tuning"]["seconds"] > 1
    assert stages["tuning"]["loss"] is None  # it would be that of the last part
    assert arm_row["seconds"] == pytest.approx(sum(stage["seconds"] for stage in stages.values()), abs=0.1)
    assert arm_row["seconds"] > 1
    assert arm_row["run"]["command"] == "python reproduce_tuning.py --rows 0.8/H"
    assert arm_row["run"]["commit"] == arm_row["commit"]


def row(arm: str, seed: int | None, first: float, **budget: Any) -> dict[str, Any]:
    figures = {"R@1": first, "R@5": first, "R@20": first, "R@50": first, "R@100": first, "MRR": first}
    return {"arm": arm, "seed": seed, "budget": budget, "gold": figures, "answer": None}


def test_verdicts_are_taken_seed_by_seed(load_script: Callable[[str], ModuleType]) -> None:
    tables = load_script("tuning_tables")
    rows = [
        row("base", None, 0.50),
        *(row("none", seed, 0.60 + seed / 100) for seed in (0, 1)),
        *(row("0.8/H", seed, 0.63 + seed / 50) for seed in (0, 1, 2)),
        row("plain", 0, 0.64),
    ]
    assert tables.gains(rows, "0.8/H", over="none", measure="R@1") == pytest.approx([0.03, 0.04])
    assert tables.gains(rows, "none", over="base", measure="R@1") == pytest.approx([0.10, 0.11])
    lines = list(tables.verdicts(rows))
    assert lines[0] == "- holds: with tuning R@1 at least 1 point above without: +3.50 ± 0.71 points"
    assert "- does not hold: with tuning R@1 above the control, plain MLM: -1.00 points" in lines
    assert not any("Table 5" in line for line in lines)
    more = [*rows, row("0.2/H", 0, 0.62), row("p[SEP]q", 0, 0.61)]
    assert list(tables.verdicts(more))[-1] == (
        "- holds: the order of Table 5 by R@1: 0.8/H, 0.2/H, p[SEP]q, none "
        "(the paper: 0.8/H, 0.2/H, p[SEP]q, none)"
    )
