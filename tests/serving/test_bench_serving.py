"""`scripts/bench_serving.py` against a server that answers at once."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("bench_serving")


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: list[str]
    status: int

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.extend(body["texts"])
        self.send_response(type(self).status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Answer.asked, Answer.status = [], 200
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def test_counts(script: ModuleType, port: int) -> None:
    figures = script.ask(port, 3, 0.2, (f"text {i}" for i in itertools.count()))
    assert figures["texts"] == len(Answer.asked) == len(set(Answer.asked)) > 3
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    assert figures["texts_per_second"] > 0


def test_refusal(script: ModuleType, port: int) -> None:
    Answer.status = 429
    with pytest.raises(SystemExit, match="2 of 2 clients were refused: status 429"):
        script.ask(port, 2, 0.2, (f"text {i}" for i in itertools.count()))
