import itertools
import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from entail.errors import RetrievalError
from entail.statistics import paired
from entail.statistics.paired import ComparedFigure, compare_many, paired_difference
from entail.statistics.ranking import GoldRanks, bootstrap_interval, query_values, resamples, summary

INF = math.inf
VALUES = st.lists(st.floats(0, 1, width=16), min_size=1, max_size=8)


def gold(*rows: list[float]) -> GoldRanks:
    return GoldRanks.of(rows)


def random_ranks(seed: int, queries: int = 60, *, shift: int = 0) -> GoldRanks:
    draw = np.random.default_rng(7)  # the numbers of relevant items are the same for every seed
    counts = draw.integers(1, 5, queries)
    draw = np.random.default_rng(seed)
    return GoldRanks.of(
        [np.maximum(1, draw.choice(40, size=count, replace=False) + 1 - shift) for count in counts]
    )


def compare(first: GoldRanks, second: GoldRanks, *, ks: list[int], samples: int) -> dict[str, ComparedFigure]:
    return compare_many({"": (first, second)}, ks=ks, samples=samples)[""]


# --- one number a query ------------------------------------------------------------------------------------


def test_values_by_hand() -> None:
    # Differences 1, 1, -1, 0: sums over the 2^3 flips of those that differ are 3, 1 (three times) and their
    # negatives, so every flip is at least as far from 0 as the observed 1.
    result = paired_difference([0, 0, 1, 0.5], [1, 1, 0, 0.5])
    assert (result.first, result.second, result.difference) == (0.375, 0.625, 0.25)
    assert (result.better, result.worse, result.queries, result.p) == (2, 1, 4, 1.0)


def test_smallest_p_values() -> None:
    exact = paired_difference([0.0] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert exact.p == 2 / 2**6  # as observed, and all signs flipped
    assert exact.low > 0
    assert paired_difference(np.zeros(400), np.ones(400), samples=1000).p == 1 / 1001


def test_sums_that_are_equal_but_for_rounding_are_ties() -> None:
    # 0.1 + 0.2 - 0.3 is 5.6e-17: every flip is as far from 0 as nothing
    assert paired_difference([0, 0, 0.3], [0.1, 0.2, 0]).p == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_exact_p_agrees_with_scipy(seed: int) -> None:
    first, second = np.random.default_rng(seed).random((2, 9))
    expected = scipy.stats.permutation_test(
        (second - first,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert paired_difference(first, second).p == pytest.approx(expected, abs=1e-12)


def test_drawn_p_and_interval_agree_with_scipy() -> None:
    draw = np.random.default_rng(2)
    first = draw.random(200)
    second = first + draw.normal(0.03, 0.25, 200)
    result = paired_difference(first, second, samples=20_000)
    assert result.p == pytest.approx(scipy.stats.ttest_rel(second, first).pvalue, abs=0.01)
    expected = scipy.stats.bootstrap(
        (second - first,), np.mean, method="percentile", n_resamples=9999, rng=1
    ).confidence_interval
    assert (result.low, result.high) == pytest.approx(expected, abs=0.003)


def test_exact_and_drawn_p_agree() -> None:
    first, second = np.random.default_rng(5).random((2, 13))
    exact = paired_difference(first, second, samples=2**13).p
    assert paired_difference(first, second, samples=2**13 - 1).p == pytest.approx(exact, abs=0.02)
    assert exact * 2**13 == pytest.approx(round(exact * 2**13))


def test_weights_make_a_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "LEVEL", 0.6)
    # hits among 1, 3 and 2 relevant items: 0 of 6 before, 1 + 3 after
    result = paired_difference([0, 0, 0], [1, 1, 0], weights=[1, 3, 2])
    assert result.second == pytest.approx(4 / 6)
    assert result.p == 0.5  # 2 of 4 flips
    # all ways to draw three of three queries: the exact quantiles of the ratio
    ratios = [
        sum((1, 3, 0)[i] for i in sample) / sum((1, 3, 2)[i] for i in sample)
        for sample in itertools.product(range(3), repeat=3)
    ]
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(ratios, [0.2, 0.8])))


@given(data=st.data(), first=VALUES)
def test_exchanged_rankings_negate_the_difference(data: st.DataObject, first: list[float]) -> None:
    second = data.draw(st.lists(st.floats(0, 1, width=16), min_size=len(first), max_size=len(first)))
    forward = paired_difference(first, second, samples=100)
    backward = paired_difference(second, first, samples=100)
    assert (backward.difference, backward.p) == (-forward.difference, forward.p)
    assert (backward.low, backward.high) == pytest.approx((-forward.high, -forward.low), abs=1e-12)
    assert (backward.better, backward.worse) == (forward.worse, forward.better)
    assert 0 < forward.p <= 1
    same = paired_difference(first, first, samples=50)
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)


def test_the_seed_decides() -> None:
    first, second = np.random.default_rng(6).random((2, 50))
    assert paired_difference(first, second, seed=3) == paired_difference(first, second, seed=3)
    assert paired_difference(first, second, seed=3) != paired_difference(first, second, seed=4)


def test_batches_of_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(resamples(7, samples=50, seed=1)))
    monkeypatch.setattr("entail.statistics.ranking._DRAWS_AT_ONCE", 21)
    parts = list(resamples(7, samples=50, seed=1))
    assert len(parts) == 17
    assert np.array_equal(np.concatenate(parts), whole)
    assert (whole.sum(axis=1) == 7).all()


# --- rankings ----------------------------------------------------------------------------------------------


def test_every_measure_of_the_summary_is_compared() -> None:
    first, second = random_ranks(1), random_ranks(2, shift=4)
    compared = {name: figure.paired for name, figure in compare(first, second, ks=[5], samples=400).items()}
    for which, ranks in (("first", first), ("second", second)):
        expected = summary(ranks, ks=[5])
        assert list(compared) == list(expected)
        assert {name: getattr(value, which) for name, value in compared.items()} == pytest.approx(expected)
    assert all(value.low < value.difference < value.high for value in compared.values())


def test_rankings_and_measures_together_are_those_alone() -> None:
    pairs = {"one": (random_ranks(5), random_ranks(6)), "two": (random_ranks(7), random_ranks(8, shift=3))}
    together = compare_many(pairs, ks=[10], samples=2500, seed=4)
    for name, sides in pairs.items():
        for measure, figure in together[name].items():
            (left, weights), (right, _) = (query_values(side, ks=[10])[measure] for side in sides)
            alone = paired_difference(left, right, weights=weights, samples=2500, seed=4)
            assert asdict(figure.paired) == pytest.approx(asdict(alone), abs=1e-12), measure
            for values, own in zip((left, right), figure.intervals, strict=True):
                expected = bootstrap_interval(values, weights=weights, samples=2000, seed=4)
                assert own == pytest.approx(expected, abs=1e-12), measure


def test_hit_rate_is_compared_over_pairs() -> None:
    compared = compare(gold([1, 50, 60], [70]), gold([1, 2, 3], [70]), ks=[10], samples=10_000)
    hits = compared["Hit@10"].paired
    assert hits.difference == pytest.approx(2 / 4)
    assert compared["Recall@10"].paired.difference == pytest.approx(1 / 3)
    # both queries drawn twice alike, or one of each: 0, 2 / 4 or 2 / 3 of the pairs
    assert (hits.low, hits.high) == pytest.approx((0, 2 / 3))


def test_identical_rankings_do_not_differ() -> None:
    ranks = gold([1, 3], [INF], [2])
    for figure in compare(ranks, ranks, ks=[1, 10], samples=100).values():
        value = figure.paired
        assert (value.difference, value.low, value.high, value.p, value.better) == (0, 0, 0, 1, 0)


@pytest.mark.parametrize("other", [[[1], [2]], [[1, 2, 3]], [[1], [2, 3]]])
def test_rankings_of_other_items_or_queries_are_refused(other: list[list[float]]) -> None:
    ranks, other_ranks = gold([1, 2], [3], [4]), gold(*other)
    with pytest.raises(RetrievalError, match="3 queries with 4 items"):
        compare(ranks, other_ranks, ks=[10], samples=9)
    with pytest.raises(RetrievalError, match=r"3 queries \(a\)"):
        compare_many({"a": (ranks, ranks), "b": (other_ranks, other_ranks)}, ks=[10])


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([], [], {}, "no query"),
        ([1, 2], [1, 2, 3], {}, "shapes"),
        ([[1, 2]], [[1, 2]], {}, "shapes"),
        ([1, np.nan], [1, 2], {}, "finite"),
        ([1], [2], {"weights": [0]}, "weights"),
        ([1], [2], {"samples": 0}, "sample"),
    ],
)
def test_bad_input_is_refused(first: list[float], second: list[float], options: Any, message: str) -> None:
    with pytest.raises(RetrievalError, match=message):
        paired_difference(first, second, **options)
