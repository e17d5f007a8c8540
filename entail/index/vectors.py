"""Vectors that are encoded once: premises in a store on disk, queries in memory, and those that ship."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.bundled import sample_dir
from entail.data.records import Corpus
from entail.data.stored import read_json
from entail.data.text import fold, premise_key
from entail.encoders.encoder import Encoder
from entail.errors import CorpusError, DataError, RetrievalError
from entail.index.protocol import Floats, Ints
from entail.index.ranking import checked_queries
from entail.index.store import Halves, Segment, VectorStore, locked, open_store, parse_keys
from entail.progress import ProgressCallback
from entail.settings import is_demo

ENCODED_AT_ONCE = 4096
"""Premises that are encoded before they are written."""

ROUNDING = 2**-10
"""Greatest change of length 1 by rounding to fp16."""


class PremiseRows:
    """An encoder's rows of a corpus by position, in fp16; those that no store has are encoded.

    Encoded rows are written some thousands at a time, so that an encoding that is stopped goes on where it
    was. Concurrent processes encode once. A demo only reads the cache.

    Args:
        corpus: The premises.
        encoder: Encodes premises, folded.
        cache_dir: Folder of the vector cache; None to encode all premises.
        metric: Kind of the rows.

    Raises:
        CorpusError: If the corpus is empty.
    """

    def __init__(
        self, corpus: Corpus, encoder: Encoder, *, cache_dir: Path | None, metric: str = "inner_product"
    ) -> None:
        if not len(corpus):
            raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
        self.corpus, self.encoder = corpus, encoder
        self.numbers = corpus.numbers
        revision = encoder.premise_revision
        about: dict[str, Any] = {"revision": revision, "dimension": encoder.dimension, "metric": metric}
        if cache_dir is None:
            self.store = VectorStore(None, **about)
        else:
            shipped = _shipped_segment(sample_dir(), revision)
            self.store = open_store(cache_dir / slug(revision), **about, shipped=shipped)

    def encode(self, positions: Ints | None = None, *, progress: ProgressCallback | None = None) -> None:
        """Encode the premises without a row, of the whole corpus or at some positions.

        Raises:
            EncoderError: If premises have to be encoded and the encoder cannot.
        """
        positions = np.arange(len(self.corpus)) if positions is None else positions
        self.store.refresh()
        folder, write = self.store.folder, not is_demo()
        if not len(self._missing(positions)):
            return
        with locked(folder, self.corpus.hash) if folder and write else contextlib.nullcontext():
            self.store.refresh()
            missing, start = self._missing(positions), time.perf_counter()
            for done in range(0, len(missing), ENCODED_AT_ONCE):
                part = missing[done : done + ENCODED_AT_ONCE]
                texts = [fold(self.corpus.premises[position].text) for position in part]
                report = progress and _part_of(progress, done, len(missing), time.perf_counter() - start)
                rows = self.encoder.encode_premises(texts, progress=report).astype(np.float16)
                self.store.add(self.numbers[part], rows, write=write)
        if write:
            self.store.merge()

    def read(self, positions: Ints) -> Halves:
        """Return the rows at some positions; those that are missing are encoded."""
        rows = self.store.read(self.numbers[positions])
        if rows is None:
            self.encode(positions)
            rows = self.store.read(self.numbers[positions])
        if rows is None:
            raise RetrievalError(
                f"the vectors of {self.corpus.name!r} were removed while they were read; search again"
            )
        return rows

    def vectors(self, positions: Ints) -> Floats:
        """Return the vectors at some positions, see `unit`.

        Raises:
            RetrievalError: If one is not finite: its file is damaged.
        """
        vectors = unit(self.read(positions))
        if not np.isfinite(vectors).all():
            raise RetrievalError(
                f"expected finite premise vectors, found NaN or infinity; remove them by `entail clean "
                f"vectors/{slug(self.encoder.premise_revision)}`"
            )
        return vectors

    def _missing(self, positions: Ints) -> Ints:
        missing: Ints = positions[self.store.find_missing(self.numbers[positions])]
        return missing


def premise_vectors(
    corpus: Corpus, encoder: Encoder, *, cache_dir: Path | None, progress: ProgressCallback | None = None
) -> Floats:
    """Return an encoder's vectors of a corpus, shape (premises, d), in its order; see `PremiseRows`."""
    rows = PremiseRows(corpus, encoder, cache_dir=cache_dir)
    rows.encode(progress=progress)
    return rows.vectors(np.arange(len(corpus)))


def _part_of(progress: ProgressCallback, done: int, total: int, seconds: float) -> ProgressCallback:
    """Return a callback that reports the progress of a part as that of the whole."""
    return lambda part: progress(
        replace(part, done=done + part.done, total=total, seconds=seconds + part.seconds)
    )


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


def shipped_queries(revision: str) -> Vectors:
    """Return the vectors that ship of the bundled trees' sentences; empty if there are none."""
    return _read_shipped(sample_dir())[1].get(revision, {})


@cache
def _shipped_segment(folder: Path, revision: str) -> Segment | None:
    """Return the segment of the premise vectors that ship, None for another revision."""
    premises = _read_shipped(folder)[0].get(revision)
    return Segment(parse_keys(list(premises)), np.stack(list(premises.values()))) if premises else None


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
