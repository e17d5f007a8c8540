"""Batching of texts over requests: a forward pass of many texts takes little longer than one of one."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
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

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lane:
    """Options of encoding that texts of one batch share."""

    tower: Literal["query", "premise"]
    normalised: bool = True


@dataclass(eq=False, slots=True)
class _Ticket:
    """Texts of one request, and the position of the first that no batch has."""

    texts: Sequence[str]
    lane: Lane
    future: Future[Floats]
    position: int = 0
    parts: list[Floats] = field(default_factory=list)


_Piece = tuple[_Ticket, Sequence[str]]

CHARS_A_TEXT = 256
"""Characters of a batch, times its most texts: what it goes on for where one of its requests has ended."""


class Batcher:
    """Queue of texts in front of an encoder, processed by one thread.

    A batch holds texts of one lane, in order of arrival: equal texts once, the shortest first. A request with
    many texts takes turns with later ones. While several clients ask, a batch that is not full waits
    `gather_ms` for more; a single client never waits. A request with a cancelled future leaves the queue, and
    a batch ends (`check_cancelled`) when all of its requests are cancelled.

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
        self._queue: deque[_Ticket] = deque()
        self._waiting = 0
        self._closed = False
        self._has_company = False
        self._seconds_a_text = 0.01
        self._thread = threading.Thread(target=self._work, name=f"encode {name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        with self._changed:
            return self._waiting

    def submit(self, texts: Sequence[str], lane: Lane) -> Future[Floats]:
        """Queue texts; return a future of their vectors, shape (texts, d).

        Raises:
            ServingError: If the queue is full, or the server is shutting down.
        """
        ticket = _Ticket(tuple(texts), lane, Future())
        with self._changed:
            if self._closed:
                raise ServingError(
                    "the server is shutting down; ask again when it is back",
                    kind="not_ready",
                    status=503,
                    retry_after=5,
                )
            if self._waiting + len(ticket.texts) > self._capacity:
                raise ServingError(
                    f"{self._waiting:,} texts wait for {self._name!r} and at most {self._capacity:,} may; "
                    f"found {len(ticket.texts):,} more; try again later",
                    kind="busy",
                    status=429,
                    retry_after=min(60.0, max(1.0, self._waiting * self._seconds_a_text)),
                )
            self._queue.append(ticket)
            self._waiting += len(ticket.texts)
            self._changed.notify_all()
        ticket.future.add_done_callback(lambda future: self._remove(ticket) if future.cancelled() else None)
        return ticket.future

    def close(self, *, wait: bool = True) -> None:
        """Refuse new texts, and stop when the queue is empty."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if wait:
            self._thread.join()

    def _remove(self, ticket: _Ticket) -> None:
        with self._changed:
            if ticket in self._queue:
                self._queue.remove(ticket)
                self._waiting -= len(ticket.texts) - ticket.position

    def _work(self) -> None:
        while pieces := self._next():
            self._run(pieces)

    def _next(self) -> list[_Piece]:
        """Wait for texts and return a batch of them; an empty one after the end."""
        with self._changed:
            while not self._queue:
                if self._closed:
                    return []
                self._changed.wait()
            until = time.monotonic() + self._gather_s
            while self._has_company and self._waiting < self._batch and not self._closed:
                if (left := until - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            pieces = self._take()
            self._has_company = len(pieces) > 1 or bool(self._queue)
            return pieces

    def _take(self) -> list[_Piece]:
        pieces: list[_Piece] = []
        room, chars, lane = self._batch, self._batch * CHARS_A_TEXT, None
        for ticket in tuple(self._queue):
            lane = lane or ticket.lane
            texts = ticket.texts[ticket.position : ticket.position + room]
            fitting = sum(size <= chars for size in accumulate(map(len, texts)))
            texts = texts[: fitting if pieces else max(1, fitting)]
            if ticket.lane != lane or not texts:
                continue
            ticket.position += len(texts)
            room -= len(texts)
            chars -= sum(map(len, texts))
            self._waiting -= len(texts)
            self._queue.remove(ticket)
            if ticket.position < len(ticket.texts):
                self._queue.append(ticket)
            pieces.append((ticket, texts))
        # All of them may have been cancelled meanwhile.
        return pieces or self._next()

    def _run(self, pieces: Sequence[_Piece]) -> None:
        lane = pieces[0][0].lane
        texts = sorted(dict.fromkeys(text for _, piece_texts in pieces for text in piece_texts), key=len)
        began = time.monotonic()

        def check() -> None:
            if all(ticket.future.cancelled() for ticket, _ in pieces):
                raise CancelledError

        try:
            with cancelled_by(check):
                vectors = self._encode(texts, lane)
        except CancelledError:
            return
        except Exception as error:
            if len(pieces) == 1:
                self._fail(pieces[0][0], error)
                return
            _log.warning("a batch of %d requests for %r failed; trying each alone", len(pieces), self._name)
            for piece in pieces:
                self._run([piece])
            return
        self._seconds_a_text += 0.2 * ((time.monotonic() - began) / len(texts) - self._seconds_a_text)
        row = {text: position for position, text in enumerate(texts)}
        for ticket, piece_texts in pieces:
            ticket.parts.append(vectors[[row[text] for text in piece_texts]])
            if (
                sum(map(len, ticket.parts)) == len(ticket.texts)
                and ticket.future.set_running_or_notify_cancel()
            ):
                ticket.future.set_result(np.concatenate(ticket.parts))

    def _fail(self, ticket: _Ticket, error: Exception) -> None:
        self._remove(ticket)
        if ticket.future.set_running_or_notify_cancel():
            ticket.future.set_exception(error)


class Call:
    """Deadline of one request, and the future that it waits for."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._future: Future[Floats] | None = None
        self._cancelled = False

    @property
    def left(self) -> float:
        """Seconds left."""
        return max(0.0, self._until - time.monotonic())

    def check(self) -> None:
        """Raise `ServingError` if the request is cancelled or past its deadline."""
        if self._cancelled or not self.left:
            raise timeout_error()

    def result(self, future: Future[Floats]) -> Floats:
        """Wait for a future, and cancel it with the request; raises as `check`."""
        with self._lock:
            self._future = future
            if self._cancelled:
                future.cancel()
        try:
            return future.result(self.left)
        except (TimeoutError, CancelledError) as error:
            future.cancel()
            raise timeout_error() from error

    def cancel(self) -> None:
        """Cancel the request and the future it waits for."""
        with self._lock:
            self._cancelled = True
            if self._future is not None:
                self._future.cancel()


current_call: ContextVar[Call] = ContextVar("current_call")
"""Request of this task or thread; unset while an index is built."""


def timeout_error() -> ServingError:
    """Return the error of a request past its deadline."""
    return ServingError(
        "the answer took longer than it may; ask for less at a time, or try again later",
        kind="timeout",
        status=504,
    )
