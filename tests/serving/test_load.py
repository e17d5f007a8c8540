"""Many clients, slow ones and those that disconnect, at a server and at nginx (docs/nginx.conf)."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from entail.serving.client import Client
from entail.serving.messages import Limits
from tests.serving.conftest import JSON, SOON, TOKEN, Served, is_ready, nginx_in_front
from tests.support.machine import free_port, until

SEARCH = {"queries": ["ba"], "corpus": "grove", "retriever": "tiny"}


def test_full_queue(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.runtime.batching.QUEUE", 3)
    served.hold()
    replies = served.send_together(("/encode", {"texts": ["ba", "be"]}))
    until(lambda: served.waiting == 2)
    reply = served.post("/encode", texts=["bi", "bu"])
    assert (reply.status, reply.error["kind"]) == (429, "busy")
    assert int(reply.headers["retry-after"]) >= 1
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        served.release()
        replies()

    with Client(served.url, sleep=sleep) as client:
        assert client.encode(["bi", "bu"]).shape == (2, 16)
    assert slept == [float(reply.headers["retry-after"])]


def test_too_many_requests(serve: Callable[..., Served]) -> None:
    served = serve(limits=Limits(requests=2))
    served.hold()
    second = served.send_together(("/encode", {"texts": ["be"]}))
    until(lambda: served.waiting == 1)
    reply = served.send("GET", "/info")
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    assert served.send("GET", "/health").status == 200
    served.release()
    assert second()[0].status == 200
    assert served.send("GET", "/info").status == 200


def test_index_in_construction(serve: Callable[..., Served]) -> None:
    served = serve(limits=Limits(build_seconds=0.05))
    served.encoder.gate.clear()
    for _ in range(2):
        reply = served.post("/search", **SEARCH)
        assert (reply.status, reply.error["kind"]) == (503, "not_ready")
        assert int(reply.headers["retry-after"]) >= 1
    fields: Any = SEARCH
    with Client(served.url, sleep=lambda seconds: served.release(), attempts=200) as client:
        assert len(client.search(**fields).hits[0]) == 10
    premises = [texts for texts, tower in served.encoder.calls if tower == "premise"]
    assert [len(texts) for texts in premises] == [40]


def test_slow_body(serve: Callable[..., Served]) -> None:
    served = serve(limits=Limits(body_seconds=0.1))
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=SOON)
    connection.putrequest("POST", "/encode")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b'{"texts": [')
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["kind"]) == (408, "slow")
    connection.close()


def test_shutdown_answers_pending_requests(served: Served) -> None:
    first = served.hold()
    waiting = served.send_together(("/encode", {"texts": ["be"]}))
    until(lambda: served.waiting == 1)
    served.server.should_exit = True
    time.sleep(0.2)
    assert served.thread.is_alive()
    served.release()
    assert [reply.status for reply in [*first(), *waiting()]] == [200, 200]
    served.thread.join(SOON)
    assert not served.thread.is_alive()


def test_sigterm(tiny_home: Path) -> None:
    port = free_port()
    options = ["--port", str(port), "--encoder", "tiny", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "entail", "serve", *options],
        env={**os.environ, "ENTAIL_SERVE_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: is_ready(port))
        with Client(f"http://127.0.0.1:{port}", token=TOKEN, attempts=1) as client:
            assert client.health().ready
            assert client.encode(["ba", "be"]).shape == (2, 16)
            process.send_signal(signal.SIGTERM)
            out, errors = process.communicate(timeout=SOON)
    finally:
        process.kill()
    assert process.returncode == 0
    assert json.loads(out) == {"stopped": True}
    assert TOKEN not in errors


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
