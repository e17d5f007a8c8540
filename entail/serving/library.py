"""What a server has to answer with: encoders, each loaded once, corpora, and indexes over them."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import EncoderEntry, catalogue, resolve
from entail.errors import EntailError, ServingError, UnknownEncoderError
from entail.index.protocol import Floats, PremiseIndex
from entail.index.queries import QueryVectors
from entail.index.retriever import LEXICAL, retriever
from entail.progress import Progress, ProgressCallback
from entail.promotion import active
from entail.roles import first_in_use
from entail.serving.batching import Batcher, Call, Lane
from entail.serving.limits import Limits
from entail.settings import is_demo, load_settings

if TYPE_CHECKING:
    from entail.trees.corpora import CorpusStore
    from entail.trees.corpus_versions import CorpusInfo
    from entail.trees.demo import Scratch

KEPT_INDEXES = 12
"""Indexes in memory; the one that was used least recently goes first."""

SEEN_FOR = 2.0
"""Seconds for which a look at the encoders that are there is good."""

current: ContextVar[Call | None] = ContextVar("current", default=None)
"""The request that this thread works for; none while an index is built for all."""


class ServedEncoder:
    """One encoder in memory with the queue in front of it: an `Encoder` whose texts go in batches.

    Texts of a request join the batches of others; an index that is built for all encodes past them, one
    forward pass at a time, so that it holds nobody up.
    """

    def __init__(self, encoder: BiEncoder, limits: Limits) -> None:
        self.encoder = encoder
        self.batcher = Batcher(
            lambda texts, lane: encoder.encode(texts, lane.tower, normalised=lane.normalised),
            name=encoder.name,
            batch=limits.batch,
            queue=limits.queue,
            gather_ms=limits.gather_ms,
        )
        self.queries = QueryVectors(self)

    @property
    def name(self) -> str:
        """How a person calls it."""
        return self.encoder.name

    @property
    def revision(self) -> str:
        """What its query vectors are bound to."""
        return self.encoder.revision

    @property
    def premise_revision(self) -> str:
        """What its premise vectors are bound to."""
        return self.encoder.premise_revision

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.encoder.dimension

    @property
    def symmetric(self) -> bool:
        """Whether a text has the same vector as query and as premise."""
        return self.encoder.symmetric

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the query route, shape (texts, d)."""
        return self._encode(texts, Lane("query"), progress)

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return unit vectors by the document route, shape (texts, d)."""
        return self._encode(texts, Lane("premise"), progress)

    def _encode(self, texts: Sequence[str], lane: Lane, progress: ProgressCallback | None) -> Floats:
        call = current.get()
        if call is None or not texts:
            return self.encoder.encode(texts, lane.tower, progress=progress)
        return call.result(self.batcher.submit(texts, lane))


class Library:
    """Encoders, corpora and indexes of one server, shared by all requests.

    Args:
        encoders: Names of those that may be asked for; None for all that are here, also those that come
            later. A client can never name a folder or a Hub id that is not among them.
        corpora: The corpora; default: those of the installation's database, opened when first needed.
        limits: How much is taken on.
        encoder_of: Where encoders come from, for a process that has them in memory already.
    """

    def __init__(
        self,
        encoders: Sequence[str] | None = None,
        *,
        corpora: CorpusStore | None = None,
        limits: Limits | None = None,
        encoder_of: Callable[[str], BiEncoder] = BiEncoder,
    ) -> None:
        self.limits = limits or Limits()
        self._wanted = tuple(encoders) if encoders is not None else None
        self._encoder_of = encoder_of
        self._corpora = corpora
        self._lock = threading.RLock()
        self._served: dict[str, ServedEncoder] = {}
        self._seen: tuple[float, dict[str, EncoderEntry]] = (-math.inf, {})
        self._indexes: OrderedDict[tuple[str, str, str], Future[PremiseIndex]] = OrderedDict()
        self._told: dict[tuple[str, str, str], Progress] = {}
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="build index")
        self._sample: Scratch | None = None

    def entries(self, *, gaussian: bool = False) -> dict[str, EncoderEntry]:
        """Return what may be asked for, by name: encoders of points, or those of Gaussians.

        Raises:
            EncoderError: If one of those named at the start cannot be had.
        """
        with self._lock:
            at, found = self._seen
            if time.monotonic() - at > SEEN_FOR:
                listed = map(resolve, self._wanted) if self._wanted is not None else catalogue()
                found = {entry.name: entry for entry in listed if entry.problem is None}
                self._seen = (time.monotonic(), found)
            return {name: entry for name, entry in found.items() if (entry.gaussian is not None) == gaussian}

    def default(self, corpus: str | None = None) -> str:
        """Return the encoder that is active for a corpus, else the first that is served."""
        served = self.entries()
        name = active(corpus).encoder
        return name if name in served else next(iter(served), name)

    def encoder(self, name: str | None = None, *, gaussian: bool = False) -> ServedEncoder:
        """Return an encoder, in one copy; another one after it was replaced on disk.

        Args:
            name: Its name; None for the default one, of Gaussians for what is in use.
            gaussian: Whether it has to make Gaussians, or points.

        Raises:
            UnknownEncoderError: If it may not be asked for.
        """
        entries = self.entries(gaussian=gaussian)
        name = name or ((first_in_use("direction", entries) or "") if gaussian else self.default())
        if name not in entries:
            raise UnknownEncoderError(
                f"no encoder of this name is served; here are: {', '.join(entries) or 'none'}"
            )
        with self._lock:
            held = self._served.get(name)
            wanted = entries[name].revision
            if held is None or (wanted is not None and held.revision != wanted):
                if held is not None:
                    held.batcher.close(wait=False)
                held = self._served[name] = ServedEncoder(self._encoder_of(name), self.limits)
            return held

    def held(self, name: str) -> ServedEncoder | None:
        """Return an encoder if it was asked for already."""
        return self._served.get(name)

    def retrievers(self) -> list[str]:
        """Return what can be searched with."""
        return [*LEXICAL, *self.entries()]

    def corpora(self) -> list[CorpusInfo]:
        """Return the corpora that may be searched by name."""
        return self._store().corpora()

    def corpus(self, name: str) -> tuple[CorpusInfo, Corpus]:
        """Return the newest version of a corpus.

        Raises:
            ServingError: If there is none of this name.
        """
        for info in self.corpora():
            if info.name == name:
                return info, self._store().corpus(info.id, version=info.version)
        known = ", ".join(repr(info.name) for info in self.corpora()[:20])
        raise ServingError(
            f"no corpus has this name; here are: {known or 'none'}",
            kind="unknown_corpus",
            status=404,
            field="corpus",
        )

    def index(self, name: str, corpus: Corpus, call: Call) -> PremiseIndex:
        """Return the index of a corpus of the database; it is built once, behind all requests.

        Raises:
            ServingError: If it is not there yet, with the time after which to ask again.
        """
        encoder = None if name in LEXICAL else self.encoder(name)
        key = (name, encoder.revision if encoder else "", corpus.hash)
        with self._lock:
            if key not in self._indexes:
                self._indexes[key] = self._builder.submit(self._build, key, corpus, encoder)
                while len(self._indexes) > KEPT_INDEXES:
                    self._told.pop(self._indexes.popitem(last=False)[0], None)
            future = self._indexes[key]
            self._indexes.move_to_end(key)
        try:
            return future.result(min(call.left, self.limits.build_seconds))
        except TimeoutError as error:
            told = self._told.get(key)
            left = told.seconds_left if told is not None else None
            raise ServingError(
                f"the index of {corpus.name!r} by {name!r} is being built"
                f"{f' ({told.fraction:.0%})' if told is not None else ''}; ask again in a moment",
                kind="not_ready",
                status=503,
                retry_after=min(60.0, max(1.0, left or 5.0)),
            ) from error
        except EntailError:
            with self._lock:
                if self._indexes.get(key) is future:
                    del self._indexes[key]
            raise

    def index_of(self, name: str, premises: Sequence[str], call: Call) -> tuple[Corpus, PremiseIndex]:
        """Return an index over premises that came with a request; nothing of them is kept."""
        corpus = Corpus.of("request", premises)
        if name in LEXICAL:
            return corpus, retriever(name, corpus)
        from entail.index.dense import DenseIndex
        from entail.index.vectors import unit

        encoder = self.encoder(name)
        vectors = encoder.encode_premises([fold(text) for text in corpus.texts])
        call.check()
        # Rounded as premise vectors are on disk: the ranking is the same as that of a corpus by name.
        return corpus, DenseIndex(encoder, corpus, unit(vectors.astype(np.float16)), queries=encoder.queries)

    def close(self) -> None:
        """End when everything that waits is answered."""
        for encoder in tuple(self._served.values()):
            encoder.batcher.close()
        self._builder.shutdown(wait=False, cancel_futures=True)

    def _build(
        self, key: tuple[str, str, str], corpus: Corpus, encoder: ServedEncoder | None
    ) -> PremiseIndex:
        with self._lock:
            done = [f for f in self._indexes.values() if f.done() and not f.cancelled() and not f.exception()]
        beside = [index for future in done if (index := future.result()).manifest.corpus_hash == corpus.hash]
        return retriever(
            key[0],
            corpus,
            encoder=encoder,
            queries=encoder.queries if encoder else None,
            beside=beside,
            cache_dir=load_settings().vectors_dir,
            progress=lambda progress: self._told.__setitem__(key, progress),
        )

    def _store(self) -> CorpusStore:
        with self._lock:
            if self._corpora is None:
                from entail.trees.corpora import CorpusStore
                from entail.trees.database import open_database
                from entail.trees.demo import open_shown
                from entail.trees.seed import seed_sample

                if is_demo():
                    database, self._sample = open_shown()
                else:
                    database = open_database()
                    seed_sample(database)
                self._corpora = CorpusStore(database)
            return self._corpora
