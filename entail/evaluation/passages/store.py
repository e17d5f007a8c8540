"""Passages on disk: texts with their places, vectors in shards that are mapped into memory.

A folder holds `texts.jsonl` (id, title, text), `offsets.i64` (where each line begins) and, for each encoder,
`vectors-<revision>/00000-<hash of its texts>.npy` ...: float32, shape (passages of the shard, d). A shard is
there whole or not at all, so encoding goes on where it was cut off, and what was encoded of the same texts is
not encoded again, even where more texts follow them now. Nothing but one shard is ever in memory.

A file that is cut, or wrong in the middle, leaves what came before it as a pool (`cut` in `passages.json`),
which is read again from its files the next time.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from entail.data.passages.files import Passage, PassageTally, read_passages
from entail.data.writing import replacing, write_text
from entail.errors import EvaluationError, FormatError
from entail.index.vectors import slug
from entail.progress import Meter, ProgressCallback

if TYPE_CHECKING:
    from entail.encoders.encoder import BiEncoder

Floats = NDArray[np.float32]

SHARD = 50_000
"""Passages whose vectors are one file: 77 MB at 384 dimensions."""

_PIECE = 1_000
_READING = 2
"""Goes up when files are read otherwise: pools are then read again, and vectors of equal texts stay."""


class PassageStore:
    """Passages by position, read from disk one at a time.

    Args:
        folder: Where `store_passages` has put them.

    Raises:
        EvaluationError: If nothing whole is there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        about = folder / "passages.json"
        if not about.is_file():
            raise EvaluationError(f"{folder}: expected stored passages, found none; store them first")
        self.about: dict[str, object] = json.loads(about.read_text(encoding="utf-8"))
        self._offsets = np.memmap(folder / "offsets.i64", dtype=np.int64, mode="r")
        self._texts = np.memmap(folder / "texts.jsonl", dtype=np.uint8, mode="r")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, position: int) -> Passage:
        start, end = self._offsets[position], self._offsets[position + 1]
        return Passage(*json.loads(self._texts[start:end].tobytes()))

    def __iter__(self) -> Iterator[Passage]:
        with (self.folder / "texts.jsonl").open("rb") as file:
            for line in file:
                yield Passage(*json.loads(line))

    def digest(self, first: int, last: int) -> str:
        """Return the hash of the passages from `first` to before `last`."""
        start, end = self._offsets[first], self._offsets[last]
        return hashlib.blake2b(self._texts[start:end].data, digest_size=8).hexdigest()

    def positions(self, ids: Iterable[str]) -> dict[str, int]:
        """Return where the passages of some ids are; what is not there is left out."""
        wanted = set(ids)
        return {passage.id: place for place, passage in enumerate(self) if passage.id in wanted}


def store_passages(
    files: Sequence[Path],
    folder: Path,
    *,
    on_cut: Callable[[PassageStore], None] | None = None,
    progress: ProgressCallback | None = None,
) -> PassageStore:
    """Write the passages of files into a folder, or open what was written of the same files before.

    Two passages of one id are one passage; the first counts.

    Args:
        files: In the order in which their passages get their places.
        folder: Where they go. What is there stays as it is until something was read.
        on_cut: Given the pool of what was read before a mistake in a file; then the error is raised.
        progress: See `Meter`.

    Raises:
        FormatError: If a file is not what it should be; what came before is the pool of the folder.
        EvaluationError: If no passage is in them.
    """
    key = f"{_content_key(files)}-{_READING}"
    about_file = folder / "passages.json"
    if about_file.is_file() and json.loads(about_file.read_text(encoding="utf-8")).get("key") == key:
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
    store = PassageStore(folder)
    if mistake is not None:
        if on_cut is not None:
            on_cut(store)
        raise mistake
    return store


def _write(
    files: Sequence[Path], tallies: Sequence[PassageTally], texts: Path, offsets: Path, meter: Meter
) -> tuple[array[int], FormatError | None]:
    """Write passages and their places; return a hash of each id, and the mistake that ended the reading."""
    ids = array("Q")  # 168 MB of 21 million
    place = 0
    with texts.open("wb") as file, offsets.open("wb") as places:
        places.write(np.int64(0).tobytes())
        try:
            for path, tally in zip(files, tallies, strict=True):
                for passage in read_passages(path, tally=tally):
                    row = json.dumps([passage.id, passage.text, passage.title]).encode() + b"\n"
                    file.write(row)
                    place += len(row)
                    ids.append(_hash(passage.id))
                    places.write(np.int64(place).tobytes())
                    meter.add(len(row))
        except FormatError as error:
            return ids, error
    return ids, None


def _hash(known: str) -> int:
    made = hashlib.blake2b(known.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(made.digest(), "little")


def _repeated(ids: array[int]) -> NDArray[np.int64]:
    """Return the places of ids that were there before."""
    if not ids:
        return np.empty(0, dtype=np.int64)
    hashes = np.frombuffer(ids, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    again = np.flatnonzero(hashes[order][1:] == hashes[order][:-1]) + 1
    return np.sort(order[again])


def _leave_out(repeated: NDArray[np.int64], texts: Path, offsets: Path) -> None:
    """Write texts and their places again without some of them."""
    left = iter([*repeated.tolist(), -1])
    skipped, place = next(left), 0
    kept = (texts.with_name(f"{texts.name}.kept"), offsets.with_name(f"{offsets.name}.kept"))
    with texts.open("rb") as before, kept[0].open("wb") as file, kept[1].open("wb") as places:
        places.write(np.int64(0).tobytes())
        for number, row in enumerate(before):
            if number == skipped:
                skipped = next(left)
                continue
            file.write(row)
            place += len(row)
            places.write(np.int64(place).tobytes())
    kept[0].replace(texts)
    kept[1].replace(offsets)


def store_name(files: Sequence[Path]) -> str:
    """Return what names the store of some files: where they are, hashed.

    It stays when a file changes, so that what was encoded of texts that did not is found again.
    """
    return _hashed([str(file.resolve()) for file in files])


def _content_key(files: Sequence[Path]) -> str:
    """Return what changes with some files: their paths, sizes and times of change, hashed."""
    return _hashed(
        [
            (str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns)
            for file in files
            for path in _parts(file)
        ]
    )


def _hashed(told: object) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def encode_store(
    store: PassageStore,
    encoder: BiEncoder,
    *,
    shard: int = SHARD,
    progress: ProgressCallback | None = None,
) -> list[Path]:
    """Encode all passages by an encoder's premise tower, and return the files of their vectors, in order.

    Shards that are there already are not encoded again, nor what one holds of the first passages of another:
    a pool that goes on where it was cut.

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
        if _is_whole(file, (size, encoder.dimension)):
            meter.add(size)
            continue
        with replacing(file) as partial:
            vectors = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.float32, shape=(size, encoder.dimension)
            )
            known = _beginning(folder, number, store, start, vectors.shape)
            vectors[: len(known)] = known
            meter.add(len(known))
            for at in range(len(known), size, _PIECE):
                texts = [store[start + place].whole for place in range(at, min(at + _PIECE, size))]
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


def _beginning(folder: Path, number: int, store: PassageStore, start: int, shape: tuple[int, ...]) -> Floats:
    """Return the vectors of a shard's first passages that were encoded when fewer were there."""
    longest: Floats = np.empty((0, shape[1]), dtype=np.float32)
    for file in folder.glob(f"{number:05}-*.npy"):
        try:
            found = np.load(file, mmap_mode="r")
        except (OSError, ValueError):
            continue
        if found.shape[1:] != shape[1:] or not len(longest) < len(found) < shape[0]:
            continue
        if store.digest(start, start + len(found)) == file.stem.partition("-")[2]:
            longest = found
    return longest


def _parts(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(found for found in path.glob("corpus.jsonl*") if found.is_file())
    return [path] if os.path.lexists(path) else []
