r"""Sum of two retrievers' scores, :math:`s(q, p) = s_1(q, p) + w \, s_2(q, p)`.

An encoder and a lexical index each find premises that the other misses. Both scores must be of one kind, such
as cosines; BM25's, which have no bounds, are divided by the highest of their query first (`relative`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.protocol import Floats, Hits, Manifest, PremiseIndex
from entail.index.ranking import search_by_scores

LEXICAL_WEIGHT = 0.15
"""w of `ngrams` next to an encoder; chosen on EntailmentBank dev."""

BM25_WEIGHT = 0.1
"""w of BM25, relative to the query's best, next to an encoder; chosen on EntailmentBank dev."""


class HybridIndex:
    """A `PremiseIndex` over two others of one corpus.

    Raises:
        ManifestMismatchError: If the two hold different corpora.
        RetrievalError: If the weight is below 0.
    """

    def __init__(
        self,
        first: PremiseIndex,
        second: PremiseIndex,
        *,
        weight: float = LEXICAL_WEIGHT,
        relative: bool = False,
    ) -> None:
        first_manifest, second_manifest = first.manifest, second.manifest
        if first_manifest.corpus_hash != second_manifest.corpus_hash:
            raise ManifestMismatchError(
                f"expected two indexes of one corpus, found {first.name!r} over "
                f"{first_manifest.corpus_hash[:12]} and {second.name!r} over "
                f"{second_manifest.corpus_hash[:12]}"
            )
        if not weight >= 0:
            raise RetrievalError(f"expected a weight of 0 or more, found {weight:g}")
        self.first, self.second, self.weight, self.relative = first, second, weight, relative
        self.name = f"{first.name}+{second.name}"
        revision = (
            f"{first_manifest.revision}+{weight:g}*{second_manifest.revision}{'/best' if relative else ''}"
        )
        self.manifest = Manifest(revision, 0, "hybrid", first_manifest.count, first_manifest.corpus_hash)

    def __repr__(self) -> str:
        return f"HybridIndex({self.first!r}, {self.second!r}, weight={self.weight:g})"

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        return search_by_scores(self.scores, queries, k=k, count=self.manifest.count)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return s of every query and every premise, shape (queries, premises)."""
        second = self.second.scores(queries)
        if self.relative and second.size:
            best = second.max(axis=1, keepdims=True)
            second = np.divide(second, best, out=np.zeros_like(second), where=best > 0)
        return self.first.scores(queries) + np.float32(self.weight) * second
