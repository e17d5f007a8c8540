"""Exact nearest premises by inner product over premise vectors, with FAISS."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from entail.data.records import Corpus
from entail.encoders.encoder import Encoder
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.engines import Numbers, ReadVectors, VectorIndex, VectorSpace
from entail.index.protocol import Floats, Hits, Manifest
from entail.index.ranking import checked_k, query_blocks
from entail.index.vectors import QueryVectors
from entail.progress import ProgressCallback

BLAS_FROM = 1000
"""Query numbers (queries times d) from which FAISS multiplies by BLAS.

By its own default of 128,000, 64 queries take ten times as long. Below about 3 queries of 384 numbers its
plain loop is the faster one on one thread.
"""


_ROWS = 65_536
"""Vectors read at once."""


class FlatIndex:
    """A `VectorIndex` of FAISS that compares all vectors; threads take turns by its lock."""

    exact = True

    def __init__(self, index: Any) -> None:  # noqa: ANN401 - FAISS has no types
        self._index = index
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """Bytes of the vectors."""
        return 4 * int(self._index.ntotal) * int(self._index.d)

    def search(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector; see `VectorIndex`."""
        size = int(self._index.ntotal)
        k = checked_k(k, size)
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        hits = Hits(np.empty((len(vectors), k), np.int64), np.empty((len(vectors), k), np.float32))
        # A hit that is ranked takes as long as some 16 inner products.
        for rows in query_blocks(len(vectors), size + 16 * k):
            with self._lock, single_threaded_faiss():
                scores, positions = self._index.search(vectors[rows], k)
            order = np.lexsort((positions, -scores), axis=1)
            hits.positions[rows] = np.take_along_axis(positions, order, axis=1)
            hits.scores[rows] = np.take_along_axis(scores, order, axis=1)
        return hits

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> VectorIndex | None:
        """Return None: it is built for each version of a corpus."""


class FlatEngine:
    """Exact search by comparing all vectors, with FAISS."""

    name = "flat"
    exact = True

    def missing(self) -> str:
        """Return nothing: FAISS is installed with the package."""
        return ""

    def supports(self, space: VectorSpace) -> bool:
        """Return True: it searches any vectors that fit into memory."""
        return True

    def build(
        self,
        space: VectorSpace,
        numbers: Numbers,
        vectors: ReadVectors,
        *,
        corpus_hash: str,
        progress: ProgressCallback | None = None,
    ) -> FlatIndex:
        """Return the index of a corpus version; see `Engine`."""
        import faiss

        index = faiss.IndexFlatIP(space.dimension)
        # Written into FAISS's memory: adding them would need twice the memory.
        index.codes.resize(space.count * space.dimension * 4)
        index.ntotal = space.count
        content = faiss.rev_swig_ptr(index.get_xb(), space.count * space.dimension)
        for start in range(0, space.count, _ROWS):
            rows = np.arange(start, min(start + _ROWS, space.count))
            content.reshape(space.count, -1)[rows] = vectors(rows)
        return FlatIndex(index)


class DenseIndex:
    """A `PremiseIndex` over an encoder's vectors; the score is their inner product, a cosine of unit vectors.

    Threads take turns by one lock an index. FAISS holds the vectors once, in main memory: a search of 16,472
    premises takes about 2 ms there, and FAISS on a GPU does not allow concurrent readers.

    Args:
        encoder: The encoder of queries without a known vector.
        corpus: The premises, in the order of `vectors`.
        vectors: Premise vectors, shape (premises, d), from `premise_vectors`.
        queries: Query vectors shared with other indexes of this encoder; default: its own.

    Raises:
        ManifestMismatchError: If the shape of the vectors differs from corpus and encoder; names both sides.
        RetrievalError: If a vector is not finite.
    """

    def __init__(
        self, encoder: Encoder, corpus: Corpus, vectors: Floats, *, queries: QueryVectors | None = None
    ) -> None:
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
        import faiss

        self._corpus = corpus
        self._set_encoder(encoder, queries)
        self._lock = threading.Lock()
        self._index: Any = faiss.IndexFlatIP(encoder.dimension)
        self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        # A view of FAISS's own memory, so that `scores` needs no second copy.
        numbers = faiss.rev_swig_ptr(self._index.get_xb(), vectors.size)
        self._vectors: Floats = numbers.reshape(vectors.shape)

    def by(self, encoder: Encoder, *, queries: QueryVectors | None = None) -> DenseIndex:
        """Return an index over the same vectors and lock, for another encoder of the same premise tower."""
        other = copy.copy(self)
        other._set_encoder(encoder, queries)
        return other

    def _set_encoder(self, encoder: Encoder, queries: QueryVectors | None) -> None:
        self._queries = QueryVectors(encoder) if queries is None else queries
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
        """Return the inner product of every query and every premise, shape (queries, premises)."""
        scores: Floats = self.encode(queries) @ self._vectors.T
        return scores

    def encode(self, queries: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return the unit vectors of queries, shape (queries, d); see `QueryVectors.encode_over`."""
        return self._queries.encode_over(self._corpus, queries, self._vectors.__getitem__, progress=progress)

    def search_vectors(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector by inner product, shape (queries, k).

        Raises:
            RetrievalError: If k is below 1, or the vectors are not finite.
        """
        size = len(self._vectors)
        k = checked_k(k, size)
        if not np.isfinite(vectors).all():
            raise RetrievalError("expected finite query vectors, found NaN or infinity")
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        hits = self._nearest(vectors, min(size, k + 1))
        if k < size:
            # Where the k-th score equals the next, the tie may reach beyond the candidates.
            tied = np.flatnonzero(hits.scores[:, k - 1] == hits.scores[:, k])
            hits = Hits(hits.positions[:, :k], hits.scores[:, :k])
            if tied.size:
                whole = self._nearest(vectors[tied], size)
                hits.positions[tied], hits.scores[tied] = whole.positions[:, :k], whole.scores[:, :k]
        return hits

    def _nearest(self, vectors: Floats, k: int) -> Hits:
        hits = Hits(np.empty((len(vectors), k), np.int64), np.empty((len(vectors), k), np.float32))
        # A hit that is ranked takes as long as some 16 inner products.
        for rows in query_blocks(len(vectors), len(self._vectors) + 16 * k):
            with self._lock, single_threaded_faiss():
                scores, positions = self._index.search(vectors[rows], k)
            order = np.lexsort((positions, -scores), axis=1)
            hits.positions[rows] = np.take_along_axis(positions, order, axis=1)
            hits.scores[rows] = np.take_along_axis(scores, order, axis=1)
        return hits


@contextlib.contextmanager
def single_threaded_faiss() -> Iterator[None]:
    """Run FAISS on one thread, as many sessions share few cores, then restore the setting.

    The setting is OpenMP's: torch in the same thread would otherwise stay on one core.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.cvar.distance_compute_blas_threshold = BLAS_FROM
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
