"""Connections to a server: limits in total and per client, and on the time until a request's head is there.

uvicorn has time limits for idle connections only, so a client that sends half a head could hold one for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 800
"""Limit of open connections; with files and models, below the 1,024 files that many systems allow."""

CONNECTIONS_A_CLIENT = 400
"""Limit of open connections of one address, which may be a proxy."""

HEAD_SECONDS = 10.0
"""Seconds until the head of a request is there."""

LOG_SECONDS = 60.0
"""Seconds between two lines of the log about the same trouble with clients."""


class ConnectionProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn that closes connections beyond the limits, or without a request's head in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Take a connection, or close it."""
        super().connection_made(transport)
        host = self.client and self.client[0]
        clients = (other.client for other in self.connections if isinstance(other, H11Protocol))
        same = sum(client is not None and client[0] == host for client in clients)
        if len(self.connections) > CONNECTIONS or same > CONNECTIONS_A_CLIENT:
            self.logger.warning("a connection was closed: too many are open")
            # Before it is lost: a burst of closed ones would count against an honest client.
            self.connections.discard(self)
            transport.abort()
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a request; what follows it is a head again."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._timer is None and not self.transport.is_closing():
            self._watch()

    def _watch(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._expire)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()


def allow_open_files() -> None:
    """Raise this process's limit of open files to what the system allows it."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class RateFilter(logging.Filter):
    """Filter that lets each message of a level below error pass once in `LOG_SECONDS`."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        now, message = time.monotonic(), str(record.msg)
        if record.levelno < logging.WARNING or record.levelno >= logging.ERROR:
            return True
        due = now - self._last.get(message, -LOG_SECONDS) >= LOG_SECONDS
        if due:
            self._last[message] = now
        return due
