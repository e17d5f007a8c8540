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


@pytest.mark.parametrize(
    ("upper", "lower", "auc", "delta"),
    [([3, 4, 5], [0, 1, 2], 1, 1), ([1, 1], [1, 1], 0.5, 0)],
)
def test_groups_far_apart_and_groups_alike(
    upper: list[float], lower: list[float], auc: float, delta: float
) -> None:
    values, groups = two_groups(upper, lower)
    result = separate(values, **groups, samples=30)
    assert (result.auc, result.delta_interval) == (auc, (delta, delta))


def test_draws_are_those_of_drawing_queries() -> None:
    draw = np.random.default_rng(4)
    query = np.repeat(np.arange(12), 6)
    upper = draw.random(72) < 0.6
    values = (draw.integers(0, 6, 72) + 3 * upper) / 4
    result = separate(values, upper=upper, lower=~upper, query=query, samples=20, seed=9)

    def auc(tops: Values, bottoms: Values) -> float:
        return float(scipy.stats.mannwhitneyu(tops, bottoms).statistic / (len(tops) * len(bottoms)))

    assert result.auc == pytest.approx(auc(values[upper], values[~upper]))
    counts = np.concatenate(list(resamples(12, samples=20, seed=9)))
    for row, auc_draw in zip(counts, result.auc_draws, strict=True):
        times = row[query].astype(int)
        groups = np.repeat(values[upper], times[upper]), np.repeat(values[~upper], times[~upper])
        assert auc_draw == pytest.approx(auc(*groups))
    assert result.auc_interval == interval(result.auc_draws)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9)
)
def test_exchanged_groups_negate_delta(one: list[float], two: list[float]) -> None:
    values, groups = two_groups(one, two)
    first = separate(values, **groups, samples=5)
    second = separate(values, upper=groups["lower"], lower=groups["upper"], query=groups["query"], samples=5)
    assert second.delta == pytest.approx(-first.delta)


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
