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
from entail.errors import CorpusError, EncoderError, ManifestMismatchError, RetrievalError
from entail.index.lifted import Direction, LiftedGaussians
from entail.index.protocol import Floats, Hits, Manifest
from entail.index.ranking import checked_k, top_k
from entail.index.vectors import QueryVectors, premise_rows
from entail.progress import ProgressCallback

_LARGEST_HALF = 65_504.0


class GaussianRows:
    """Adapter from an encoder of Gaussians to an `Encoder` of rows of 2d numbers, for vector caches.

    Raises:
        EncoderError: If the encoder makes points, which have no direction.
    """

    symmetric = True

    def __init__(self, encoder: EncodesGaussians) -> None:
        candidate: object = encoder
        if not isinstance(candidate, EncodesGaussians):
            name = getattr(encoder, "name", type(encoder).__name__)
            raise EncoderError(
                f"expected an encoder of Gaussians, found {name!r}, which makes points, without a direction; "
                "choose one trained by `entail train gausscse`"
            )
        self.gaussian = encoder
        self.name = encoder.name
        self.revision = self.premise_revision = encoder.revision
        self.dimension = 2 * encoder.dimension

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return d means and d log variances a text, shape (texts, 2d)."""
        gaussians = self.gaussian.encode(texts, progress=progress)
        if gaussians.mean.shape != (len(texts), self.dimension // 2):
            raise EncoderError(
                f"{self.name}: expected {len(texts)} Gaussians of dimension {self.dimension // 2}, "
                f"found {len(gaussians)} of dimension {gaussians.dimension}"
            )
        return gaussians.values

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
        gaussians: From `premise_gaussians`; not copied. Without a revision they count as the encoder's.
        queries: Queries shared with other indexes of this encoder, `QueryVectors(GaussianRows(encoder))`;
            default: its own.

    Raises:
        CorpusError: If the corpus is empty.
        EncoderError: If the encoder makes points.
        ManifestMismatchError: If Gaussians or queries are of another corpus or encoder; names both sides.
    """

    def __init__(
        self,
        encoder: EncodesGaussians,
        corpus: Corpus,
        gaussians: Gaussians,
        *,
        queries: QueryVectors | None = None,
    ) -> None:
        rows = GaussianRows(encoder)
        expected = (len(corpus), encoder.dimension)
        if gaussians.mean.shape != expected or gaussians.revision not in (None, encoder.revision):
            raise ManifestMismatchError(
                f"expected Gaussians of {encoder.revision}, shape {expected} (premises of {corpus.name!r}), "
                f"found {gaussians.mean.shape} of {gaussians.revision}; encode this corpus with this encoder"
            )
        if not len(corpus):
            raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
        self._encoder = encoder
        self._corpus = corpus
        self._gaussians = gaussians
        self._queries = QueryVectors.of(rows, queries)
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
        checked_k(k, len(self._corpus))
        return self.search_gaussians(self.encode(queries), k=k, direction=direction)

    def scores(self, queries: Sequence[str], *, direction: Direction = "entailing") -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises).

        Each pair is compared in double precision: about 100 ms a query for 16,000 premises.
        """
        return self._score_all(self.encode(queries), direction)

    def encode(self, queries: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        """Return the Gaussians of queries, encoding only those that are no premises and unknown."""
        rows = self._queries.encode_over(
            self._corpus, queries, lambda position: self._gaussians[position].values[0], progress=progress
        )
        return Gaussians.of(rows, revision=self.manifest.revision)

    def search_gaussians(self, queries: Gaussians, *, k: int, direction: Direction = "entailing") -> Hits:
        """Return the k nearest premises of each Gaussian, shape (queries, k); see `search`.

        Raises:
            RetrievalError: If k is below 1, there is no such direction, or the Gaussians are not of the
                index's dimension or too far away.
            ManifestMismatchError: If they are another encoder's; names both.
        """
        k = checked_k(k, len(self._corpus))
        if queries.revision not in (None, self.manifest.revision):
            raise ManifestMismatchError(
                f"expected queries of {self.manifest.revision}, found those of {queries.revision}; encode "
                "them with this index"
            )
        if queries.dimension != self._gaussians.dimension:
            raise RetrievalError(
                f"expected Gaussians of dimension {self._gaussians.dimension}, found {queries.dimension}"
            )
        kind = self._encoder.kind
        if kind == "kl_per_dim":
            return top_k(self._score_all(queries, direction), k)
        nearest = self._side(direction).nearest(queries, k=k)
        scores = from_divergence(nearest.divergences, dimension=queries.dimension, kind=kind)
        return Hits(nearest.positions, scores.astype(np.float32))

    def _side(self, direction: Direction) -> LiftedGaussians:
        with self._locks[_checked(direction)]:
            if direction not in self._lifted:
                self._lifted[direction] = LiftedGaussians(self._gaussians, direction)
            return self._lifted[direction]

    def _score_all(self, queries: Gaussians, direction: Direction) -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises)."""
        is_entailing, premises = _checked(direction) == "entailing", self._gaussians
        scores = np.empty((len(queries), len(premises)), dtype=np.float32)
        for row in cancellable(range(len(queries))):
            pair = (queries[row], premises) if is_entailing else (premises, queries[row])
            scores[row] = similarity(*pair, kind=self._encoder.kind)
        return scores


def _checked(direction: Direction) -> Direction:
    if direction not in ("entailing", "entailed"):
        raise RetrievalError(f"expected the direction 'entailing' or 'entailed', found {direction!r}")
    return direction
