"""nginx in front of a server, by docs/nginx.conf: slow clients, rates and large bodies end there."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from entail.serving.client import Client
from tests.serving.conftest import SOON, Served, nginx_in_front

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def front(serve: Callable[..., Served], tmp_path: Path) -> Iterator[Served]:
    """A server behind nginx, whose timeouts are a second."""
    behind = serve()
    with nginx_in_front(behind.port, tmp_path, seconds=1) as port:
        yield Served(port, behind.server, behind.thread, behind.service, behind.encoder)


def test_answers_and_refusals_pass(front: Served) -> None:
    with Client(front.url) as client:
        assert client.encode(["ba " * 3_000, "be " * 3_000]).shape == (2, 16)
    assert front.post("/encode", texts=[""]).error["field"] == "texts.0"
    large = front.send("POST", "/encode", b" " * (2 * 2**20 + 1), JSON)
    assert (large.status, large.error["kind"]) == (413, "too_large")


def test_rate_of_an_address(front: Served) -> None:
    replies = front.send_together(*[("/claim", {"questions": ["who won"]})] * 80)()
    refused = [reply for reply in replies if reply.status == 429]
    assert 0 < len(refused) < 50
    assert {reply.error["kind"] for reply in refused} == {"busy"}
    assert {reply.headers["retry-after"] for reply in refused} == {"1"}


HEAD = b"POST /encode HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET / HT", HEAD, HEAD + b'\r\n{"texts": ['])
def test_slow_clients_are_closed_and_the_server_never_sees_them(front: Served, sent: bytes) -> None:
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", front.port), SOON)) for _ in range(40)
        ]
        for connection in slow:
            connection.sendall(sent)
        began = time.monotonic()
        assert front.send("GET", "/health").status == 200
        assert time.monotonic() - began < 1
        assert len(front.server.server_state.connections) <= 2  # that of nginx
        for connection in slow:
            with contextlib.suppress(ConnectionResetError):
                assert b" 200 " not in connection.recv(1000)
    assert front.send("GET", "/health").status == 200
