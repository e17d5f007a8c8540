"""Calibration of confidences: the script and its page, in miniature."""

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.data.nli.pairs import NliPair
from entail.encoders.catalogue import resolve
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import EvaluationError
from entail.gausscse.calibration import calibrate
from entail.gausscse.verdict import judge
from entail.statistics.classification import wilson_interval


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("calibration_of_direction")


def written(path: Path, pairs: list[NliPair]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["premise", "hypothesis", "label"])
        rows.writerows([pair.premise, pair.hypothesis, pair.label] for pair in pairs)
    return path


def test_the_script_measures_both_confidences(
    script: ModuleType,
    gaussian: str,
    nli_pairs: Callable[..., list[NliPair]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dev, other, out = nli_pairs(20, seed=1), nli_pairs(15, seed=2), tmp_path / "results"
    files = [written(tmp_path / "dev.csv", dev), written(tmp_path / "other.csv", other)]
    arguments = ["--on", f"DEV={files[0]}", f"OTHER={files[1]}", "--fitted-on", "DEV"]
    arguments += ["--encoder", gaussian, "--results", str(out)]
    with pytest.raises(SystemExit, match="expected fitted curves"):
        script.main(arguments)
    folder = resolve(gaussian).path
    assert folder is not None
    form = calibrate(folder, dev)
    assert script.main(arguments) == 0
    figures = json.loads((out / "gausscse_calibration.json").read_text(encoding="utf-8"))["figures"]
    assert figures["stored"] == form.to_json()
    assert figures["fitted_again"]["threshold"] == pytest.approx(form.threshold, abs=1e-5)
    # What it counts is what judge says.
    verdicts = judge(GaussianEncoder(gaussian), [p.premise for p in other], [p.hypothesis for p in other])
    predictions = [verdict.says in ("entails", "both ways") for verdict in verdicts]
    right = [yes == (pair.label == "entailment") for yes, pair in zip(predictions, other, strict=True)]
    nli, direction = figures["sets"]["OTHER"]["nli"], figures["sets"]["OTHER"]["direction"]
    assert (nli["n"], nli["right"]) == (45, pytest.approx(sum(right) / 45))
    margins = [v.margin for v, pair in zip(verdicts, other, strict=True) if pair.label == "entailment"]
    assert (direction["n"], direction["right"]) == (15, pytest.approx(sum(m > 0 for m in margins) / 15))
    assert sum(bucket["n"] for bucket in nli["bins"]) == 45
    page = (out / "gausscse_calibration.md").read_text(encoding="utf-8")
    assert "fitted on DEV: threshold and NLI's curve on its 60 pairs" in " ".join(page.split())
    assert "points on OTHER (in the mean" in page.replace("\n", " ")
    assert "points on DEV" not in page.replace("\n", " ")
    assert str(tmp_path) not in page
    (out / "gausscse_calibration.md").unlink()
    assert script.main(["--table", "--results", str(out)]) == 0
    assert (out / "gausscse_calibration.md").read_text(encoding="utf-8") == page
    with pytest.raises(SystemExit):
        script.main([*arguments[:-4], "--fitted-on", "NOBODY"])
    with pytest.raises(SystemExit, match="found none; measure first"):
        script.main(["--table", "--results", str(tmp_path)])


def test_reliability_by_hand(script: ModuleType) -> None:
    reliability = script.reliability
    result = reliability([0.5, 0.55, 0.6, 0.75, 1.0], [True, False, True, True, True], bins=2)
    low, high = result.bins
    # .5, .55 and .6 lie below .75, two thirds of them correct; an edge belongs to the bin that it begins.
    assert (low.low, low.high, low.n, high.low, high.high, high.n) == (0.5, 0.75, 3, 0.75, 1.0, 2)
    assert (low.confidence, low.right) == (pytest.approx(0.55), pytest.approx(2 / 3))
    assert (high.confidence, high.right) == (0.875, 1.0)
    assert low.interval == wilson_interval(2, 3)
    assert result.error == pytest.approx((3 * (2 / 3 - 0.55) + 2 * 0.125) / 5)
    assert (result.n, result.confidence, result.right) == (5, pytest.approx(0.68), 0.8)
    assert result.log_loss == pytest.approx(-sum(math.log(p) for p in (0.5, 0.45, 0.6, 0.75, 1)) / 5)
    empty = reliability([0.9], [True], bins=2).to_json()["bins"][0]
    assert (empty["n"], empty["confidence"], empty["right"], empty["interval"]) == (0, None, None, None)
    assert reliability([1.0], [False]).log_loss < math.inf


@given(st.lists(st.tuples(st.floats(0.5, 1), st.booleans()), min_size=1, max_size=30), st.integers(1, 12))
def test_each_decision_is_in_one_bin_and_the_error_is_at_most_one(
    script: ModuleType, cases: list[tuple[float, bool]], bins: int
) -> None:
    result = script.reliability([c for c, _ in cases], [r for _, r in cases], bins=bins)
    assert sum(part.n for part in result.bins) == len(cases)
    assert abs(result.confidence - result.right) - 1e-9 <= result.error <= 1
    for part in result.bins:
        assert part.confidence is None or part.low - 1e-9 <= part.confidence <= part.high + 1e-9


@pytest.mark.parametrize(
    ("confidences", "right", "bins"),
    [([0.4], [True], 10), ([1.1], [True], 10), ([0.7], [True], 0), ([], [], 10), ([0.7], [True, False], 10)],
)
def test_confidences_that_cannot_be(
    script: ModuleType, confidences: list[float], right: list[bool], bins: int
) -> None:
    with pytest.raises(EvaluationError, match="confidence"):
        script.reliability(confidences, right, bins=bins)
