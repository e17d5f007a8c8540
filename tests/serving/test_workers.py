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
from tests.serving.conftest import SOON
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

    def send(self, path: str, **fields: Any) -> tuple[int, Any]:
        """Send a request on a connection of its own, which any process may take."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST" if fields else "GET", path, json.dumps(fields) or None, headers)
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, json.loads(body) if path != "/metrics" else body.decode()
        finally:
            connection.close()

    def sample(self) -> Sample:
        return take_sample(text_string_to_metric_families(self.send("/metrics")[1]))

    def is_ready(self) -> bool:
        try:
            return self.send("/health/ready")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    @property
    def pids(self) -> set[int]:
        """Processes that answer: those that are in the metrics."""
        pids = {int(dict(key)["process"]) for key in self.sample().select("entail_process_bytes")}
        return {pid for pid in pids if psutil.pid_exists(pid)}


@pytest.fixture
def workers(tiny_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    monkeypatch.setenv("ENTAIL_DEVICE", "cpu")
    monkeypatch.setenv(FOLDER, str(tmp_path / "metrics"))
    corpora = CorpusStore(open_database())
    texts = [f"{word} {number}" for number in range(PREMISES // 4) for word in ("ba", "be", "bi", "bo")]
    info = corpora.add_corpus(Corpus.of("grove", texts), author="Ada")
    port = free_port()
    command = [sys.executable, "-m", "entail", "serve", "--workers", str(WORKERS), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    served = Workers(process, port, corpora, info.id)
    try:
        until(served.is_ready)
        yield served
    finally:
        process.kill()
        process.communicate()


def test_workers(workers: Workers) -> None:
    search = {"queries": ["ba"], "corpus": "grove", "retriever": "tiny", "k": 3}

    until(lambda: len(workers.pids) == WORKERS)
    for _ in range(40):
        until(lambda: workers.send("/search", **search)[0] == 200)
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
        status, answer = workers.send("/search", **search | {"queries": ["bu"]})
        if status == 200:
            assert (answer["corpus_version"], answer["hits"][0][0]["text"]) == (2, "bu")
    promote("other", by="Ada", anyway=True)
    assert {workers.send("/encode", texts=["ba"])[1]["encoder"] for _ in range(12)} == {"other"}

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
