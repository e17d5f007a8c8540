"""State of a server shared by all requests: models, corpora, threads, readiness."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

from fastapi import Depends, Request

from entail.data.records import Corpus
from entail.encoders.catalogue import EncoderEntry, catalogue, resolve
from entail.encoders.cross.reranker import Reranker, reranker_revisions
from entail.errors import EntailError, ServingError, UnknownEncoderError
from entail.index.factory import HYBRID, LEXICAL
from entail.index.gaussian import Direction
from entail.index.protocol import PremiseIndex
from entail.registry.models import active, active_name
from entail.runtime.batching import Call
from entail.runtime.memory import publish_memory
from entail.runtime.models import SharedEncoder, load_reranker, model_cache
from entail.serving.messages import Limits
from entail.settings import is_demo

if TYPE_CHECKING:
    from entail.trees.store.corpora import CorpusInfo, CorpusStore

T = TypeVar("T")

CATALOGUE_SECONDS = 2.0
"""Seconds until the list of encoders is read again."""

RETRY_SECONDS = 30.0
"""Seconds until an encoder that could not be loaded is tried again."""

PUBLISH_SECONDS = 10.0
"""Seconds between two updates of the metrics of memory, which another process may show."""

_RECENT: deque[tuple[str, str]] = deque(maxlen=200)

_log = logging.getLogger("entail.serving")


class Service:
    """Everything that routes answer with.

    Args:
        encoders: Names of the encoders to serve, loaded before the server is ready; None for all of the
            installation, including later ones, with the default loaded. Clients cannot name others.
        corpora: The corpora; by default those of the installation's database, opened on first use.
        limits: Limits of the server.

    Attributes:
        reason: Reason why the server is not ready, None if it is.
        requests: Requests that are answered now.
        scoring: Executor of the one thread that builds chains, one request at a time.
    """

    def __init__(
        self,
        encoders: Sequence[str] | None = None,
        *,
        corpora: CorpusStore | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.scoring = ThreadPoolExecutor(1, thread_name_prefix="score")
        self.reason: str | None = "the encoders are not loaded yet"
        self.requests = 0
        self._names = tuple(encoders) if encoders is not None else None
        self._corpora = corpora
        self._catalogue: tuple[float, dict[str, EncoderEntry]] = (-math.inf, {})
        self._threads = ThreadPoolExecutor(self.limits.requests, thread_name_prefix="request")
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin to load encoders in a background thread."""
        threading.Thread(target=self._load, name="load encoders", daemon=True).start()

    def close(self) -> None:
        """Answer pending requests, then stop."""
        self.reason = "the server is shutting down"
        self._closing.set()
        self._threads.shutdown(wait=True)
        self.scoring.shutdown(wait=True)

    async def in_thread(self, work: Callable[[], T], threads: Executor | None = None) -> T:
        """Run blocking work of a request in a thread, in the context of the request.

        Work whose request ended before a thread was free never begins.
        """
        run = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(threads or self._threads, run, work)

    def _load(self) -> None:
        """Load encoders, again after a failure, which may pass, then publish the memory."""
        while not self._closing.is_set():
            try:
                for name in (self.default(),) if self._names is None else self._names:
                    # The first text takes longer than those after it.
                    self.encoder(name).encode(["a text"], "query", normalised=False)
            except Exception as error:
                # A library error explains itself; of any other the log needs the trace.
                trace = None if isinstance(error, EntailError) else error
                _log.error("cannot load an encoder: %s", error, exc_info=trace)
                self.reason = "an encoder cannot be loaded; the server's log says why"
                self._closing.wait(RETRY_SECONDS)
            else:
                if not self._closing.is_set():
                    self.reason = None
                break
        while not self._closing.wait(PUBLISH_SECONDS):
            publish_memory()

    def entries(self, *, gaussian: bool | None = None) -> dict[str, EncoderEntry]:
        """Return the served encoders by name: all, those of Gaussians (True) or those of points (False)."""
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

    def encoder(self, name: str | None = None, *, gaussian: bool = False) -> SharedEncoder:
        """Return the process's copy of an encoder: by default the active one, or the active direction model.

        Raises:
            UnknownEncoderError: If it is not served, or no encoder of Gaussians is.
            ServingError: If it is an encoder of points but must be one of Gaussians.
        """
        entries, able = self.entries(), self.entries(gaussian=True)
        if gaussian and not able:
            raise UnknownEncoderError("no encoder of Gaussians is served; `entail train gausscse` makes one")
        name = name or ((active_name("direction", able) or "") if gaussian else self.default())
        _check_served("encoder", name, entries)
        if gaussian and name not in able:
            message = f"expected an encoder of Gaussians, found {name!r}; available: {', '.join(able)}"
            raise ServingError(message, field="encoder")
        return model_cache().encoder(name)

    def reranker(self, name: str) -> Reranker:
        """Return the process's copy of a re-ranker; raise `UnknownEncoderError` if there is none."""
        revisions = reranker_revisions()
        _check_served("re-ranker", name, revisions)
        return load_reranker(name, revisions[name])

    def retrievers(self) -> list[str]:
        """Return the names of all retrievers: lexical ones, encoders, hybrids of an encoder of points."""
        hybrids = [name + HYBRID for name in self.entries(gaussian=False)]
        return [*LEXICAL, *self.entries(), *hybrids]

    def remember(self, corpus: str, queries: Sequence[str]) -> None:
        """Keep the last searches of corpora in memory, to be replayed by another retriever."""
        _RECENT.extend((corpus, query) for query in queries)

    def corpora(self) -> list[CorpusInfo]:
        """Return the corpora of the database but for archived ones."""
        return self._store.corpora()

    def corpus(self, name: str) -> tuple[CorpusInfo, Corpus]:
        """Return the newest version of a corpus; raise `ServingError` if it is unknown."""
        for info in self._store.corpora(archived=None):
            if info.name == name:
                return info, self._store.corpus(info.id, version=info.version)
        names = ", ".join(repr(info.name) for info in self.corpora()[:20])
        message = f"no corpus has this name; available: {names or 'none'}"
        raise ServingError(message, kind="unknown_corpus", status=404, field="corpus")

    def index(self, name: str, corpus: Corpus, call: Call, *, direction: Direction) -> PremiseIndex:
        """Return the index of a corpus of the database; it is built once, in the background.

        Raises:
            ServingError: If it is still in construction, with the time after which to retry.
        """
        wait = min(call.left, self.limits.build_seconds)
        task = model_cache().get_or_start(name, corpus, direction=direction, wait=wait)
        if task.error is not None:
            raise task.error
        if task.value is None:
            left = task.progress.seconds_left if task.progress is not None else None
            message = f"the index of {corpus.name!r} by {name!r} is being built; ask again in a moment"
            seconds = min(60.0, max(1.0, left or 5.0))
            raise ServingError(message, kind="not_ready", status=503, retry_after=seconds)
        return task.value

    @cached_property
    def _store(self) -> CorpusStore:
        from entail.trees.installation.demo import open_shown
        from entail.trees.installation.seed import seed_sample
        from entail.trees.store.corpora import CorpusStore
        from entail.trees.store.database import open_database

        if self._corpora is not None:
            return self._corpora
        database, self._sample = open_shown() if is_demo() else (open_database(), None)
        if not database.read_only:
            seed_sample(database)
        return CorpusStore(database)


def recent_searches() -> list[tuple[str, str]]:
    """Return the last searches of this process over HTTP: name of the corpus and query, the newest first."""
    return list(_RECENT)[::-1]


def _check_served(kind: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        available = ", ".join(names) or "none"
        raise UnknownEncoderError(f"no {kind} of this name is served; available: {available}")


async def get_service(request: Request) -> Service:
    """Return the service of the application."""
    return cast(Service, request.app.state.service)


ServiceDep = Annotated[Service, Depends(get_service)]
