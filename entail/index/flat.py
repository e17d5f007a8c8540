"""Exact search that compares all vectors, with FAISS, and the versions of a corpus that share its vectors.

The vectors of an index are in parts that never change: the one that an engine built, and flat ones of
premises that were added later. A version of a corpus is a choice of their rows, in its order.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from entail.index.engines import LARGE, Engine, Numbers, PremiseVectors, ReadVectors, has_gpu
from entail.index.protocol import Floats, Hits, Ints
from entail.index.ranking import checked_k, query_blocks
from entail.index.shared import share
from entail.progress import Meter, ProgressCallback

BLAS_FROM = 1000
"""Query numbers (queries times d) from which FAISS multiplies by BLAS.

By its own default of 128,000, 64 queries take ten times as long. Below about 3 queries of 384 numbers its
plain loop is the faster one on one thread.
"""

ROWS_AT_ONCE = 65_536
"""Vectors that are read at once, and most of a part that is copied into another one."""

SHARE = 8
"""An index is built when more than one in `SHARE` of its rows is retired or outside of its engine's part."""

_GPU_MARGIN, _GPU_MOST = 16, 2048  # candidates beyond k, and most that FAISS finds on a GPU
_FEW_RETIRED = 64
_GAPS = 32

_log = logging.getLogger(__name__)

Bits = NDArray[np.uint8]
"""Bits of the rows that count, the first in the lowest bit."""


class Part(Protocol):
    """Vectors that never change, searchable by row; threads may search at once."""

    exact: bool
    """Whether it compares all vectors, or gives the same hits."""

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""

    def __len__(self) -> int: ...

    def search(self, vectors: Floats, k: int, *, alive: Bits | None) -> tuple[Floats, Ints]:
        """Return scores and rows of the k nearest that count, in any order; -1 where there is none."""

    def read(self, rows: Ints) -> Floats:
        """Return vectors by row."""


class FlatPart:
    """Vectors in FAISS's memory, all of which are compared; threads take turns."""

    exact = True
    _owners = 1

    def __init__(self, count: int, dimension: int) -> None:
        import faiss

        self._lock = threading.Lock()
        self._index: Any = faiss.IndexFlatIP(dimension)
        # Written into FAISS's memory: adding vectors needs twice the memory.
        self._index.codes.resize(count * dimension * 4)
        self._index.ntotal = count
        self.vectors = self._view()

    def __len__(self) -> int:
        return len(self.vectors)

    def share(self) -> None:
        """Share the vectors, which no longer change, with other processes; see `entail.index.shared`."""
        self._owners = share(self._index)
        self.vectors = self._view()

    @property
    def size_bytes(self) -> int:
        """Bytes of the vectors, of shared ones this process's part."""
        return self.vectors.nbytes // self._owners

    def search(self, vectors: Floats, k: int, *, alive: Bits | None) -> tuple[Floats, Ints]:
        """Return scores and rows of the k nearest; see `Part`."""
        with self._lock, single_threaded_faiss():
            scores, rows = self._index.search(vectors, k, params=parameters("SearchParameters", alive))
        return scores, rows

    def read(self, rows: Ints) -> Floats:
        """Return vectors by row."""
        return self.vectors[rows]

    def _view(self) -> Floats:
        import faiss

        numbers = faiss.rev_swig_ptr(self._index.get_xb(), self._index.ntotal * self._index.d)
        view: Floats = numbers.reshape(self._index.ntotal, self._index.d)
        return view


class GpuPart(FlatPart):
    """Vectors that all NVIDIA GPUs compare, each its share; the best are ranked again by this processor.

    Two float32 inner products of d numbers differ by at most

        E = 2 g |x| max |y|,    g = (d + 8) 2^-24

    so the ranking is certain where the k-th best exceeds the last one fetched by that; otherwise all vectors
    are compared here.
    """

    _gpus: Any = None

    def copy_to_gpus(self) -> None:
        """Copy the vectors to the GPUs; where their memory does not suffice, this processor searches."""
        import faiss

        options: Any = faiss.GpuMultipleClonerOptions()
        options.shard = True
        try:
            self._gpus = faiss.index_cpu_to_all_gpus(self._index, options)
        except RuntimeError as error:
            _log.warning("%d vectors are searched without a GPU, which failed: %s", len(self), error)
        longest = max(float((self.vectors[rows] ** 2).sum(axis=1).max()) for rows in row_blocks(len(self)))
        self._error = 2 * (self.vectors.shape[1] + 8) * 2.0**-24 * longest**0.5

    def search(self, vectors: Floats, k: int, *, alive: Bits | None) -> tuple[Floats, Ints]:
        """Return scores and rows of the k nearest; see `Part`."""
        fetch = min(len(self), k + _GPU_MARGIN)
        if self._gpus is None or alive is not None or fetch > _GPU_MOST:
            return super().search(vectors, k, alive=alive)
        with self._lock:
            bounds, candidates = self._gpus.search(vectors, fetch)
        scores, rows = rank_candidates(self.read, vectors, candidates, k)
        bounds = bounds[:, -1] + self._error * np.linalg.norm(vectors, axis=1)
        uncertain = np.flatnonzero((scores[:, -1] <= bounds) & (fetch < len(self)))
        if len(uncertain):
            scores[uncertain], rows[uncertain] = super().search(vectors[uncertain], k, alive=None)
        return scores, rows


class VersionedIndex:
    """A `VectorIndex` over parts, some rows of which are the premises of a version of a corpus.

    Args:
        parts: The engine's part, then flat ones of premises that were added later.
        numbers: Keys of the version, in its order.
        rows: Row of each position, counted through all parts.
    """

    def __init__(self, parts: Sequence[Part], numbers: Numbers, rows: Ints) -> None:
        self.parts, self.numbers, self.rows = tuple(parts), numbers, rows
        self.exact = all(part.exact for part in parts)
        self._starts = np.cumsum([0, *map(len, parts)])
        self._positions = np.full(self._starts[-1], -1, dtype=np.int64)
        self._positions[rows] = np.arange(len(rows))

    @property
    def size_bytes(self) -> int:
        """Bytes of the vectors, which versions share, and of the choice of rows."""
        own = self.numbers.nbytes + self.rows.nbytes + self._positions.nbytes
        return own + sum(part.size_bytes for part in self.parts)

    def search(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector; see `VectorIndex`."""
        size = len(self.numbers)
        k = checked_k(k, size)
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        fetch = min(size, k + 1)
        hits = self._nearest(vectors, fetch)
        tied = np.arange(len(vectors))
        best = Hits(hits.positions[:, :k], hits.scores[:, :k])
        while fetch < size:
            # Where the k-th score equals the last one, the tie may reach beyond the candidates.
            tied = tied[hits.scores[:, k - 1] == hits.scores[:, -1]]
            if not len(tied):
                break
            fetch = min(size, 8 * fetch)
            hits = self._nearest(vectors[tied], fetch)
            best.positions[tied], best.scores[tied] = hits.positions[:, :k], hits.scores[:, :k]
        return best

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> VersionedIndex | None:
        """Return the index of another version, which shares the parts; see `VectorIndex`."""
        sources = align(self.numbers, numbers)
        new = np.flatnonzero(sources < 0)
        total = int(self._starts[-1])
        retired, late = total - len(numbers) + len(new), total - len(self.parts[0]) + len(new)
        if SHARE * retired > total or (SHARE * late > total and not isinstance(self.parts[0], FlatPart)):
            return None
        if 2 * len(new) > total:
            return None  # takes as long as building it
        rows = self.rows[sources]
        rows[new] = total + np.arange(len(new))
        return VersionedIndex(self._with_part(new, vectors), numbers, rows)

    def read(self, positions: Ints) -> Floats:
        """Return vectors by position."""
        rows = self.rows[positions]
        parts = np.searchsorted(self._starts, rows, side="right") - 1
        vectors = np.empty((len(rows), self._dimension), dtype=np.float32)
        for number, part in enumerate(self.parts):
            own = parts == number
            if own.any():
                vectors[own] = part.read(rows[own] - self._starts[number])
        return vectors

    def scores(self, vectors: Floats) -> Floats:
        """Return the inner product of every query vector and every premise, shape (queries, premises)."""
        if len(self.parts) == 1 and isinstance(self.parts[0], FlatPart) and self._is_in_order:
            whole: Floats = vectors @ self.parts[0].vectors.T
            return whole
        scores = np.empty((len(vectors), len(self.numbers)), dtype=np.float32)
        for start in range(0, len(self.numbers), ROWS_AT_ONCE):
            positions = np.arange(start, min(start + ROWS_AT_ONCE, len(self.numbers)))
            scores[:, positions] = vectors @ self.read(positions).T
        return scores

    @property
    def _dimension(self) -> int:
        return int(self.parts[0].read(np.zeros(1, np.int64)).shape[1])

    @cached_property
    def _is_in_order(self) -> bool:
        return bool(len(self.rows) == self._starts[-1] and (self.rows[1:] > self.rows[:-1]).all())

    @cached_property
    def _retired(self) -> tuple[tuple[int, Bits], ...]:
        """Retired rows of each part, and the bits of the others."""
        counts = [
            self._positions[start:stop] >= 0
            for start, stop in zip(self._starts[:-1], self._starts[1:], strict=True)
        ]
        return tuple((int((~part).sum()), np.packbits(part, bitorder="little")) for part in counts)

    def _nearest(self, vectors: Floats, k: int) -> Hits:
        hits = Hits(np.empty((len(vectors), k), np.int64), np.empty((len(vectors), k), np.float32))
        # A hit that is ranked takes as long as some 16 inner products.
        for block in query_blocks(len(vectors), len(self._positions) + 16 * k):
            candidates = [self._search_part(number, vectors[block], k) for number in range(len(self.parts))]
            scores = np.concatenate([part[0] for part in candidates], axis=1)
            positions = np.concatenate([part[1] for part in candidates], axis=1)
            order = np.lexsort((positions, -scores), axis=1)[:, :k]
            hits.positions[block] = np.take_along_axis(positions, order, axis=1)
            hits.scores[block] = np.take_along_axis(scores, order, axis=1)
        return hits

    def _search_part(self, number: int, vectors: Floats, k: int) -> tuple[Floats, Ints]:
        part, start = self.parts[number], self._starts[number]
        retired, bits = self._retired[number]
        # To skip few retired rows takes longer than to fetch as many more.
        few = retired <= _FEW_RETIRED
        fetch = min(len(part), k + retired if few else k)
        scores, rows = part.search(vectors, fetch, alive=None if few else bits)
        positions = np.where(rows < 0, -1, self._positions[start + rows])
        return np.where(positions < 0, np.float32(-np.inf), scores), positions

    def _with_part(self, new: Ints, vectors: ReadVectors) -> list[Part]:
        """Return the parts with one of new premises, into which small ones before it are copied."""
        parts = list(self.parts)
        if not len(new):
            return parts
        merged: list[FlatPart] = []
        count = len(new)
        while len(parts) > 1 and isinstance(last := parts[-1], FlatPart):
            if len(last) > min(2 * count, ROWS_AT_ONCE):
                break
            merged.insert(0, last)
            count += len(last)
            parts.pop()
        added = vectors(new)
        part = FlatPart(count, added.shape[1])
        np.concatenate([*(small.vectors for small in merged), added], out=part.vectors)
        return [*parts, part]


def align(old: Numbers, new: Numbers) -> Ints:
    """Return the position in an old version of each premise of a new one, -1 for a premise that is new.

    >>> align(np.uint64([5, 6, 7, 8]), np.uint64([5, 7, 8, 9])).tolist()
    [0, 2, 3, -1]
    """
    sources = np.full(len(new), -1, dtype=np.int64)
    start = at = 0
    # A version has the premises of the one before in their order, without those retired, then new ones.
    for _ in range(_GAPS):
        length = min(len(old) - start, len(new) - at)
        differs = old[start : start + length] != new[at : at + length]
        same = int(differs.argmax()) if differs.any() else length
        sources[at : at + same] = np.arange(start, start + same)
        start, at = start + same + 1, at + same
        if start > len(old) or at == len(new):
            return sources
    order = np.argsort(old)
    nearest = np.minimum(np.searchsorted(old, new, sorter=order), len(old) - 1)
    return np.where(old[order[nearest]] == new, order[nearest], -1)


class FlatEngine(Engine):
    """Exact search by comparing all vectors, with FAISS: in main memory, or on GPUs if there are many."""

    name = "flat"
    exact = True

    def build(self, premises: PremiseVectors, progress: ProgressCallback | None = None) -> VersionedIndex:
        """Return the index of a corpus version; see `Engine`."""
        on_gpu = len(premises) >= LARGE and has_gpu()
        part = (GpuPart if on_gpu else FlatPart)(len(premises), premises.dimension)
        for rows in row_blocks(len(premises), progress):
            part.vectors[rows] = premises.read(rows)
        if isinstance(part, GpuPart):
            part.copy_to_gpus()
        part.share()
        return VersionedIndex([part], premises.numbers, np.arange(len(premises)))


def rank_candidates(
    read: ReadVectors, vectors: Floats, candidates: Sequence[Ints], k: int
) -> tuple[Floats, Ints]:
    """Return scores and rows of the k best candidates of each query by their vectors; see `Part.search`."""
    scores = np.full((len(vectors), k), -np.inf, dtype=np.float32)
    rows = np.full((len(vectors), k), -1, dtype=np.int64)
    for row, (own, vector) in enumerate(zip(candidates, vectors, strict=True)):
        # Equal vectors have equal scores, as not with BLAS.
        again = np.einsum("ij,j->i", read(own), vector)
        order = np.lexsort((own, -again))[:k]
        scores[row, : len(order)], rows[row, : len(order)] = again[order], own[order]
    return scores, rows


def row_blocks(count: int, progress: ProgressCallback | None = None) -> Iterator[Ints]:
    """Yield the rows 0 to count - 1 in blocks, and report progress."""
    # A single block takes no time to speak of.
    report = progress if count > ROWS_AT_ONCE else None
    meter = Meter(count, "building the index", unit="premises", report=report)
    for start in range(0, count, ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, count))
        yield rows
        meter.add(len(rows))


def parameters(kind: str, alive: Bits | None, **options: int) -> Any:
    """Return FAISS's parameters of a search among the rows that count, None without any."""
    import faiss

    library: Any = faiss
    if alive is not None:
        return getattr(library, kind)(sel=library.IDSelectorBitmap(alive), **options)
    return getattr(library, kind)(**options) if options else None


def single_threaded_faiss() -> contextlib.AbstractContextManager[None]:
    """Run FAISS on one thread, as many sessions share few cores, then restore the setting."""
    return faiss_threads(1)


@contextlib.contextmanager
def faiss_threads(most: int) -> Iterator[None]:
    """Run FAISS on at most so many threads, then restore the setting.

    The setting is OpenMP's: torch in the same thread would otherwise stay on one core.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.cvar.distance_compute_blas_threshold = BLAS_FROM
    faiss.omp_set_num_threads(min(most, before))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
