"""Whether one group of values stands above another: by hand, against scipy, by drawing queries."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import RetrievalError
from entail.statistics.paired import interval
from entail.statistics.ranking import Values, resamples
from entail.statistics.separation import separation


def apart(upper: list[float], lower: list[float]) -> tuple[Values, dict[str, np.ndarray]]:
    """Two groups, as many queries as the larger has values."""
    masks = {
        "upper": np.array([True] * len(upper) + [False] * len(lower)),
        "lower": np.array([False] * len(upper) + [True] * len(lower)),
        "query": np.array([*range(len(upper)), *range(len(lower))]),
    }
    return np.array(upper + lower), masks


def test_separation_by_hand() -> None:
    values, groups = apart([0.9, 0.5, 0.1], [0.5, 0.0])
    found = separation(values, **groups)
    assert found is not None
    assert found.auc == pytest.approx((2 + 1.5 + 1) / 6)
    assert found.delta == pytest.approx(2 * 4.5 / 6 - 1)
    # One query: every sample is the whole, and nothing scatters. 0.5 is in both, min(1/3, 1/2).
    whole = separation(values, **{**groups, "query": np.zeros(5, dtype=np.int64)}, samples=9)
    assert whole is not None
    assert whole.shared == pytest.approx(1 / 3)
    assert whole.shared_interval == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.parametrize("seed", range(3))
def test_auc_is_mann_whitneys(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, group = draw.integers(0, 9, 300) / 8, draw.random(300)
    upper, lower = group < 0.5, group > 0.8  # what is between is of neither group
    found = separation(values, upper=upper, lower=lower, query=draw.integers(0, 40, 300), samples=50)
    assert found is not None
    expected = scipy.stats.mannwhitneyu(values[upper], values[lower]).statistic
    assert found.auc == pytest.approx(expected / (upper.sum() * lower.sum()))


def test_draws_are_those_of_drawing_queries() -> None:
    draw = np.random.default_rng(4)
    query = np.repeat(np.arange(12), 6)
    upper = draw.random(72) < 0.6
    values = (draw.integers(0, 6, 72) + 3 * upper) / 4
    found = separation(values, upper=upper, lower=~upper, query=query, samples=20, seed=9)
    assert found is not None
    edges = np.linspace(values.min(), values.max(), 21)

    def overlap(tops: Values, bottoms: Values) -> float:
        one, two = (np.histogram(part, edges)[0] / len(part) for part in (tops, bottoms))
        return float(np.minimum(one, two).sum())

    seen = overlap(values[upper], values[~upper])
    for counts, auc, shared in zip(
        np.concatenate(list(resamples(12, samples=20, seed=9))),
        found.auc_draws,
        found.shared_draws,
        strict=True,
    ):
        times = counts[query].astype(int)
        tops, bottoms = np.repeat(values[upper], times[upper]), np.repeat(values[~upper], times[~upper])
        expected = scipy.stats.mannwhitneyu(tops, bottoms).statistic / (len(tops) * len(bottoms))
        assert auc == pytest.approx(expected)
        assert shared == pytest.approx(2 * seen - overlap(tops, bottoms))
    assert found.auc_interval == interval(found.auc_draws)
    assert found.shared == pytest.approx(found.shared_draws.mean())
    assert found.shared_interval == interval(found.shared_draws)


def test_groups_far_apart_and_groups_alike() -> None:
    values, groups = apart([3, 4, 5], [0, 1, 2])
    far = separation(values, **groups, samples=30)
    assert far is not None
    assert (far.auc, far.shared, far.auc_interval) == (1, 0, (1, 1))
    values, groups = apart([1, 1], [1, 1])
    alike = separation(values, **groups, samples=30)
    assert alike is not None
    assert (alike.auc, alike.shared, alike.delta_interval) == (0.5, 1, (0, 0))


def test_small_groups_of_one_distribution_share_nearly_all_of_it() -> None:
    # The plain histograms share 0.88 on the average.
    found = []
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=1200)
        upper = np.arange(1200) < 1000
        one = separation(values, upper=upper, lower=~upper, query=np.arange(1200), samples=200, seed=seed)
        assert one is not None
        found.append(one)
    assert np.mean([one.shared for one in found]) > 0.91
    assert sum(one.shared_interval[1] > 0.95 for one in found) >= 18


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9)
)
def test_the_groups_exchanged(one: list[int], two: list[int]) -> None:
    values, groups = apart([float(v) for v in one], [float(v) for v in two])
    there = separation(values, **groups, samples=5)
    back = separation(values, upper=groups["lower"], lower=groups["upper"], query=groups["query"], samples=5)
    assert there is not None
    assert back is not None
    assert back.delta == pytest.approx(-there.delta)
    assert back.shared == pytest.approx(there.shared)


def test_an_interval_over_queries_is_wider_than_one_over_pairs() -> None:
    # Queries whose pairs are all alike say no more than one pair each.
    draw = np.random.default_rng(1)
    level = draw.normal(size=30)
    values = np.repeat(level, 40)
    upper = np.tile(np.arange(40) < 20, 30)
    values[upper] += 0.3
    by_query = separation(values, upper=upper, lower=~upper, query=np.repeat(np.arange(30), 40))
    by_pair = separation(values, upper=upper, lower=~upper, query=np.arange(1200))
    assert by_query is not None
    assert by_pair is not None
    width, narrow = (np.diff(found.auc_interval)[0] for found in (by_query, by_pair))
    assert width > 1.3 * narrow


def test_a_group_without_pairs_cannot_be_compared() -> None:
    nobody = np.zeros(2, dtype=bool)
    assert separation(np.zeros(2), upper=~nobody, lower=nobody, query=np.arange(2)) is None


def test_samples_without_one_of_the_groups_are_left_out() -> None:
    found = separation(
        np.array([1.0, 0.0]),
        upper=np.array([True, False]),
        lower=np.array([False, True]),
        query=np.array([0, 1]),
        samples=40,
    )
    assert found is not None
    assert np.isnan(found.auc_draws).any()
    assert found.auc_interval == (1, 1)


def test_bad_input_is_refused() -> None:
    both = np.array([True, False])
    with pytest.raises(RetrievalError, match="NaN or infinity"):
        separation(np.array([0.1, np.nan]), upper=both, lower=~both, query=np.arange(2))
    with pytest.raises(RetrievalError, match="at least 1 sample"):
        separation(np.array([0.1, 0.2]), upper=both, lower=~both, query=np.arange(2), samples=0)
