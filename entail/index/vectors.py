"""Vector cache on disk, keyed by corpus and premise tower; only new lines are encoded."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from entail.data.bundled import sample_dir
from entail.data.records import Corpus
from entail.data.text import corpus_hash, fold
from entail.encoders.encoder import Encoder
from entail.errors import CorpusError, ManifestMismatchError
from entail.index.protocol import Floats, Manifest
from entail.progress import ProgressCallback
from entail.settings import is_demo

Halves = NDArray[np.float16]

KEEP = 12
"""Entries kept of one revision, the last used: a corpus that grows leaves one behind at each step."""

_log = logging.getLogger(__name__)


def premise_vectors(
    corpus: Corpus, encoder: Encoder, *, cache_dir: Path, progress: ProgressCallback | None = None
) -> Floats:
    """Return the unit vectors of a corpus, shape (premises, d), in its order; see `premise_rows`.

    Raises:
        CorpusError: If the corpus is empty.
        ManifestMismatchError: If the entry in this corpus's place holds something else.
        EncoderError: If something has to be encoded and the encoder cannot.
    """
    return unit(premise_rows(corpus, encoder, cache_dir=cache_dir, progress=progress))


def premise_rows(
    corpus: Corpus,
    encoder: Encoder,
    *,
    cache_dir: Path,
    metric: str = "inner_product",
    progress: ProgressCallback | None = None,
) -> Halves:
    """Return what an encoder makes of a corpus as it is kept: in fp16, shape (premises, d), in its order.

    Rows come from this corpus's entry, else from the vectors that ship and other entries of the same
    revision, premise by premise; what none of them holds is encoded (folded, so that a premise has one
    vector whatever its white space). Two processes that ask at once encode once. A cache folder that
    cannot be written costs time, not the answer: a warning is logged. A demo reads the cache and leaves it
    as it is.

    Args:
        corpus: The premises.
        encoder: What encodes them; its rows need not be unit vectors.
        cache_dir: Where entries are kept.
        metric: What the rows are for, as the entry's manifest says it.
        progress: Told about what has to be encoded.

    Raises:
        CorpusError: If the corpus is empty.
        ManifestMismatchError: If the entry in this corpus's place holds something else.
        EncoderError: If something has to be encoded and the encoder cannot.
    """
    if not corpus.premises:
        raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
    revision = encoder.premise_revision
    expected = Manifest(revision, encoder.dimension, metric, len(corpus), corpus.hash)
    shipped = shipped_vectors(revision)
    if shipped is not None and all(key in shipped.premises for key in corpus.keys):
        return np.stack([shipped.premises[key] for key in corpus.keys])
    shelf = cache_dir / slug(revision)
    entry = shelf / corpus.hash
    if is_demo():
        known = dict(shipped.premises) if shipped is not None else {}
        held = read_entry(entry, expected)
        return _gather(corpus, encoder, known, shelf, metric, progress) if held is None else held
    with _locked(shelf, corpus.hash):
        held = read_entry(entry, expected)
        if held is None:
            known = dict(shipped.premises) if shipped is not None else {}
            held = _gather(corpus, encoder, known, shelf, metric, progress)
            _write_entry(entry, held, corpus.keys, expected)
            _drop_oldest(shelf)
        else:
            with contextlib.suppress(OSError):
                os.utime(entry)
    return held


def read_entry(entry: Path, expected: Manifest) -> Halves | None:
    """Return the vectors of an entry, None if there is none or it is torn or altered.

    Raises:
        ManifestMismatchError: If it is whole, but holds something other than expected.
    """
    manifest, vectors, _ = _read(entry) or (None, None, ())
    if manifest is None:
        return None
    check_manifest(manifest, expected, where=f"the cached vectors in {entry.parent.name}/{entry.name}")
    return vectors


def remove_entry(entry: Path) -> None:
    """Remove an entry: the vectors are made again when somebody asks for them.

    Raises:
        OSError: If it cannot be removed.
    """
    with _locked(entry.parent, entry.name):
        shutil.rmtree(entry)


def check_manifest(found: Manifest, expected: Manifest, *, where: str) -> None:
    """Refuse what belongs to something else.

    Raises:
        ManifestMismatchError: If any field differs; names both sides of each.
    """
    differences = [
        f"{field} {held!r} where {asdict(expected)[field]!r} was expected"
        for field, held in asdict(found).items()
        if held != asdict(expected)[field]
    ]
    if differences:
        raise ManifestMismatchError(
            f"{where}: holds {'; '.join(differences)}. Remove it and it is made again"
        )


def unit(vectors: Halves) -> Floats:
    """Return the vectors in fp32 and of length 1 again, which rounding to fp16 left them only nearly."""
    full = vectors.astype(np.float32)
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    return full


def slug(revision: str) -> str:
    """Return a revision as the name of a folder, different for different revisions.

    >>> slug("minilm@53aa51172d14"), slug("org/model@main")[:14]
    ('minilm@53aa51172d14', 'org-model@main')
    """
    plain = re.sub(r"[^\w.@+-]", "-", revision, flags=re.ASCII).lstrip(".")[:120]
    return plain if plain == revision else f"{plain}-{sha256(revision.encode()).hexdigest()[:8]}"


def _gather(
    corpus: Corpus,
    encoder: Encoder,
    known: dict[str, Halves],
    shelf: Path,
    metric: str,
    progress: ProgressCallback | None,
) -> Halves:
    missing = {key for key in corpus.keys if key not in known}
    for entry in _by_age(shelf):
        if not missing:
            break
        manifest, vectors, keys = _read(entry) or (None, None, ())
        if manifest is None or vectors is None:
            continue
        if (manifest.revision, manifest.metric) != (encoder.premise_revision, metric):
            continue
        found = {key: vectors[row] for row, key in enumerate(keys) if key in missing}
        known.update(found)
        missing.difference_update(found)
    if missing:
        new = [premise for premise in corpus.premises if premise.key in missing]
        encoded = encoder.encode_premises([fold(premise.text) for premise in new], progress=progress)
        known.update({premise.key: row for premise, row in zip(new, encoded.astype(np.float16), strict=True)})
    return np.stack([known[key] for key in corpus.keys])


def _read(entry: Path) -> tuple[Manifest, Halves, tuple[str, ...]] | None:
    try:
        told = json.loads((entry / "manifest.json").read_text(encoding="utf-8"))
        digest = told.pop("sha256")
        manifest = Manifest(**told)
        keys = tuple((entry / "keys.txt").read_text(encoding="ascii").split())
        content = (entry / "vectors.npy").read_bytes()
        if sha256(content).hexdigest() != digest or corpus_hash(keys) != manifest.corpus_hash:
            return None
        vectors = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    whole = vectors.dtype == np.float16 and vectors.shape == (len(keys), manifest.dimension)
    return (manifest, vectors, keys) if whole and np.isfinite(vectors).all() else None


def _write_entry(entry: Path, vectors: Halves, keys: tuple[str, ...], manifest: Manifest) -> None:
    partial = entry.with_name(f".{entry.name}.{os.getpid()}")
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    told: Mapping[str, object] = {
        **asdict(manifest),
        "sha256": sha256(content.getvalue()).hexdigest(),
    }
    try:
        partial.mkdir(parents=True, exist_ok=True)
        (partial / "vectors.npy").write_bytes(content.getvalue())
        (partial / "keys.txt").write_text("\n".join(keys) + "\n", encoding="ascii")
        (partial / "manifest.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        if entry.exists():
            shutil.rmtree(entry)
        partial.replace(entry)
    except OSError as error:
        _log.warning("premise vectors could not be cached in %s: %s", entry.parent, error)
        shutil.rmtree(partial, ignore_errors=True)


def _by_age(shelf: Path) -> list[Path]:
    """Entries of a revision, the last used first."""

    def used(entry: Path) -> float:
        try:
            return entry.stat().st_mtime
        except OSError:  # taken away by another process meanwhile
            return 0.0

    try:
        entries = [entry for entry in shelf.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(entries, key=used, reverse=True)


def _drop_oldest(shelf: Path) -> None:
    for entry in _by_age(shelf)[KEEP:]:
        shutil.rmtree(entry, ignore_errors=True)


@contextlib.contextmanager
def _locked(shelf: Path, name: str) -> Iterator[None]:
    """Hold one entry's lock, between threads and processes; where none can be made, go on without."""
    from filelock import FileLock

    lock = None
    try:
        folder = shelf / ".locks"
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{name}.lock")
        lock.acquire()
    except (OSError, NotImplementedError) as error:
        _log.warning("the vector cache %s cannot be written: %s", shelf, error)
        lock = None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


@dataclass(frozen=True)
class ShippedVectors:
    """Unit vectors of one encoder revision, rounded to fp16, by premise key.

    Attributes:
        revision: The encoder's.
        premises: Of the bundled facts; each of shape (d,).
        queries: Of the bundled hypotheses and intermediate conclusions; each of shape (d,).
    """

    revision: str
    premises: Mapping[str, Halves]
    queries: Mapping[str, Halves]


def shipped_vectors(revision: str) -> ShippedVectors | None:
    """Return the vectors that ship for an encoder revision, None if there are none for it."""
    shipped = _read_shipped(sample_dir())
    return shipped if shipped is not None and shipped.revision == revision else None


def write_shipped(
    folder: Path,
    *,
    revision: str,
    premises: Mapping[str, NDArray[np.float32]],
    queries: Mapping[str, NDArray[np.float32]],
) -> None:
    """Write vectors to ship into a folder: `vectors.json` says what the two arrays hold."""
    told = {"revision": revision, "dtype": "float16"}
    for name, vectors in (("premise", premises), ("query", queries)):
        np.save(folder / f"{name}_vectors.npy", np.stack(list(vectors.values())).astype(np.float16))
    keys = {"premise_keys": list(premises), "query_keys": list(queries)}
    (folder / "vectors.json").write_text(json.dumps({**told, **keys}, indent=0) + "\n", encoding="utf-8")


@cache
def _read_shipped(folder: Path) -> ShippedVectors | None:
    parts = []
    try:
        told = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
        for name in ("premise", "query"):
            vectors = np.load(folder / f"{name}_vectors.npy", allow_pickle=False)
            parts.append(dict(zip(told[f"{name}_keys"], vectors, strict=True)))
    except (OSError, ValueError, KeyError):  # not there or torn: the encoder answers instead
        return None
    return ShippedVectors(told["revision"], premises=parts[0], queries=parts[1])
