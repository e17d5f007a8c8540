"""Separation of two groups of values: by hand, against scipy, by drawing queries."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import RetrievalError
from entail.statistics.paired import interval
from entail.statistics.ranking import Values, resamples
from entail.statistics.separation import Separation, separation


def separate(values: Values, **groups: Any) -> Separation:
    result = separation(values, **groups)
    assert result is not None
    return result


def two_groups(upper: list[float], lower: list[float]) -> tuple[Values, dict[str, Any]]:
    """Return values and masks of two groups, as many queries as the larger has values."""
    masks = {
        "upper": np.array([True] * len(upper) + [False] * len(lower)),
        "lower": np.array([False] * len(upper) + [True] * len(lower)),
        "query": np.array([*range(len(upper)), *range(len(lower))]),
    }
    return np.array(upper + lower, dtype=float), masks


def test_separation_by_hand() -> None:
    values, groups = two_groups([0.9, 0.5, 0.1], [0.5, 0.0])
    result = separate(values, **groups)
    assert result.auc == pytest.approx((2 + 1.5 + 1) / 6)
    assert result.delta == pytest.approx(2 * 4.5 / 6 - 1)
    # One query: every sample is the whole, and nothing scatters. 0.5 is in both, min(1/3, 1/2).
    whole = separate(values, **{**groups, "query": np.zeros(5, dtype=np.int64)}, samples=9)
    assert whole.shared == pytest.approx(1 / 3)
    assert whole.shared_interval == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.parametrize(
    ("upper", "lower", "auc", "shared", "delta"),
    [([3, 4, 5], [0, 1, 2], 1, 0, 1), ([1, 1], [1, 1], 0.5, 1, 0)],
)
def test_groups_far_apart_and_groups_alike(
    upper: list[float], lower: list[float], auc: float, shared: float, delta: float
) -> None:
    values, groups = two_groups(upper, lower)
    result = separate(values, **groups, samples=30)
    assert (result.auc, result.shared, result.delta_interval) == (auc, shared, (delta, delta))


def test_draws_are_those_of_drawing_queries() -> None:
    draw = np.random.default_rng(4)
    query = np.repeat(np.arange(12), 6)
    upper = draw.random(72) < 0.6
    values = (draw.integers(0, 6, 72) + 3 * upper) / 4
    result = separate(values, upper=upper, lower=~upper, query=query, samples=20, seed=9)
    edges = np.linspace(values.min(), values.max(), 21)

    def figures(tops: Values, bottoms: Values) -> tuple[float, float]:
        top_shares, bottom_shares = (np.histogram(part, edges)[0] / len(part) for part in (tops, bottoms))
        auc = scipy.stats.mannwhitneyu(tops, bottoms).statistic / (len(tops) * len(bottoms))
        return auc, float(np.minimum(top_shares, bottom_shares).sum())

    auc, shared = figures(values[upper], values[~upper])
    assert result.auc == pytest.approx(auc)
    counts = np.concatenate(list(resamples(12, samples=20, seed=9)))
    for row, auc_draw, shared_draw in zip(counts, result.auc_draws, result.shared_draws, strict=True):
        times = row[query].astype(int)
        expected = figures(np.repeat(values[upper], times[upper]), np.repeat(values[~upper], times[~upper]))
        assert (auc_draw, shared_draw) == pytest.approx((expected[0], 2 * shared - expected[1]))
    assert result.auc_interval == interval(result.auc_draws)
    assert result.shared == pytest.approx(result.shared_draws.mean())
    assert result.shared_interval == interval(result.shared_draws)


def test_overlap_of_small_groups_is_corrected() -> None:
    # The plain histograms share 0.88 on the average.
    results = []
    for seed in range(10):
        values = np.random.default_rng(seed).normal(size=1200)
        upper = np.arange(1200) < 1000
        results.append(
            separate(values, upper=upper, lower=~upper, query=np.arange(1200), samples=100, seed=seed)
        )
    assert np.mean([result.shared for result in results]) > 0.91
    assert sum(result.shared_interval[1] > 0.95 for result in results) >= 9


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9)
)
def test_exchanged_groups_negate_delta(one: list[float], two: list[float]) -> None:
    values, groups = two_groups(one, two)
    first = separate(values, **groups, samples=5)
    second = separate(values, upper=groups["lower"], lower=groups["upper"], query=groups["query"], samples=5)
    assert second.delta == pytest.approx(-first.delta)
    assert second.shared == pytest.approx(first.shared)


def test_an_interval_over_queries_is_wider_than_one_over_pairs() -> None:
    # All pairs of a query are alike, so they count as one each.
    draw = np.random.default_rng(1)
    values = np.repeat(draw.normal(size=30), 40)
    upper = np.tile(np.arange(40) < 20, 30)
    values[upper] += 0.3
    by_query = separate(values, upper=upper, lower=~upper, query=np.repeat(np.arange(30), 40), samples=300)
    by_pair = separate(values, upper=upper, lower=~upper, query=np.arange(1200), samples=300)
    width, narrow = (np.diff(result.auc_interval)[0] for result in (by_query, by_pair))
    assert width > 1.3 * narrow


def test_missing_groups() -> None:
    nobody, both = np.zeros(2, dtype=bool), np.array([True, False])
    assert separation(np.zeros(2), upper=~nobody, lower=nobody, query=np.arange(2)) is None
    result = separate(np.array([1.0, 0.0]), upper=both, lower=~both, query=np.arange(2), samples=40)
    assert np.isnan(result.auc_draws).any()  # samples without one of the groups
    assert result.auc_interval == (1, 1)


def test_bad_input_is_refused() -> None:
    both = np.array([True, False])
    with pytest.raises(RetrievalError, match="NaN"):
        separation(np.array([0.1, np.nan]), upper=both, lower=~both, query=np.arange(2))
    with pytest.raises(RetrievalError, match="sample"):
        separation(np.array([0.1, 0.2]), upper=both, lower=~both, query=np.arange(2), samples=0)
