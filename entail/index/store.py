"""Rows of premises that are encoded once: append-only segments on disk, by encoder revision.

A segment is two arrays and a manifest, which is written last; its name is a number::

    000001.numbers.npy    key of each premise as a number, uint64, shape (n,)
    000001.rows.npy       its row, float16, shape (n, d)
    000001.json           revision, dimension, metric, count, and the SHA-256 of both arrays
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import mmap
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from entail.data.premises import joined_keys
from entail.data.stored import read_json
from entail.data.writing import replacing
from entail.errors import DataError
from entail.index.engines import Numbers
from entail.index.protocol import Ints
from entail.memory import Cache
from entail.settings import is_demo

Halves = NDArray[np.float16]

SMALL = 10_000
"""Premises below which a segment is small: several of them are merged into one."""

MOST_SMALL = 16
"""Small segments that stay as they are."""

VERIFIED_BYTES = 1 << 26
"""Size up to which the rows of a segment are read and verified when it is opened.

SHA-256 of the rows of a million premises takes seconds. Of larger segments only the sizes and the numbers are
verified; entries of earlier versions always are, since they are merged at once.
"""

MAPPED_ROWS = 2048
"""Rows that are read before their pages are given back: the system maps 64 KiB around each of them."""

_SEGMENTS, _ENTRIES = "[0-9]*.json", "[!.]*/manifest.json"
"""Manifests in the folder of a store."""

_log = logging.getLogger(__name__)


def parse_keys(keys: Sequence[str]) -> Numbers:
    """Return keys as numbers."""
    return np.fromiter((int(key, 16) for key in keys), np.uint64, len(keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    """What the manifests of segments and of entries have in common."""

    revision: str
    dimension: int
    metric: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentManifest(_Manifest):
    """Content of a segment's manifest."""

    numbers_sha256: str
    rows_sha256: str

    def open(self, path: Path) -> tuple[Numbers, Path, str]:
        """Return the premises, and the file of their rows with its digest."""
        numbers_file, rows_file = _arrays(path)
        if digest_of(numbers_file) != self.numbers_sha256:
            raise ValueError(f"{numbers_file.name} is damaged")
        return np.load(numbers_file, allow_pickle=False), rows_file, self.rows_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntryManifest(_Manifest):
    """Content of `manifest.json` in an entry of an earlier version: a folder for each corpus version."""

    corpus_hash: str
    sha256: str

    def open(self, path: Path) -> tuple[Numbers, Path, str]:
        """Return the premises, and the file of their rows with its digest."""
        numbers = parse_keys(path.with_name("keys.txt").read_text(encoding="ascii").split())
        if sha256(joined_keys(numbers).encode()).hexdigest() != self.corpus_hash:
            raise ValueError("keys.txt is damaged")
        return numbers, path.with_name("vectors.npy"), self.sha256


class Segment:
    """Rows of distinct premises; `manifest` is the file of one on disk, None of one in memory."""

    def __init__(self, numbers: Numbers, rows: Halves, manifest: Path | None = None) -> None:
        self.numbers, self.rows, self.manifest = numbers, rows, manifest
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    def find(self, numbers: Numbers) -> Ints:
        """Return the row of each premise, -1 where it has none."""
        if not len(self._sorted):
            return np.full(len(numbers), -1, np.int64)
        at = np.minimum(np.searchsorted(self._sorted, numbers), len(self._sorted) - 1)
        rows: Ints = np.where(self._sorted[at] == numbers, self._order[at], -1)
        return rows


def write_segment(folder: Path, numbers: Numbers, rows: Halves, *, revision: str, metric: str) -> Path:
    """Write the rows of distinct premises as a new segment of a folder; return its manifest.

    Any number of processes may write at once.

    Raises:
        OSError: If it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid4().int}.json"
    numbers_file, rows_file = _arrays(path)
    try:
        np.save(numbers_file, numbers.astype(np.uint64), allow_pickle=False)
        np.save(rows_file, rows.astype(np.float16), allow_pickle=False)
        manifest = SegmentManifest(
            revision=revision,
            dimension=rows.shape[1],
            metric=metric,
            count=len(numbers),
            numbers_sha256=digest_of(numbers_file),
            rows_sha256=digest_of(rows_file),
        )
        with replacing(path) as partial:
            partial.write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
    except BaseException:
        _remove(path)
        raise
    return path


class VectorStore:
    """Rows of an encoder revision by premise: those on disk, and those of this process alone.

    Any number of threads and processes may read and write. A segment that is damaged is logged as a warning
    and ignored, so that its premises are encoded again.

    Args:
        folder: Folder of the segments; None to have all in memory.
        revision: Premise revision of the encoder.
        dimension: Length of a row.
        metric: Kind of the rows.
        shipped: Segment that is there from the start.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        revision: str,
        dimension: int,
        metric: str,
        shipped: Segment | None = None,
    ) -> None:
        self.folder, self.revision, self.dimension, self.metric = folder, revision, dimension, metric
        self._lock = threading.Lock()
        own = Segment(np.empty(0, np.uint64), np.empty((0, dimension), np.float16))
        self._memory: tuple[Segment, ...] = (own,) if shipped is None else (shipped, own)
        self._opened: dict[Path, tuple[object, Segment | None]] = {}
        self._touched = 0
        self._migrate()
        self.refresh()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Segments, those in memory first, then the largest first."""
        opened = [segment for _, segment in list(self._opened.values()) if segment is not None]
        return (*self._memory, *sorted(opened, key=lambda segment: -len(segment.numbers)))

    @property
    def size_bytes(self) -> int:
        """Bytes in memory; rows in files are mapped."""
        keys = sum(3 * segment.numbers.nbytes for segment in self.segments)
        return keys + sum(segment.rows.nbytes for segment in self.segments if segment.manifest is None)

    def refresh(self) -> None:
        """Open segments that other processes wrote, and let go of those that are gone or have changed."""
        if self.folder is None:
            return
        with self._lock:
            opened = {}
            for path in self.folder.glob(_SEGMENTS):
                with contextlib.suppress(FileNotFoundError):  # removed or merged by another process
                    stamp = [file.stat().st_mtime_ns for file in (path, *_arrays(path))]
                    before = self._opened.get(path)
                    opened[path] = before if before and before[0] == stamp else (stamp, self._open(path))
            self._opened = opened

    def find_missing(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return whether each premise has no row."""
        missing = np.ones(len(numbers), dtype=np.bool_)
        for segment in self.segments:
            left = np.flatnonzero(missing)
            if not len(left):
                break
            missing[left] = segment.find(numbers[left]) < 0
        return missing

    def read(self, numbers: Numbers) -> Halves | None:
        """Return the rows of premises, shape (premises, d), None if one of them has none."""
        rows = np.empty((len(numbers), self.dimension), dtype=np.float16)
        left = np.arange(len(numbers))
        for segment in self.segments:
            at = segment.find(numbers[left])
            present = at >= 0
            rows[left[present]] = segment.rows[at[present]]
            left = left[~present]
            if not len(left):
                break
        self._touched += len(rows)
        if self._touched > MAPPED_ROWS:
            self._touched = 0
            self._release_pages()
        return None if len(left) else rows

    def add(self, numbers: Numbers, rows: Halves, *, write: bool = True) -> bool:
        """Add rows of premises that have none; return whether they are written, else they are in memory."""
        if self.folder is not None and write:
            try:
                write_segment(self.folder, numbers, rows, revision=self.revision, metric=self.metric)
            except OSError as error:
                _log.warning("premise vectors could not be cached in %s: %s", self.folder, error)
            else:
                self.refresh()
                return True
        with self._lock:
            *shipped, own = self._memory
            parts = np.concatenate([own.numbers, numbers]), np.concatenate([own.rows, rows])
            self._memory = (*shipped, Segment(*parts))
        return False

    def merge(self) -> None:
        """Merge small segments into one if there are many."""
        if self.folder is None or len(self._small) <= MOST_SMALL:
            return
        try:
            with locked(self.folder, "merging", strict=True):
                self.refresh()
                parts = self._small
                if len(parts) > MOST_SMALL:
                    write_segment(self.folder, *_join(parts), revision=self.revision, metric=self.metric)
                    for part in parts:
                        _remove(cast("Path", part.manifest))
        except OSError as error:
            _log.warning("premise vectors in %s could not be merged: %s", self.folder, error)
        self.refresh()

    @property
    def _small(self) -> list[Segment]:
        return [part for part in self.segments if part.manifest is not None and len(part.numbers) < SMALL]

    def _release_pages(self) -> None:
        """Give the pages of files that were read back to the system; they are read again on demand."""
        for segment in self.segments:
            pages: object = segment.rows.base
            if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    def _migrate(self) -> None:
        """Make one segment of the entries of earlier versions; a demo has them in memory."""
        if self.folder is None or not (paths := sorted(self.folder.glob(_ENTRIES))):
            return
        with contextlib.nullcontext() if is_demo() else locked(self.folder, "merging"):
            entries = [entry for path in paths if (entry := self._open(path)) is not None]
            if entries and self.add(*_join(entries), write=not is_demo()):
                for entry in entries:
                    shutil.rmtree(cast("Path", entry.manifest).parent, ignore_errors=True)

    def _open(self, path: Path) -> Segment | None:
        """Return the segment of a manifest, None if it is damaged, another encoder's, or gone."""
        is_entry = path.name == "manifest.json"
        try:
            manifest = read_json(path, _EntryManifest) if is_entry else read_json(path, SegmentManifest)
            expected = (self.revision, self.dimension, self.metric)
            if manifest is None or (manifest.revision, manifest.dimension, manifest.metric) != expected:
                return None
            numbers, file, digest = manifest.open(path)
            rows: Halves = np.load(file, mmap_mode="r", allow_pickle=False)
            whole = rows.dtype == np.float16 and rows.shape == (len(numbers), self.dimension)
            if whole and (is_entry or rows.nbytes <= VERIFIED_BYTES):
                whole = digest_of(file) == digest and bool(np.isfinite(rows).all())
            if not whole:
                raise ValueError(f"{file.name} is damaged")
        except FileNotFoundError:
            return None  # removed or merged by another process meanwhile
        except (OSError, ValueError, EOFError, DataError) as error:
            _log.warning("premise vectors of %s are ignored, they are encoded again: %s", path, error)
            return None
        return Segment(numbers, rows, path)


_STORES: Cache[tuple[Path, str, int, str], VectorStore] = Cache("vectors")


def open_store(
    folder: Path, *, revision: str, dimension: int, metric: str, shipped: Segment | None
) -> VectorStore:
    """Return the process's store of a folder; `VectorStore.refresh` shows what others wrote meanwhile."""
    key = (folder, revision, dimension, metric)
    store = _STORES.get(key)
    if store is None:
        store = VectorStore(folder, revision=revision, dimension=dimension, metric=metric, shipped=shipped)
        _STORES.put(key, store, size=0)
    return store


def describe_store(folder: Path) -> tuple[str, int]:
    """Return the revision of a folder's rows, empty if none can be read, and the number of rows."""
    revision, count = "", 0
    for path in (*folder.glob(_SEGMENTS), *folder.glob(_ENTRIES)):
        with contextlib.suppress(DataError):
            manifest = read_json(path, _Manifest)
            if manifest is not None:
                revision, count = manifest.revision, count + manifest.count
    return revision, count


def remove_store(folder: Path) -> None:
    """Remove the rows of a revision; they are encoded again on demand.

    Raises:
        OSError: If they cannot be removed.
    """
    for path in folder.iterdir():
        if path.is_dir():
            if path.name != ".locks":
                shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path, name: str, *, strict: bool = False) -> Iterator[None]:
    """Hold a lock of a folder between threads and processes.

    Where it cannot be made, this is logged as a warning, or raises `OSError` if `strict`.
    """
    from filelock import FileLock

    with contextlib.ExitStack() as stack:
        try:
            locks = folder / ".locks"
            locks.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(locks / f"{name}.lock"))
        except (OSError, NotImplementedError) as error:
            if strict:
                raise OSError(str(error)) from error
            _log.warning("the vector cache %s cannot be written: %s", folder, error)
        yield


def _join(parts: Sequence[Segment]) -> tuple[Numbers, Halves]:
    """Return the distinct premises of segments, which may repeat most of each other, and their rows."""
    numbers, rows = parts[0].numbers, [parts[0].rows]
    for part in parts[1:]:
        new = ~np.isin(part.numbers, numbers)
        numbers = np.concatenate([numbers, part.numbers[new]])
        rows.append(part.rows[new])
    return numbers, np.concatenate(rows)


def _arrays(manifest: Path) -> tuple[Path, Path]:
    """Return the files of the premises and of the rows of a segment."""
    return manifest.with_suffix(".numbers.npy"), manifest.with_suffix(".rows.npy")


def _remove(manifest: Path) -> None:
    with contextlib.suppress(OSError):  # in use on another system; it is removed with the next merge
        for file in (manifest, *_arrays(manifest)):
            file.unlink(missing_ok=True)


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
