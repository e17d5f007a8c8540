"""The program that measures Figures 2 and 3 of entailment tuning with a judge."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from entail.data.nli.pairs import LABELS, read_nli
from entail.judge.config import JudgeConfig
from entail.judge.judges import NliJudge
from entail.judge.training import train_judge

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
    names = {"train": (36, "go"), "snli": (18, "gu")}
    return {
        name: written(tmp_path / f"{name}.jsonl", count, seed=at, begin=begin)
        for at, (name, (count, begin)) in enumerate(names.items())
    }


def test_relevance_is_measured_and_written(
    load_script: Callable[[str], ModuleType],
    files: dict[str, Path],
    squad: dict[str, Path],
    tiny_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = JudgeConfig(base="tiny", rank=2, epochs=1, max_length=24, batch_size=12, precision="fp32")
    train_judge(read_nli(files["train"]).pairs, config, out=tiny_home / "mine")
    script, results = load_script("measure_relevance"), tmp_path / "results"
    arguments = [
        *("--questions", str(squad["dev"]), "--passages", str(squad["train"]), str(squad["dev"])),
        *("--nli", str(files["snli"]), "--judge", "mine", "--encoders", "tiny", "other"),
        *("--limit", "8", "--work", str(tmp_path / "relevance"), "--results", str(results)),
    ]
    assert script.main(arguments) == 0
    figures = json.loads((results / "relevance.json").read_text(encoding="utf-8"))["figures"]
    assert (figures["questions"], figures["passages"], figures["pairs"]) == (8, 48, 8)
    assert figures["judge"]["revision"] == NliJudge("mine").revision
    assert list(figures["claims"]["groups"]) == ["passages that answer", "hard negatives"]
    assert [figure["by"] for figure in figures["premises"]] == ["tiny", "other"]
    page = (results / "relevance.md").read_text(encoding="utf-8")
    mean = figures["premises"][1]["groups"]["irrelevant"]["mean"]
    assert f"| irrelevant | 8 | {mean:.3f} |" in page
    assert script.main(["--table", "--results", str(results)]) == 0
    assert (results / "relevance.md").read_text(encoding="utf-8") == page
    with pytest.raises(SystemExit, match="expected figures in"):
        script.main(["--table", "--results", str(tmp_path / "nowhere")])
    capsys.readouterr()
