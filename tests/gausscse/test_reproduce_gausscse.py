"""The program that reproduces GaussCSE's tables: rows, seeds, their mean, and going on."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from entail.data.nli import NliPair

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
    given = ["--base", "tiny", "--epochs", "1", "--work", str(tmp_path / "work"), "--rows", ROW]
    for number, name in enumerate(("train", "dev")):
        rows = [
            {"sentence1": p.premise, "sentence2": p.hypothesis, "gold_label": p.label}
            for p in nli_pairs(20, seed=number)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        given += [f"--{name}", str(tmp_path / f"{name}.jsonl")]
    given += ["--on", f"mine={tmp_path / 'dev.jsonl'}"]
    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr(script, "RESULTS", results)

    def with_these(*more: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", ["reproduce", *given, *more])
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
    told = figures["rows"][mean]["mean"]
    assert told["averaged"]["encoders"] == 2
    assert told["on"]["mine"]["nli"]["threshold"] is not None
    assert told["seconds"] == pytest.approx(sum(one["seconds"] for one in first["rows"][ROW].values()))
    page = (tmp_path / "results" / "gausscse.md").read_text()
    assert f"| {mean} | 2 | 1 |" in page


@pytest.mark.parametrize("what", ["settings", "data", "sets"])
def test_what_is_asked_otherwise_is_measured_anew(
    run: Callable[..., dict[str, Any]],
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    run("--seeds", "0")
    half = tmp_path / "half.jsonl"
    half.write_text("\n".join((tmp_path / "train.jsonl").read_text().splitlines()[:30]), encoding="utf-8")
    other = {
        "settings": ["--dropout", "0.3"],
        "data": ["--train", str(half)],
        "sets": ["--on", f"mine={half}"],
    }
    monkeypatch.setattr(script, "train_gausscse", lambda *_, **__: pytest.fail("trains"))
    with pytest.raises(pytest.fail.Exception, match="trains"):
        run("--seeds", "0", *other[what])
