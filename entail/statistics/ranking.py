"""Measures of a ranking, from the ranks of what should have been found: arrays in, numbers out.

Nothing here knows a data set or a model. `ranks_of` turns scores into `GoldRanks`, the ranks of every
query's relevant items, and each measure is a function of these alone, so one pass over the scores serves
every measure and every cut-off. With R relevant items at ranks r_1 < r_2 < ... < r_R:

=======================  ==============================================================================
`average_precision`      1/R * sum_i i / r_i
`ndcg`                   sum_i 1 / log2(1 + r_i), divided by the same sum for the ranks 1 .. R
`ndcg` cut at k          only ranks up to k count, in the ideal as well (so it ends at min(R, k))
`recall`                 share of the R with rank <= k, one number a query
`hit_rate`               pairs with rank <= k / all pairs: the micro average, Hit@k of the AE-Enc paper
`reciprocal_rank`        1 / r_1
=======================  ==============================================================================

The means of the first two over queries are MAP and NDCG of the AE-Enc paper (Table 1). All of them agree with
trec_eval, whose rule for equal scores (document ids in descending order) is replaced by order of position.
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
"""In place of a position: the item is not among the candidates."""

_DRAWS_AT_ONCE = 1 << 17
"""Queries drawn in one step of `resamples`: as many as a core's own memory holds."""


@dataclass(frozen=True)
class GoldRanks:
    """The ranks of every query's relevant items, flat: query q owns `ranks[offsets[q]:offsets[q + 1]]`.

    Attributes:
        ranks: Ranks from 1, `inf` for an item that is never found, in the order in which the query's items
            were given, shape (pairs,).
        offsets: Where each query begins, and the end, shape (queries + 1,).

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
    def joined(cls, parts: Sequence[GoldRanks]) -> GoldRanks:
        """Put the queries of several parts one after another."""
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
    def ascending(self) -> Values:
        """The ranks, ascending within each query, shape (pairs,)."""
        owner = np.repeat(np.arange(len(self)), self.counts)
        return self.ranks[np.lexsort((self.ranks, owner))]

    def per_query(self, pair_values: Values) -> Values:
        """Sum one value a pair up to one value a query."""
        owner = np.repeat(np.arange(len(self)), self.counts)
        return np.bincount(owner, pair_values, len(self)).astype(np.float64)


def ranks_of(
    scores: NDArray[np.floating],
    gold: Sequence[Sequence[int] | Positions],
    *,
    excluded: ArrayLike | None = None,
) -> GoldRanks:
    """Rank each query's relevant items among all candidates, highest score first.

    The rule for ties: of two candidates with equal scores the one at the lower position comes first. So a
    ranking is a function of scores and corpus alone, and equal to what a stable sort of the whole row gives.

    >>> ranks_of(np.array([[0.1, 0.9, 0.9, 0.5]]), [[2, 0]]).ranks
    array([2., 4.])
    >>> ranks_of(np.array([[0.1, 0.9, 0.9, 0.5]]), [[2, 0]], excluded=[1]).ranks
    array([1., 3.])

    Args:
        scores: Similarities (higher is closer), shape (queries, candidates).
        gold: Positions of each query's relevant items; `NOT_THERE` for one that is no candidate: it is
            never found (rank `inf`) and counted all the same.
        excluded: The one position that is taken out of each query's ranking, or `NOT_THERE`, shape
            (queries,). A relevant item that is taken out is never found.

    Raises:
        RetrievalError: If shapes do not fit, a position is out of range, or a score is NaN.
    """
    out = np.full(len(scores), NOT_THERE) if excluded is None else excluded
    return ranks_both_ways(scores, gold, excluded=out)[1]


def ranks_both_ways(
    scores: NDArray[np.floating], gold: Sequence[Sequence[int] | Positions], *, excluded: ArrayLike
) -> tuple[GoldRanks, GoldRanks]:
    """Return `ranks_of` with every candidate, and with each query's excluded one taken out, for one price.

    >>> [ranks.ranks.tolist() for ranks in ranks_both_ways(np.array([[0.1, 0.9, 0.5]]), [[2]], excluded=[1])]
    [[2.0], [1.0]]

    Raises:
        RetrievalError: As `ranks_of` does.
    """
    queries, candidates = scores.shape
    out = np.asarray(excluded, dtype=np.int64)
    if len(gold) != queries or out.shape != (queries,):
        raise RetrievalError(
            f"scores are of {queries} queries, but gold of {len(gold)} and excluded of shape {out.shape}"
        )
    counts = np.array([len(row) for row in gold], dtype=np.int64)
    positions = np.concatenate([np.empty(0, np.int64), *(np.asarray(row, np.int64) for row in gold)])
    for name, found in (("gold", positions), ("excluded", out)):
        if found.size and (found.min() < NOT_THERE or found.max() >= candidates):
            raise RetrievalError(
                f"{name} positions lie between {found.min()} and {found.max()}, expected {NOT_THERE} "
                f"(not there) to {candidates - 1}"
            )
    if scores.size and np.isnan(scores.min()):  # a minimum is NaN where any score is
        raise RetrievalError(f"{int(np.isnan(scores).sum())} of {scores.size} scores are not numbers (NaN)")

    owner = np.repeat(np.arange(queries), counts)  # (pairs,): the query of each pair
    ranks = np.full(len(positions), np.inf)
    there = positions != NOT_THERE
    # Counted row by row: one candidate's rank needs no sorting, and no row is copied for it.
    ranks[there] = [
        1 + _ahead(scores[query], position)
        for query, position in zip(owner[there].tolist(), positions[there].tolist(), strict=True)
    ]
    gone = out[owner]
    left = ranks.copy()
    some = np.flatnonzero(there & (gone != NOT_THERE))
    if some.size:
        own, taken = scores[owner[some], positions[some]], scores[owner[some], gone[some]]
        left[some] -= (taken > own) | ((taken == own) & (gone[some] < positions[some]))
        left[there & (gone == positions)] = np.inf
    return GoldRanks(ranks, _offsets(counts)), GoldRanks(left, _offsets(counts))


def _ahead(row: NDArray[np.floating], position: int) -> int:
    """Return how many candidates rank before the one at a position."""
    own = row[position]
    return int(np.count_nonzero(row > own)) + int(np.count_nonzero(row[:position] == own))


def average_precision(gold: GoldRanks) -> Values:
    """Return the average precision of each query; the mean over queries is MAP.

    >>> average_precision(GoldRanks.of([[1, 4]]))
    array([0.75])
    """
    place = np.arange(1, gold.pairs + 1) - np.repeat(gold.offsets[:-1], gold.counts)  # 1 .. R in each query
    return gold.per_query(place / gold.ascending) / gold.counts


def ndcg(gold: GoldRanks, k: int | None = None) -> Values:
    """Return the normalised discounted cumulative gain of each query, of the whole ranking or cut at k.

    >>> ndcg(GoldRanks.of([[1, 3]])).round(4), ndcg(GoldRanks.of([[1, 3]]), k=1)
    (array([0.9197]), array([1.]))
    """
    limit = np.inf if k is None else _cut(k)
    gain = np.where(gold.ranks <= limit, 1.0 / np.log2(1.0 + gold.ranks), 0.0)
    longest = int(gold.counts.max(initial=0))
    ideal = np.cumsum(1.0 / np.log2(1.0 + np.arange(1, longest + 1)))
    best: Values = ideal[np.minimum(gold.counts, limit).astype(np.int64) - 1]  # (queries,)
    return gold.per_query(gain) / best


def recall(gold: GoldRanks, k: int) -> Values:
    """Return the share of each query's relevant items among its first k candidates.

    >>> recall(GoldRanks.of([[1, 12], [3]]), 10)
    array([0.5, 1. ])
    """
    return gold.per_query((gold.ranks <= _cut(k)).astype(np.float64)) / gold.counts


def reciprocal_rank(gold: GoldRanks) -> Values:
    """Return 1 / rank of the first relevant item of each query; the mean over queries is MRR.

    >>> reciprocal_rank(GoldRanks.of([[2, 3], [np.inf]]))
    array([0.5, 0. ])
    """
    first: Values = gold.ascending[gold.offsets[:-1]]
    return 1.0 / first


def hit_rate(gold: GoldRanks, k: int) -> float:
    """Return found pairs / all pairs, the micro average that the AE-Enc paper calls Hit@k.

    >>> round(hit_rate(GoldRanks.of([[1, 12], [3]]), 10), 4)
    0.6667

    Raises:
        RetrievalError: If there is no pair.
    """
    if not gold.pairs:
        raise RetrievalError("there is no pair to be found, so no share of pairs")
    return float(np.mean(gold.ranks <= _cut(k)))


def summary(gold: GoldRanks, *, ks: Sequence[int]) -> dict[str, float]:
    """Return every measure under the name it has in tables: MAP, NDCG, MRR, NDCG@k, Hit@k, Recall@k.

    All but Hit@k are means over queries.

    >>> list(summary(GoldRanks.of([[1]]), ks=[10]))
    ['MAP', 'NDCG', 'MRR', 'NDCG@10', 'Hit@10', 'Recall@10']

    Raises:
        RetrievalError: If there is no query, or a k is below 1.
    """
    if not len(gold):
        raise RetrievalError("there is no query, so nothing to measure")
    figures = {
        "MAP": float(average_precision(gold).mean()),
        "NDCG": float(ndcg(gold).mean()),
        "MRR": float(reciprocal_rank(gold).mean()),
    }
    figures.update({f"NDCG@{k}": float(ndcg(gold, k).mean()) for k in ks})
    figures.update({f"Hit@{k}": hit_rate(gold, k) for k in ks})
    figures.update({f"Recall@{k}": float(recall(gold, k).mean()) for k in ks})
    return figures


def query_values(gold: GoldRanks, *, ks: Sequence[int]) -> dict[str, tuple[Values, Values]]:
    """Return what `summary` averages: name -> (a value a query, a weight a query), in the same order.

    The weighted mean of the values is the figure. All weights are 1 but those of Hit@k, which are numbers of
    relevant items: Hit@k is Recall@k weighted by them. Two rankings of the same relevant items have the
    same weights, so what they differ in is one number a query for every measure.

    >>> query_values(GoldRanks.of([[1, 12], [3]]), ks=[10])["Hit@10"]
    (array([0.5, 1. ]), array([2., 1.]))

    Raises:
        RetrievalError: If a k is below 1.
    """
    even, counts = np.ones(len(gold)), gold.counts.astype(np.float64)
    values = {"MAP": average_precision(gold), "NDCG": ndcg(gold), "MRR": reciprocal_rank(gold)}
    values.update({f"NDCG@{k}": ndcg(gold, k) for k in ks})
    shares = {k: recall(gold, k) for k in ks}
    weighted = {name: (value, even) for name, value in values.items()}
    weighted.update({f"Hit@{k}": (share, counts) for k, share in shares.items()})
    weighted.update({f"Recall@{k}": (share, even) for k, share in shares.items()})
    return weighted


def resamples(queries: int, *, samples: int, seed: int) -> Iterator[Values]:
    """Yield bootstrap samples, some at a time: how often each query is drawn, shape (some, queries).

    A sum over the queries of all samples is then one product, `counts @ values`. The same seed gives the
    same samples, so figures that are taken from them one after another stay paired.
    """
    draw = np.random.default_rng(seed)
    step = max(1, _DRAWS_AT_ONCE // max(1, queries))
    for start in range(0, samples, step):
        some = min(step, samples - start)
        chosen = draw.integers(0, queries, (some, queries)) + queries * np.arange(some)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=some * queries)
        yield counts.reshape(some, queries).astype(np.float64)


def bootstrap_interval(
    values: Values,
    *,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean over queries, drawn with replacement.

    With `weights` it is the interval of sum(w * v) / sum(w): for Hit@k give `recall(gold, k)` and
    `gold.counts`. The same seed gives the same interval.

    Raises:
        RetrievalError: If there are no values, or `level` is not between 0 and 1.
    """
    if not len(values) or not 0 < level < 1:
        raise RetrievalError(
            f"an interval needs at least one value and a level between 0 and 1, found {len(values)}, {level}"
        )
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    drawn = resamples(len(values), samples=samples, seed=seed)
    means = np.concatenate([(counts @ (weight * values)) / (counts @ weight) for counts in drawn])
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _offsets(counts: Sequence[int] | Positions) -> Positions:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _cut(k: int) -> int:
    if k < 1:
        raise RetrievalError(f"a cut-off is at least 1, found {k}")
    return k
