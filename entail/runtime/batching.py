"""Batching of texts over requests: many texts take little longer than one, to encode or to search for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from entail.cancellation import cancelled_by
from entail.encoders.catalogue import Tower
from entail.errors import ServingError

Floats = NDArray[np.float32]


class Rows(Protocol):
    """Results of texts, a row a text: vectors, or hits."""

    def __getitem__(self, rows: slice, /) -> Any:
        """Return some rows."""


LaneT = TypeVar("LaneT", bound=Hashable)
RowsT = TypeVar("RowsT", bound=Rows)
T = TypeVar("T")

BATCH = 64
"""Texts processed together, of several requests."""

CHARS = 256 * BATCH
"""Characters of a batch of several requests: long texts would hold up short ones."""

QUEUE = 4_096
"""Texts in a queue."""

GATHER = 0.003
"""Seconds that a batch waits for more texts while several clients ask; a single client never waits."""

_LINGER = 1.0
"""Seconds without texts after which the thread of a queue ends."""


class Lane(NamedTuple):
    """Options of encoding that texts of one batch share."""

    tower: Tower
    normalised: bool = True


@dataclass(eq=False, slots=True)
class _Request(Generic[LaneT, RowsT]):
    texts: Sequence[str]
    lane: LaneT
    process: Callable[[Sequence[str], LaneT], RowsT]
    future: Future[RowsT] = field(default_factory=Future)


class Batcher(Generic[LaneT, RowsT]):
    """Queue of requests in front of an encoder or an index, processed by one thread.

    A batch holds requests of one lane, in order of arrival. A request whose future is cancelled leaves the
    queue, and a batch ends (`check_cancelled`) when all of its requests are cancelled.

    `name` is that of the encoder or index in the metrics.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._changed = threading.Condition()
        self._queue: list[_Request[LaneT, RowsT]] = []
        self._is_running = self._has_company = False

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        with self._changed:
            return sum(len(request.texts) for request in self._queue if not request.future.done())

    def submit(
        self, texts: Sequence[str], lane: LaneT, process: Callable[[Sequence[str], LaneT], RowsT]
    ) -> Future[RowsT]:
        """Queue texts for a function that processes them; return a future of their rows.

        Raises:
            ServingError: If the queue is full.
        """
        from entail.runtime.metrics import WAITING

        request = _Request(tuple(texts), lane, process)
        with self._changed:
            if self.waiting + len(texts) > QUEUE:
                message = f"expected at most {QUEUE:,} waiting texts, found more; try again later"
                raise ServingError(message, kind="busy", status=429, retry_after=2)
            self._queue.append(request)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="encode", daemon=True).start()
            self._changed.notify_all()
            WAITING.labels(self.name).inc(len(texts))
        return request.future

    def _work(self) -> None:
        source.set("api")
        while batch := self._next():
            _run(batch)

    def _next(self) -> list[_Request[LaneT, RowsT]]:
        """Wait for requests and return a batch of them; an empty one ends the thread."""
        from entail.runtime.metrics import BATCHES, WAITING

        with self._changed:
            self._changed.wait_for(lambda: self._queue, _LINGER)
            if self._has_company:
                self._changed.wait_for(lambda: self.waiting >= BATCH, GATHER)
            batch: list[_Request[LaneT, RowsT]] = []
            room, chars = BATCH, CHARS
            for request in self._queue:
                count, size = len(request.texts), sum(map(len, request.texts))
                fits = not batch or (request.lane == batch[0].lane and count <= room and size <= chars)
                if fits and not request.future.done():
                    batch.append(request)
                    room, chars = room - count, chars - size
            left = [r for r in self._queue if r not in batch and not r.future.done()]
            WAITING.labels(self.name).dec(_count(self._queue) - _count(left))
            self._queue = left
            self._has_company = len(batch) > 1 or bool(self._queue)
            self._is_running = bool(batch)
            if batch:
                BATCHES.labels(self.name, source.get()).observe(_count(batch))
            return batch


def _count(requests: Sequence[_Request[Any, Any]]) -> int:
    return sum(len(request.texts) for request in requests)


def _run(batch: Sequence[_Request[LaneT, RowsT]]) -> None:
    """Process a batch; if that fails, each of its requests by itself."""
    batch = [request for request in batch if not request.future.done()]
    if not batch:
        return

    def check() -> None:
        if all(request.future.cancelled() for request in batch):
            raise CancelledError

    try:
        with cancelled_by(check):
            rows = batch[0].process([text for r in batch for text in r.texts], batch[0].lane)
    except Exception as error:
        if len(batch) > 1:
            for request in batch:
                _run([request])
        elif batch[0].future.set_running_or_notify_cancel():
            batch[0].future.set_exception(error)
        return
    end = 0
    for request in batch:
        begin, end = end, end + len(request.texts)
        if request.future.set_running_or_notify_cancel():
            request.future.set_result(rows[begin:end])


class Call:
    """Deadline of one request, and the future that it waits for."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._future: Future[Any] = Future()

    @property
    def left(self) -> float:
        """Seconds left; none once the request is cancelled."""
        return max(0.0, self._until - time.monotonic())

    def check(self) -> None:
        """Raise `ServingError` if the request is cancelled or past its deadline."""
        if not self.left:
            raise timeout_error()

    def result(self, future: Future[T]) -> T:
        """Wait for a future, and cancel it with the request; raises as `check`."""
        self._future = future
        try:
            return future.result(self.left)
        except (TimeoutError, CancelledError) as error:
            future.cancel()
            raise timeout_error() from error

    def cancel(self) -> None:
        """Cancel the request and the future it waits for."""
        self._until = 0.0  # before the future: `result` reads them in the other order
        self._future.cancel()


current_call: ContextVar[Call] = ContextVar("current_call")
"""Request over HTTP of this task or thread; unset on pages, and while an index is built."""

source: ContextVar[str] = ContextVar("source", default="pages")
"""Source of the texts that a thread encodes, for the metrics: `api` or `pages`."""


def timeout_error() -> ServingError:
    """Return the error of a request past its deadline."""
    message = "the answer took longer than it may; ask for less at a time, or try again later"
    return ServingError(message, kind="timeout", status=504)
