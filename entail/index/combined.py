r"""Indexes over another index: with keyword match added, or read again by a re-ranker.

.. math:: s(q, p) = s_1(q, p) + w \, s_2(q, p)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entail.data.records import Corpus
from entail.encoders.cross.reranker import Reranker
from entail.index.protocol import Floats, Hits, Manifest, PremiseIndex
from entail.index.ranking import search_by_scores, top_k

BM25_WEIGHT = 0.1
"""w of BM25, relative to the query's best, next to an encoder; chosen on EntailmentBank dev."""


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
        return search_by_scores(self.scores, queries, k=k, count=self.manifest.count)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return s of every query and every premise, shape (queries, premises)."""
        second = self.second.scores(queries)
        if second.size:
            best = second.max(axis=1, keepdims=True)
            second = np.divide(second, best, out=np.zeros_like(second), where=best > 0)
        return combine(self.first.scores(queries), second, weight=self.weight)


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
        return search_by_scores(self.scores, queries, k=k, count=self.manifest.count)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return s of every query and every premise, shape (queries, premises)."""
        scores = self.first.scores(queries).copy()
        for row, query in zip(scores, queries, strict=True):
            nearest = top_k(row[None], self.depth).positions[0]
            read = self.reranker.score(query, [self.corpus.texts[position] for position in nearest])
            again = combine(row[nearest], read, weight=self.weight)
            rest = np.ones(len(row), dtype=bool)
            rest[nearest] = False
            if rest.any():
                row[rest] += min(0.0, float(again.min()) - float(row[rest].max()) - 1e-3)
            row[nearest] = again
        return scores


def combine(first: Floats, second: Floats, *, weight: float) -> Floats:
    """Return s of premises from the scores of a retriever and of a re-ranker or of keyword match.

    >>> combine(np.float32([0.5, 0.4]), np.float32([0, 10]), weight=0.03).tolist()
    [0.5, 0.699999988079071]
    """
    return first + np.float32(weight) * second
