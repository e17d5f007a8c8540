"""Many clients, slow ones and those that disconnect, observed by the calls of the encoder."""

import http.client
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.errors import ServingError
from entail.serving.client import Client
from entail.serving.limits import Limits
from tests.serving.conftest import SOON, Served, until

TOKEN = "a-token-of-some-length"


def test_requests_share_a_call(served: Served) -> None:
    served.post("/search", queries=["ba"], corpus="grove", retriever="tiny")  # builds the index
    served.hold()
    rest = served.apart(
        ("/encode", {"texts": ["ru"]}),
        *[("/search", {"queries": [f"{s} ba"], "corpus": "grove"}) for s in ("li", "lo", "lu")],
    )
    until(lambda: served.waiting == 4)
    served.release()
    assert [reply.status for reply in rest.join()] == [200] * 4
    assert sorted(served.encoder.calls[1][0]) == ["li ba", "lo ba", "lu ba", "ru"]


def test_full_queue(serve: Callable[..., Served]) -> None:
    served = serve(limits=Limits(queue=3))
    served.hold()
    waits = served.apart(("/encode", {"texts": ["ba", "be"]}))
    until(lambda: served.waiting == 2)
    reply = served.post("/encode", texts=["bi", "bu"])
    assert (reply.status, reply.error["kind"]) == (429, "busy")
    assert int(reply.headers["retry-after"]) >= 1
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        served.release()
        waits.join()

    with Client(served.url, sleep=sleep) as client:
        assert client.encode(["bi", "bu"]).shape == (2, 16)
    assert slept == [float(reply.headers["retry-after"])]


def test_too_many_requests(serve: Callable[..., Served]) -> None:
    served = serve(limits=Limits(requests=2))
    served.hold()
    second = served.apart(("/encode", {"texts": ["be"]}))
    until(lambda: served.waiting == 1)
    reply = served.send("GET", "/info")
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    assert served.send("GET", "/health").status == 200
    served.release()
    assert second.join()[0].status == 200
    assert served.send("GET", "/info").status == 200


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/encode", {"texts": ["be"]}),
        ("/search", {"queries": ["be bo"], "corpus": "grove", "retriever": "tiny"}),
    ],
)
def test_timeout(serve: Callable[..., Served], path: str, fields: dict[str, Any]) -> None:
    served = serve(limits=Limits(seconds=0.3))
    while served.post("/search", queries=["ba"], corpus="grove", retriever="tiny").status != 200:
        pass  # until the index is there
    served.hold()
    reply = served.post(path, **fields)
    assert (reply.status, reply.error["kind"]) == (504, "timeout")
    assert "longer" in reply.error["message"]
    until(lambda: served.waiting == 0)
    served.release()
    assert served.post("/encode", texts=["ba"]).status == 200
    encoded_texts = {text for texts, _ in served.encoder.calls for text in texts}
    assert encoded_texts <= {"bo", "ba", "a text"}


@pytest.mark.parametrize("path", ["/encode", "/search"])
def test_disconnect_empties_the_queue(served: Served, path: str) -> None:
    served.post("/search", queries=["ba"], corpus="grove", retriever="tiny")
    served.hold()
    fields = {"texts": ["gone"]} if path == "/encode" else {"queries": ["gone"], "corpus": "grove"}
    body = json.dumps(fields).encode()
    about = f"Host: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    head = f"POST {path} HTTP/1.1\r\n{about}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(head.encode() + body)
        until(lambda: served.waiting == 1)
    until(lambda: served.waiting == 0)
    served.release()
    assert served.post("/encode", texts=["ba"]).status == 200
    assert "gone" not in {text for texts, _ in served.encoder.calls for text in texts}


def test_index_in_construction(serve: Callable[..., Served]) -> None:
    served = serve(limits=Limits(build_seconds=0.05))
    served.encoder.gate.clear()
    fields = {"queries": ["ba"], "corpus": "grove", "retriever": "tiny"}
    for _ in range(2):
        reply = served.post("/search", **fields)
        assert (reply.status, reply.error["kind"]) == (503, "not_ready")
        assert int(reply.headers["retry-after"]) >= 1
    with Client(served.url, sleep=lambda seconds: served.release(), attempts=200) as client:
        assert len(client.search(["ba"], corpus="grove", retriever="tiny").hits[0]) == 10
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


@pytest.mark.parametrize("said", [{"Content-Length": str(10**9)}, {"Transfer-Encoding": "chunked"}])
def test_large_body_is_refused_unread(served: Served, said: dict[str, str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=SOON)
    connection.putrequest("POST", "/encode")
    for name, value in {"Content-Type": "application/json", **said}.items():
        connection.putheader(name, value)
    connection.endheaders()
    if "Transfer-Encoding" in said:
        chunk = b"x" * 2**18
        for _ in range(10):  # without an end: it never comes
            connection.send(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["kind"]) == (413, "too_large")
    connection.close()


def test_large_body_gets_an_answer(served: Served) -> None:
    # Answered while it still sends, a client's connection is reset: about one in a hundred read nothing.
    body = b'{"texts": ["' + b"x" * (3 * 2**20) + b'"]}'
    for _ in range(5):
        reply = served.send("POST", "/encode", body, {"Content-Type": "application/json"})
        assert (reply.status, reply.error["kind"]) == (413, "too_large")


def test_without_the_token(serve: Callable[..., Served], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served = serve(token=TOKEN)
    with Client(served.url, token=TOKEN) as client:
        assert client.encode(["ba"]).shape == (1, 16)
        assert TOKEN not in repr(client)
    wrong = ["", "Bearer", "Bearer no", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer caf\xe9"]
    for headers in [{}, *({"Authorization": authorization} for authorization in wrong)]:
        for method, path in [
            ("POST", "/encode"),
            ("POST", "/search"),
            ("GET", "/info"),
            ("GET", "/openapi.json"),
        ]:
            reply = served.send(method, path, headers=headers)
            assert (reply.status, reply.error["kind"]) == (401, "unauthorized")
            assert reply.headers["www-authenticate"] == "Bearer"
            assert TOKEN not in reply.body.decode()
    assert served.send("GET", "/health").status == 200
    assert TOKEN not in caplog.text


def test_shutdown_answers_pending_requests(serve: Callable[..., Served]) -> None:
    served = serve()
    first = served.hold()
    waits = served.apart(("/encode", {"texts": ["be"]}))
    until(lambda: served.waiting == 1)
    served.server.should_exit = True
    time.sleep(0.2)
    assert served.thread.is_alive()
    served.release()
    assert [reply.status for reply in [*first.join(), *waits.join()]] == [200, 200]
    served.thread.join(SOON)
    assert not served.thread.is_alive()


def test_sigterm(tiny_home: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "entail", "serve", "--port", str(port), "--encoder", "tiny", "--json"],
        env={**os.environ, "ENTAIL_SERVE_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with Client(f"http://127.0.0.1:{port}", token=TOKEN, attempts=1) as client:
            for _ in range(600):
                try:
                    if client.health().ready:
                        break
                except ServingError:
                    time.sleep(0.05)
            assert client.encode(["ba", "be"]).shape == (2, 16)
            process.send_signal(signal.SIGTERM)
            out, errors = process.communicate(timeout=SOON)
    finally:
        process.kill()
    assert process.returncode == 0
    assert json.loads(out) == {"stopped": True}
    assert TOKEN not in errors
