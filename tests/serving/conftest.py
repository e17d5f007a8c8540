"""A server on a real socket, over a miniature encoder that records its calls and can be held."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import APIRouter, FastAPI

from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.serving.app import create_app
from entail.serving.library import Library
from entail.serving.limits import Limits
from entail.serving.service import Service
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

SOON = 20.0


class HeldEncoder(BiEncoder):
    """Counts what it is asked for, and answers only while its gate is open."""

    def __init__(self, name: str) -> None:
        super().__init__(name, device="cpu")
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Semaphore(0)
        self.calls: list[tuple[list[str], str]] = []
        self.fault: Exception | None = None

    def encode(self, texts: Sequence[str], tower: Any, **options: Any) -> Any:
        self.calls.append((list(texts), tower))
        self.asked.release()
        assert self.gate.wait(SOON)
        if self.fault is not None:
            raise self.fault
        return super().encode(texts, tower, **options)


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        answer = self.json
        assert set(answer) == {"error"}
        assert set(answer["error"]) <= {"kind", "message", "field"}
        assert answer["error"]["message"]
        return dict(answer["error"])


@dataclass
class Served:
    port: int
    server: uvicorn.Server
    thread: threading.Thread
    service: Service
    encoder: HeldEncoder
    token: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            answer_headers = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, answer_headers, answer.read())
        finally:
            connection.close()

    def post(self, path: str, **fields: Any) -> Reply:
        return self.send("POST", path, json.dumps(fields).encode(), {"Content-Type": "application/json"})

    def apart(self, *requests: tuple[str, dict[str, Any]]) -> "Apart":
        """Send requests at the same time."""
        return Apart(self, requests)

    def hold(self) -> "Apart":
        """Hold the encoder at the text "bo": whatever comes next has to wait, until `release`."""
        while self.encoder.asked.acquire(blocking=False):
            pass
        self.encoder.calls.clear()
        self.encoder.gate.clear()
        first = self.apart(("/encode", {"texts": ["bo"]}))
        assert self.encoder.asked.acquire(timeout=SOON)
        return first

    def release(self) -> None:
        self.encoder.gate.set()

    @property
    def waiting(self) -> int:
        return self.service.library.encoder("tiny").batcher.waiting


class Apart:
    """Requests sent by a thread each."""

    def __init__(self, served: Served, requests: Sequence[tuple[str, dict[str, Any]]]) -> None:
        pool = ThreadPoolExecutor(len(requests))
        self._replies = [pool.submit(served.post, path, **fields) for path, fields in requests]

    def join(self) -> list[Reply]:
        return [reply.result(SOON) for reply in self._replies]


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so; fail if it never is."""
    for _ in range(int(SOON / 0.005)):
        if true():
            return
        time.sleep(0.005)
    raise AssertionError("it never came to be so")


@contextlib.contextmanager
def running(app: FastAPI) -> Iterator[tuple[uvicorn.Server, int, threading.Thread]]:
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield server, server.servers[0].sockets[0].getsockname()[1], thread
    finally:
        server.should_exit = True
        thread.join(SOON)
        assert not thread.is_alive()


@pytest.fixture
def serve(tiny_home: Path, tmp_path: Path, grove: dict[str, Any]) -> Iterator[Callable[..., Served]]:
    """Return what starts a server of `tiny` and the corpus `grove`; it is ready unless `ready=False`."""
    store = CorpusStore(open_database(f"sqlite:///{tmp_path / 'served.db'}"))
    store.add_corpus(Corpus.of("grove", grove["facts"]), author="Ada")
    with contextlib.ExitStack() as stack:

        def start(
            *,
            token: str | None = None,
            ready: bool = True,
            others: Sequence[str] = (),
            limits: Limits | None = None,
            routers: Sequence[APIRouter] = (),
        ) -> Served:
            encoder = HeldEncoder("tiny")
            library = Library(
                ["tiny", *others],
                corpora=store,
                limits=limits,
                encoder_of=lambda name: encoder if name == "tiny" else BiEncoder(name),
            )
            service = Service(library, warm=("tiny",))
            stack.callback(encoder.gate.set)
            if not ready:
                encoder.gate.clear()
            app = create_app(service, token=token)
            for router in routers:
                app.include_router(router)
            server, port, thread = stack.enter_context(running(app))
            stack.callback(encoder.gate.set)
            if ready:
                until(lambda: service.reason is None)
            return Served(port, server, thread, service, encoder, token)

        yield start


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    return serve()
