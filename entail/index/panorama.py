"""Exact search that leaves out most of each vector, with FAISS's Panorama.

Vectors are transformed so that their first numbers have most of the inner products. Panorama compares them
level by level and leaves out a premise when the Cauchy-Schwarz bound of its other levels cannot reach the
best ones.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.index.engines import Engine, PremiseVectors
from entail.index.flat import (
    Bits,
    VersionedIndex,
    faiss_threads,
    parameters,
    rank_candidates,
    row_blocks,
)
from entail.index.protocol import Floats, Ints
from entail.index.shared import share
from entail.progress import ProgressCallback

LEVELS = 16
"""Most levels of dimensions, all of the same size but the last."""

BATCH = 1024
"""Vectors of a block, whose levels are stored one after the other."""

_SAMPLE = 20_000
_MARGIN = 16
_RIDGE = 1e-6


class PanoramaPart:
    """Transformed vectors, whose best candidates are ranked again by the vectors as they were.

    Premises y become y A and queries x become x B, with A B^T = I, in double precision. A float32 inner
    product of d such numbers differs from that of the vectors by at most

        E = 2 g |x B| max |y A| + 2^-53 d |A| |B| |x| max |y|,    g = (2 d + 8) 2^-24

    (of their rounding and the sum in any order; of the transforms). So the ranking is certain where the k-th
    best candidate exceeds the last one fetched by that; otherwise more are fetched.
    """

    exact = True

    def __init__(self, premises: PremiseVectors, progress: ProgressCallback | None) -> None:
        import faiss

        self.read, count, dimension = premises.read, len(premises), premises.dimension
        self._count = count
        self._lock = threading.Lock()
        sample = self.read(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64))
        self._of_premises, self._of_queries = _transforms(sample, premises.queries)
        library: Any = faiss
        levels = -(-dimension // -(-dimension // LEVELS))  # that are of one size
        self._index: Any = library.IndexFlatIPPanorama(dimension, levels, BATCH)
        # Memory for all, since FAISS doubles that of what grows.
        padded = -(-count // BATCH) * BATCH
        for memory, size in (
            (self._index.codes, padded * dimension * 4),
            (self._index.cum_sums, padded * (levels + 1)),
        ):
            memory.resize(size)
            memory.resize(0)
        self._longest = longest = 0.0
        for rows in row_blocks(count, progress):
            block = self.read(rows)
            transformed = (block @ self._of_premises).astype(np.float32)
            self._longest = max(self._longest, float(_lengths(transformed).max()))
            longest = max(longest, float(_lengths(block).max()))
            self._index.add(transformed)
        self._owners = share(self._index)
        self._error = 2 * (2 * dimension + 8) * 2.0**-24 * self._longest
        norms = float(np.linalg.norm(self._of_premises) * np.linalg.norm(self._of_queries))
        self._error_of_transforms = 2.0**-53 * dimension * norms * longest

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """Bytes of the transformed vectors, of shared ones this process's part, and of levels' lengths."""
        return int(self._index.codes.size() // self._owners + 4 * self._index.cum_sums.size())

    def search(self, vectors: Floats, k: int, *, alive: Bits | None) -> tuple[Floats, Ints]:
        """Return scores and rows of the k nearest; see `Part`."""
        scores, rows = np.empty((len(vectors), k), np.float32), np.empty((len(vectors), k), np.int64)
        transformed = (vectors @ self._of_queries).astype(np.float32)
        errors = self._error * _lengths(transformed) + self._error_of_transforms * _lengths(vectors)
        left, fetch = np.arange(len(vectors)), k + _MARGIN
        while len(left):
            candidates, bounds = zip(*self._fetch(transformed[left], fetch, alive), strict=True)
            scores[left], rows[left] = rank_candidates(self.read, vectors[left], candidates, k)
            certain = (scores[left, -1] > bounds + errors[left]) | np.isneginf(bounds)
            left, fetch = left[~certain], 4 * fetch
        return scores, rows

    def _fetch(self, vectors: Floats, fetch: int, alive: Bits | None) -> list[tuple[Ints, float]]:
        """Return candidates of each query, and a score that no other row exceeds: -inf if there is none."""
        options = parameters("SearchParameters", alive)
        with self._lock, faiss_threads(len(vectors)):  # those of several requests share the cores
            # FAISS refuses more than a batch.
            scores, rows = self._index.search(vectors, min(fetch, BATCH), params=options)
            candidates = [
                (own[own >= 0], float(last) if (own >= 0).all() else -np.inf)
                for own, last in zip(rows, scores[:, -1], strict=True)
            ]
            if fetch <= BATCH:
                return candidates
            return [
                self._widen(query, own, float(best), last, fetch, options)
                for query, (own, last), best in zip(vectors, candidates, scores[:, 0], strict=True)
            ]

    def _widen(
        self,
        query: Floats,
        rows: Ints,
        best: float,
        last: float,
        fetch: int,
        options: Any,
    ) -> tuple[Ints, float]:
        """Return at least `fetch` candidates, or all, by lowering the least score that is fetched."""
        length = float(np.linalg.norm(query))
        step = max(best - last, self._error * length)
        floor = -length * self._longest * 1.001
        while len(rows) < fetch and last > -np.inf:
            last, step = last - step, 2 * step
            if last <= floor:
                last = -np.inf
            least = max(last, float(np.finfo(np.float32).min))
            _, _, rows = self._index.range_search(query[None], least, params=options)
        return rows, last


class PanoramaEngine(Engine):
    """The exact ranking, several times as fast as `flat` for large corpora."""

    name = "panorama"
    exact = True

    def missing(self) -> str:
        """Return what to install where FAISS is too old."""
        import faiss

        return "" if hasattr(faiss, "IndexFlatIPPanorama") else "install faiss-cpu 1.15 or later"

    def supports(self, premises: PremiseVectors) -> bool:
        """Return whether a level has a number at least."""
        return premises.dimension >= LEVELS

    def build(self, premises: PremiseVectors, progress: ProgressCallback | None = None) -> VersionedIndex:
        """Return the index of a corpus version; see `Engine`."""
        part = PanoramaPart(premises, progress)
        return VersionedIndex([part], premises.numbers, np.arange(len(premises)))


def _transforms(sample: Floats, queries: Floats | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the transforms of premises and of queries, whose inner products are those without them.

    Without a sample of queries both are the rotation to the singular vectors of the premises, the largest
    first; it has no bias, since centring, as a PCA does, would change a ranking by inner product. With one,
    the second moments of both become the same diagonal matrix, the largest numbers first: the balanced
    realization of Moore (1981).
    """
    premises = _moments(sample)
    if queries is None:
        vectors = np.linalg.eigh(premises)[1][:, ::-1]
        return vectors, vectors
    of_premises, of_queries = (np.linalg.cholesky(moments) for moments in (premises, _moments(queries)))
    left, sizes, right = np.linalg.svd(of_queries.T @ of_premises)
    return of_queries @ left / np.sqrt(sizes), of_premises @ right.T / np.sqrt(sizes)


def _moments(sample: Floats) -> NDArray[np.float64]:
    """Return the second moments of a sample, with a ridge that bounds what is made of directions it lacks."""
    moments = sample.T.astype(np.float64) @ sample
    ridge = _RIDGE * np.trace(moments) / len(moments) or 1.0
    return np.asarray(moments + ridge * np.eye(len(moments)))


def _lengths(vectors: Floats) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return lengths
