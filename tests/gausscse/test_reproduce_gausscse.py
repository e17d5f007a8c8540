"""The program that reproduces GaussCSE's tables: rows, seeds, their mean, and going on."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.data.nli.pairs import NliPair

Pairs = Callable[..., list[NliPair]]
ROW = "ent+con+rev"


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("reproduce_gausscse")


@pytest.fixture
def run(
    script: ModuleType, tiny_home: Path, tmp_path: Path, nli_pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """Return what runs the program on miniature pairs and returns its figures."""
    arguments = ["--base", "tiny", "--epochs", "1", "--work", str(tmp_path / "work"), "--rows", ROW]
    for number, name in enumerate(("train", "dev")):
        rows = [
            {"sentence1": p.premise, "sentence2": p.hypothesis, "gold_label": p.label}
            for p in nli_pairs(20, seed=number)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        arguments += [f"--{name}", str(tmp_path / f"{name}.jsonl")]
    arguments += ["--on", f"mine={tmp_path / 'dev.jsonl'}"]
    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr(script, "RESULTS", results)

    def with_these(*more: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", ["reproduce", *arguments, *more])
        assert script.main() == 0
        figures: dict[str, Any] = json.loads((results / "gausscse.json").read_text())["figures"]
        return figures

    return with_these


def test_the_mean_of_the_seeds_stands_below_its_row(
    run: Callable[..., dict[str, Any]],
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = run("--seeds", "0", "1")
    assert list(first["rows"]) == [ROW]
    monkeypatch.setattr(script, "train_gausscse", None)  # what was measured is not trained or measured again
    figures = run("--seeds", "0", "1", "--mean", "4")
    mean = f"{ROW}, mean of the seeds as one encoder"
    assert list(figures["rows"]) == [ROW, mean]
    assert figures["rows"][ROW] == first["rows"][ROW]
    mean_run = figures["rows"][mean]["mean"]
    assert mean_run["averaged"]["encoders"] == 2
    assert mean_run["on"]["mine"]["nli"]["threshold"] is not None
    assert mean_run["seconds"] == pytest.approx(
        sum(seed_run["seconds"] for seed_run in first["rows"][ROW].values())
    )
    page = (tmp_path / "results" / "gausscse.md").read_text()
    assert "| B: A, mean of the seeds as one encoder | mean | 1 |" in page
    assert "BERT-base | ent+con+rev | 76.64" in page
    assert set(mean_run["run"]) >= {"commit", "command", "cpu", "finished"}


def test_what_is_asked_otherwise_is_measured_anew(
    run: Callable[..., dict[str, Any]], script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--seeds", "0")
    monkeypatch.setattr(script, "train_gausscse", lambda *_, **__: pytest.fail("trains"))
    with pytest.raises(pytest.fail.Exception, match="trains"):
        run("--seeds", "0", "--dropout", "0.3")


def test_figures_of_other_data_are_left_alone(run: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    run("--seeds", "0")
    file = tmp_path / "results" / "gausscse.json"
    before = file.read_bytes()
    half, turned = tmp_path / "half.jsonl", tmp_path / "turned.jsonl"
    half.write_text("\n".join((tmp_path / "train.jsonl").read_text().splitlines()[:30]), encoding="utf-8")
    turned.write_text("\n".join((tmp_path / "dev.jsonl").read_text().splitlines()[::-1]), encoding="utf-8")
    for other in (
        ["--train", str(half)],
        ["--on", f"mine={turned}"],
        ["--on", f"another={tmp_path / 'dev.jsonl'}"],
        ["--dev", str(turned)],
    ):
        with pytest.raises(SystemExit, match="give --name"):
            run("--seeds", "0", *other)
    run("--seeds", "0", "--train", str(half), "--name", "mine", "--work", str(tmp_path / "other"))
    assert file.read_bytes() == before
    assert (tmp_path / "results" / "mine.md").read_text().startswith("<!-- Made from mine.json")


def test_a_ranking_by_dimension_says_what_a_search_brings_of_it(
    run: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    overlap = run("--rows", "kl_per_dim")["rows"]["kl_per_dim"]["0"]["overlap"]
    assert overlap["set"] == "mine"
    assert 0 <= overlap["least"] <= overlap["mean"] <= 1
    page = (tmp_path / "results" / "gausscse.md").read_text()
    assert f"of {overlap['queries']} queries" in " ".join(page.split())


def test_rows_are_compared_by_what_one_alone_decides_rightly(
    load_script: Callable[[str], ModuleType],
) -> None:
    def run(right: str, nli: str | None = None) -> dict[str, Any]:
        return {"on": {"snli-dev": {"right": right, "nli right": nli}, "sick": {"right": "1"}}}

    rows = {ROW: {"0": run("1100", "10")}, "ent": {"0": run("1011", "11"), "1": run("0000")}}
    figures = {"on": ["snli-dev", "sick"], "rows": rows}
    compared = load_script("gausscse_tables").compared
    pair = [(ROW, "0"), ("ent", "0")]
    assert compared(figures, pair, "right") == ["1 : 2 (1)", "0 : 0 (1)", "1 : 2 (1)"]
    assert compared(figures, pair, "nli right") == [], "not kept of every set"
    assert compared(figures, [(ROW, "0"), ("ent", "2")], "right") == []


def test_a_row_is_named_from_the_one_that_it_continues(load_script: Callable[[str], ModuleType]) -> None:
    rows = dict.fromkeys(["ent", "ent, ranked", "ent, ranked, more", "entirely"])
    labels = load_script("gausscse_rows").row_labels({"rows": rows})
    assert list(labels.values()) == ["A: ent", "B: A, ranked", "C: B, more", "D: entirely"]


def test_the_grid_may_be_asked_for_alone_and_on_some_of_the_triplets(
    run: Callable[..., dict[str, Any]], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BATCHES", (8, 16))
    monkeypatch.setattr(script, "RATES", (1e-4,))
    figures = run("--rows", "--grid", "12")
    assert figures["rows"] == {}
    assert list(figures["grid"]) == ["8/0.0001", "16/0.0001"]
    assert all(cell["triplets"] == 12 < figures["data"]["triplets"] for cell in figures["grid"].values())
    assert "while training, 12 triplets (Table 5)" in (tmp_path / "results" / "gausscse.md").read_text()


def test_seeds_are_joined_by_vote_and_by_any_of_them(load_script: Callable[[str], ModuleType]) -> None:
    marks = ("1100", "1010", "1000")
    runs = {str(seed): {"on": {"x": {"right": mark}}} for seed, mark in enumerate(marks)}
    figures = {"on": ["x"], "rows": {"a": runs, "b": {"0": runs["0"], "1": runs["1"]}}}
    rows = list(load_script("gausscse_tables").agreement(figures))
    assert rows == [["A, most of 3", "25.00"], ["A, any of 3", "75.00"]]


def test_a_row_is_taught_by_the_seeds_of_others_that_are_there(
    run: Callable[..., dict[str, Any]], script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught = replace(next(row for row in script.ROWS if len(row.taught_by) == 2), teachers=3)
    monkeypatch.setattr(script, "ROWS", [row for row in script.ROWS if row.name != taught.name] + [taught])
    first, second = taught.taught_by
    run("--rows", first, "--seeds", "0", "1")
    with pytest.raises(SystemExit, match="found 2"):
        run("--rows", taught.name)
    run("--rows", second, "--seeds", "1")
    config = run("--rows", taught.name)["rows"][taught.name]["0"]["config"]
    assert len(config["teachers"].split(",")) == 3
    assert config["distillation"] == taught.config.distillation


def test_points_have_figures_of_nli_alone(run: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    figures = run("--rows", "SimCSE", ROW)
    point_figures = figures["rows"]["SimCSE"]["0"]["on"]["mine"]
    assert "direction" not in point_figures
    assert 0 < point_figures["nli"]["auprc"] < 1
    page = (tmp_path / "results" / "gausscse.md").read_text()
    of_direction, _, of_nli = page.partition("NLI, accuracy")
    rows = of_direction.partition("Direction:")[2]
    assert ("SimCSE" in rows, "| A: SimCSE |" in of_nli) == (False, True)
    assert "| B : A, seed 0 |" in of_nli
