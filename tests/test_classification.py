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
    reliability,
    wilson_interval,
)

CASES = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.1, 0.25, 0.5, 0.75, 1.0]) | st.floats(-2, 2), st.booleans()),
    min_size=1,
    max_size=20,
)


def accuracy(scores: np.ndarray, truth: np.ndarray, threshold: float) -> float:
    return float(((scores > threshold) == truth).mean())


# --- area under precision over recall ----------------------------------------------------------------------


def test_auprc_by_hand() -> None:
    # From the top: hit (P 1, R 1/2), miss, miss, hit (P 2/4, R 1).
    assert auprc([4, 3, 2, 1], [True, False, False, True]) == pytest.approx(0.5 * 1 + 0.5 * 0.5)


def test_equal_scores_are_decided_alike() -> None:
    assert auprc([1, 1, 1, 1], [True, False, False, False]) == auprc(
        [1, 1, 1, 1], [False, False, False, True]
    )
    assert auprc([1, 1, 1, 1], [True, False, False, False]) == pytest.approx(0.25)


def test_auprc_needs_something_positive() -> None:
    assert auprc([1, 2], [False, False]) is None
    assert auprc_stepped([1, 2], [False, False]) is None


def test_stepped_by_hand() -> None:
    # Two steps of 1/2: above 1 nothing, above 0.5 one hit of two (R 1/2), above 0 two of four (R 1).
    found = auprc_stepped([0.9, 0.8, 0.3, 0.2], [True, False, False, True], steps=2)
    assert found == pytest.approx(0.5 * 0.5 + 0.5 * (0.5 + 0.5) / 2)


def test_a_score_at_a_threshold_is_not_above_it() -> None:
    assert auprc_stepped([0.5, 0.4], [True, False], steps=2) == pytest.approx(0.5)
    assert auprc_stepped([0.51, 0.4], [True, False], steps=2) == pytest.approx(1 * 1.0)


def test_scores_that_crowd_in_one_step_say_no_more_than_the_share_of_positives() -> None:
    scores, truth = np.linspace(0.0001, 0.0009, 9), np.arange(9) > 5
    assert auprc(scores, truth) == 1.0
    assert auprc_stepped(scores, truth) == pytest.approx(3 / 9)


def test_what_scores_0_or_less_is_never_reached_by_steps() -> None:
    assert auprc_stepped([0.5, -0.5], [True, True]) == pytest.approx(0.5)
    assert auprc_stepped([-0.5, -0.4], [True, True]) == 0.0


def test_steps_come_near_to_the_exact_area_where_scores_spread() -> None:
    draw = np.random.default_rng(0)
    truth = draw.random(4000) < 0.4
    scores = np.clip(draw.normal(0.4 + 0.2 * truth, 0.15), 0, 1)
    assert auprc_stepped(scores, truth) == pytest.approx(auprc(scores, truth), abs=0.005)


@given(CASES)
def test_areas_are_shares(cases: list[tuple[float, bool]]) -> None:
    scores, truth = map(np.array, zip(*cases, strict=True))
    for found in (auprc(scores, truth), auprc_stepped(scores, truth, steps=7)):
        assert found is None or 0 <= found <= 1 + 1e-12


# --- thresholds --------------------------------------------------------------------------------------------


def test_the_best_threshold_lies_half_way() -> None:
    found = best_threshold([0.1, 0.2, 0.6, 0.8], [False, False, True, True])
    assert (found.value, found.accuracy) == (pytest.approx(0.4), 1.0)


def test_of_several_the_lowest() -> None:
    # Below 0.2 and below 0.8 are as good: three of four are right.
    found = best_threshold([0.1, 0.3, 0.7, 0.9], [False, True, False, True])
    assert (found.value, found.accuracy) == (pytest.approx(0.2), 0.75)


def test_everything_or_nothing() -> None:
    everything = best_threshold([0.3, 0.5], [True, True])
    assert everything.accuracy == 1
    assert everything.value < 0.3
    assert math.isfinite(everything.value)
    nothing = best_threshold([0.3, 0.5], [False, False])
    assert (nothing.value, nothing.accuracy) == (0.5, 1.0)


def test_neighbouring_floats_are_told_apart() -> None:
    low = math.nextafter(1.0, 2)  # an odd last digit: what lies half-way is rounded up
    high = math.nextafter(low, 2)
    found = best_threshold([low, high], [False, True])
    assert found.accuracy == 1
    assert low <= found.value < high


@given(CASES)
def test_no_threshold_does_better_and_it_does_what_it_says(cases: list[tuple[float, bool]]) -> None:
    scores, truth = map(np.array, zip(*cases, strict=True))
    found = best_threshold(scores, truth)
    assert accuracy(scores, truth, found.value) == pytest.approx(found.accuracy)
    others = [*scores, math.nextafter(scores.min(), -math.inf)]
    assert found.accuracy >= max(accuracy(scores, truth, other) for other in others) - 1e-12


# --- intervals and tests -----------------------------------------------------------------------------------


def test_wilson_by_its_formula() -> None:
    right, cases, z = 167, 222, 1.959963984540054
    share = right / cases
    middle = (share + z**2 / (2 * cases)) / (1 + z**2 / cases)
    half = z * math.sqrt(share * (1 - share) / cases + z**2 / (4 * cases**2)) / (1 + z**2 / cases)
    assert wilson_interval(right, cases) == pytest.approx((middle - half, middle + half))


def test_wilson_at_the_edges() -> None:
    assert wilson_interval(0, 0) is None
    low, high = wilson_interval(0, 5) or (None, None)
    assert low == pytest.approx(0)
    assert high is not None
    assert 0 < high < 1
    with pytest.raises(EvaluationError, match="found 6"):
        wilson_interval(6, 5)
    with pytest.raises(EvaluationError, match="level"):
        wilson_interval(1, 5, level=95)


def test_mcnemar_is_exact_for_few() -> None:
    # 5 and 1 of 6 discordant: 2 * (C(6,0) + C(6,1)) / 2^6.
    first = [True] * 5 + [False] + [True] * 10 + [False] * 10
    second = [False] * 5 + [True] + [True] * 10 + [False] * 10
    found = mcnemar(first, second)
    assert (found.first_only, found.second_only, found.exact) == (5, 1, True)
    assert found.p == pytest.approx(2 * 7 / 64)
    assert mcnemar(second, first).p == pytest.approx(found.p)


def test_mcnemar_is_corrected_for_many() -> None:
    first = [True] * 40 + [False] * 20
    found = mcnemar(first, [not right for right in first])
    assert not found.exact
    # (|40 - 20| - 1)^2 / 60 = 6.0167, of which chi-squared(1) leaves 0.01417.
    assert found.p == pytest.approx(0.014171, abs=1e-6)
    assert mcnemar(first, [not right for right in first], exact=True).p == pytest.approx(0.0134895, abs=1e-6)
    assert found.to_json() == {"first_only": 40, "second_only": 20, "p": found.p, "exact": False}


def test_mcnemar_of_equals() -> None:
    assert mcnemar([True, False], [True, False]).p == 1
    assert mcnemar([], []).p == 1
    balanced = [True] * 30 + [False] * 30
    assert mcnemar(balanced, balanced[::-1]).p == 1


@pytest.mark.parametrize(
    ("scores", "truth", "message"),
    [
        ([], [], "at least one case"),
        ([1.0], [True, False], "shapes"),
        ([math.nan, 1.0], [True, False], "1 of 2 scores are not finite"),
        ([math.inf], [True], "not finite"),
    ],
)
def test_what_cannot_be_measured_is_said(scores: list[float], truth: list[bool], message: str) -> None:
    for measure in (auprc, auprc_stepped, best_threshold):
        with pytest.raises(EvaluationError, match=message):
            measure(scores, truth)


def test_further_bad_input() -> None:
    with pytest.raises(EvaluationError, match="at least 1 step"):
        auprc_stepped([1.0], [True], steps=0)
    with pytest.raises(EvaluationError, match="shapes"):
        mcnemar([True], [True, False])


# --- how well confidences keep what they promise -----------------------------------------------------------


def test_reliability_by_hand() -> None:
    found = reliability([0.5, 0.55, 0.6, 0.75, 1.0], [True, False, True, True, True], bins=2)
    low, high = found.bins
    # .5, .55 and .6 lie below .75, of which two thirds are right; an edge belongs to the bin that it begins.
    assert (low.low, low.high, low.n, high.low, high.high, high.n) == (0.5, 0.75, 3, 0.75, 1.0, 2)
    assert (low.confidence, low.right) == (pytest.approx(0.55), pytest.approx(2 / 3))
    assert (high.confidence, high.right) == (0.875, 1.0)
    assert found.error == pytest.approx((3 * (2 / 3 - 0.55) + 2 * 0.125) / 5)
    assert (found.n, found.confidence, found.right) == (5, pytest.approx(0.68), 0.8)
    losses = [math.log(p) for p in (0.5, 0.45, 0.6, 0.75, 1)]
    assert found.log_loss == pytest.approx(-sum(losses) / 5)
    assert low.interval == wilson_interval(2, 3)
    empty = reliability([0.9], [True], bins=2).to_json()["bins"][0]
    assert (empty["n"], empty["confidence"], empty["right"], empty["interval"]) == (0, None, None, None)
    assert reliability([1.0], [False]).log_loss < math.inf


@given(st.lists(st.tuples(st.floats(0.5, 1), st.booleans()), min_size=1, max_size=30), st.integers(1, 12))
def test_every_decision_is_in_one_bin_and_the_error_is_at_most_one(
    cases: list[tuple[float, bool]], bins: int
) -> None:
    found = reliability([c for c, _ in cases], [r for _, r in cases], bins=bins)
    assert sum(one.n for one in found.bins) == len(cases)
    assert abs(found.confidence - found.right) - 1e-9 <= found.error <= 1
    for one in found.bins:
        assert one.confidence is None or one.low - 1e-9 <= one.confidence <= one.high + 1e-9


@pytest.mark.parametrize(("confidences", "bins"), [([0.4], 10), ([1.1], 10), ([0.7], 0)])
def test_what_is_no_confidence_is_refused(confidences: list[float], bins: int) -> None:
    with pytest.raises(EvaluationError, match=r"expected confidences from 0\.5 to 1"):
        reliability(confidences, [True], bins=bins)
