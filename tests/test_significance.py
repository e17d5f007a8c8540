"""Paired tests, intervals and separation: by hand, by enumeration, and together as alone."""

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
from entail.statistics.paired import compare_many, interval, paired_difference, resamples, separation
from entail.statistics.ranking import GoldRanks, Values, query_values, summary

VALUES = st.lists(st.floats(0, 1, width=16), min_size=1, max_size=8)


def random_ranks(seed: int, *, shift: int = 0) -> GoldRanks:
    counts = np.random.default_rng(7).integers(1, 5, 60)  # of relevant items: the same for every seed
    draw = np.random.default_rng(seed)
    return GoldRanks.of(
        [np.maximum(1, draw.choice(40, size=count, replace=False) + 1 - shift) for count in counts]
    )


def test_values_by_hand() -> None:
    # Every flip of the three that differ is at least as far from 0 as the observed 1.
    result = paired_difference([0, 0, 1, 0.5], [1, 1, 0, 0.5])
    assert (result.first, result.second, result.difference) == (0.375, 0.625, 0.25)
    assert (result.better, result.worse, result.queries, result.p) == (2, 1, 4, 1.0)
    few = paired_difference([0.0] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert few.p == pytest.approx(2 / 2**6, abs=0.005)  # as observed, and all signs flipped
    assert few.low > 0
    assert paired_difference(np.zeros(400), np.ones(400), samples=1000).p == 1 / 1001
    # 0.1 + 0.2 - 0.3 is 5.6e-17: every flip is as far from 0 as nothing
    assert paired_difference([0, 0, 0.3], [0.1, 0.2, 0]).p == 1.0


def test_drawn_p_is_near_that_of_all_flips() -> None:
    first, second = np.random.default_rng(5).random((2, 13))
    expected = scipy.stats.permutation_test(
        (second - first,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert paired_difference(first, second).p == pytest.approx(expected, abs=0.02)


def test_weights_make_a_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "LEVEL", 0.6)
    # hits among 1, 3 and 2 relevant items: 0 of 6 before, 1 + 3 after
    result = paired_difference([0, 0, 0], [1, 1, 0], weights=[1, 3, 2])
    assert result.second == pytest.approx(4 / 6)
    assert result.p == pytest.approx(0.5, abs=0.02)  # 2 of 4 flips
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


def test_rankings_and_measures_together_are_those_alone() -> None:
    pairs = {"one": (random_ranks(5), random_ranks(6)), "two": (random_ranks(7), random_ranks(8, shift=3))}
    together = compare_many(pairs, ks=[10], samples=2500, seed=4)
    for name, sides in pairs.items():
        assert {measure: figure.paired.second for measure, figure in together[name].items()} == pytest.approx(
            summary(sides[1], ks=[10])
        )
        for measure, figure in together[name].items():
            (left, weights), (right, _) = (query_values(side, ks=[10])[measure] for side in sides)
            alone = paired_difference(left, right, weights=weights, samples=2500, seed=4)
            assert asdict(figure.paired) == pytest.approx(asdict(alone), abs=1e-12), measure
            # against a ranking that finds nothing
            for values, own in zip((left, right), figure.intervals, strict=True):
                against_nothing = paired_difference(
                    np.zeros(len(values)), values, weights=weights, samples=2500, seed=4
                )
                assert own == pytest.approx((against_nothing.low, against_nothing.high), abs=1e-12), measure


@pytest.mark.parametrize("other", [[[1], [2]], [[1, 2, 3]], [[1], [2, 3]]])
def test_rankings_of_other_items_or_queries_are_refused(other: list[list[float]]) -> None:
    with pytest.raises(RetrievalError):
        compare_many({"": (GoldRanks.of([[1, 2], [3], [4]]), GoldRanks.of(other))}, ks=[10], samples=9)


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        ([], [], {}),
        ([1, 2], [1, 2, 3], {}),
        ([[1, 2]], [[1, 2]], {}),
        ([1, np.nan], [1, 2], {}),
        ([1], [2], {"weights": [0]}),
        ([1], [2], {"samples": 0}),
    ],
)
def test_bad_input_is_refused(first: list[float], second: list[float], options: Any) -> None:
    with pytest.raises(RetrievalError):
        paired_difference(first, second, **options)


def test_separation_is_that_of_scipy_in_every_draw_of_queries() -> None:
    draw = np.random.default_rng(4)
    query = np.repeat(np.arange(12), 6)
    upper = draw.random(72) < 0.6
    values = (draw.integers(0, 6, 72) + 3 * upper) / 4
    result = separation(values, upper=upper, lower=~upper, query=query, samples=20, seed=9)
    assert result is not None

    def auc(tops: Values, bottoms: Values) -> float:
        return float(scipy.stats.mannwhitneyu(tops, bottoms).statistic / (len(tops) * len(bottoms)))

    assert result.auc == pytest.approx(auc(values[upper], values[~upper]))
    assert result.delta == pytest.approx(2 * result.auc - 1)
    counts = np.concatenate(list(resamples(12, samples=20, seed=9)))
    draws = []
    for row in counts:
        times = row[query].astype(int)
        groups = np.repeat(values[upper], times[upper]), np.repeat(values[~upper], times[~upper])
        draws.append(auc(*groups))
    assert result.auc_interval == pytest.approx(interval(np.array(draws)))


def test_separation_of_missing_groups_and_of_bad_values() -> None:
    first, nobody, query = np.array([True, False]), np.zeros(2, dtype=bool), np.arange(2)
    assert separation(np.zeros(2), upper=~nobody, lower=nobody, query=query) is None
    result = separation(np.array([1.0, 0.0]), upper=first, lower=~first, query=query, samples=40)
    assert result is not None
    assert result.auc_interval == (1, 1)  # samples without one of the groups say nothing
    for value, samples in ((math.nan, 9), (0.1, 0)):
        with pytest.raises(RetrievalError):
            separation(np.array([value, 0.2]), upper=first, lower=~first, query=query, samples=samples)
