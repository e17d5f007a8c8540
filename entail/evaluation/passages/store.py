"""Passages on disk: texts with their offsets, vectors in shards that are mapped into memory.

A folder holds `texts.jsonl` (id, title, text), `offsets.i64` (start of each line) and, for each encoder,
`vectors-<revision>/00000-<hash of its texts>.npy` ...: float32, shape (passages of the shard, d). Shards are
written atomically, so encoding resumes, and texts that did not change are not encoded again. At most one
shard is in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.data.passages.files import Passage, read_passages, unread_columns
from entail.data.stored import read_json
from entail.data.writing import replacing, write_text
from entail.errors import EvaluationError
from entail.index.vectors import slug
from entail.progress import Meter, ProgressCallback

if TYPE_CHECKING:
    from entail.encoders.encoder import BiEncoder

SHARD = 50_000
"""Passages of a shard: 77 MB at 384 dimensions."""

_BATCH = 1_000
_READING = 5
"""Version of the readers; a pool of another version is read again, and vectors of equal texts stay."""

_ABOUT = "passages.json"
_REMEDY = "remove the folder, and they are stored again"


class PassageStore:
    """Passages by position, read from disk one at a time.

    Raises:
        EvaluationError: If the folder holds no whole pool of `store_passages`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        about = _read_about(folder)
        if about is None:
            raise EvaluationError(f"{folder}: expected stored passages, found none; store them first")
        self.about = about
        self.unread_columns: list[str] = about.get("unread_columns", [])
        self._offsets = np.memmap(folder / "offsets.i64", dtype=np.int64, mode="r")
        self._texts = np.memmap(folder / "texts.jsonl", dtype=np.uint8, mode="r")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, position: int) -> Passage:
        start, end = self._offsets[position], self._offsets[position + 1]
        return self._parse(self._texts[start:end].tobytes())

    def __iter__(self) -> Iterator[Passage]:
        with (self.folder / "texts.jsonl").open("rb") as file:
            yield from map(self._parse, file)

    def _parse(self, line: bytes) -> Passage:
        try:
            return Passage(*json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise EvaluationError(f"{self.folder}: the stored passages are damaged; {_REMEDY}") from error

    def digest(self, first: int, last: int) -> str:
        """Return the hash of the passages from `first` to before `last`."""
        start, end = self._offsets[first], self._offsets[last]
        return hashlib.blake2b(self._texts[start:end].data, digest_size=8).hexdigest()

    def positions(self, ids: Iterable[str]) -> dict[str, int]:
        """Return where the passages of some ids are; what is not there is left out."""
        wanted_ids = set(ids)
        return {passage.id: position for position, passage in enumerate(self) if passage.id in wanted_ids}


def store_passages(
    files: Sequence[Path], folder: Path, *, progress: ProgressCallback | None = None
) -> PassageStore:
    """Write the passages of files, in their order, into a folder, or open the pool of the same files there.

    Raises:
        FormatError: If a file is malformed, or an id has two texts; a pool in the folder stays.
        EvaluationError: If there is no passage.
    """
    parts = [part for file in files for part in _parts(file)]
    states = [(str(part.resolve()), part.stat().st_size, part.stat().st_mtime_ns) for part in parts]
    key = f"{_hashed([store_name(files), states])}-{_READING}"
    if (_read_about(folder) or {}).get("key") == key:
        return PassageStore(folder)
    folder.mkdir(parents=True, exist_ok=True)
    meter = Meter(sum(size for _, size, _ in states), "reading passages", unit="bytes", report=progress)
    count, offset = 0, 0
    with replacing(folder / "texts.jsonl") as texts, replacing(folder / "offsets.i64") as offsets:
        with texts.open("wb") as file, offsets.open("wb") as offset_file:
            offset_file.write(np.int64(0).tobytes())
            for passage in read_passages(*files):
                row = json.dumps([passage.id, passage.text, passage.title]).encode() + b"\n"
                meter.add(len(row))
                count += 1
                offset += file.write(row)
                offset_file.write(np.int64(offset).tobytes())
        if not count:
            raise EvaluationError("expected passages to search, found none in " + ", ".join(map(str, files)))
        (folder / _ABOUT).unlink(missing_ok=True)  # it would belong to other texts
    about = {
        "key": key,
        "passages": count,
        "files": [path.name for path in files],
        "unread_columns": sorted({name for path in files for name in unread_columns(path)}),
    }
    write_text(folder / _ABOUT, json.dumps(about, indent=2) + "\n")
    return PassageStore(folder)


def store_name(files: Sequence[Path]) -> str:
    """Return the name of the store of some files: a hash of their paths, the same when they change."""
    return _hashed([str(file.resolve()) for file in files])


def encode_store(
    store: PassageStore,
    encoder: BiEncoder,
    *,
    shard: int = SHARD,
    progress: ProgressCallback | None = None,
) -> list[Path]:
    """Encode all passages by an encoder's premise tower; return the files of their vectors, in order.

    Existing shards are not encoded again.

    Raises:
        EncoderError: If the weights cannot be loaded or make no vectors.
    """
    folder = store.folder / f"vectors-{slug(encoder.premise_revision)}"
    folder.mkdir(parents=True, exist_ok=True)
    meter = Meter(len(store), f"encoding passages by {encoder.name}", unit="passages", report=progress)
    files = []
    for number, start in enumerate(range(0, len(store), shard)):
        shape = min(shard, len(store) - start), encoder.dimension
        file = folder / f"{number:05}-{store.digest(start, start + shape[0])}.npy"
        files.append(file)
        if _is_whole(file, shape):
            meter.add(shape[0])
            continue
        with replacing(file) as partial:
            vectors = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=shape)
            for at in range(0, shape[0], _BATCH):
                texts = [store[start + index].whole for index in range(at, min(at + _BATCH, shape[0]))]
                vectors[at : at + len(texts)] = encoder.encode_premises(texts)
                meter.add(len(texts))
            vectors.flush()
            del vectors
    return files


def _is_whole(file: Path, shape: tuple[int, int]) -> bool:
    try:
        return bool(np.load(file, mmap_mode="r").shape == shape)
    except (OSError, ValueError):
        return False


def _read_about(folder: Path) -> dict[str, Any] | None:
    return read_json(folder / _ABOUT, dict[str, Any], error=EvaluationError, remedy=_REMEDY)


def _hashed(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def _parts(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(part for part in path.glob("corpus.jsonl*") if part.is_file())
    return [path] if os.path.lexists(path) else []
