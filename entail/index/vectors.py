"""Vectors that are encoded once: premises in a cache on disk, queries in memory, and those that ship."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.data.bundled import sample_dir
from entail.data.records import Corpus
from entail.data.stored import read_json
from entail.data.text import corpus_hash, fold, premise_key
from entail.encoders.encoder import Encoder
from entail.errors import CorpusError, DataError
from entail.index.protocol import Floats, Manifest
from entail.index.ranking import checked_queries
from entail.progress import ProgressCallback
from entail.settings import is_demo

Halves = NDArray[np.float16]

KEEP = 12
"""Cache entries of one revision, the last used: each version of a growing corpus adds one."""

ROUNDING = 2**-10
"""Greatest change of length 1 by rounding to fp16."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored(Manifest):
    """Content of `manifest.json` in an entry of the cache."""

    sha256: str


def premise_vectors(
    corpus: Corpus, encoder: Encoder, *, cache_dir: Path | None, progress: ProgressCallback | None = None
) -> Floats:
    """Return an encoder's vectors of a corpus, shape (premises, d), in its order; see `premise_rows`."""
    return unit(premise_rows(corpus, encoder, cache_dir=cache_dir, progress=progress))


def premise_rows(
    corpus: Corpus,
    encoder: Encoder,
    *,
    cache_dir: Path | None,
    metric: str = "inner_product",
    progress: ProgressCallback | None = None,
) -> Halves:
    """Return an encoder's rows of a corpus in fp16, shape (premises, d), in its order.

    Rows come from this corpus's entry, else premise by premise from the vectors that ship and other entries
    of the same revision; missing premises are encoded, folded. Concurrent processes encode once. A cache that
    cannot be written is logged as a warning. A demo only reads it. Without a cache all premises are encoded.

    Raises:
        CorpusError: If the corpus is empty.
        EncoderError: If premises have to be encoded and the encoder cannot.
    """
    if not corpus.premises:
        raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
    if cache_dir is None:
        return _encode(encoder, corpus.texts, progress)
    revision = encoder.premise_revision
    rows = dict(shipped_premises(revision))
    if all(key in rows for key in corpus.keys):
        return np.stack([rows[key] for key in corpus.keys])
    expected = Manifest(revision, encoder.dimension, metric, len(corpus), corpus.hash)
    shelf = cache_dir / slug(revision)
    entry = shelf / corpus.hash
    demo = is_demo()
    with contextlib.nullcontext() if demo else _locked(shelf, corpus.hash):
        stored = _read(entry)
        if stored is None or stored[0] != expected:
            _gather(rows, corpus, encoder, shelf, metric, progress)
            vectors = np.stack([rows[key] for key in corpus.keys])
            if not demo:
                _write_entry(entry, vectors, tuple(corpus.keys), expected)
                for old in _by_age(shelf)[KEEP:]:
                    shutil.rmtree(old, ignore_errors=True)
            return vectors
        if not demo:
            with contextlib.suppress(OSError):
                os.utime(entry)
    return stored[1]


def remove_entry(entry: Path) -> None:
    """Remove a cache entry; its vectors are encoded again on demand.

    Raises:
        OSError: If it cannot be removed.
    """
    with _locked(entry.parent, entry.name):
        shutil.rmtree(entry)


def unit(vectors: Halves) -> Floats:
    """Return vectors in fp32; those of length 1 before their rounding to fp16 have it again."""
    full = vectors.astype(np.float32)
    lengths = np.linalg.norm(full, axis=1, keepdims=True)
    full /= np.where(abs(lengths - 1) < ROUNDING, lengths, 1)
    return full


def slug(revision: str) -> str:
    """Return the folder name of a revision, different for different revisions.

    >>> slug("minilm@53aa51172d14"), slug("org/model@main")[:14]
    ('minilm@53aa51172d14', 'org-model@main')
    """
    plain = re.sub(r"[^\w.@+-]", "-", revision, flags=re.ASCII).lstrip(".")[:120]
    return plain if plain == revision else f"{plain}-{sha256(revision.encode()).hexdigest()[:8]}"


def _gather(
    rows: dict[str, Halves],
    corpus: Corpus,
    encoder: Encoder,
    shelf: Path,
    metric: str,
    progress: ProgressCallback | None,
) -> None:
    """Add the missing rows of a corpus from other entries, then from the encoder."""
    missing = {key for key in corpus.keys if key not in rows}
    for entry in _by_age(shelf):
        if not missing:
            return
        content = _read(entry)
        if content is None:
            continue
        manifest, vectors, keys = content
        if (manifest.revision, manifest.metric) == (encoder.premise_revision, metric):
            rows |= {key: vectors[row] for row, key in enumerate(keys) if key in missing}
            missing.difference_update(keys)
    if missing:
        new = [premise for premise in corpus.premises if premise.key in missing]
        encoded = _encode(encoder, [premise.text for premise in new], progress)
        rows |= {premise.key: row for premise, row in zip(new, encoded, strict=True)}


def _encode(encoder: Encoder, premises: Sequence[str], progress: ProgressCallback | None) -> Halves:
    return encoder.encode_premises([fold(text) for text in premises], progress=progress).astype(np.float16)


def _read(entry: Path) -> tuple[Manifest, Halves, tuple[str, ...]] | None:
    """Return the content of an entry, None if it is missing or damaged."""
    try:
        stored = read_json(entry / "manifest.json", _Stored)
        if stored is None:
            return None
        manifest = Manifest(**{name: getattr(stored, name) for name in Manifest.__slots__})
        keys = tuple((entry / "keys.txt").read_text(encoding="ascii").split())
        content = (entry / "vectors.npy").read_bytes()
        if sha256(content).hexdigest() != stored.sha256 or corpus_hash(keys) != manifest.corpus_hash:
            return None
        vectors = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, DataError):
        return None
    whole = vectors.dtype == np.float16 and vectors.shape == (len(keys), manifest.dimension)
    return (manifest, vectors, keys) if whole and np.isfinite(vectors).all() else None


def _write_entry(entry: Path, vectors: Halves, keys: tuple[str, ...], manifest: Manifest) -> None:
    partial = entry.with_name(f".{entry.name}.{os.getpid()}")
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    record = asdict(manifest) | {"sha256": sha256(content.getvalue()).hexdigest()}
    try:
        partial.mkdir(parents=True, exist_ok=True)
        (partial / "vectors.npy").write_bytes(content.getvalue())
        (partial / "keys.txt").write_text("\n".join(keys) + "\n", encoding="ascii")
        (partial / "manifest.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        if entry.exists():
            shutil.rmtree(entry)
        partial.replace(entry)
    except OSError as error:
        _log.warning("premise vectors could not be cached in %s: %s", entry.parent, error)
        shutil.rmtree(partial, ignore_errors=True)


def _by_age(shelf: Path) -> list[Path]:
    """Return the entries of a revision, the last used first."""
    ages: dict[Path, float] = {}
    with contextlib.suppress(OSError):
        for entry in shelf.iterdir():
            if entry.is_dir() and not entry.name.startswith("."):
                with contextlib.suppress(OSError):  # removed by another process meanwhile
                    ages[entry] = entry.stat().st_mtime
    return sorted(ages, key=ages.__getitem__, reverse=True)


@contextlib.contextmanager
def _locked(shelf: Path, name: str) -> Iterator[None]:
    """Hold the lock of an entry between threads and processes, or none where it cannot be made."""
    from filelock import FileLock

    with contextlib.ExitStack() as stack:
        try:
            folder = shelf / ".locks"
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(folder / f"{name}.lock"))
        except (OSError, NotImplementedError) as error:
            _log.warning("the vector cache %s cannot be written: %s", shelf, error)
        yield


class QueryVectors:
    """Query vectors of one encoder, the last used cached, those that ship available from the start.

    One object serves every index of its encoder, and any number of threads.

    Args:
        encoder: The encoder of unknown texts; loaded only for these.
        capacity: Vectors cached in addition to those that ship (4,096 of MiniLM are 6 MB).
    """

    def __init__(self, encoder: Encoder, *, capacity: int = 4096) -> None:
        self.encoder = encoder
        self._capacity = capacity
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, Floats] = OrderedDict()
        self._shipped = shipped_queries(encoder.revision)

    def encode_over(
        self,
        corpus: Corpus,
        queries: Sequence[str],
        vector_of: Callable[[int], Floats],
        *,
        progress: ProgressCallback | None = None,
    ) -> Floats:
        """Return vectors of queries, shape (queries, d); `RetrievalError` if one is empty.

        A query that is a premise of the corpus has the vector of its position, if the encoder is symmetric.
        """
        checked_queries(queries)
        also: dict[str, Floats] = {}
        if self.encoder.symmetric:
            positions = ((premise_key(query), corpus.position(query)) for query in queries)
            also = {key: vector_of(position) for key, position in positions if position is not None}
        return self.encode(queries, also=also, progress=progress)

    def encode(
        self,
        texts: Sequence[str],
        *,
        also: Mapping[str, Floats] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Floats:
        """Return unit vectors, shape (texts, d), encoding only texts not cached, shipped or in `also`."""
        if not texts:
            return np.empty((0, self.encoder.dimension), dtype=np.float32)
        keys = [premise_key(text) for text in texts]
        vectors: dict[str, Floats] = {}
        missing: dict[str, str] = {}
        with self._lock:
            for key, text in zip(keys, texts, strict=True):
                if key in self._cache:
                    self._cache.move_to_end(key)
                    vectors[key] = self._cache[key]
                elif also is not None and key in also:
                    vectors[key] = also[key]
                elif key in self._shipped:
                    vectors[key] = unit(self._shipped[key][None])[0]
                else:
                    missing[key] = text
        if missing:
            # Outside the lock, so that known texts do not wait for the encoder.
            encoded = self.encoder.encode_queries(
                [fold(text) for text in missing.values()], progress=progress
            )
            new = dict(zip(missing, encoded, strict=True))
            vectors |= new
            with self._lock:
                self._cache |= new
                while len(self._cache) > self._capacity:
                    self._cache.popitem(last=False)
        return np.stack([vectors[key] for key in keys])


Vectors = Mapping[str, Halves]
"""Premise key -> unit vector in fp16, shape (d,)."""


def shipped_premises(revision: str) -> Vectors:
    """Return the vectors that ship of the bundled facts for an encoder revision; empty if there are none."""
    return _read_shipped(sample_dir())[0].get(revision, {})


def shipped_queries(revision: str) -> Vectors:
    """Return the vectors that ship of the bundled trees' sentences; empty if there are none."""
    return _read_shipped(sample_dir())[1].get(revision, {})


@cache
def _read_shipped(folder: Path) -> tuple[Mapping[str, Vectors], Mapping[str, Vectors]]:
    """Return the premises and queries, by revision, that `scripts/build_sample_vectors.py` writes."""
    try:
        record = read_json(folder / "vectors.json", dict[str, Any]) or {}
        premises = dict(zip(record["premise_keys"], np.load(folder / "premise_vectors.npy"), strict=True))
        queries = {
            revision: dict(zip(record["query_keys"], vectors, strict=True))
            for revision, vectors in zip(
                record["query_revisions"], np.load(folder / "query_vectors.npy"), strict=True
            )
        }
    except (OSError, ValueError, TypeError, KeyError, DataError):
        return {}, {}  # missing or damaged: the encoder answers instead
    return {record["revision"]: premises}, queries
