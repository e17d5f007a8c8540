"""What a server has to answer with: encoders, each loaded once, corpora, and indexes over them."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import EncoderEntry, catalogue, resolve
from entail.encoders.gaussians import Gaussians
from entail.errors import EntailError, ServingError, UnknownEncoderError
from entail.index.gaussian import GaussianIndex, GaussianRows
from entail.index.lifted import Direction
from entail.index.protocol import PremiseIndex
from entail.index.retriever import LEXICAL, retriever
from entail.progress import Progress
from entail.promotion import active
from entail.roles import first_in_use
from entail.serving.batching import Call
from entail.serving.limits import Limits
from entail.serving.served import ServedEncoder
from entail.settings import is_demo, load_settings

if TYPE_CHECKING:
    from entail.trees.corpora import CorpusStore
    from entail.trees.corpus_versions import CorpusInfo
    from entail.trees.demo import Scratch

KEPT_INDEXES = 12
"""Indexes in memory; the one that was used least recently goes first."""

SEEN_FOR = 2.0
"""Seconds for which a look at the encoders that are there is good."""

IndexKey = tuple[str, str, str, Direction | None]
"""Retriever, its revision, the corpus's hash; of Gaussians the direction."""


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
        self._indexes: OrderedDict[IndexKey, Future[PremiseIndex]] = OrderedDict()
        self._told: dict[IndexKey, Progress] = {}
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="build index")
        self._sample: Scratch | None = None

    def entries(self, *, gaussian: bool | None = None) -> dict[str, EncoderEntry]:
        """Return what may be asked for, by name: all encoders, or those of Gaussians, or those of points.

        Raises:
            EncoderError: If one of those named at the start cannot be had.
        """
        with self._lock:
            at, found = self._seen
            if time.monotonic() - at > SEEN_FOR:
                listed = map(resolve, self._wanted) if self._wanted is not None else catalogue()
                found = {entry.name: entry for entry in listed if entry.problem is None}
                self._seen = (time.monotonic(), found)
            return {n: e for n, e in found.items() if gaussian in (None, e.gaussian is not None)}

    def default(self, corpus: str | None = None) -> str:
        """Return the encoder that is active for a corpus, else the first that is served."""
        served = self.entries(gaussian=False) or self.entries()
        name = active(corpus).encoder
        return name if name in served else next(iter(served), name)

    def encoder(self, name: str | None = None, *, gaussian: bool = False) -> ServedEncoder:
        """Return an encoder, in one copy; another one after it was replaced on disk.

        Args:
            name: Its name; None for the default one, of Gaussians for what is in use.
            gaussian: Whether it has to make Gaussians.

        Raises:
            UnknownEncoderError: If it may not be asked for, or none that makes Gaussians may.
            ServingError: If it makes points where it has to make Gaussians.
        """
        entries, able = self.entries(), self.entries(gaussian=True)
        if gaussian and not able:
            raise UnknownEncoderError(
                "no encoder of Gaussians is served, which tells directions; `entail train gausscse` makes one"
            )
        name = name or ((first_in_use("direction", able) or "") if gaussian else self.default())
        if name not in entries:
            raise UnknownEncoderError(
                f"no encoder of this name is served; here are: {', '.join(entries) or 'none'}"
            )
        if gaussian and name not in able:
            raise ServingError(
                f"expected an encoder of Gaussians, found {name!r}, which makes points: they say nothing of "
                f"direction; here are: {', '.join(able)}",
                field="encoder",
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

    def index(
        self, name: str, corpus: Corpus, call: Call, *, direction: Direction = "entailing"
    ) -> PremiseIndex:
        """Return the index of a corpus of the database; it is built once, behind all requests.

        Args:
            name: Of the retriever.
            corpus: Of the database.
            call: What waits for it.
            direction: What one of Gaussians is to be searched by; others have none.

        Raises:
            ServingError: If it is not there yet, with the time after which to ask again.
        """
        encoder = None if name in LEXICAL else self.encoder(name)
        way = direction if encoder is not None and encoder.gaussians is not None else None
        key: IndexKey = (name, encoder.revision if encoder else "", corpus.hash, way)
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
        gaussians, texts = encoder.gaussians, [fold(text) for text in corpus.texts]
        rows = encoder if gaussians is None else GaussianRows(gaussians)
        # Rounded as premise vectors are on disk: the ranking is the same as that of a corpus by name.
        held = rows.encode_premises(texts).astype(np.float16)
        call.check()
        if gaussians is None:
            return corpus, DenseIndex(encoder, corpus, unit(held), queries=encoder.queries)
        known = Gaussians.of(held.astype(np.float32), revision=gaussians.revision)
        return corpus, GaussianIndex(gaussians, corpus, known, queries=encoder.queries)

    def close(self) -> None:
        """End when everything that waits is answered."""
        for encoder in tuple(self._served.values()):
            encoder.batcher.close()
        self._builder.shutdown(wait=False, cancel_futures=True)

    def _build(self, key: IndexKey, corpus: Corpus, encoder: ServedEncoder | None) -> PremiseIndex:
        with self._lock:
            done = [f for f in self._indexes.values() if f.done() and not f.cancelled() and not f.exception()]
        beside = [index for future in done if (index := future.result()).manifest.corpus_hash == corpus.hash]
        index = retriever(
            key[0],
            corpus,
            encoder=encoder and (encoder.gaussians or encoder),
            queries=encoder.queries if encoder else None,
            beside=beside,
            cache_dir=load_settings().vectors_dir,
            progress=lambda progress: self._told.__setitem__(key, progress),
        )
        if isinstance(index, GaussianIndex):
            index.prepare(key[-1] or "entailing")
        return index

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
