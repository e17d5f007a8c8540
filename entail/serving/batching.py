"""Batching of texts over requests: a forward pass of many texts takes little longer than one of one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entail.cancellation import cancelled_by
from entail.errors import ServingError

Floats = NDArray[np.float32]

CHARS_A_TEXT = 256
"""Characters of a batch, times its most texts: a batch of long texts would hold up short ones."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Options of encoding that texts of one batch share."""

    tower: Literal["query", "premise"]
    normalised: bool = True


@dataclass(eq=False, slots=True)
class _Ticket:
    """Texts of one request, the position of the first that no batch has, and the vectors so far."""

    texts: Sequence[str]
    lane: Lane
    future: Future[Floats] = field(default_factory=Future)
    position: int = 0
    vectors: list[Floats] = field(default_factory=list)


_Piece = tuple[_Ticket, Sequence[str]]


class Batcher:
    """Queue of texts in front of an encoder, processed by one thread.

    A batch holds texts of one lane, in order of arrival: equal texts once, the shortest first. A request with
    many texts takes turns with later ones. While several clients ask, a batch that is not full waits
    `gather_ms` for more; a single client never waits. A request whose future is cancelled leaves the queue,
    and a batch ends (`check_cancelled`) when all of its requests are cancelled.

    `encode` maps distinct texts and their lane to vectors, shape (texts, d). `batch` and `queue` are the most
    texts of a batch and of the queue. A batch has at most `batch * CHARS_A_TEXT` characters, or one text.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[str], Lane], Floats],
        *,
        name: str,
        batch: int = 64,
        queue: int = 4096,
        gather_ms: float = 3.0,
    ) -> None:
        self._encode, self._name = encode, name
        self._batch, self._capacity, self._gather_s = batch, queue, gather_ms / 1000
        self._changed = threading.Condition()
        self._queue: list[_Ticket] = []
        self._closed = self._has_company = False
        self._seconds_a_text = 0.01
        self._thread = threading.Thread(target=self._work, name=f"encode {name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        with self._changed:
            return sum(len(t.texts) - t.position for t in self._queue if not t.future.done())

    def submit(self, texts: Sequence[str], lane: Lane) -> Future[Floats]:
        """Queue texts; return a future of their vectors, shape (texts, d).

        Raises:
            ServingError: If the queue is full, or the server is shutting down.
        """
        ticket = _Ticket(tuple(texts), lane)
        with self._changed:
            if self._closed:
                message = "the server is shutting down; ask again when it is back"
                raise ServingError(message, kind="not_ready", status=503, retry_after=5)
            if (waiting := self.waiting) + len(texts) > self._capacity:
                raise ServingError(
                    f"expected at most {self._capacity:,} waiting texts, found more; try again later",
                    kind="busy",
                    status=429,
                    retry_after=min(60.0, max(1.0, waiting * self._seconds_a_text)),
                )
            self._queue.append(ticket)
            self._changed.notify_all()
        return ticket.future

    def close(self, *, wait: bool = True) -> None:
        """Refuse new texts, and stop when the queue is empty."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if wait:
            self._thread.join()

    def _work(self) -> None:
        while pieces := self._next():
            self._run(pieces)

    def _next(self) -> list[_Piece]:
        """Wait for texts and return a batch of them; an empty one after the end."""
        pieces: list[_Piece] = []
        with self._changed:
            while not pieces and (self._queue or not self._closed):
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._has_company:
                    self._changed.wait_for(
                        lambda: self._closed or self.waiting >= self._batch, self._gather_s
                    )
                pieces = self._take()
                self._has_company = len(pieces) > 1 or bool(self._queue)
        return pieces

    def _take(self) -> list[_Piece]:
        pieces: list[_Piece] = []
        delayed, unfinished = [], []
        room, chars = self._batch, self._batch * CHARS_A_TEXT
        for ticket in self._queue:
            if ticket.future.done():
                continue
            texts = ticket.texts[ticket.position : ticket.position + room]
            fitting = sum(size <= chars for size in accumulate(map(len, texts)))
            texts = texts[: fitting if pieces else max(1, fitting)]
            if not texts or (pieces and ticket.lane != pieces[0][0].lane):
                delayed.append(ticket)
                continue
            pieces.append((ticket, texts))
            room, chars = room - len(texts), chars - sum(map(len, texts))
            ticket.position += len(texts)
            if ticket.position < len(ticket.texts):
                unfinished.append(ticket)
        self._queue = delayed + unfinished
        return pieces

    def _run(self, pieces: Sequence[_Piece]) -> None:
        """Encode a batch; if that fails, each of its requests by itself."""
        pieces = [piece for piece in pieces if not piece[0].future.done()]
        if not pieces:
            return
        texts = sorted(dict.fromkeys(text for _, part in pieces for text in part), key=len)
        began = time.monotonic()

        def check() -> None:
            if all(ticket.future.cancelled() for ticket, _ in pieces):
                raise CancelledError

        try:
            with cancelled_by(check):
                rows = dict(zip(texts, self._encode(texts, pieces[0][0].lane), strict=True))
        except Exception as error:
            if len(pieces) > 1:
                for piece in pieces:
                    self._run([piece])
            elif pieces[0][0].future.set_running_or_notify_cancel():
                pieces[0][0].future.set_exception(error)
            return
        self._seconds_a_text += 0.2 * ((time.monotonic() - began) / len(texts) - self._seconds_a_text)
        for ticket, part in pieces:
            ticket.vectors += [rows[text] for text in part]
            complete = len(ticket.vectors) == len(ticket.texts)
            if complete and ticket.future.set_running_or_notify_cancel():
                ticket.future.set_result(np.stack(ticket.vectors))


class Call:
    """Deadline of one request, and the future that it waits for."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._future: Future[Floats] = Future()

    @property
    def left(self) -> float:
        """Seconds left; none once the request is cancelled."""
        return max(0.0, self._until - time.monotonic())

    def check(self) -> None:
        """Raise `ServingError` if the request is cancelled or past its deadline."""
        if not self.left:
            raise timeout_error()

    def result(self, future: Future[Floats]) -> Floats:
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
"""Request of this task or thread; unset while an index is built."""


def timeout_error() -> ServingError:
    """Return the error of a request past its deadline."""
    message = "the answer took longer than it may; ask for less at a time, or try again later"
    return ServingError(message, kind="timeout", status=504)
