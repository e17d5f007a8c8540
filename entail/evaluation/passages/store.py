"""Passages on disk: texts with their offsets, vectors in shards that are mapped into memory.

A folder holds `texts.jsonl` (id, title, text), `offsets.i64` (start of each line) and, for each encoder,
`vectors-<revision>/00000-<hash of its texts>.npy` ...: float32, shape (passages of the shard, d). Shards are
written atomically, so encoding resumes, and texts that did not change are not encoded again, even where more
follow them now. At most one shard is in memory.

A malformed file leaves what precedes the mistake as a pool (`cut` in `passages.json`), which is read again
from its files the next time.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from entail.data.passages.files import Passage, PassageTally, read_passages
from entail.data.stored import read_json
from entail.data.writing import replacing, write_text
from entail.errors import EvaluationError, FormatError
from entail.index.vectors import slug
from entail.progress import Meter, ProgressCallback

if TYPE_CHECKING:
    from entail.encoders.encoder import BiEncoder

Floats = NDArray[np.float32]

SHARD = 50_000
"""Passages of a shard: 77 MB at 384 dimensions."""

_BATCH = 1_000
_READING = 3
"""Version of the readers; a pool of another version is read again, and vectors of equal texts stay."""


_ABOUT = "passages.json"
_REMEDY = "remove the folder, and they are stored again"


def _read_about(folder: Path) -> dict[str, object] | None:
    return read_json(folder / _ABOUT, dict[str, object], error=EvaluationError, remedy=_REMEDY)


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
        self._offsets = np.memmap(folder / "offsets.i64", dtype=np.int64, mode="r")
        self._texts = np.memmap(folder / "texts.jsonl", dtype=np.uint8, mode="r")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, position: int) -> Passage:
        start, end = self._offsets[position], self._offsets[position + 1]
        return self._parse(self._texts[start:end].tobytes())

    def __iter__(self) -> Iterator[Passage]:
        with (self.folder / "texts.jsonl").open("rb") as file:
            for line in file:
                yield self._parse(line)

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
    files: Sequence[Path],
    folder: Path,
    *,
    progress: ProgressCallback | None = None,
) -> PassageStore:
    """Write the passages of files into a folder, or open the pool of the same files there.

    Of passages of the same id the first counts.

    Args:
        files: Files in the order of their passages' positions.
        folder: Folder of the pool, changed once something was read.
        progress: See `Meter`.

    Raises:
        FormatError: If a file is malformed; what precedes the mistake is the pool of the folder.
        EvaluationError: If there is no passage.
    """
    key = f"{_content_key(files)}-{_READING}"
    about_file = folder / _ABOUT
    if (_read_about(folder) or {}).get("key") == key:
        return PassageStore(folder)
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(path.stat().st_size for file in files for path in _parts(file))
    meter = Meter(total, "reading passages", unit="bytes", report=progress)
    tallies = [PassageTally() for _ in files]
    with replacing(folder / "texts.jsonl") as texts, replacing(folder / "offsets.i64") as offsets:
        ids, mistake = _write(files, tallies, texts, offsets, meter)
        if mistake is not None and not ids:
            raise mistake
        repeated = _repeated(ids)
        if len(repeated):
            _leave_out(repeated, texts, offsets)
        count = len(ids) - len(repeated)
        if not count:
            raise EvaluationError("expected passages to search, found none in " + ", ".join(map(str, files)))
        about_file.unlink(missing_ok=True)  # it would belong to other texts
    about = {
        "key": key if mistake is None else "",  # a cut pool is that of no files: they are read again
        "passages": count,
        "repeated": len(repeated),
        "files": [{"name": path.name, **tally.to_json()} for path, tally in zip(files, tallies, strict=True)],
        **({"cut": str(mistake)} if mistake is not None else {}),
    }
    write_text(about_file, json.dumps(about, indent=2) + "\n")
    if mistake is not None:
        raise mistake
    return PassageStore(folder)


def _write(
    files: Sequence[Path], tallies: Sequence[PassageTally], texts: Path, offsets: Path, meter: Meter
) -> tuple[array[int], FormatError | None]:
    """Write passages and their offsets; return a hash of each id, and the mistake that ended the reading."""
    ids = array("Q")  # 168 MB of 21 million
    offset = 0
    with texts.open("wb") as file, offsets.open("wb") as offset_file:
        offset_file.write(np.int64(0).tobytes())
        try:
            for path, tally in zip(files, tallies, strict=True):
                for passage in read_passages(path, tally=tally):
                    row = json.dumps([passage.id, passage.text, passage.title]).encode() + b"\n"
                    file.write(row)
                    offset += len(row)
                    ids.append(_hash(passage.id))
                    offset_file.write(np.int64(offset).tobytes())
                    meter.add(len(row))
        except FormatError as error:
            return ids, error
    return ids, None


def _hash(passage_id: str) -> int:
    hasher = hashlib.blake2b(passage_id.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(hasher.digest(), "little")


def _repeated(ids: array[int]) -> NDArray[np.int64]:
    """Return the positions of ids that occurred before."""
    _, first = np.unique(np.frombuffer(ids, dtype=np.uint64), return_index=True)
    is_repeated = np.ones(len(ids), dtype=np.bool_)
    is_repeated[first] = False
    return np.flatnonzero(is_repeated)


def _leave_out(repeated: NDArray[np.int64], texts: Path, offsets: Path) -> None:
    """Write the texts and their offsets again without some of them."""
    skipped = set(repeated.tolist())
    new_texts = texts.with_name(f"{texts.name}.kept")
    sizes = array("q", [0])
    with texts.open("rb") as before, new_texts.open("wb") as file:
        for number, row in enumerate(before):
            if number not in skipped:
                sizes.append(file.write(row))
    np.cumsum(np.frombuffer(sizes, dtype=np.int64)).tofile(offsets)
    new_texts.replace(texts)


def store_name(files: Sequence[Path]) -> str:
    """Return the name of the store of some files: a hash of their paths, the same when they change."""
    return _hashed([str(file.resolve()) for file in files])


def _content_key(files: Sequence[Path]) -> str:
    """Return a hash of the paths, sizes and modification times of some files."""
    return _hashed(
        [
            (str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns)
            for file in files
            for path in _parts(file)
        ]
    )


def _hashed(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def encode_store(
    store: PassageStore,
    encoder: BiEncoder,
    *,
    shard: int = SHARD,
    progress: ProgressCallback | None = None,
) -> list[Path]:
    """Encode all passages by an encoder's premise tower; return the files of their vectors, in order.

    Existing shards, and the beginning of one that has grown, are not encoded again.

    Raises:
        EncoderError: If the weights cannot be loaded or make no vectors.
    """
    folder = store.folder / f"vectors-{slug(encoder.premise_revision)}"
    folder.mkdir(parents=True, exist_ok=True)
    meter = Meter(len(store), f"encoding passages by {encoder.name}", unit="passages", report=progress)
    files = []
    for number, start in enumerate(range(0, len(store), shard)):
        size = min(shard, len(store) - start)
        file = folder / f"{number:05}-{store.digest(start, start + size)}.npy"
        files.append(file)
        whole = _vectors(file)
        if whole is not None and whole.shape == (size, encoder.dimension):
            meter.add(size)
            continue
        with replacing(file) as partial:
            vectors = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float32, shape=(size, encoder.dimension)
            )
            beginning = _beginning(folder, number, store, start, vectors.shape)
            vectors[: len(beginning)] = beginning
            meter.add(len(beginning))
            for at in range(len(beginning), size, _BATCH):
                texts = [store[start + index].whole for index in range(at, min(at + _BATCH, size))]
                vectors[at : at + len(texts)] = encoder.encode_premises(texts)
                meter.add(len(texts))
            vectors.flush()
            del vectors
    return files


def _vectors(file: Path) -> Floats | None:
    """Return the vectors of a shard, None if it cannot be read."""
    try:
        vectors: Floats = np.load(file, mmap_mode="r")
    except (OSError, ValueError):
        return None
    return vectors


def _beginning(folder: Path, number: int, store: PassageStore, start: int, shape: tuple[int, ...]) -> Floats:
    """Return the vectors of a shard's first passages that were encoded when fewer were there."""
    longest: Floats = np.empty((0, shape[1]), dtype=np.float32)
    for file in folder.glob(f"{number:05}-*.npy"):
        vectors = _vectors(file)
        if vectors is None or vectors.shape[1:] != shape[1:] or not len(longest) < len(vectors) < shape[0]:
            continue
        if store.digest(start, start + len(vectors)) == file.stem.partition("-")[2]:
            longest = vectors
    return longest


def _parts(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(part for part in path.glob("corpus.jsonl*") if part.is_file())
    return [path] if os.path.lexists(path) else []
