"""A server on a real socket, over a miniature encoder that records its calls and can be held."""

import contextlib
import getpass
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import APIRouter, FastAPI

from entail.arcf.scoring.scorer import ListedScorer, Scorer, ScorerForm
from entail.data.records import Corpus
from entail.memory import CACHE
from entail.runtime import models
from entail.runtime.batching import Lane
from entail.runtime.models import SharedEncoder, model_cache
from entail.serving.app import create_app
from entail.serving.messages import Limits
from entail.serving.service import Service
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.arcf.conftest import FakeScorer
from tests.support.machine import free_port, until

SOON = 20.0
TOKEN = "a-token-of-some-length"
JSON = {"Content-Type": "application/json"}


class HeldEncoder(SharedEncoder):
    """Counts what it is asked for, and answers only while its gate is open."""

    def __init__(self, encoder: Any) -> None:
        super().__init__(encoder)
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Semaphore(0)
        self.calls: list[tuple[list[str], str]] = []
        self.fault: Exception | None = None

    def encode_now(self, texts: Sequence[str], lane: Lane, **options: Any) -> Any:
        self.calls.append((list(texts), lane.tower))
        self.asked.release()
        assert self.gate.wait(SOON)
        if self.fault is not None:
            raise self.fault
        return super().encode_now(texts, lane, **options)


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


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    *,
    seconds: float = SOON,
) -> Reply:
    """Send a request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer_headers = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, answer_headers, answer.read())
    finally:
        connection.close()


def is_ready(port: int) -> bool:
    try:
        return ask(port, "GET", "/health/ready").status == 200
    except (OSError, http.client.HTTPException):
        return False


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
        return ask(self.port, method, path, body, headers)

    def post(self, path: str, **fields: Any) -> Reply:
        return self.send("POST", path, json.dumps(fields).encode(), JSON)

    def send_together(self, *requests: tuple[str, dict[str, Any]]) -> Callable[[], list[Reply]]:
        """Send requests in a thread each; return a function that waits for the replies."""
        pool = ThreadPoolExecutor(len(requests))
        replies = [pool.submit(self.post, path, **fields) for path, fields in requests]
        return lambda: [reply.result(SOON) for reply in replies]

    def hold(self) -> Callable[[], list[Reply]]:
        """Hold the encoder at the text "bo": all later texts wait until `release`."""
        while self.encoder.asked.acquire(blocking=False):
            pass
        self.encoder.calls.clear()
        self.encoder.gate.clear()
        first = self.send_together(("/encode", {"texts": ["bo"]}))
        assert self.encoder.asked.acquire(timeout=SOON)
        return first

    def release(self) -> None:
        self.encoder.gate.set()

    @property
    def waiting(self) -> int:
        return self.encoder.batcher.waiting


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


@contextlib.contextmanager
def running_app(port: int, log: Path, **environment: str) -> Iterator[None]:
    """Run the app with the API in a process of its own, whose errors go into a log."""
    command = ["-m", "entail", "app", "--api", "--port", str(port), "--address", "127.0.0.1"]
    variables = {**os.environ, "ENTAIL_SERVE_TOKEN": TOKEN, "OMP_WAIT_POLICY": "PASSIVE", **environment}
    with log.open("wb") as errors:
        process = subprocess.Popen([sys.executable, *command], env=variables, stderr=errors)
    try:
        until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None, log.read_text()
        health = ask(port, "GET", "/_stcore/health")
        assert (health.status, health.body) == (200, b"ok")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert "Traceback" not in log.read_text()


@contextlib.contextmanager
def nginx_in_front(port: int, folder: Path, *, seconds: int = 10) -> Iterator[int]:
    """Run nginx by docs/nginx.conf without TLS in front of a port; yield its own port."""
    if shutil.which("nginx") is None:
        pytest.skip("needs nginx: apt-get install nginx-light")
    front = free_port()
    text = (Path(__file__).parent.parent.parent / "docs" / "nginx.conf").read_text(encoding="utf-8")
    text = re.sub(r"^ +ssl_certificate.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{front}").replace(" 10s;", f" {seconds}s;")
    text = text.replace("user www-data", f"user {getpass.getuser()}")
    text = text.replace("127.0.0.1:8600", f"127.0.0.1:{port}")
    paths = "".join(
        f"{kind}_temp_path {folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(text.replace("http {", f"http {{ {paths}"), encoding="utf-8")
    options = f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;"
    process = subprocess.Popen(["nginx", "-e", folder / "nginx.log", "-c", config, "-g", options])
    try:
        until(lambda: process.poll() is not None or _listens(front))
        assert process.poll() is None, (folder / "nginx.log").read_text()
        yield front
    finally:
        process.terminate()
        process.wait(SOON)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def serve(
    tiny_home: Path, tmp_path: Path, grove: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Served]]:
    """Return what starts a server of `tiny` and the corpus `grove`; it is ready unless `ready=False`."""
    with CACHE.lock:  # of an earlier test, whose models had the same names
        CACHE.entries.clear()
    model_cache.cache_clear()
    monkeypatch.setattr(models, "SharedEncoder", HeldEncoder)
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
            encoder = model_cache().encoder("tiny")
            assert isinstance(encoder, HeldEncoder)
            service = Service(["tiny", *others], corpora=store, limits=limits)
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


@pytest.fixture
def both(gaussian: str, write_reranker: Callable[..., Path], serve: Callable[..., Served]) -> Served:
    """A server of points, `tiny`, of Gaussians, `mine`, and of the re-ranker `reader`."""
    write_reranker("reader", depth=5)
    return serve(others=[gaussian])


@pytest.fixture
def install_scorer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scorer]:
    """Return what lets a scorer `mine` be served, which scores by a function of words."""

    def install(by: Callable[[list[str], list[str]], float]) -> Scorer:
        scorer = Scorer("mine", "mine@1", ScorerForm(), FakeScorer(by))
        listed = ListedScorer("mine", scorer.form, "mine@1")
        monkeypatch.setattr("entail.serving.routes.list_scorers", lambda: [listed])
        monkeypatch.setattr("entail.runtime.chains.load_scorer", lambda name, **options: scorer)
        return scorer

    return install
