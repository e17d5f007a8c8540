"""Limits on connections: heads that never end, and more connections than there may be."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from entail.serving import connections
from entail.serving.connections import ConnectionProtocol, RateFilter


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(connections, "CONNECTIONS", 12)
    monkeypatch.setattr(connections, "CONNECTIONS_A_CLIENT", 8)

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})  # type: ignore[operator]  # ASGI
        await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]  # ASGI

    config = uvicorn.Config(app, port=0, http=ConnectionProtocol, lifespan="off", log_config=None)  # type: ignore[arg-type]  # ASGI
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def opened(port: int, host: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(host, 0))


def answers(connection: socket.socket) -> bool:
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    return connection.recv(1000).startswith(b"HTTP/1.1 200")


def end_of(connection: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    try:
        return connection.recv(1000)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("head", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_end_is_not_waited_for(port: int, head: bytes) -> None:
    with opened(port) as slow, opened(port) as quick:
        slow.sendall(head)
        assert answers(quick)
        assert end_of(slow) == b""
        assert answers(quick)  # in the time of keep-alive


def test_the_second_head_has_to_end_too(port: int) -> None:
    with opened(port) as slow:
        assert answers(slow)
        slow.sendall(b"GET / HT")
        assert end_of(slow) == b""


def test_connections_of_one_client_leave_room_for_others(port: int) -> None:
    with ExitStack() as open_connections:
        for _ in range(8):
            open_connections.enter_context(opened(port))
        with opened(port) as ninth:
            assert end_of(ninth) == b""
        with opened(port, "127.0.0.2") as other:
            assert answers(other)
    with opened(port) as again:
        assert answers(again)


def test_connections_in_total(port: int) -> None:
    with ExitStack() as open_connections:
        first, *_ = [
            open_connections.enter_context(opened(port, f"127.0.0.{number}")) for number in range(1, 13)
        ]
        with opened(port, "127.0.0.99") as late:
            assert end_of(late) == b""
        assert answers(first)


def test_connections_that_were_closed_do_not_count_until_they_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 12)
    monkeypatch.setattr(connections, "CONNECTIONS_A_CLIENT", 8)

    async def connect(hosts: list[str]) -> list[bool]:
        config = uvicorn.Config(Mock(), log_config=None)
        state, aborted = ServerState(), []
        for host in hosts:
            transport = Mock()
            transport.get_extra_info = {"peername": (host, 1), "sockname": ("127.0.0.1", 2)}.get
            protocol = ConnectionProtocol(config, state, {})
            protocol.connection_made(transport)
            aborted.append(transport.abort.called)
        return aborted

    attacker, other = "127.0.0.1", "127.0.0.2"
    aborted = asyncio.run(connect([*[attacker] * 20, other]))
    assert aborted == [False] * 8 + [True] * 12 + [False]


def test_a_warning_is_logged_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    limit = RateFilter()

    def passes(level: int, message: str) -> bool:
        return limit.filter(logging.LogRecord("x", level, "x", 1, message, None, None))

    assert [passes(logging.WARNING, text) for text in ("a", "a", "b")] == [True, False, True]
    assert passes(logging.ERROR, "a")
    assert passes(logging.ERROR, "a")
    now += connections.LOG_SECONDS
    assert passes(logging.WARNING, "a")
