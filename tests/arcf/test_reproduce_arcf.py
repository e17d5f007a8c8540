"""The program that reproduces ARCF's tables: arms, what a run leaves behind, going on, the page."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("reproduce_arcf")


@pytest.fixture
def run(
    script: ModuleType,
    tiny_home: Path,
    tmp_path: Path,
    release: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., dict[str, Any]]:
    """Return what runs the program on a miniature release and returns its figures."""
    arguments = ["--tables", str(release["tables"]), "--train", str(release["train"])]
    arguments += ["--on", str(release["dev"])]
    arguments += ["--base", "tiny", "--rank", "2", "--epochs", "1", "--train-k", "6", "--batch-tokens", "300"]
    arguments += ["--k", "6", "--sample", "3", "--work", str(tmp_path / "work")]
    results = tmp_path / "results"
    monkeypatch.setattr(script, "RESULTS", results)

    def with_these(*more: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", ["reproduce", *arguments, *more])
        assert script.main() == 0
        figures: dict[str, Any] = json.loads((results / "arcf.json").read_text())["figures"]
        return figures

    return with_these


def test_an_arm_is_trained_once_and_stands_in_the_page(
    run: Callable[..., dict[str, Any]], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("--arms", "ARCF RankNet", "--reach")
    assert first["questions"] == 3
    assert set(first["rankings"]) == {"ARCF RankNet", "w SF inf", "w/o R3", "w/o R3, S2"}
    ranking = first["rankings"]["ARCF RankNet"]["0"]
    assert 0 < ranking["MAP"] <= 1
    assert ranking["seconds_a_question"] > 0
    trained = first["trainings"]["ARCF RankNet"]["0"]
    assert set(trained["run"]) >= {"commit", "command", "cpu", "finished"}
    assert first["reach"]["6"]["reached"] > 0

    monkeypatch.setattr(script, "train_arcf", lambda *_, **__: pytest.fail("trains"))
    again = run("--arms", "ARCF RankNet")
    assert again["rankings"]["ARCF RankNet"]["0"]["MAP"] == ranking["MAP"]
    assert again["trainings"] == first["trainings"]
    page = (tmp_path / "results" / "arcf.md").read_text()
    over = ranking["MAP"] - first["lexical"]["MAP"]
    assert f"| ARCF RankNet | {ranking['MAP']:.4f} | {over:+.4f} |" in page
    assert f"| ARCF RankNet | 0 | {trained['counts']['questions']} |" in page
    with pytest.raises(SystemExit, match="holds a training of other settings"):
        run("--arms", "ARCF RankNet", "--batch-tokens", "200")


def test_what_the_shared_task_does_not_score_is_learnt_from_where_asked(
    run: Callable[..., dict[str, Any]], release: dict[str, Path], tmp_path: Path
) -> None:
    flagged = release["train"].read_text().replace("\tSUCCESS\t", "\tSUCCESS DUPMERGE\t", 2)
    release["train"].write_text(flagged)
    without = run("--arms", "ARCF RankNet")["trainings"]["ARCF RankNet"]["0"]
    with pytest.raises(SystemExit, match="or questions; give another --work"):
        run("--arms", "ARCF RankNet", "--unscored")
    figures = run("--arms", "ARCF RankNet", "--unscored", "--work", str(tmp_path / "other"))
    assert figures["trainings"]["ARCF RankNet"]["0"]["counts"]["questions"] > without["counts"]["questions"]
    assert (figures["unscored"], figures["left_out"]) == (2, 0)


def test_single_facts_chains_of_two_and_ensembles(run: Callable[..., dict[str, Any]]) -> None:
    figures = run("--arms", "SF", "--paths", "--sample", "0")
    assert figures["questions"] == 6
    assert set(figures["rankings"]) == {"SF", "w SF train", "PR", "ENSEMBLE"}


def test_k_and_length_are_swept(run: Callable[..., dict[str, Any]], script: ModuleType) -> None:
    script.KS, script.LENGTHS = (2, 6), (1, 3)  # type: ignore[attr-defined]  # of the program
    sweeps = run("--arms", "ARCF RankNet", "--sweep")["sweeps"]
    assert {over: list(values) for over, values in sweeps.items()} == {"k": ["2", "6"], "L": ["1", "3"]}


@pytest.mark.parametrize(
    ("best", "told"),
    [
        ([None, None], "No weights were chosen on dev"),
        ([{"epoch": 1}, {"epoch": 2}], "Each training keeps the epoch"),
        ([None, {"epoch": 2}], "SF seed 1 keeps the epoch"),
    ],
)
def test_the_page_tells_what_chose_the_weights(
    load_script: Callable[[str], ModuleType], best: list[Any], told: str
) -> None:
    trainings = {"SF": {str(seed): {"fitted": {"best": evaluation}} for seed, evaluation in enumerate(best)}}
    figures = {"trainings": trainings, "config": {"dev_questions": 40}}
    selection = load_script("arcf_tables")._selection
    assert selection(figures, is_all=False).startswith(told)
