"""Search by entailment direction: premises that entail a sentence, and premises that it entails."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from entail.cancellation import cancellable
from entail.data.records import Corpus
from entail.encoders.gaussian.distributions import (
    EncodesGaussians,
    Gaussians,
    from_divergence,
    similarity,
)
from entail.errors import EncoderError
from entail.index.lifted import Direction, LiftedGaussians
from entail.index.protocol import Floats, Hits, Manifest
from entail.index.ranking import checked_k, top_k
from entail.index.vectors import QueryVectors, premise_rows
from entail.progress import ProgressCallback

_LARGEST_HALF = 65_504.0


class GaussianRows:
    """Adapter from an encoder of Gaussians to an `Encoder` of rows of 2d numbers, for vector caches."""

    symmetric = True

    def __init__(self, encoder: EncodesGaussians) -> None:
        self.gaussian = encoder
        self.name = encoder.name
        self.revision = self.premise_revision = encoder.revision
        self.dimension = 2 * encoder.dimension

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return d means and d log variances a text, shape (texts, 2d)."""
        return self.gaussian.encode(texts, progress=progress).values

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return the rows of `encode_queries`; raise `EncoderError` for numbers beyond the range of fp16."""
        values = self.encode_queries(texts, progress=progress)
        if np.abs(values).max(initial=0) > _LARGEST_HALF:
            raise EncoderError(
                f"{self.name}: expected means within {_LARGEST_HALF:g} of 0, which are cached in fp16, found "
                f"one {np.abs(values).max():g} away; its weights are broken"
            )
        return values


def premise_gaussians(
    corpus: Corpus,
    encoder: EncodesGaussians,
    *,
    cache_dir: Path | None,
    progress: ProgressCallback | None = None,
) -> Gaussians:
    """Return the Gaussians of a corpus, in its order, cached as premise vectors are; see `premise_rows`.

    In fp16 a mean or a log variance is off by at most 0.05 %.
    """
    rows = GaussianRows(encoder)
    values = premise_rows(corpus, rows, cache_dir=cache_dir, metric="gaussian", progress=progress)
    return Gaussians.of(values.astype(np.float32), revision=rows.revision)


class GaussianIndex:
    """A `PremiseIndex` over Gaussians; the score is the encoder's similarity, sim(h || p).

    Hits are premises that entail the query, or with direction `entailed` those that it entails. They are the
    ranking in double precision, certified (see `LiftedGaussians`). `kl_per_dim` is no inner product, so every
    pair is compared.

    The index of a direction is built on first use, or by `prepare`. Threads take turns, by one lock a
    direction.

    Args:
        encoder: The encoder of unknown queries.
        corpus: The premises, in the order of `gaussians`.
        gaussians: From `premise_gaussians`; not copied.
        queries: Queries shared with other indexes of this encoder, `QueryVectors(GaussianRows(encoder))`;
            default: its own.
    """

    def __init__(
        self,
        encoder: EncodesGaussians,
        corpus: Corpus,
        gaussians: Gaussians,
        *,
        queries: QueryVectors | None = None,
    ) -> None:
        self._encoder = encoder
        self._corpus = corpus
        self._gaussians = gaussians
        self._queries = QueryVectors(GaussianRows(encoder)) if queries is None else queries
        self._locks = {"entailing": threading.Lock(), "entailed": threading.Lock()}
        self._lifted: dict[Direction, LiftedGaussians] = {}
        self.name = encoder.name
        self.manifest = Manifest(
            revision=encoder.revision,
            dimension=encoder.dimension,
            metric=encoder.kind,
            count=len(corpus),
            corpus_hash=corpus.hash,
        )

    @property
    def size_bytes(self) -> int:
        """Bytes of the Gaussians and of the inner-product index of both directions, built or not."""
        return 3 * (self._gaussians.mean.nbytes + self._gaussians.log_variance.nbytes)

    def prepare(self, direction: Direction) -> None:
        """Build the index of a direction, which takes seconds for a million premises."""
        self._side(direction)

    def search(self, queries: Sequence[str], *, k: int, direction: Direction = "entailing") -> Hits:
        """Return the k premises that entail each query most, or that it entails; shape (queries, k)."""
        k = checked_k(k, len(self._corpus))
        gaussians, kind = self._encode(queries), self._encoder.kind
        if kind == "kl_per_dim":
            return top_k(self._score_all(gaussians, direction), k)
        nearest = self._side(direction).nearest(gaussians, k=k)
        scores = from_divergence(nearest.divergences, dimension=gaussians.dimension, kind=kind)
        return Hits(nearest.positions, scores.astype(np.float32))

    def scores(self, queries: Sequence[str], *, direction: Direction = "entailing") -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises).

        Each pair is compared in double precision: about 100 ms a query for 16,000 premises.
        """
        return self._score_all(self._encode(queries), direction)

    def _encode(self, queries: Sequence[str]) -> Gaussians:
        """Return the Gaussians of queries, encoding only those that are no premises and unknown."""
        rows = self._queries.encode_over(
            self._corpus, queries, lambda position: self._gaussians[position].values[0]
        )
        return Gaussians.of(rows, revision=self.manifest.revision)

    def _side(self, direction: Direction) -> LiftedGaussians:
        with self._locks[direction]:
            if direction not in self._lifted:
                self._lifted[direction] = LiftedGaussians(self._gaussians, direction)
            return self._lifted[direction]

    def _score_all(self, queries: Gaussians, direction: Direction) -> Floats:
        is_entailing, premises = direction == "entailing", self._gaussians
        scores = np.empty((len(queries), len(premises)), dtype=np.float32)
        for row in cancellable(range(len(queries))):
            pair = (queries[row], premises) if is_entailing else (premises, queries[row])
            scores[row] = similarity(*pair, kind=self._encoder.kind)
        return scores
