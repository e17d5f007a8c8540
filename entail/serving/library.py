"""Encoders, corpora and indexes of a server, each in memory once."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from entail.data.records import Corpus
from entail.encoders.catalogue import EncoderEntry, catalogue, resolve
from entail.encoders.cross.reranker import Reranker, reranker_revisions
from entail.encoders.encoder import BiEncoder
from entail.errors import ServingError, UnknownEncoderError
from entail.index.factory import HYBRIDS, LEXICAL, retriever
from entail.index.flat import DenseIndex
from entail.index.gaussian import GaussianIndex
from entail.index.lifted import Direction
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.registry.models import active, active_name
from entail.runtime.models import INDEXES, load_reranker, model_cache
from entail.runtime.tasks import TaskGroup
from entail.serving.batching import Call
from entail.serving.encoders import ServedEncoder
from entail.serving.limits import Limits
from entail.settings import is_demo

if TYPE_CHECKING:
    from entail.trees.installation.demo import Scratch
    from entail.trees.store.corpora import CorpusInfo, CorpusStore

CATALOGUE_SECONDS = 2.0
"""Seconds until the list of encoders is read again."""

_INDEXES = TaskGroup("served indexes", failure="the index could not be built")
"""Indexes by retriever, its served encoder, hash of the corpus, direction of an index of Gaussians."""


class Library:
    """Encoders, corpora and indexes of one server, shared by all requests.

    Args:
        encoders: Names of the encoders to serve; None for all of the installation, including later ones.
            Clients cannot name a folder or Hub id that is not among them.
        corpora: The corpora; by default those of the installation's database, opened on first use.
        limits: Limits of the server.
        encoder_of: Loader of encoders; by default the process's copies.
    """

    def __init__(
        self,
        encoders: Sequence[str] | None = None,
        *,
        corpora: CorpusStore | None = None,
        limits: Limits | None = None,
        encoder_of: Callable[[str], BiEncoder] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._names = tuple(encoders) if encoders is not None else None
        self._encoder_of = encoder_of or model_cache().encoder
        self._corpora = corpora
        self._lock = threading.RLock()
        self._served: dict[str, ServedEncoder] = {}
        self._catalogue: tuple[float, dict[str, EncoderEntry]] = (-math.inf, {})
        self._building = threading.Lock()
        self._sample: Scratch | None = None

    def entries(self, *, gaussian: bool | None = None) -> dict[str, EncoderEntry]:
        """Return the served encoders by name: all, those of Gaussians (True) or those of points (False)."""
        with self._lock:
            at, entries = self._catalogue
            if time.monotonic() - at > CATALOGUE_SECONDS:
                listed = map(resolve, self._names) if self._names is not None else catalogue()
                entries = {entry.name: entry for entry in listed if entry.problem is None}
                self._catalogue = (time.monotonic(), entries)
            return {n: e for n, e in entries.items() if gaussian in (None, e.gaussian is not None)}

    def default(self, corpus: str | None = None) -> str:
        """Return the active encoder of a corpus; falls back to the first that is served."""
        served = self.entries(gaussian=False) or self.entries()
        name = active(corpus).encoder
        return name if name in served else next(iter(served), name)

    def encoder(self, name: str | None = None, *, gaussian: bool = False) -> ServedEncoder:
        """Return an encoder, loaded once and again after it was replaced on disk.

        Without a name it is the default, or with `gaussian` the active direction model.

        Raises:
            UnknownEncoderError: If it is not served, or no encoder of Gaussians is.
            ServingError: If it is an encoder of points but must be one of Gaussians.
        """
        entries, able = self.entries(), self.entries(gaussian=True)
        if gaussian and not able:
            raise UnknownEncoderError("no encoder of Gaussians is served; `entail train gausscse` makes one")
        name = name or ((active_name("direction", able) or "") if gaussian else self.default())
        if name not in entries:
            raise UnknownEncoderError(
                f"no encoder of this name is served; available: {', '.join(entries) or 'none'}"
            )
        if gaussian and name not in able:
            raise ServingError(
                f"expected an encoder of Gaussians, found {name!r}, which makes points; available: "
                f"{', '.join(able)}",
                field="encoder",
            )
        with self._lock:
            served = self._served.get(name)
            revision = entries[name].revision
            if served is None or (revision is not None and served.revision != revision):
                if served is not None:
                    served.batcher.close(wait=False)
                served = self._served[name] = ServedEncoder(self._encoder_of(name), self.limits)
            return served

    def reranker(self, name: str) -> Reranker:
        """Return a re-ranker, loaded once and again after it was replaced on disk.

        Raises:
            UnknownEncoderError: If there is none of this name under `models/`.
        """
        revisions = reranker_revisions()
        if name not in revisions:
            raise UnknownEncoderError(
                f"no re-ranker of this name is served; available: {', '.join(revisions) or 'none'}"
            )
        return load_reranker(name, revisions[name])

    def peek(self, name: str) -> ServedEncoder | None:
        """Return an encoder if it was requested before."""
        return self._served.get(name)

    def retrievers(self) -> list[str]:
        """Return the names of all retrievers: lexical ones, encoders, hybrids of an encoder of points."""
        hybrids = [name + ending for name in self.entries(gaussian=False) for ending in HYBRIDS]
        return [*LEXICAL, *self.entries(), *hybrids]

    def corpora(self) -> list[CorpusInfo]:
        """Return the corpora of the database but for archived ones."""
        return self._store().corpora()

    def corpus(self, name: str) -> tuple[CorpusInfo, Corpus]:
        """Return the newest version of a corpus; raise `ServingError` if it is unknown."""
        for info in self._store().corpora(archived=None):
            if info.name == name:
                return info, self._store().corpus(info.id, version=info.version)
        names = ", ".join(repr(info.name) for info in self.corpora()[:20])
        raise ServingError(
            f"no corpus has this name; available: {names or 'none'}",
            kind="unknown_corpus",
            status=404,
            field="corpus",
        )

    def index(
        self, name: str, corpus: Corpus, call: Call, *, direction: Direction = "entailing"
    ) -> PremiseIndex:
        """Return the index of a corpus of the database; it is built once, in the background.

        Only an index of Gaussians has a direction.

        Raises:
            ServingError: If it is still in construction, with the time after which to retry.
        """
        encoder = self._encoder(name)
        way = direction if encoder is not None and encoder.gaussians is not None else None
        task = _INDEXES.get_or_start(
            (name, encoder, corpus.hash, way),
            lambda report: self._build(name, corpus, way, report),
            wait=min(call.left, self.limits.build_seconds),
        )
        if task.error is not None:
            raise task.error
        if task.value is None:
            progress = task.progress
            left = progress.seconds_left if progress is not None else None
            raise ServingError(
                f"the index of {corpus.name!r} by {name!r} is being built"
                f"{f' ({progress.fraction:.0%})' if progress is not None else ''}; ask again in a moment",
                kind="not_ready",
                status=503,
                retry_after=min(60.0, max(1.0, left or 5.0)),
            )
        return task.value

    def index_premises(self, name: str, premises: Sequence[str]) -> tuple[Corpus, PremiseIndex]:
        """Return a temporary index over premises of a request."""
        corpus = Corpus.of("request", premises)
        return corpus, self._retriever(name, corpus, cached=False)

    def close(self) -> None:
        """Answer pending texts, then stop."""
        for encoder in tuple(self._served.values()):
            encoder.batcher.close()

    def _build(
        self, name: str, corpus: Corpus, direction: Direction | None, report: ProgressCallback
    ) -> PremiseIndex:
        with self._building:  # one at a time: the next one shares its premise vectors
            built = [task.value for task in _INDEXES.tasks().values()]
            built += [task.value for task in INDEXES.tasks().values() if isinstance(task.value, DenseIndex)]
            existing = [index for index in built if isinstance(index, PremiseIndex)]
            index = self._retriever(name, corpus, existing=existing, progress=report)
            if isinstance(index, GaussianIndex):
                index.prepare(direction or "entailing")
        return index

    def _retriever(
        self,
        name: str,
        corpus: Corpus,
        *,
        existing: Sequence[PremiseIndex] = (),
        cached: bool = True,
        progress: ProgressCallback | None = None,
    ) -> PremiseIndex:
        encoder = self._encoder(name)
        return retriever(
            name,
            corpus,
            encoder=encoder and (encoder.gaussians or encoder),
            queries=encoder.queries if encoder else None,
            existing=existing,
            cached=cached,
            progress=progress,
        )

    def _encoder(self, retriever: str) -> ServedEncoder | None:
        """Return the encoder of a retriever, None for a lexical one."""
        return None if retriever in LEXICAL else self.encoder(retriever.partition("+")[0])

    def _store(self) -> CorpusStore:
        with self._lock:
            if self._corpora is None:
                from entail.trees.installation.demo import open_shown
                from entail.trees.installation.seed import seed_sample
                from entail.trees.store.corpora import CorpusStore
                from entail.trees.store.database import open_database

                if is_demo():
                    database, self._sample = open_shown()
                else:
                    database = open_database()
                    seed_sample(database)
                self._corpora = CorpusStore(database)
            return self._corpora
