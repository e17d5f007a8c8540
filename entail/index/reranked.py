r"""Nearest premises of another index, read again by a re-ranker.

.. math:: s(q, p) = s_1(q, p) + w \, r(q, p)

over the first :math:`n` premises by :math:`s_1`, the score of the index; r is the score of the re-ranker. The
other premises keep their order behind these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entail.data.records import Corpus
from entail.encoders.cross.reranker import Reranker
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.protocol import Floats, Hits, Ints, Manifest, PremiseIndex
from entail.index.ranking import search_by_scores, top_k


class RerankedIndex:
    """A `PremiseIndex` whose first premises a re-ranker reads again.

    Args:
        first: Index that finds the premises.
        corpus: Its corpus.
        reranker: Reads them.
        weight: w.
        depth: n.

    Raises:
        ManifestMismatchError: If the index holds another corpus.
        RetrievalError: If the weight is below 0, or the depth below 1.
    """

    def __init__(
        self, first: PremiseIndex, corpus: Corpus, reranker: Reranker, *, weight: float, depth: int
    ) -> None:
        manifest = first.manifest
        if manifest.corpus_hash != corpus.hash:
            raise ManifestMismatchError(
                f"expected an index of corpus {corpus.hash[:12]}, found {first.name!r} over "
                f"{manifest.corpus_hash[:12]}"
            )
        if not weight >= 0 or depth < 1:
            raise RetrievalError(
                f"expected a weight of 0 or more and a depth of 1 or more, found {weight:g} and {depth}"
            )
        self.first, self.corpus, self.reranker = first, corpus, reranker
        self.weight, self.depth = weight, depth
        self.name = f"{first.name}+{reranker.name}"
        revision = f"{manifest.revision}+{weight:g}*{reranker.revision}/{depth}"
        self.manifest = Manifest(revision, 0, "reranked", manifest.count, manifest.corpus_hash)

    def __repr__(self) -> str:
        return f"RerankedIndex({self.first!r}, {self.reranker!r}, depth={self.depth})"

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        return search_by_scores(self.scores, queries, k=k, count=self.manifest.count)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return s of every query and every premise, shape (queries, premises)."""
        scores = self.first.scores(queries).copy()
        for row, query in zip(scores, queries, strict=True):
            nearest = top_k(row[None], self.depth).positions[0]
            read = self.reranker.score(query, [self.corpus.texts[position] for position in nearest])
            place_reread(row, nearest, combine(row[nearest], read, weight=self.weight))
        return scores


def combine(retrieved: Floats, read: Floats, *, weight: float) -> Floats:
    """Return s of premises from the scores of a retriever and of a re-ranker.

    >>> combine(np.float32([0.5, 0.4]), np.float32([0, 10]), weight=0.03).tolist()
    [0.5, 0.699999988079071]
    """
    return retrieved + np.float32(weight) * read


def place_reread(row: Floats, nearest: Ints, scores: Floats) -> None:
    """Put new scores into a query's row, in place; all others move below them and keep their order.

    >>> row = np.float32([0.9, 0.8, 0.7])
    >>> place_reread(row, np.array([0, 1]), np.float32([0.2, 0.4]))
    >>> row.argsort()[::-1].tolist()
    [1, 0, 2]
    """
    rest = np.ones(len(row), dtype=bool)
    rest[nearest] = False
    if rest.any():
        row[rest] += min(0.0, float(scores.min()) - float(row[rest].max()) - 1e-3)
    row[nearest] = scores
