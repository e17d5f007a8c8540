"""The programs that make the judge that ships, and measure Figures 2 and 3 with it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from entail.data.nli.pairs import LABELS
from entail.encoders.cross.encoder import HEAD
from entail.judge.judges import NliJudge, list_judges

MARKS = dict(zip(LABELS, ("mu", "na", "po"), strict=True))


def written(file: Path, count: int, *, seed: int, begin: str) -> Path:
    draw, rows = np.random.default_rng(seed), []
    for number in range(count):
        label = LABELS[number % 3]
        premise = " ".join([begin, *draw.choice(["ba", "be", "bi", "bo", "bu", "da", "de"], size=4)])
        hypothesis = f"{draw.choice(['ba', 'be', 'bi'])} {MARKS[label]}"
        rows.append({"premise": premise, "hypothesis": hypothesis, "label": label})
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    names = {"train": (36, "go"), "snli": (18, "gu"), "multinli": (12, "ge"), "other": (9, "gi")}
    return {
        name: written(tmp_path / f"{name}.jsonl", count, seed=at, begin=begin)
        for at, (name, (count, begin)) in enumerate(names.items())
    }


SMALL = [
    *("--base", "tiny", "--rank", "2", "--epochs", "1", "--max-length", "24", "--batch-size", "12"),
    *("--precision", "fp32", "--dev-pairs", "10"),
]


def given(files: dict[str, Path], place: Path, out: Path) -> list[str]:
    return [
        *("--train", str(files["train"]), str(files["other"]), "--data", "snli"),
        *("--dev", f"snli={files['snli']}", f"multinli={files['multinli']}"),
        *("--on", f"other={files['other']}", "--work", str(place / "work"), "--out", str(out)),
        *("--result", str(place / "nli.json"), *SMALL),
    ]


def run(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> None:
    assert main(arguments) == 0


def test_the_judge_that_ships_is_made_and_measured(
    load_script: Callable[[str], ModuleType],
    files: dict[str, Path],
    tiny_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script, out = load_script("make_nli_minilm"), tiny_home / "shipped"
    arguments = [*given(files, tmp_path, out), "--seeds", "0", "1"]
    run(script.main, arguments)
    figures: dict[str, Any] = json.loads((tmp_path / "nli.json").read_text(encoding="utf-8"))["figures"]
    # What is measured is neither learnt from nor chosen on.
    assert figures["learnt"]["pairs"] == 36
    assert figures["learnt"]["pairs of dev"] == 9
    assert figures["chosen"] == 10
    best = figures["seeds"][str(figures["shipped"])]
    assert {name: evaluation["n"] for name, evaluation in best["measured"].items()}["other"] == 9
    assert sum(best["measured"][name]["n"] for name in ("snli", "multinli")) == 20
    assert best["score"] == max(run["score"] for run in figures["seeds"].values())
    assert figures["bytes"] < 100_000
    assert list_judges() == ["shipped"]
    assert figures["revision"] == NliJudge("shipped").revision
    assert (out / "README.md").read_text(encoding="utf-8").count("# shipped") == 1
    page = (tmp_path / "nli.md").read_text(encoding="utf-8")
    assert f"| other | 9 | {best['measured']['other']['accuracy']:.3f} |" in page
    before = (tmp_path / "work" / "judge-0" / HEAD).stat().st_mtime_ns
    run(script.main, arguments)
    assert (tmp_path / "work" / "judge-0" / HEAD).stat().st_mtime_ns == before
    (tmp_path / "nli.md").unlink()
    run(script.main, ["--table", "--result", str(tmp_path / "nli.json")])
    assert (tmp_path / "nli.md").read_text(encoding="utf-8") == page
    assert f"seed\n{figures['shipped']}, the best of 0, 1." in page
    result = json.loads((tmp_path / "nli.json").read_text(encoding="utf-8"))
    result["figures"]["seeds"] = {str(figures["shipped"]): best}
    (tmp_path / "nli.json").write_text(json.dumps(result), encoding="utf-8")
    run(script.main, ["--table", "--result", str(tmp_path / "nli.json")])
    assert f"{figures['shipped']}, the only one." in (tmp_path / "nli.md").read_text(encoding="utf-8")
    capsys.readouterr()


def test_a_trial_keeps_nothing_and_says_what_a_training_takes(
    load_script: Callable[[str], ModuleType],
    files: dict[str, Path],
    tiny_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = load_script("make_nli_minilm")
    run(script.main, [*given(files, tmp_path, tiny_home / "shipped"), "--trial", "2"])
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["steps"] == 3
    assert estimate["processor_minutes"] == pytest.approx(estimate["processor_seconds_a_step"] * 3 / 60)
    assert not (tiny_home / "shipped").exists()
    assert not (tmp_path / "work").exists()
    with pytest.raises(SystemExit, match=r"NAME=FILE.*found 'x'"):
        script.main([*given(files, tmp_path, tiny_home / "shipped"), "--dev", "x"])


def test_relevance_is_measured_and_written(
    load_script: Callable[[str], ModuleType],
    files: dict[str, Path],
    squad: dict[str, Path],
    tiny_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(load_script("make_nli_minilm").main, given(files, tmp_path, tiny_home / "mine"))
    script, results = load_script("measure_relevance"), tmp_path / "results"
    arguments = [
        *("--questions", str(squad["dev"]), "--passages", str(squad["train"]), str(squad["dev"])),
        *("--nli", str(files["snli"]), "--judge", "mine", "--encoders", "tiny", "other"),
        *("--limit", "8", "--work", str(tmp_path / "relevance"), "--results", str(results)),
    ]
    run(script.main, arguments)
    figures = json.loads((results / "relevance.json").read_text(encoding="utf-8"))["figures"]
    assert (figures["questions"], figures["passages"], figures["pairs"]) == (8, 48, 8)
    assert figures["judge"]["revision"] == NliJudge("mine").revision
    assert list(figures["claims"]["groups"]) == ["passages that answer", "hard negatives"]
    assert [figure["by"] for figure in figures["premises"]] == ["tiny", "other"]
    page = (results / "relevance.md").read_text(encoding="utf-8")
    mean = figures["premises"][1]["groups"]["irrelevant"]["mean"]
    assert f"| irrelevant | 8 | {mean:.3f} |" in page
    run(script.main, ["--table", "--results", str(results)])
    assert (results / "relevance.md").read_text(encoding="utf-8") == page
    with pytest.raises(SystemExit, match="expected figures in"):
        script.main(["--table", "--results", str(tmp_path / "nowhere")])
    capsys.readouterr()
