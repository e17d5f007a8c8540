"""Measures of decisions between two classes: by hand, and no threshold is better."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import EvaluationError
from entail.statistics.classification import auprc, best_threshold, wilson_interval

CASES = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(-2, 2), st.booleans()),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize(
    ("scores", "truth", "area"),
    [
        # From the top: hit (P 1, R 1/2), miss, miss, hit (P 2/4, R 1).
        ([4, 3, 2, 1], [True, False, False, True], 0.75),
        ([1, 1, 1, 1], [True, False, False, False], 0.25),  # equal scores are decided alike
        ([1, 1, 1, 1], [False, False, False, True], 0.25),
        ([1, 2], [False, False], None),
    ],
)
def test_auprc_by_hand(scores: list[float], truth: list[bool], area: float | None) -> None:
    assert auprc(scores, truth) == (area if area is None else pytest.approx(area))


@pytest.mark.parametrize(
    ("scores", "truth", "value", "accuracy"),
    [
        ([0.1, 0.2, 0.6, 0.8], [False, False, True, True], 0.4, 1),
        ([0.1, 0.3, 0.7, 0.9], [False, True, False, True], 0.2, 0.75),  # as accurate as 0.8, and lower
        ([0.3, 0.5], [True, True], math.nextafter(0.3, 0), 1),
        ([0.3, 0.5], [False, False], 0.5, 1),
    ],
)
def test_thresholds_by_hand(scores: list[float], truth: list[bool], value: float, accuracy: float) -> None:
    assert best_threshold(scores, truth) == pytest.approx((value, accuracy))


@given(CASES)
def test_no_threshold_is_more_accurate(cases: list[tuple[float, bool]]) -> None:
    scores, truth = map(np.array, zip(*cases, strict=True))
    result = best_threshold(scores, truth)
    thresholds = [*scores, math.nextafter(scores.min(), -math.inf)]
    accuracies = [((scores > other) == truth).mean() for other in (result.value, *thresholds)]
    assert accuracies[0] == pytest.approx(result.accuracy)
    assert result.accuracy >= max(accuracies) - 1e-12


def test_intervals_of_shares() -> None:
    low, high = wilson_interval(8, 10) or (0, 0)
    assert low < 0.8 < high
    assert wilson_interval(0, 0) is None


@pytest.mark.parametrize(
    ("scores", "truth"),
    [([], []), ([1.0], [True, False]), ([math.nan, 1.0], [True, False]), ([math.inf], [True])],
)
def test_invalid_cases_are_refused(scores: list[float], truth: list[bool]) -> None:
    for measure in (auprc, best_threshold):
        with pytest.raises(EvaluationError):
            measure(scores, truth)
