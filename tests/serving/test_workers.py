"""Several processes of one server: what they share, and that one that is killed is replaced."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from entail.data.records import Corpus
from entail.index.shared import shared_folder
from entail.registry.models import promote
from entail.runtime.shared_metrics import FOLDER
from entail.serving.history import Sample, take_sample
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database
from tests.serving.conftest import JSON, SOON, Reply, ask, is_ready
from tests.support.machine import free_port, until

WORKERS = 2
PREMISES = 2_000
PATIENCE = 60.0


@dataclass
class Workers:
    process: subprocess.Popen[str]
    port: int
    corpora: CorpusStore
    corpus_id: str

    def send(self, path: str, **fields: Any) -> Reply:
        """Send a request, which any process may take."""
        method, body = ("POST", json.dumps(fields).encode()) if fields else ("GET", None)
        return ask(self.port, method, path, body, JSON, seconds=PATIENCE)

    def sample(self) -> Sample:
        return take_sample(text_string_to_metric_families(self.send("/metrics").body.decode()))

    @property
    def pids(self) -> set[int]:
        """Processes that answer: those that are in the metrics."""
        pids = {int(dict(key)["process"]) for key in self.sample().select("entail_process_bytes")}
        return {pid for pid in pids if psutil.pid_exists(pid)}


@pytest.fixture
def workers(tiny_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    monkeypatch.setenv(FOLDER, str(tmp_path / "metrics"))
    corpora = CorpusStore(open_database())
    texts = [f"{word} {number}" for number in range(PREMISES // 4) for word in ("ba", "be", "bi", "bo")]
    info = corpora.add_corpus(Corpus.of("grove", texts), author="Ada")
    port = free_port()
    command = [sys.executable, "-m", "entail", "serve", "--workers", str(WORKERS), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    served = Workers(process, port, corpora, info.id)
    try:
        until(lambda: is_ready(port))
        yield served
    finally:
        process.kill()
        process.communicate()


def test_workers(workers: Workers) -> None:
    search = {"queries": ["ba"], "corpus": "grove", "retriever": "tiny", "k": 3}

    until(lambda: len(workers.pids) == WORKERS)
    for _ in range(40):
        until(lambda: workers.send("/search", **search).status == 200)
    files = list(shared_folder().iterdir())
    assert len(files) == 1, "both map the same file of vectors"
    mapped = [
        sum(1 for item in psutil.Process(pid).memory_maps() if item.path == str(files[0]))
        for pid in workers.pids
    ]
    assert all(mapped)

    # What another process changes, all see at once.
    workers.corpora.add(workers.corpus_id, ["bu"], author="Ada")
    for _ in range(12):
        reply = workers.send("/search", **search | {"queries": ["bu"]})
        if reply.status == 200:
            assert (reply.json["corpus_version"], reply.json["hits"][0][0]["text"]) == (2, "bu")
    promote("other", by="Ada", anyway=True)
    assert {workers.send("/encode", texts=["ba"]).json["encoder"] for _ in range(12)} == {"other"}

    # One that is killed is replaced; requests are answered or refused, never held up.
    before = workers.sample()
    first = min(workers.pids)
    os.kill(first, signal.SIGKILL)
    began, refused, pids = time.monotonic(), 0, {first}
    while first in pids or len(pids) < WORKERS:
        start = time.monotonic()
        try:
            workers.send("/encode", texts=["ba"])
            pids = workers.pids
        except (OSError, http.client.HTTPException):
            refused += 1
        assert time.monotonic() - start < PATIENCE / 2
        assert time.monotonic() - began < 3 * PATIENCE
        time.sleep(0.2)
    assert refused <= 2
    after = workers.sample()
    name = "entail_requests_total"
    assert sum(after.values[name].values()) > sum(before.values[name].values()), "its requests still count"
    assert max(after.select("entail_requests_in_progress", endpoint="/encode").values()) == 0

    workers.process.send_signal(signal.SIGTERM)
    assert workers.process.wait(SOON) == 0
    assert not list(shared_folder().glob("*"))


def test_workers_end_with_the_process_that_started_them(workers: Workers) -> None:
    pids = psutil.Process(workers.process.pid).children(recursive=True)
    assert len(pids) >= WORKERS
    workers.process.kill()
    assert not psutil.wait_procs(pids, timeout=SOON)[1]
