"""Nearest premises by inner product over an encoder's vectors."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from entail.data.records import Corpus
from entail.encoders.encoder import Encoder
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.engines import PremiseVectors, ReadVectors, VectorIndex, engine_of
from entail.index.flat import FlatEngine, VersionedIndex
from entail.index.protocol import Floats, Hits, Ints, Manifest
from entail.index.ranking import ALL_SCORED, checked_k
from entail.index.vectors import PremiseRows, QueryVectors, unit
from entail.progress import ProgressCallback


class DenseIndex:
    """A `PremiseIndex` over an encoder's vectors; the score is their inner product, a cosine of unit vectors.

    Args:
        encoder: The encoder of queries without a known vector.
        corpus: The premises, in the order of `vectors`.
        vectors: Premise vectors, shape (premises, d), which are copied, or an index of them and their reader.

    Raises:
        ManifestMismatchError: If the shape of the vectors differs from corpus and encoder; names both sides.
        RetrievalError: If a vector is not finite.
    """

    def __init__(
        self, encoder: Encoder, corpus: Corpus, vectors: Floats | tuple[VectorIndex, ReadVectors]
    ) -> None:
        self._corpus = corpus
        self._set_encoder(encoder)
        self.vectors: VectorIndex
        self._read: ReadVectors
        if isinstance(vectors, tuple):
            self.vectors, self._read = vectors
        else:
            self.vectors = index = _flat(encoder, corpus, vectors)
            self._read = index.read

    def by(self, encoder: Encoder) -> DenseIndex:
        """Return an index over the same vectors, for another encoder of the same premise tower."""
        other = copy.copy(self)
        other._set_encoder(encoder)
        return other

    def of_version(
        self, encoder: Encoder, rows: PremiseRows, *, progress: ProgressCallback | None = None
    ) -> DenseIndex | None:
        """Return the index of another version of the corpus, None if it must be built."""

        def read(positions: Ints) -> Floats:
            rows.encode(positions, progress=progress)
            return rows.vectors(positions)

        vectors = self.vectors.updated(rows.numbers, read)
        if vectors is None:
            return None
        return DenseIndex(encoder, rows.corpus, (vectors, reader_of(vectors, rows)))

    @property
    def size_bytes(self) -> int:
        """Bytes of the vectors in memory; indexes of one encoder may share them."""
        return self.vectors.size_bytes

    def _set_encoder(self, encoder: Encoder) -> None:
        self._queries = QueryVectors(encoder)
        self.name = encoder.name
        self.manifest = Manifest(
            revision=encoder.revision,
            dimension=encoder.dimension,
            metric="inner_product",
            count=len(self._corpus),
            corpus_hash=self._corpus.hash,
            premise_revision=encoder.premise_revision,
        )

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        checked_k(k, len(self._corpus))
        return self.search_vectors(self.encode(queries), k=k)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the inner product of every query and every premise, shape (queries, premises).

        Raises:
            RetrievalError: If the vectors of a large corpus are on an index server.
        """
        if isinstance(self.vectors, VersionedIndex):
            return self.vectors.scores(self.encode(queries))
        if len(self._corpus) > ALL_SCORED:
            raise RetrievalError(
                f"expected the scores of {len(self._corpus):,} premises, which an index server does not give "
                f"beyond {ALL_SCORED:,}; set ENTAIL_INDEX=flat, or search for the first ones"
            )
        vectors = self.encode(queries)
        scores: Floats = vectors @ self._read(np.arange(len(self._corpus))).T
        return scores

    def score_positions(self, queries: Sequence[str], positions: Ints) -> Floats:
        """Return the inner product of each query and its premises at positions of shape (queries, n)."""
        vectors = self.encode(queries)
        rows = [self._read(own) @ vector for own, vector in zip(positions, vectors, strict=True)]
        return np.array(rows, dtype=np.float32).reshape(positions.shape)

    def encode(self, queries: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return the unit vectors of queries, shape (queries, d); see `QueryVectors.encode_over`."""
        return self._queries.encode_over(
            self._corpus, queries, lambda position: self._read(np.array([position]))[0], progress=progress
        )

    def search_vectors(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector by inner product, shape (queries, k).

        Raises:
            RetrievalError: If k is below 1, or the vectors are not finite.
        """
        k = checked_k(k, len(self._corpus))
        if not np.isfinite(vectors).all():
            raise RetrievalError("expected finite query vectors, found NaN or infinity")
        return self.vectors.search(vectors, k=k)


def build_dense(
    encoder: Encoder, rows: PremiseRows, *, progress: ProgressCallback | None = None
) -> DenseIndex:
    """Return the index of a corpus by the engine of the settings; premises without a vector are encoded."""
    premises = PremiseVectors(encoder.premise_revision, encoder.dimension, rows.numbers, rows.vectors)
    engine = engine_of(premises)
    rows.encode(engine.lacking(premises), progress=progress)
    vectors = engine.build(premises, progress)
    return DenseIndex(encoder, rows.corpus, (vectors, reader_of(vectors, rows)))


def reader_of(vectors: VectorIndex, rows: PremiseRows) -> ReadVectors:
    """Return the fastest reader of vectors: an index in memory, the store, or the server if it has none."""
    if isinstance(vectors, VersionedIndex):
        return vectors.read

    def read(positions: Ints) -> Floats:
        stored = rows.store.read(rows.numbers[positions])
        return vectors.read(positions) if stored is None else unit(stored)

    return read


def _flat(encoder: Encoder, corpus: Corpus, vectors: Floats) -> VersionedIndex:
    expected = (len(corpus), encoder.dimension)
    if vectors.shape != expected:
        raise ManifestMismatchError(
            f"expected vectors of shape {expected} (premises of {corpus.name!r}, dimension of "
            f"{encoder.revision}), found {vectors.shape}; encode this corpus with this encoder"
        )
    if not np.isfinite(vectors).all():
        raise RetrievalError(
            "expected finite premise vectors, found NaN or infinity; encode the corpus again"
        )
    read = vectors.__getitem__
    return FlatEngine().build(
        PremiseVectors(encoder.premise_revision, encoder.dimension, corpus.numbers, read)
    )
