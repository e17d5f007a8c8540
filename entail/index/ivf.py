"""Approximate search in a small part of the corpus, with FAISS's IVF and RaBitQ.

Premises are grouped by their nearest centroid. A search compares one bit a dimension of the premises of some
groups, and ranks the best by their vectors as they are stored. The groups are in a file that is mapped into
memory; it takes some 60 bytes a premise of 384 dimensions.
"""

from __future__ import annotations

import json
import logging
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.premises import joined_keys
from entail.data.stored import read_json
from entail.data.writing import replacing, write_text
from entail.errors import DataError
from entail.index.engines import Engine, PremiseVectors, ReadVectors
from entail.index.flat import (
    Bits,
    VersionedIndex,
    parameters,
    rank_candidates,
    row_blocks,
    single_threaded_faiss,
)
from entail.index.protocol import Floats, Ints
from entail.index.store import digest_of
from entail.index.vectors import slug
from entail.progress import ProgressCallback
from entail.settings import is_demo, load_settings

GROUPS_SEARCHED = 64
"""Groups whose premises are compared; recall@10 is .987 at 100,000 premises (mixtures of real ones)."""

CANDIDATES = 5
"""Premises that are ranked by their vectors, for each one that is asked for."""

FILES = 3
"""Files of one revision, the last built: one a corpus."""

_TRAINED = 40
"""Vectors a group that the centroids are trained on."""

_log = logging.getLogger(__name__)


class IvfPart:
    """Groups of premises in a file, and the reader of their vectors; threads take turns."""

    exact = False

    def __init__(self, index: Any, vectors: ReadVectors) -> None:
        self.read = vectors
        self._index = index
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def size_bytes(self) -> int:
        """Bytes of the centroids and of the groups, which are read from their file on demand."""
        return int(4 * self._index.nlist * self._index.d + self._index.ntotal * (self._index.code_size + 8))

    def search(self, vectors: Floats, k: int, *, alive: Bits | None) -> tuple[Floats, Ints]:
        """Return scores and rows of the k nearest; see `Part`."""
        fetch = min(len(self), CANDIDATES * max(k, 10))
        candidates = self._candidates(vectors, fetch, alive, GROUPS_SEARCHED)
        # A list is never shorter than it could be: where too few are in these groups, all are searched.
        short = np.flatnonzero((candidates >= 0).sum(axis=1) < k)
        if len(short):
            candidates[short] = self._candidates(vectors[short], fetch, alive, int(self._index.nlist))
        return rank_candidates(self.read, vectors, [own[own >= 0] for own in candidates], k)

    def _candidates(self, vectors: Floats, fetch: int, alive: Bits | None, groups: int) -> Ints:
        options = parameters("SearchParametersIVF", alive, nprobe=groups)
        with self._lock, single_threaded_faiss():
            candidates: Ints = self._index.search(vectors, fetch, params=options)[1]
        return candidates


class IvfEngine(Engine):
    """Search of tens of millions of premises in milliseconds, with little memory; not exact."""

    name = "ivf"
    exact = False

    def build(self, premises: PremiseVectors, progress: ProgressCallback | None = None) -> VersionedIndex:
        """Return the index of a corpus version, from its file if it was built before; see `Engine`."""
        version = sha256(joined_keys(premises.numbers).encode()).hexdigest()
        file = load_settings().vectors_dir / slug(premises.revision) / "ivf" / f"{version}.faiss"
        index = _read(file, premises)
        if index is None:
            index = _train(premises)
            for rows in row_blocks(len(premises), progress):
                index.add(premises.read(rows))
            if not is_demo():
                _write(file, index)
                index = _read(file, premises) or index
        return VersionedIndex([IvfPart(index, premises.read)], premises.numbers, np.arange(len(premises)))


def _train(premises: PremiseVectors) -> Any:
    import faiss

    library: Any = faiss
    count, dimension = len(premises), premises.dimension
    groups = min(count, int(2 * np.sqrt(count)))
    centroids = library.IndexFlatIP(dimension)
    index = library.IndexIVFRaBitQ(centroids, dimension, groups, library.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1
    sample = np.linspace(0, count - 1, min(count, _TRAINED * groups)).astype(np.int64)
    with single_threaded_faiss():
        index.train(premises.read(sample))
    return index


def _read(file: Path, premises: PremiseVectors) -> Any:
    """Return the index of a file, mapped into memory; None if it is missing, damaged or of other vectors."""
    import faiss

    library: Any = faiss
    try:
        manifest = read_json(file.with_suffix(".json"), dict[str, str])
        # Before it is mapped: to read beyond the end of a mapped file ends the process.
        if manifest is None or digest_of(file) != manifest.get("sha256"):
            return None
        index = library.read_index(str(file), library.IO_FLAG_MMAP)
        # By default each search starts 32 threads that read ahead, which takes longer than the search.
        library.downcast_InvertedLists(index.invlists).prefetch_nthread = 0
    except (OSError, RuntimeError, DataError) as error:
        _log.warning("the index %s cannot be read and is built again: %s", file, error)
        return None
    return index if (index.ntotal, index.d) == (len(premises), premises.dimension) else None


def _write(file: Path, index: Any) -> None:
    import faiss

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as partial:
            faiss.write_index(index, str(partial))
            manifest = json.dumps({"sha256": digest_of(partial)})
        write_text(file.with_suffix(".json"), manifest + "\n")
        files = sorted(file.parent.glob("*.faiss"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in files[FILES:]:
            old.with_suffix(".json").unlink(missing_ok=True)
            old.unlink()
    except (OSError, RuntimeError, DataError) as error:
        _log.warning("the index could not be written to %s: %s", file, error)
