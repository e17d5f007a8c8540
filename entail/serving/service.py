"""A server's state over all requests: what it answers with, whether it is ready, how it ends."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from fastapi import Request

from entail.errors import EntailError, ServingError
from entail.serving.batching import Call, out_of_time
from entail.serving.library import Library
from entail.serving.limits import Limits
from entail.serving.scorers import Scorers
from entail.serving.served import current

if TYPE_CHECKING:
    from entail.serving.endpoint import Endpoint

T = TypeVar("T")

_log = logging.getLogger("entail.serving")


class Service:
    """What every endpoint is handed.

    Args:
        library: Encoders, corpora, indexes.
        warm: Encoders to load at the start; the server is not ready before. None for the default one.

    Attributes:
        endpoints: What may be asked; `create_app` says.
    """

    endpoints: tuple[Endpoint, ...] = ()

    def __init__(self, library: Library, *, warm: tuple[str, ...] | None = None) -> None:
        self.library = library
        self.scorers = Scorers()
        self._warm = warm
        self._threads = ThreadPoolExecutor(self.limits.requests, thread_name_prefix="request")
        self._reason: str | None = "the encoders are not loaded yet"

    @property
    def limits(self) -> Limits:
        """How much is taken on."""
        return self.library.limits

    @property
    def reason(self) -> str | None:
        """Why the server is not ready, None if it is."""
        return self._reason

    def start(self) -> None:
        """Begin to load encoders, in a thread of their own; the server answers meanwhile."""
        threading.Thread(target=self._load, name="load encoders", daemon=True).start()

    def close(self) -> None:
        """Answer what waits, then end."""
        self._reason = "the server is shutting down"
        self.library.close()
        self._threads.shutdown(wait=True)

    async def in_thread(self, call: Call, work: Callable[[], T]) -> T:
        """Run what may wait or compute for a request, so that others are answered meanwhile."""
        context = contextvars.copy_context()
        context.run(current.set, call)
        return await asyncio.get_running_loop().run_in_executor(self._threads, context.run, work)

    async def within(self, request: Request, answer: Callable[[Call], Awaitable[T]]) -> T:
        """Return an answer, unless it takes too long or nobody waits for it any more.

        Raises:
            ServingError: If so; what was queued for it has left the queue.
        """
        call = Call(self.limits.seconds)
        work = asyncio.ensure_future(answer(call))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({work, gone}, timeout=call.left, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise ServingError("the client has gone", kind="gone", status=499)
            raise out_of_time()
        finally:
            call.cancel()
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    def _load(self) -> None:
        try:
            for name in (self.library.default(),) if self._warm is None else self._warm:
                encoder = self.library.encoder(name).encoder
                # The first text takes longer than those after it.
                encoder.encode(["a text"], "query", normalised=False)
        except EntailError as error:
            _log.error("an encoder cannot be loaded: %s", error)
            self._reason = "an encoder cannot be loaded; the server's log says why"
            return
        except Exception:
            _log.exception("an encoder cannot be loaded")
            self._reason = "an encoder cannot be loaded; the server's log says why"
            return
        self._reason = None


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
