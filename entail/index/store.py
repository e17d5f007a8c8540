"""Rows of premises that are encoded once: append-only segments on disk, by encoder revision.

A segment is two arrays and a manifest, which is written last::

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
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.data.stored import read_json
from entail.data.text import corpus_hash
from entail.errors import DataError
from entail.index.engines import Numbers
from entail.index.protocol import Ints, Manifest

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

_log = logging.getLogger(__name__)


def parse_keys(keys: Sequence[str]) -> Numbers:
    """Return keys as numbers."""
    return np.fromiter((int(key, 16) for key in keys), np.uint64, len(keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentManifest:
    """Content of a segment's manifest."""

    revision: str
    dimension: int
    metric: str
    count: int
    numbers_sha256: str
    rows_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _EntryManifest(Manifest):
    """Content of `manifest.json` in an entry of an earlier version: a folder for each corpus version."""

    sha256: str


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

    @property
    def is_small(self) -> bool:
        """Whether it is to be merged with others."""
        return len(self.numbers) < SMALL


def write_segment(folder: Path, numbers: Numbers, rows: Halves, *, revision: str, metric: str) -> Path:
    """Write the rows of distinct premises as a new segment of a folder; return its manifest.

    Any number of processes may write at once.

    Raises:
        OSError: If it cannot be written.
    """
    with locked(folder, "segments", strict=True):
        names = (path.name.partition(".")[0] for path in folder.iterdir())
        name = f"{1 + max((int(name) for name in names if name.isdecimal()), default=0):06}"
        parts: dict[str, Any] = {"numbers": numbers.astype(np.uint64), "rows": rows.astype(np.float16)}
        digests = {}
        for part, content in parts.items():
            partial = folder / f".{name}.{part}.{os.getpid()}"
            try:
                with partial.open("wb") as file:
                    np.save(file, content, allow_pickle=False)
                digests[f"{part}_sha256"] = digest_of(partial)
                partial.replace(folder / f"{name}.{part}.npy")
            finally:
                partial.unlink(missing_ok=True)
        manifest = SegmentManifest(
            revision=revision, dimension=rows.shape[1], metric=metric, count=len(numbers), **digests
        )
        partial, path = folder / f".{name}.json.{os.getpid()}", folder / f"{name}.json"
        partial.write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
        partial.replace(path)
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
        self._memory: tuple[Segment, ...] = () if shipped is None else (shipped,)
        self._own: Segment | None = None
        self._opened: dict[Path, tuple[object, Segment | None]] = {}
        self._touched = 0
        self.refresh()

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Segments, those in memory first, then the largest first."""
        opened = [segment for _, segment in list(self._opened.values()) if segment is not None]
        own = () if self._own is None else (self._own,)
        return (*self._memory, *own, *sorted(opened, key=lambda segment: -len(segment.numbers)))

    def refresh(self) -> None:
        """Open segments that other processes wrote, and let go of those that are gone or have changed."""
        if self.folder is None:
            return
        with self._lock:
            opened = {}
            for manifest in _manifests(self.folder):
                stamp = _stamp(manifest)
                before = self._opened.get(manifest)
                opened[manifest] = (
                    before if before is not None and before[0] == stamp else (stamp, self._open(manifest))
                )
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

    def add(self, numbers: Numbers, rows: Halves, *, write: bool = True) -> None:
        """Add rows of premises that have none; those that cannot be written stay in memory."""
        if self.folder is not None and write:
            try:
                write_segment(self.folder, numbers, rows, revision=self.revision, metric=self.metric)
            except OSError as error:
                _log.warning("premise vectors could not be cached in %s: %s", self.folder, error)
            else:
                self.refresh()
                return
        with self._lock:
            own = self._own
            self._own = (
                Segment(numbers, rows)
                if own is None
                else Segment(np.concatenate([own.numbers, numbers]), np.concatenate([own.rows, rows]))
            )

    def merge(self) -> None:
        """Merge small segments into one if there are many, and entries of earlier versions at once."""
        if self.folder is None or not self._mergeable():
            return
        try:
            with locked(self.folder, "merging", strict=True):
                self.refresh()
                parts = self._mergeable()
                if not parts:
                    return
                numbers, rows = _join(parts)
                write_segment(self.folder, numbers, rows, revision=self.revision, metric=self.metric)
                for part in parts:
                    if part.manifest is not None:
                        _remove(part.manifest)
        except OSError as error:
            _log.warning("premise vectors in %s could not be merged: %s", self.folder, error)
        self.refresh()

    def _release_pages(self) -> None:
        """Give the pages of files that were read back to the system; they are read again on demand."""
        for segment in self.segments:
            pages: object = segment.rows.base
            if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    def _mergeable(self) -> list[Segment]:
        opened = [segment for _, segment in self._opened.values() if segment is not None]
        entries = [segment for segment in opened if segment.manifest and _is_entry(segment.manifest)]
        small = [segment for segment in opened if segment.is_small and segment not in entries]
        return entries + small if entries or len(small) > MOST_SMALL else []

    def _open(self, manifest: Path) -> Segment | None:
        try:
            segment = _open_entry(self, manifest) if _is_entry(manifest) else _open_segment(self, manifest)
        except FileNotFoundError:
            return None  # removed or merged by another process meanwhile
        except (OSError, ValueError, DataError) as error:
            _log.warning("premise vectors of %s are ignored, they are encoded again: %s", manifest, error)
            return None
        return segment


@lru_cache(maxsize=32)
def open_store(
    folder: Path, *, revision: str, dimension: int, metric: str, shipped: Segment | None
) -> VectorStore:
    """Return the process's store of a folder; `VectorStore.refresh` shows what others wrote meanwhile."""
    return VectorStore(folder, revision=revision, dimension=dimension, metric=metric, shipped=shipped)


def describe_store(folder: Path) -> tuple[str, int]:
    """Return the revision of a folder's rows, empty if none can be read, and the number of rows."""
    revision, count = "", 0
    for path in _manifests(folder):
        with contextlib.suppress(DataError):
            kind: type[Manifest] | type[SegmentManifest] = Manifest if _is_entry(path) else SegmentManifest
            manifest: Manifest | SegmentManifest | None = read_json(path, kind)
            if manifest is not None:
                revision, count = manifest.revision, count + manifest.count
    return revision, count


def remove_store(folder: Path) -> None:
    """Remove the rows of a revision; they are encoded again on demand.

    Raises:
        OSError: If they cannot be removed.
    """
    with locked(folder, "segments", strict=True):
        for path in folder.iterdir():
            if path.is_dir():
                if path.name != ".locks":
                    shutil.rmtree(path)
            else:
                path.unlink()


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


def _manifests(folder: Path) -> list[Path]:
    return sorted((*folder.glob("[0-9]*.json"), *folder.glob("[!.]*/manifest.json")))


def _files(manifest: Path) -> tuple[Path, Path]:
    """Return the files of the premises and of the rows of a segment."""
    if _is_entry(manifest):
        return manifest.with_name("keys.txt"), manifest.with_name("vectors.npy")
    stem = manifest.name.removesuffix(".json")
    return manifest.with_name(f"{stem}.numbers.npy"), manifest.with_name(f"{stem}.rows.npy")


def _stamp(manifest: Path) -> object:
    stamps = []
    for file in (manifest, *_files(manifest)):
        with contextlib.suppress(OSError):
            stat = file.stat()
            stamps.append((stat.st_size, stat.st_mtime_ns))
    return stamps


def _is_entry(manifest: Path) -> bool:
    return manifest.name == "manifest.json"


def _remove(manifest: Path) -> None:
    with contextlib.suppress(OSError):  # in use on another system; it is removed with the next merge
        if _is_entry(manifest):
            shutil.rmtree(manifest.parent)
        else:
            for file in (manifest, *_files(manifest)):
                file.unlink()


def _open_segment(store: VectorStore, path: Path) -> Segment | None:
    manifest = read_json(path, SegmentManifest)
    if manifest is None or not _matches(store, manifest):
        return None
    numbers_file, rows_file = _files(path)
    if digest_of(numbers_file) != manifest.numbers_sha256:
        raise ValueError(f"{numbers_file.name} is damaged")
    numbers = np.load(numbers_file, allow_pickle=False)
    return _checked(numbers, rows_file, manifest.rows_sha256, manifest, path)


def _open_entry(store: VectorStore, path: Path) -> Segment | None:
    manifest = read_json(path, _EntryManifest)
    if manifest is None or not _matches(store, manifest):
        return None
    keys_file, rows_file = _files(path)
    keys = tuple(keys_file.read_text(encoding="ascii").split())
    if corpus_hash(keys) != manifest.corpus_hash:
        raise ValueError(f"{keys_file.name} is damaged")
    return _checked(parse_keys(keys), rows_file, manifest.sha256, manifest, path)


def _matches(store: VectorStore, manifest: SegmentManifest | Manifest) -> bool:
    expected = (store.revision, store.dimension, store.metric)
    return (manifest.revision, manifest.dimension, manifest.metric) == expected


def _checked(
    numbers: Numbers, rows_file: Path, digest: str, manifest: SegmentManifest | Manifest, path: Path
) -> Segment:
    rows: Halves = np.load(rows_file, mmap_mode="r", allow_pickle=False)
    shape = (manifest.count, manifest.dimension)
    whole = rows.dtype == np.float16 and rows.shape == shape and numbers.shape == shape[:1]
    if whole and (rows.nbytes <= VERIFIED_BYTES or _is_entry(path)):
        whole = digest_of(rows_file) == digest and bool(np.isfinite(rows).all())
    if not whole:
        raise ValueError(f"{rows_file.name} is damaged")
    return Segment(numbers, rows, path)


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
