r"""Indexes over another index: with keyword match added, or read again by a re-ranker.

.. math:: s(q, p) = s_1(q, p) + w \, s_2(q, p)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entail.cancellation import cancellable
from entail.data.records import Corpus
from entail.encoders.cross.reranker import Reranker
from entail.index.protocol import Floats, Hits, Ints, Manifest, PremiseIndex, ScoresPositions
from entail.index.ranking import ALL_SCORED, checked_k, query_blocks, top_k

BM25_WEIGHT = 0.1
"""w of BM25, relative to the query's best, next to an encoder; chosen on EntailmentBank dev."""

DEPTH, DEEPEST = 1000, 16_384
"""First premises of both parts that a hybrid combines at first, and at most in a large corpus."""


class HybridIndex:
    """A `PremiseIndex` over an index and keyword match of one corpus: each finds premises the other misses.

    Keyword match has no bounds, so its scores are divided by the highest of their query.
    """

    def __init__(self, first: PremiseIndex, second: PremiseIndex, *, weight: float = BM25_WEIGHT) -> None:
        self.first, self.second, self.weight = first, second, weight
        self.name = f"{first.name}+{second.name}"
        manifest = first.manifest
        revision = f"{manifest.revision}+{weight:g}*{second.manifest.revision}/best"
        self.manifest = Manifest(revision, 0, "hybrid", manifest.count, manifest.corpus_hash)

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        count = self.manifest.count
        k = checked_k(k, count)
        hits = Hits(np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32))
        for rows in query_blocks(len(queries), count):
            shares = self._shares(queries[rows])
            for row, query, own in zip(range(len(queries))[rows], queries[rows], shares, strict=True):
                hits.positions[row], hits.scores[row] = self._nearest(query, own, k)
        return hits

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return s of every query and every premise, shape (queries, premises)."""
        return combine(self.first.scores(queries), self._shares(queries), weight=self.weight)

    def _shares(self, queries: Sequence[str]) -> Floats:
        """Return the scores of the keyword match, divided by the highest of their query."""
        second = self.second.scores(queries)
        if second.size:
            best = second.max(axis=1, keepdims=True)
            second = np.divide(second, best, out=np.zeros_like(second), where=best > 0)
        return second

    def _nearest(self, query: str, shares: Floats, k: int) -> tuple[Ints, Floats]:
        """Return the k nearest premises of a query: the best of the first ones of both.

        No other premise has more than the last of both lists together. In a large corpus the lists end at
        `DEEPEST`, and what is below them in one is not considered.
        """
        depth = max(k, DEPTH)
        while isinstance(self.first, ScoresPositions) and depth < len(shares):
            first, second = self.first.search([query], k=depth), top_k(shares[None], depth)
            positions = np.union1d(first.positions[0], second.positions[0])
            similarities = self.first.score_positions([query], positions[None])[0]
            scores = combine(similarities, shares[positions], weight=self.weight)
            best = top_k(scores[None], k)
            certain = best.scores[0, -1] >= first.scores[0, -1] + self.weight * second.scores[0, -1]
            if certain or (len(shares) > ALL_SCORED and 4 * depth > DEEPEST):
                return positions[best.positions[0]], best.scores[0]
            depth *= 4
        best = top_k(combine(self.first.scores([query]), shares[None], weight=self.weight), k)
        return best.positions[0], best.scores[0]


class RerankedIndex:
    """A `PremiseIndex` whose first n premises a re-ranker reads again; others keep their order below them.

    Args:
        first: Index that finds the premises.
        corpus: Its corpus.
        reranker: Reads them.
        weight: w.
        depth: n.
    """

    def __init__(
        self, first: PremiseIndex, corpus: Corpus, reranker: Reranker, *, weight: float, depth: int
    ) -> None:
        self.first, self.corpus, self.reranker = first, corpus, reranker
        self.weight, self.depth = weight, depth
        self.name = f"{first.name}+{reranker.name}"
        manifest = first.manifest
        revision = f"{manifest.revision}+{weight:g}*{reranker.revision}/{depth}"
        self.manifest = Manifest(revision, 0, "reranked", manifest.count, manifest.corpus_hash)

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        k = checked_k(k, self.manifest.count)
        hits = self.first.search(queries, k=max(k, self.depth))
        for row, query in enumerate(cancellable(queries)):
            positions, scores = hits.positions[row], hits.scores[row]
            again = self._read(query, positions[: self.depth], scores[: self.depth])
            order = np.lexsort((positions[: self.depth], -again))
            scores[self.depth :] += self._fall(again, scores[self.depth :])
            positions[: self.depth], scores[: self.depth] = positions[order], again[order]
        return Hits(hits.positions[:, :k], hits.scores[:, :k])

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return s of every query and every premise, shape (queries, premises)."""
        scores = self.first.scores(queries).copy()
        for row, query in zip(scores, queries, strict=True):
            nearest = top_k(row[None], self.depth).positions[0]
            again = self._read(query, nearest, row[nearest])
            rest = np.ones(len(row), dtype=bool)
            rest[nearest] = False
            row[rest] += self._fall(again, row[rest])
            row[nearest] = again
        return scores

    def _read(self, query: str, positions: Ints, scores: Floats) -> Floats:
        """Return s of a query and some premises, whose scores are those of the first index."""
        read = self.reranker.score(query, [self.corpus.texts[position] for position in positions])
        return combine(scores, read, weight=self.weight)

    @staticmethod
    def _fall(again: Floats, rest: Floats) -> float:
        """Return what moves the scores of other premises below those that were read again."""
        return min(0.0, float(again.min()) - float(rest.max()) - 1e-3) if rest.size else 0.0


def combine(first: Floats, second: Floats, *, weight: float) -> Floats:
    """Return s of premises from the scores of a retriever and of a re-ranker or of keyword match.

    >>> combine(np.float32([0.5, 0.4]), np.float32([0, 10]), weight=0.03).tolist()
    [0.5, 0.699999988079071]
    """
    return first + np.float32(weight) * second
