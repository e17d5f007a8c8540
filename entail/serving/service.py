"""State of a server shared by all requests: library, threads, readiness."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request

from entail.errors import EntailError
from entail.serving.library import Library

T = TypeVar("T")

RETRY_SECONDS = 30.0
"""Seconds until an encoder that could not be loaded is tried again."""

_log = logging.getLogger("entail.serving")


class Service:
    """Everything that routes answer with.

    Args:
        library: Encoders, corpora, indexes.
        warm: Encoders to load at the start; the server is not ready before. None for the default encoder.

    Attributes:
        reason: Reason why the server is not ready, None if it is.
        requests: Requests that are answered now.
        scoring: Executor of the one thread that builds chains, one request at a time.
    """

    def __init__(self, library: Library, *, warm: tuple[str, ...] | None = None) -> None:
        self.library, self.limits = library, library.limits
        self.scoring = ThreadPoolExecutor(1, thread_name_prefix="score")
        self.reason: str | None = "the encoders are not loaded yet"
        self.requests = 0
        self._warm = warm
        self._threads = ThreadPoolExecutor(self.limits.requests, thread_name_prefix="request")
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin to load encoders in a background thread."""
        threading.Thread(target=self._load, name="load encoders", daemon=True).start()

    def close(self) -> None:
        """Answer pending requests, then stop."""
        self.reason = "the server is shutting down"
        self._closing.set()
        self.library.close()
        self._threads.shutdown(wait=True)
        self.scoring.shutdown(wait=True)

    async def in_thread(self, work: Callable[[], T], threads: Executor | None = None) -> T:
        """Run blocking work of a request in a thread, in the context of the request.

        Work whose request ended before a thread was free never begins.
        """
        run = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(threads or self._threads, run, work)

    def _load(self) -> None:
        """Load encoders, and again after a failure: a Hub or a disk may be back later."""
        while not self._closing.is_set():
            try:
                for name in (self.library.default(),) if self._warm is None else self._warm:
                    # The first text takes longer than those after it.
                    self.library.encoder(name).encoder.encode(["a text"], "query", normalised=False)
            except Exception as error:
                # A library error explains itself; of any other the log needs the trace.
                trace = None if isinstance(error, EntailError) else error
                _log.error("cannot load an encoder: %s", error, exc_info=trace)
                self.reason = "an encoder cannot be loaded; the server's log says why"
                self._closing.wait(RETRY_SECONDS)
            else:
                if not self._closing.is_set():
                    self.reason = None
                return


async def get_service(request: Request) -> Service:
    """Return the service of the application."""
    return cast(Service, request.app.state.service)


ServiceDep = Annotated[Service, Depends(get_service)]
