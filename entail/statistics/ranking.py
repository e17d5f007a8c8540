"""Ranking measures from the ranks of relevant items: arrays in, numbers out.

`ranks_of` turns scores into `GoldRanks`, the ranks of every query's relevant items, and each measure is a
function of these alone. With R relevant items at ranks r_1 < r_2 < ... < r_R:

=======================  ==============================================================================
`average_precision`      1/R * sum_i i / r_i
`ndcg`                   sum_i 1 / log2(1 + r_i), divided by the same sum for the ranks 1 .. R
`ndcg` cut at k          only ranks up to k count, in the ideal as well (so it ends at min(R, k))
`recall`                 share of the R with rank <= k, one number a query
`hit_rate`               pairs with rank <= k / all pairs: the micro average, Hit@k of the AE-Enc paper
`reciprocal_rank`        1 / r_1
=======================  ==============================================================================

The means of the first two over queries are MAP and NDCG of the AE-Enc paper (Table 1). All agree with
trec_eval, except that equal scores are ordered by position instead of by descending document id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entail.errors import RetrievalError

Values = NDArray[np.float64]
Positions = NDArray[np.int64]

NOT_THERE = -1
"""Position of an item that is not among the candidates."""

LEVEL = 0.95
"""Level of every interval."""

_DRAWS_AT_ONCE = 1 << 17
"""Queries drawn in one step of `resamples`; they fit a core's own cache."""


@dataclass(frozen=True)
class GoldRanks:
    """Ranks of every query's relevant items, flat: query q owns `ranks[offsets[q]:offsets[q + 1]]`.

    Attributes:
        ranks: Ranks from 1, `inf` for an item that is never found, in the order of the query's items,
            shape (pairs,).
        offsets: Start of each query, and the end, shape (queries + 1,).

    Raises:
        RetrievalError: If a query has no relevant item, or a rank is below 1.
    """

    ranks: Values
    offsets: Positions

    def __post_init__(self) -> None:
        if not self.counts.all():
            raise RetrievalError(
                f"query {int(np.argmin(self.counts))} (from 0) has no relevant item, so nothing to measure"
            )
        if not (self.ranks >= 1).all():
            raise RetrievalError(f"ranks count from 1, found {self.ranks[~(self.ranks >= 1)][0]}")

    @classmethod
    def of(cls, ranks: Sequence[ArrayLike]) -> GoldRanks:
        """Join the ranks of each query.

        >>> GoldRanks.of([[4, 1], [np.inf]]).ranks
        array([ 4.,  1., inf])
        """
        rows = [np.asarray(row, dtype=np.float64).ravel() for row in ranks]
        return cls(np.concatenate([*rows, np.empty(0)]), _offsets([row.size for row in rows]))

    @classmethod
    def concatenate(cls, parts: Sequence[GoldRanks]) -> GoldRanks:
        """Concatenate the queries of several parts."""
        counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
        return cls(np.concatenate([np.empty(0), *(part.ranks for part in parts)]), _offsets(counts))

    def take(self, queries: Sequence[int]) -> GoldRanks:
        """Return the ranks of some queries.

        >>> GoldRanks.of([[4, 1], [3], [2]]).take([0, 2]).ranks
        array([4., 1., 2.])
        """
        return GoldRanks.of([self.ranks[self.offsets[q] : self.offsets[q + 1]] for q in queries])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> Positions:
        """Relevant items of each query, shape (queries,)."""
        return np.diff(self.offsets)

    @property
    def pairs(self) -> int:
        """Relevant items in all."""
        return len(self.ranks)

    @cached_property
    def _owner(self) -> Positions:
        return np.repeat(np.arange(len(self)), self.counts)

    @cached_property
    def ascending(self) -> Values:
        """The ranks, ascending within each query, shape (pairs,)."""
        return self.ranks[np.lexsort((self.ranks, self._owner))]

    def per_query(self, pair_values: Values) -> Values:
        """Return the sum of one value a pair for each query."""
        return np.bincount(self._owner, pair_values, len(self)).astype(np.float64)


def ranks_of(
    scores: NDArray[np.floating],
    gold: Sequence[Sequence[int] | Positions],
    *,
    excluded: ArrayLike | None = None,
) -> GoldRanks:
    """Rank each query's relevant items among all candidates, highest score first.

    Of two candidates with equal scores the one at the lower position comes first, as in a stable sort.

    >>> ranks_of(np.array([[0.1, 0.9, 0.9, 0.5]]), [[2, 0]]).ranks
    array([2., 4.])
    >>> ranks_of(np.array([[0.1, 0.9, 0.9, 0.5]]), [[2, 0]], excluded=[1]).ranks
    array([1., 3.])

    Args:
        scores: Similarities (higher is closer), shape (queries, candidates).
        gold: Positions of each query's relevant items; `NOT_THERE` for one that is no candidate: its rank is
            `inf`, and it counts all the same.
        excluded: Position to remove from each query's ranking, or `NOT_THERE`, shape (queries,). A relevant
            item that is removed has rank `inf`.

    Raises:
        RetrievalError: If shapes do not fit, a position is out of range, or a score is NaN.
    """
    removed = np.full(len(scores), NOT_THERE) if excluded is None else excluded
    return ranks_both_ways(scores, gold, excluded=removed)[1]


def ranks_both_ways(
    scores: NDArray[np.floating], gold: Sequence[Sequence[int] | Positions], *, excluded: ArrayLike
) -> tuple[GoldRanks, GoldRanks]:
    """Return `ranks_of` with every candidate, and with each query's excluded one removed, in one pass.

    >>> [ranks.ranks.tolist() for ranks in ranks_both_ways(np.array([[0.1, 0.9, 0.5]]), [[2]], excluded=[1])]
    [[2.0], [1.0]]
    """
    queries, candidates = scores.shape
    removed = np.asarray(excluded, dtype=np.int64)
    if len(gold) != queries or removed.shape != (queries,):
        raise RetrievalError(
            f"scores are of {queries} queries, but gold of {len(gold)} and excluded of shape {removed.shape}"
        )
    offsets = _offsets([len(row) for row in gold])
    positions = np.concatenate([np.empty(0, np.int64), *(np.asarray(row, np.int64) for row in gold)])
    for name, values in (("gold", positions), ("excluded", removed)):
        if values.size and (values.min() < NOT_THERE or values.max() >= candidates):
            raise RetrievalError(
                f"{name} positions lie between {values.min()} and {values.max()}, expected {NOT_THERE} "
                f"(not there) to {candidates - 1}"
            )
    if scores.size and np.isnan(scores.min()):  # a minimum is NaN where any score is
        raise RetrievalError(f"{int(np.isnan(scores).sum())} of {scores.size} scores are not numbers (NaN)")

    owner = np.repeat(np.arange(queries), np.diff(offsets))  # (pairs,): the query of each pair
    ranks = np.full(len(positions), np.inf)
    for pair in np.flatnonzero(positions != NOT_THERE):  # one candidate's rank needs no sorting
        row, position = scores[owner[pair]], positions[pair]
        own = row[position]
        ranks[pair] = 1 + np.count_nonzero(row > own) + np.count_nonzero(row[:position] == own)
    gone, remaining = removed[owner], ranks.copy()
    both = np.flatnonzero((positions != NOT_THERE) & (gone != NOT_THERE))
    if both.size:
        own, other = scores[owner[both], positions[both]], scores[owner[both], gone[both]]
        remaining[both] -= (other > own) | ((other == own) & (gone[both] < positions[both]))
        remaining[both[gone[both] == positions[both]]] = np.inf
    return GoldRanks(ranks, offsets), GoldRanks(remaining, offsets)


def average_precision(gold: GoldRanks) -> Values:
    """Return the average precision of each query; the mean over queries is MAP.

    >>> average_precision(GoldRanks.of([[1, 4]]))
    array([0.75])
    """
    index = np.arange(1, gold.pairs + 1) - np.repeat(gold.offsets[:-1], gold.counts)  # 1 .. R in each query
    return gold.per_query(index / gold.ascending) / gold.counts


def ndcg(gold: GoldRanks, k: int | None = None) -> Values:
    """Return the normalised discounted cumulative gain of each query, of the whole ranking or cut at k.

    >>> ndcg(GoldRanks.of([[1, 3]])).round(4), ndcg(GoldRanks.of([[1, 3]]), k=1)
    (array([0.9197]), array([1.]))
    """
    limit = np.inf if k is None else _cutoff(k)
    gain = np.where(gold.ranks <= limit, 1.0 / np.log2(1.0 + gold.ranks), 0.0)
    ideal = np.cumsum(1.0 / np.log2(1.0 + np.arange(1, int(gold.counts.max(initial=0)) + 1)))
    best: Values = ideal[np.minimum(gold.counts, limit).astype(np.int64) - 1]  # (queries,)
    return gold.per_query(gain) / best


def recall(gold: GoldRanks, k: int) -> Values:
    """Return the share of each query's relevant items among its first k candidates.

    >>> recall(GoldRanks.of([[1, 12], [3]]), 10)
    array([0.5, 1. ])
    """
    return gold.per_query((gold.ranks <= _cutoff(k)).astype(np.float64)) / gold.counts


def reciprocal_rank(gold: GoldRanks) -> Values:
    """Return 1 / rank of the first relevant item of each query; the mean over queries is MRR.

    >>> reciprocal_rank(GoldRanks.of([[2, 3], [np.inf]]))
    array([0.5, 0. ])
    """
    first: Values = gold.ascending[gold.offsets[:-1]]
    return 1.0 / first


def hit_rate(gold: GoldRanks, k: int) -> float:
    """Return pairs within the first k / all pairs, the micro average that the AE-Enc paper calls Hit@k.

    >>> round(hit_rate(GoldRanks.of([[1, 12], [3]]), 10), 4)
    0.6667

    Raises:
        RetrievalError: If there is no pair.
    """
    if not gold.pairs:
        raise RetrievalError("there is no pair to be found, so no share of pairs")
    return float(np.mean(gold.ranks <= _cutoff(k)))


def summary(gold: GoldRanks, *, ks: Sequence[int]) -> dict[str, float]:
    """Return every measure by its name in tables: MAP, NDCG, MRR, NDCG@k, Hit@k, Recall@k.

    All but Hit@k are means over queries.

    >>> list(summary(GoldRanks.of([[1]]), ks=[10]))
    ['MAP', 'NDCG', 'MRR', 'NDCG@10', 'Hit@10', 'Recall@10']

    Raises:
        RetrievalError: If there is no query, or a k is below 1.
    """
    if not len(gold):
        raise RetrievalError("there is no query, so nothing to measure")
    means = {name: float(values.mean()) for name, (values, _) in query_values(gold, ks=ks).items()}
    return means | {f"Hit@{k}": hit_rate(gold, k) for k in ks}


def query_values(gold: GoldRanks, *, ks: Sequence[int]) -> dict[str, tuple[Values, Values]]:
    """Return the terms of `summary`: name -> (a value a query, a weight a query), in the same order.

    The weighted mean of the values is the figure. All weights are 1 but those of Hit@k, which is Recall@k
    weighted by numbers of relevant items. Two rankings of the same relevant items have the same weights.

    >>> query_values(GoldRanks.of([[1, 12], [3]]), ks=[10])["Hit@10"]
    (array([0.5, 1. ]), array([2., 1.]))
    """
    even, counts = np.ones(len(gold)), gold.counts.astype(np.float64)
    values = {"MAP": average_precision(gold), "NDCG": ndcg(gold), "MRR": reciprocal_rank(gold)}
    values |= {f"NDCG@{k}": ndcg(gold, k) for k in ks}
    shares = {k: recall(gold, k) for k in ks}
    weighted = {name: (value, even) for name, value in values.items()}
    weighted |= {f"Hit@{k}": (share, counts) for k, share in shares.items()}
    return weighted | {f"Recall@{k}": (share, even) for k, share in shares.items()}


def resamples(queries: int, *, samples: int, seed: int) -> Iterator[Values]:
    """Yield bootstrap samples in batches: the number of draws of each query, shape (batch, queries).

    A sum over the queries of all samples is then one product, `counts @ values`. The same seed gives the
    same samples, so figures computed from them stay paired.
    """
    draw = np.random.default_rng(seed)
    step = max(1, _DRAWS_AT_ONCE // max(1, queries))
    for start in range(0, samples, step):
        batch = min(step, samples - start)
        indices = draw.integers(0, queries, (batch, queries)) + queries * np.arange(batch)[:, None]
        counts = np.bincount(indices.ravel(), minlength=batch * queries)
        yield counts.reshape(batch, queries).astype(np.float64)


def bootstrap_interval(
    values: Values,
    *,
    weights: ArrayLike | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean over queries.

    With `weights` it is the interval of sum(w * v) / sum(w): for Hit@k give `recall(gold, k)` and
    `gold.counts`.

    Raises:
        RetrievalError: If there are no values.
    """
    if not len(values):
        raise RetrievalError("an interval needs at least one value, found none")
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    batches = resamples(len(values), samples=samples, seed=seed)
    means = np.concatenate([(counts @ (weight * values)) / (counts @ weight) for counts in batches])
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _offsets(counts: Sequence[int] | Positions) -> Positions:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _cutoff(k: int) -> int:
    if k < 1:
        raise RetrievalError(f"a cut-off is at least 1, found {k}")
    return k
