import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import EvaluationError
from entail.statistics.classification import (
    auprc,
    auprc_stepped,
    best_threshold,
    mcnemar,
    wilson_interval,
)

CASES = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(-2, 2), st.booleans()),
    min_size=1,
    max_size=20,
)


# --- area under precision over recall ----------------------------------------------------------------------


def test_auprc_by_hand() -> None:
    # From the top: hit (P 1, R 1/2), miss, miss, hit (P 2/4, R 1).
    assert auprc([4, 3, 2, 1], [True, False, False, True]) == pytest.approx(0.5 * 1 + 0.5 * 0.5)


def test_equal_scores_are_decided_alike() -> None:
    for truth in ([True, False, False, False], [False, False, False, True]):
        assert auprc([1, 1, 1, 1], truth) == pytest.approx(0.25)


def test_auprc_needs_a_positive_case() -> None:
    assert auprc([1, 2], [False, False]) is None
    assert auprc_stepped([1, 2], [False, False]) is None


@pytest.mark.parametrize(
    ("scores", "truth", "area"),
    [
        ([0.5, 0.4], [True, False], 1),
        ([0.4001, 0.4002], [True, False], 0.5),  # in one step: the share of positives
        ([0.4, 0.4001], [True, False], 0.25),  # a score at a threshold is not above it
        ([0.5, -0.5], [True, True], 0.5),  # scores of 0 or less are out of reach
        ([-0.5, -0.4], [True, True], 0),
    ],
)
def test_stepped_by_hand(scores: list[float], truth: list[bool], area: float) -> None:
    assert auprc_stepped(scores, truth) == pytest.approx(area)


def test_steps_approximate_the_exact_area_where_scores_spread() -> None:
    draw = np.random.default_rng(0)
    truth = draw.random(4000) < 0.4
    scores = np.clip(draw.normal(0.4 + 0.2 * truth, 0.15), 0, 1)
    assert auprc_stepped(scores, truth) == pytest.approx(auprc(scores, truth), abs=0.005)


@given(CASES)
def test_areas_are_shares(cases: list[tuple[float, bool]]) -> None:
    scores, truth = map(np.array, zip(*cases, strict=True))
    for area in (auprc(scores, truth), auprc_stepped(scores, truth)):
        assert area is None or 0 <= area <= 1 + 1e-12


# --- thresholds --------------------------------------------------------------------------------------------


def test_thresholds_by_hand() -> None:
    middle = best_threshold([0.1, 0.2, 0.6, 0.8], [False, False, True, True])
    assert (middle.value, middle.accuracy) == (pytest.approx(0.4), 1.0)
    # 0.2 and 0.8 are equally accurate, so the lower one.
    lowest = best_threshold([0.1, 0.3, 0.7, 0.9], [False, True, False, True])
    assert (lowest.value, lowest.accuracy) == (pytest.approx(0.2), 0.75)
    everything = best_threshold([0.3, 0.5], [True, True])
    assert everything.accuracy == 1
    assert math.isfinite(everything.value)
    assert everything.value < 0.3
    nothing = best_threshold([0.3, 0.5], [False, False])
    assert (nothing.value, nothing.accuracy) == (0.5, 1.0)


def test_neighbouring_floats_are_distinguished() -> None:
    low = math.nextafter(1.0, 2)  # an odd last digit, so the middle is rounded up
    high = math.nextafter(low, 2)
    result = best_threshold([low, high], [False, True])
    assert result.accuracy == 1
    assert low <= result.value < high


@given(CASES)
def test_no_threshold_is_more_accurate(cases: list[tuple[float, bool]]) -> None:
    scores, truth = map(np.array, zip(*cases, strict=True))
    result = best_threshold(scores, truth)
    thresholds = [*scores, math.nextafter(scores.min(), -math.inf)]
    accuracies = [((scores > other) == truth).mean() for other in (result.value, *thresholds)]
    assert accuracies[0] == pytest.approx(result.accuracy)
    assert result.accuracy >= max(accuracies) - 1e-12


# --- intervals and tests -----------------------------------------------------------------------------------


def test_wilson_by_its_formula() -> None:
    right, cases, z = 167, 222, 1.959963984540054
    share = right / cases
    middle = (share + z**2 / (2 * cases)) / (1 + z**2 / cases)
    half = z * math.sqrt(share * (1 - share) / cases + z**2 / (4 * cases**2)) / (1 + z**2 / cases)
    assert wilson_interval(right, cases) == pytest.approx((middle - half, middle + half))
    assert wilson_interval(0, 0) is None
    assert (wilson_interval(0, 5) or ())[0] == pytest.approx(0)


def test_mcnemar_is_exact_for_few() -> None:
    # 5 and 1 of 6 discordant: 2 * (C(6,0) + C(6,1)) / 2^6.
    first = [True] * 5 + [False] + [True] * 10 + [False] * 10
    second = [False] * 5 + [True] + [True] * 10 + [False] * 10
    result = mcnemar(first, second)
    assert (result.first_only, result.second_only, result.exact) == (5, 1, True)
    assert result.p == pytest.approx(2 * 7 / 64)
    assert mcnemar(second, first).p == pytest.approx(result.p)


def test_mcnemar_is_corrected_for_many() -> None:
    first = [True] * 40 + [False] * 20
    result = mcnemar(first, [not right for right in first])
    # (|40 - 20| - 1)^2 / 60 = 6.0167, of which chi-squared(1) leaves 0.01417.
    assert result.p == pytest.approx(0.014171, abs=1e-6)
    assert result.to_json() == {"first_only": 40, "second_only": 20, "p": result.p, "exact": False}


@pytest.mark.parametrize("right", [[True, False], [], [True] * 30 + [False] * 30])
def test_mcnemar_of_equally_accurate_classifiers(right: list[bool]) -> None:
    assert mcnemar(right, right[::-1]).p == 1


@pytest.mark.parametrize(
    ("scores", "truth", "message"),
    [
        ([], [], "one case"),
        ([1.0], [True, False], "shapes"),
        ([math.nan, 1.0], [True, False], "1 of 2"),
        ([math.inf], [True], "finite"),
    ],
)
def test_invalid_cases_are_refused(scores: list[float], truth: list[bool], message: str) -> None:
    for measure in (auprc, auprc_stepped, best_threshold):
        with pytest.raises(EvaluationError, match=message):
            measure(scores, truth)


def test_further_bad_input() -> None:
    with pytest.raises(EvaluationError, match="shapes"):
        mcnemar([True], [True, False])
    with pytest.raises(EvaluationError, match="found 6"):
        wilson_interval(6, 5)
