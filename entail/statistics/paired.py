"""Paired tests of two rankings of the same queries: arrays in, numbers out.

The query is the unit of sampling, as the children of one parent are found or missed together. Every interval
is a percentile bootstrap over queries; the same seed gives the same numbers.

Every p-value is that of Fisher's randomisation test, two-sided (Smucker, Allan and Carterette, CIKM 2007):
under the null hypothesis the sign of every query's difference is random; p = (1 + flips that differ as much
as observed) / (1 + samples). No p-value is corrected for the number of measures.

`scipy.stats.bootstrap` and `permutation_test` do the same for one measure. Here all measures of all rankings
share the draws and one matrix product, as a page that compares 594 queries would wait for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entail.errors import RetrievalError
from entail.statistics.ranking import LEVEL, GoldRanks, Positions, Values, query_values

SAMPLES = 10_000
"""Default number of resamples and of random flips."""

SEED = 0
"""Default random seed."""

_AT_ONCE = 1 << 17
"""Queries or signs drawn in one step; they fit a core's own cache."""

_ROUNDING = 1e-12
"""Relative difference up to which sums are equal, so that the order of addition decides nothing."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A figure of two rankings over the same queries; `low` and `high` end the interval of its difference.

    Attributes:
        p: Two-sided, above 0; 1 where no query differs.
        better: Queries whose value is higher with the second.
        worse: Queries whose value is lower.
        queries: All queries.
    """

    first: float
    second: float
    low: float
    high: float
    p: float
    better: int
    worse: int
    queries: int

    @property
    def difference(self) -> float:
        """Second less first: above 0 where the second is better."""
        return self.second - self.first

    @property
    def p_shown(self) -> str:
        """The p-value by three digits, never 0."""
        return f"{self.p:.3f}" if self.p >= 0.001 else "< 0.001"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        names = ("first", "second", "difference", "p", "better", "worse")
        return {name: getattr(self, name) for name in names} | {"interval": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure of two rankings, compared, and the interval of either's own figure."""

    paired: PairedDifference
    intervals: tuple[tuple[float, float], tuple[float, float]]


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> PairedDifference:
    """Compare the values of two rankings, one a query, in the same order of queries.

    With `weights` the figure is sum(w * v) / sum(w), in the interval too (the ratio bootstrap), as
    `entail.statistics.ranking.query_values` gives them.

    >>> result = paired_difference([0.2, 0.5, 0.4, 0.1], [0.4, 0.6, 0.7, 0.5])
    >>> round(result.difference, 3), round(result.p, 1), result.better
    (0.25, 0.1, 4)

    Raises:
        RetrievalError: If there are no queries, the two are not of equal length, a value is not finite, or
            `samples` is below 1.
    """
    first_values, second_values = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    weight = np.ones(first_values.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if not first_values.shape == second_values.shape == weight.shape or first_values.ndim != 1:
        raise RetrievalError(
            f"expected one value and weight a query, found shapes {first_values.shape}, "
            f"{second_values.shape}, {weight.shape}"
        )
    columns = first_values[:, None], second_values[:, None], weight[:, None]
    return _compare(*columns, samples=samples, seed=seed)[0].paired


def compare_many(
    rankings: Mapping[str, tuple[GoldRanks, GoldRanks]],
    *,
    ks: Sequence[int],
    samples: int = SAMPLES,
    seed: int = SEED,
) -> dict[str, dict[str, ComparedFigure]]:
    """Compare pairs of rankings of the same queries by every measure of `summary`, with shared draws.

    >>> same = GoldRanks.of([[1, 4], [2]])
    >>> compare_many({"paper": (same, same)}, ks=[10])["paper"]["Hit@10"].intervals
    ((1.0, 1.0), (1.0, 1.0))

    Raises:
        RetrievalError: If the two of a pair are not of as many relevant items of each query, there is no
            query, or `samples` is below 1.
    """
    values: dict[tuple[str, str], tuple[Values, Values, Values]] = {}
    for name, (first_ranks, second_ranks) in rankings.items():
        if first_ranks.offsets.tolist() != second_ranks.offsets.tolist():
            raise RetrievalError(
                "expected two rankings of the same queries and relevant items, found "
                f"{len(first_ranks)} queries with {first_ranks.pairs} items and {len(second_ranks)} with "
                f"{second_ranks.pairs}; rank the same trees with both"
            )
        ones, twos = query_values(first_ranks, ks=ks), query_values(second_ranks, ks=ks)
        values |= {(name, measure): (*ones[measure], twos[measure][0]) for measure in ones}
    # (queries, measures of all pairs) each
    first, weight, second = (np.stack(columns, axis=1) for columns in zip(*values.values(), strict=True))
    figures = _compare(first, second, weight, samples=samples, seed=seed)
    compared: dict[str, dict[str, ComparedFigure]] = {name: {} for name in rankings}
    for (name, measure), figure in zip(values, figures, strict=True):
        compared[name][measure] = figure
    return compared


def _compare(
    first: Values, second: Values, weights: Values, *, samples: int, seed: int
) -> list[ComparedFigure]:
    """Compare columns, shape (queries, measures)."""
    if not len(first):
        raise RetrievalError("there is no query, so nothing to compare")
    if not (np.isfinite(first).all() and np.isfinite(second).all() and (weights.sum(axis=0) > 0).all()):
        raise RetrievalError("expected finite values and weights with a sum above 0 from both rankings")
    # The difference has columns of its own: where the two are equal, so is every resample, to the last digit.
    differences = weights * (second - first)
    terms = np.hstack([weights * first, weights * second, differences, weights])
    sums = np.concatenate([counts @ terms for counts in resamples(len(first), samples=samples, seed=seed)])
    draws = np.split(sums, 4, axis=1)
    ends = [_interval(draw / draws[3]).T.tolist() for draw in draws[:3]]
    figures = np.stack([(weights * first).sum(axis=0), (weights * second).sum(axis=0)]) / weights.sum(axis=0)
    p = _sign_flips(differences, samples=samples, seed=seed)
    moved = np.stack([(differences > 0).sum(axis=0), (differences < 0).sum(axis=0)])
    rows = zip(figures.T.tolist(), *ends, p.tolist(), moved.T.tolist(), strict=True)
    return [
        ComparedFigure(
            PairedDifference(before, after, low, high, chance, better, worse, len(first)),
            (tuple(own), tuple(rival)),
        )
        for (before, after), own, rival, (low, high), chance, (better, worse) in rows
    ]


def _sign_flips(differences: Values, *, samples: int, seed: int) -> Values:
    """Return the p-value of each column, shape (measures,)."""
    whole = differences.sum(axis=0)
    observed = np.abs(whole) - _ROUNDING * np.abs(differences).sum(axis=0)
    draw = np.random.default_rng(seed)
    extreme = np.zeros(len(whole))
    step = max(1, _AT_ONCE // len(differences))
    for start in range(0, samples, step):
        flipped = draw.integers(0, 2, (min(step, samples - start), len(differences)), dtype=np.int8)
        sums = whole - 2.0 * (flipped.astype(np.float64) @ differences)
        extreme += (np.abs(sums) >= observed).sum(axis=0)
    p: Values = (1 + extreme) / (1 + samples)
    return p


def resamples(queries: int, *, samples: int, seed: int) -> Iterator[Values]:
    """Yield bootstrap samples in batches: the number of draws of each query, shape (batch, queries).

    A sum over the queries of all samples is then one product, `counts @ values`. The same seed gives the
    same samples, so figures computed from them stay paired. `RetrievalError` for less than 1 sample.
    """
    if samples < 1:
        raise RetrievalError(f"expected at least 1 sample, found {samples}")
    draw = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // max(1, queries))
    for start in range(0, samples, step):
        batch = min(step, samples - start)
        indices = draw.integers(0, queries, (batch, queries)) + queries * np.arange(batch)[:, None]
        counts = np.bincount(indices.ravel(), minlength=batch * queries)
        yield counts.reshape(batch, queries).astype(np.float64)


def bootstrap_interval(values: Values) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean over queries."""
    samples = resamples(len(values), samples=SAMPLES, seed=SEED)
    return interval(np.concatenate([counts @ values for counts in samples]) / len(values))


def interval(draws: Values) -> tuple[float, float]:
    """Return the interval between quantiles of a figure's draws; nan are left out.

    >>> [round(end, 9) for end in interval(np.arange(201.0))]
    [5.0, 195.0]
    """
    low, high = _interval(draws)
    return float(low), float(high)


def _interval(draws: Values) -> Values:
    ends: Values = np.nanquantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return ends


@dataclass(frozen=True)
class Separation:
    """Separation of two groups: P(upper > lower), equal values counted half, and its interval."""

    auc: float
    auc_interval: tuple[float, float]

    @property
    def delta(self) -> float:
        """Cliff's delta, P(upper > lower) - P(upper < lower): -1 to 1."""
        return 2 * self.auc - 1

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        ends = list(self.auc_interval)
        delta_interval = [2 * end - 1 for end in ends]
        return {"auc": self.auc, "auc_interval": ends, "delta": self.delta, "delta_interval": delta_interval}


def separation(
    values: Values,
    *,
    upper: NDArray[np.bool_],
    lower: NDArray[np.bool_],
    query: Positions,
    samples: int = 2000,
    seed: int = SEED,
) -> Separation | None:
    """Compare two groups of pairs by one value a pair; None where a group has no pair.

    `upper` and `lower` are masks of the pairs, `query` holds each pair's query from 0, all of shape (pairs,).
    Queries are resampled with all their pairs.

    Raises:
        RetrievalError: If a value is not finite, or `samples` is below 1.
    """
    if not np.isfinite(values[upper | lower]).all():
        raise RetrievalError("expected finite values to compare, found NaN or infinity")
    if not (upper.any() and lower.any()):
        return None
    queries = int(query.max()) + 1
    bottoms, owner = np.sort(values[lower]), query[lower][np.argsort(values[lower], kind="stable")]
    # U of a bootstrap sample is bilinear in the number of draws of each query, so one product serves all
    # samples, where `scipy.stats.mannwhitneyu` would sort each of them: a page would wait for seconds.
    # `wins[q, i]` counts the upper pairs of query q above the lower pair i, equal ones as half.
    beaten = np.zeros((queries, len(bottoms) + 1))
    for side in ("left", "right"):  # lower pairs below the value; those below or level with it
        np.add.at(beaten, (query[upper], np.searchsorted(bottoms, values[upper], side)), 0.5)
    wins = beaten[:, :0:-1].cumsum(axis=1)[:, ::-1]
    sizes = np.stack([np.bincount(query[group], minlength=queries) for group in (upper, lower)], axis=1)

    def auc(counts: Values) -> Values:
        with np.errstate(invalid="ignore"):  # 0 / 0 where a sample lacks a group: nan
            value: Values = ((counts @ wins) * counts[:, owner]).sum(axis=1) / (counts @ sizes).prod(axis=1)
        return value

    draws = np.concatenate([auc(counts) for counts in resamples(queries, samples=samples, seed=seed)])
    return Separation(float(auc(np.ones((1, queries)))[0]), interval(draws))
