import itertools
import math
from dataclasses import asdict

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import RetrievalError
from entail.statistics.paired import compare_many, compare_rankings, paired_difference
from entail.statistics.ranking import GoldRanks, bootstrap_interval, query_values, resamples, summary

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
    monkeypatch.setattr("entail.statistics.ranking._DRAWS_AT_ONCE", 21)
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
