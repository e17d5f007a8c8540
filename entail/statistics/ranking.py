"""Ranking measures from the ranks of relevant items: arrays in, numbers out.

`ranks_of` turns scores into `GoldRanks`, the ranks of every query's relevant items, and each measure is a
function of these alone. With R relevant items at ranks r_1 < r_2 < ... < r_R:

=======================  ==============================================================================
`average_precision`      1/R * sum_i i / r_i
`ndcg`                   sum_i 1 / log2(1 + r_i), divided by the same sum for the ranks 1 .. R
`recall`                 share of the R with rank <= k
`reciprocal_rank`        1 / r_1
=======================  ==============================================================================

Hit@k of the AE-Enc paper, pairs with rank <= k of all pairs, is `recall` weighted by R. All agree with
trec_eval, except that equal scores are ordered by position instead of by descending document id. They are
computed from ranks, as a run of every candidate would be 300 times as slow.
"""

from __future__ import annotations

from collections.abc import Sequence
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
            raise RetrievalError(f"query {int(np.argmin(self.counts))} (from 0) has no relevant item")
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
        counts = np.concatenate([part.counts for part in parts])
        return cls(np.concatenate([part.ranks for part in parts]), _offsets(counts))

    def take(self, queries: Sequence[int]) -> GoldRanks:
        """Return the ranks of some queries."""
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
    excluded: Sequence[int] | Positions | None = None,
) -> GoldRanks:
    """Rank each query's relevant items among all candidates, highest score first.

    Of two candidates with equal scores the one at the lower position comes first, as in a stable sort.

    >>> ranks_of(np.array([[0.1, 0.9, 0.9, 0.5]]), [[2, 0]]).ranks
    array([2., 4.])

    Args:
        scores: Similarities (higher is closer), shape (queries, candidates).
        gold: Positions of each query's relevant items; `NOT_THERE` for one that is no candidate: its rank is
            `inf`, and it counts all the same.
        excluded: Position of a candidate of each query that is left out, or `NOT_THERE`.

    Raises:
        RetrievalError: If a score is NaN.
    """
    if scores.size and np.isnan(scores.min()):  # a minimum is NaN where any score is
        raise RetrievalError(f"{int(np.isnan(scores).sum())} of {scores.size} scores are not numbers (NaN)")
    removed = [NOT_THERE] * len(scores) if excluded is None else [int(position) for position in excluded]

    def rank(row: NDArray[np.floating], position: int, out: int) -> float:
        if position in (NOT_THERE, out):
            return np.inf
        own = row[position]  # its rank needs no sorting
        before = np.count_nonzero(row > own) + np.count_nonzero(row[:position] == own)
        return 1.0 + int(before) - bool(out >= 0 and (row[out] > own or (row[out] == own and out < position)))

    return GoldRanks.of(
        [
            [rank(row, int(position), out) for position in positions]
            for row, positions, out in zip(scores, gold, removed, strict=True)
        ]
    )


def average_precision(gold: GoldRanks) -> Values:
    """Return the average precision of each query; the mean over queries is MAP.

    >>> average_precision(GoldRanks.of([[1, 4]]))
    array([0.75])
    """
    index = np.arange(1, gold.pairs + 1) - np.repeat(gold.offsets[:-1], gold.counts)  # 1 .. R in each query
    return gold.per_query(index / gold.ascending) / gold.counts


def ndcg(gold: GoldRanks) -> Values:
    """Return the normalised discounted cumulative gain of each query.

    >>> ndcg(GoldRanks.of([[1, 3]])).round(4)
    array([0.9197])
    """
    ideal = np.cumsum(1.0 / np.log2(1.0 + np.arange(1, int(gold.counts.max(initial=0)) + 1)))
    best: Values = ideal[gold.counts - 1]
    return gold.per_query(1.0 / np.log2(1.0 + gold.ranks)) / best


def recall(gold: GoldRanks, k: int) -> Values:
    """Return the share of each query's relevant items among its first k candidates."""
    if k < 1:
        raise RetrievalError(f"a cut-off is at least 1, found {k}")
    return gold.per_query((gold.ranks <= k).astype(np.float64)) / gold.counts


def reciprocal_rank(gold: GoldRanks) -> Values:
    """Return 1 / rank of the first relevant item of each query; the mean over queries is MRR."""
    first: Values = 1.0 / gold.ascending[gold.offsets[:-1]]
    return first


def summary(gold: GoldRanks, *, ks: Sequence[int]) -> dict[str, float]:
    """Return every measure by its name in tables; all but Hit@k are means over queries.

    >>> list(summary(GoldRanks.of([[1]]), ks=[10]))
    ['MAP', 'NDCG', 'MRR', 'Hit@10']

    Raises:
        RetrievalError: If there is no query, or a k is below 1.
    """
    if not len(gold):
        raise RetrievalError("there is no query, so nothing to measure")
    terms = query_values(gold, ks=ks)
    return {name: float(np.average(values, weights=weights)) for name, (values, weights) in terms.items()}


def query_values(gold: GoldRanks, *, ks: Sequence[int]) -> dict[str, tuple[Values, Values]]:
    """Return the terms of `summary`: name -> (a value a query, a weight a query).

    Two rankings of the same relevant items have the same weights.

    >>> query_values(GoldRanks.of([[1, 12], [3]]), ks=[10])["Hit@10"]
    (array([0.5, 1. ]), array([2., 1.]))
    """
    even, counts = np.ones(len(gold)), gold.counts.astype(np.float64)
    values = {"MAP": average_precision(gold), "NDCG": ndcg(gold), "MRR": reciprocal_rank(gold)}
    return {name: (value, even) for name, value in values.items()} | {
        f"Hit@{k}": (recall(gold, k), counts) for k in ks
    }


def _offsets(counts: Sequence[int] | Positions) -> Positions:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
