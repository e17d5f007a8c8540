import itertools
import math
from dataclasses import asdict

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import RetrievalError
from entail.metrics import GoldRanks, Values, bootstrap_interval, query_values, resamples, summary
from entail.significance import compare_many, compare_rankings, interval, paired_difference, separation

INF = math.inf
VALUES = st.lists(st.floats(0, 1, width=16), min_size=1, max_size=12)


def gold(*rows: list[float]) -> GoldRanks:
    return GoldRanks.of(rows)


def random_ranks(seed: int, queries: int = 60, *, shift: int = 0) -> GoldRanks:
    draw = np.random.default_rng(7)  # the numbers of relevant items are the same for every seed
    counts = draw.integers(1, 5, queries)
    draw = np.random.default_rng(seed)
    return GoldRanks.of(
        [np.maximum(1, draw.choice(40, size=count, replace=False) + 1 - shift) for count in counts]
    )


# --- one number a query ------------------------------------------------------------------------------------


def test_values_by_hand() -> None:
    # Differences 1, 1, -1, 0: sums over the 2^3 flips of those that differ are 3, 1 (three times) and their
    # negatives, so every flip is at least as far from 0 as the 1 that was seen.
    found = paired_difference([0, 0, 1, 0.5], [1, 1, 0, 0.5])
    assert (found.first, found.second, found.difference) == (0.375, 0.625, 0.25)
    assert (found.better, found.worse, found.queries, found.p) == (2, 1, 4, 1.0)


def test_the_smallest_exact_p_is_that_of_two_flips() -> None:
    found = paired_difference([0.0] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert found.p == 2 / 2**6  # as seen, and all signs turned round
    assert found.low > 0


def test_sums_that_are_equal_but_for_rounding_are_ties() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17: every flip is as far from 0 as nothing
    assert paired_difference([0, 0, 0.3], [0.1, 0.2, 0]).p == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_exact_p_agrees_with_scipy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    first, second = draw.random((2, 9))
    expected = scipy.stats.permutation_test(
        (second - first,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert paired_difference(first, second).p == pytest.approx(expected, abs=1e-12)


def test_drawn_p_agrees_with_scipy() -> None:
    draw = np.random.default_rng(2)
    first = draw.random(200)
    second = first + draw.normal(0.03, 0.25, 200)
    found = paired_difference(first, second, samples=20_000)
    assert found.p == pytest.approx(scipy.stats.ttest_rel(second, first).pvalue, abs=0.01)
    drawn = scipy.stats.permutation_test(
        (second - first,), np.mean, permutation_type="samples", n_resamples=5000, rng=1
    )
    assert found.p == pytest.approx(drawn.pvalue, abs=0.02)


def test_the_interval_agrees_with_scipy() -> None:
    draw = np.random.default_rng(3)
    first = draw.random(300)
    second = first + draw.normal(0.05, 0.2, 300)
    found = paired_difference(first, second)
    expected = scipy.stats.bootstrap(
        (second - first,), np.mean, method="percentile", n_resamples=9999, rng=1
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx(expected, abs=0.002)
    narrow = paired_difference(first, second, level=0.5)
    assert found.low < narrow.low < narrow.difference < narrow.high < found.high


def test_no_p_is_zero_however_clear() -> None:
    found = paired_difference(np.zeros(400), np.ones(400), samples=1000)
    assert found.p == 1 / 1001


def test_exact_and_drawn_meet() -> None:
    draw = np.random.default_rng(5)
    first, second = draw.random((2, 13))
    exact = paired_difference(first, second, samples=2**13).p
    assert paired_difference(first, second, samples=2**13 - 1).p == pytest.approx(exact, abs=0.02)
    assert exact * 2**13 == pytest.approx(round(exact * 2**13))


def test_weights_make_a_ratio() -> None:
    # found of 1, 3 and 2 relevant items: 0 of 6 before, 1 + 3 after
    found = paired_difference([0, 0, 0], [1, 1, 0], weights=[1, 3, 2])
    assert found.second == pytest.approx(4 / 6)
    assert found.p == 0.5  # 2 of 4 flips
    # every way to draw three of three queries, the middle one heavy: the exact quantiles of the ratio
    ratios = []
    for drawn in itertools.product(range(3), repeat=3):
        up = sum((1, 3, 0)[i] for i in drawn)
        ratios.append(up / sum((1, 3, 2)[i] for i in drawn))
    low, high = np.quantile(ratios, [0.2, 0.8])
    half = paired_difference([0, 0, 0], [1, 1, 0], weights=[1, 3, 2], level=0.6)
    assert (half.low, half.high) == pytest.approx((low, high))


@given(data=st.data(), first=VALUES)
def test_the_other_way_round_is_the_negative(data: st.DataObject, first: list[float]) -> None:
    second = data.draw(st.lists(st.floats(0, 1, width=16), min_size=len(first), max_size=len(first)))
    one = paired_difference(first, second, samples=300)
    two = paired_difference(second, first, samples=300)
    assert two.difference == -one.difference
    assert two.p == one.p
    assert (two.low, two.high) == pytest.approx((-one.high, -one.low), abs=1e-12)
    assert (two.better, two.worse) == (one.worse, one.better)
    assert 0 < one.p <= 1


@given(values=VALUES)
def test_no_difference_is_no_difference(values: list[float]) -> None:
    found = paired_difference(values, values, samples=50)
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_the_seed_decides() -> None:
    draw = np.random.default_rng(6)
    first, second = draw.random((2, 50))
    assert paired_difference(first, second, seed=3) == paired_difference(first, second, seed=3)
    assert paired_difference(first, second, seed=3) != paired_difference(first, second, seed=4)


def test_steps_of_drawing_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(resamples(7, samples=50, seed=1)))
    monkeypatch.setattr("entail.metrics._DRAWS_AT_ONCE", 21)
    parts = list(resamples(7, samples=50, seed=1))
    assert len(parts) == 17
    assert np.array_equal(np.concatenate(parts), whole)
    assert (whole.sum(axis=1) == 7).all()


# --- rankings ----------------------------------------------------------------------------------------------


def test_every_measure_of_the_summary_is_compared() -> None:
    first, second = random_ranks(1), random_ranks(2, shift=4)
    found = compare_rankings(first, second, ks=[5, 10], samples=400)
    for which, ranks in (("first", first), ("second", second)):
        expected = summary(ranks, ks=[5, 10])
        assert list(found) == list(expected)
        assert {name: getattr(value, which) for name, value in found.items()} == pytest.approx(expected)
    assert all(value.low < value.difference < value.high for value in found.values())


def test_measures_together_are_measures_alone() -> None:
    first, second = random_ranks(3), random_ranks(4)
    found = compare_rankings(first, second, ks=[10], samples=500, seed=2)
    for name, (values, weights) in query_values(second, ks=[10]).items():
        before = query_values(first, ks=[10])[name][0]
        alone = paired_difference(before, values, weights=weights, samples=500, seed=2)
        assert asdict(found[name]) == pytest.approx(asdict(alone), abs=1e-12), name


def test_hit_rate_is_compared_over_pairs() -> None:
    found = compare_rankings(gold([1, 50, 60], [70]), gold([1, 2, 3], [70]), ks=[10])
    assert found["Hit@10"].difference == pytest.approx(2 / 4)
    assert found["Recall@10"].difference == pytest.approx(1 / 3)
    # both queries drawn twice alike, or one of each: 0, 2 / 4 or 2 / 3 of the pairs
    assert (found["Hit@10"].low, found["Hit@10"].high) == pytest.approx((0, 2 / 3))


def test_identical_rankings_do_not_differ() -> None:
    ranks = gold([1, 3], [INF], [2])
    for value in compare_rankings(ranks, ranks, ks=[1, 10]).values():
        assert (value.difference, value.low, value.high, value.p, value.better) == (0, 0, 0, 1, 0)


def test_rankings_together_are_rankings_alone_and_each_has_its_own_interval() -> None:
    pairs = {"one": (random_ranks(5), random_ranks(6)), "two": (random_ranks(7), random_ranks(8, shift=3))}
    together = compare_many(pairs, ks=[1, 10], samples=2500, seed=4)
    for name, (first, second) in pairs.items():
        alone = compare_rankings(first, second, ks=[1, 10], samples=2500, seed=4)
        for measure, figure in together[name].items():
            assert asdict(figure.paired) == pytest.approx(asdict(alone[measure]), abs=1e-12), measure
            for side, found in zip((first, second), figure.intervals, strict=True):
                values, weights = query_values(side, ks=[1, 10])[measure]
                expected = bootstrap_interval(values, weights=weights, samples=2000, seed=4)
                assert found == pytest.approx(expected, abs=1e-12), measure


def test_rankings_of_other_queries_are_refused_together() -> None:
    one, two = gold([1], [2]), gold([1])
    with pytest.raises(RetrievalError, match=r"2 queries \(a\), 1 queries \(b\)"):
        compare_many({"a": (one, one), "b": (two, two)}, ks=[10])


@pytest.mark.parametrize("other", [[[1], [2]], [[1, 2, 3]], [[1], [2, 3]]])
def test_rankings_of_other_items_are_refused(other: list[list[float]]) -> None:
    with pytest.raises(RetrievalError, match=r"same queries .* 2 queries with 3 items and"):
        compare_rankings(gold([1, 2], [3]), gold(*other), ks=[10])


# --- two groups of values ----------------------------------------------------------------------------------


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


# --- bad input ---------------------------------------------------------------------------------------------


def test_bad_input_is_refused() -> None:
    with pytest.raises(RetrievalError, match="no query"):
        paired_difference([], [])
    with pytest.raises(RetrievalError, match=r"shapes \(2,\), \(3,\)"):
        paired_difference([1, 2], [1, 2, 3])
    with pytest.raises(RetrievalError, match=r"shapes \(1, 2\)"):
        paired_difference([[1, 2]], [[1, 2]])
    with pytest.raises(RetrievalError, match="expected finite values"):
        paired_difference([1, np.nan], [1, 2])
    with pytest.raises(RetrievalError, match="weights with a sum above 0"):
        paired_difference([1], [2], weights=[0])
    with pytest.raises(RetrievalError, match=r"level between 0 and 1 .* found 1\.5"):
        paired_difference([1], [2], level=1.5)
    with pytest.raises(RetrievalError, match="at least 1 sample"):
        paired_difference([1], [2], samples=0)
    both = np.array([True, False])
    with pytest.raises(RetrievalError, match="NaN or infinity"):
        separation(np.array([0.1, np.nan]), upper=both, lower=~both, query=np.arange(2))
    with pytest.raises(RetrievalError, match="at least 1 sample"):
        separation(np.array([0.1, 0.2]), upper=both, lower=~both, query=np.arange(2), samples=0)
