"""Measure a running `entail serve` under load, and write docs/results/serving.json.

Clients send one request after the other, each with one text of 17 tokens that none sent before (so no cache
can answer): to encode it, to search by it, or to search by direction. The corpus has made premises; their
vectors are mixtures of real ones, as in scripts/bench_index.py. The same is measured for one client, for
several processes, and for the simplest rival: a server that takes one text at a time. Servers run in
processes of their own. `memory_mib` is what all of them hold, shared pages once (Pss).

With `--add` only the given numbers of processes are measured; other figures stay, each with its commit.

    python scripts/bench_serving.py [--premises 1000000] [--seconds 120] [--workers 1 2] [--add]
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from app_browser import ROOT, start, stop
from bench_index import mixtures

from entail.data.bundled import sample_corpus
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.index.gaussian import GaussianRows
from entail.index.store import write_segment
from entail.index.vectors import slug
from entail.results import commit, write_result
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import open_database

METRICS = {"retrieval": "inner_product", "direction": "gaussian"}
WORDS = ("water", "plant", "animal", "sun", "earth", "energy", "light", "heat", "food", "air", "rock", "ice")
SEARCH = {"corpus": "bench", "k": 10}
REQUESTS = {
    "encode": ("/encode", "texts", {"encoder": "minilm"}),
    "retrieval": ("/search", "queries", {**SEARCH, "retriever": "minilm"}),
    "direction": ("/search", "queries", {**SEARCH, "retriever": "gausscse-minilm", "direction": "entails"}),
}
SERVER = """
import sys
from entail.runtime import batching
from entail.serving.app import serve
port, workers, batch = map(int, sys.argv[1:])
batching.BATCH = batch
serve(port=port, workers=workers)
"""
PUBLISHED = (
    "Text Embeddings Inference: 450+ requests a second, by its makers, of BAAI/bge-base-en-v1.5, 512 tokens "
    "a text, batches of 32, one NVIDIA A10G (https://huggingface.co/blog/inference-endpoints-embeddings)"
)


def main() -> None:
    """Run all measurements once and write them down."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--premises", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="time of each measurement")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kinds", nargs="+", default=list(REQUESTS))
    parser.add_argument("--add", action="store_true", help="keep the other figures of the file")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "serving.json")
    options = parser.parse_args()
    texts = (" ".join((*head, *WORDS[:8])) for head in itertools.product(WORDS, repeat=7))
    figures: dict[str, Any] = {"premises": options.premises, "clients": options.clients, "tokens_a_text": 17}
    figures["seconds_a_measurement"] = options.seconds
    servers = [(f"{workers}_processes", workers, 64, options.clients) for workers in options.workers]
    if options.add:
        former = json.loads(options.out.read_text(encoding="utf-8"))["figures"]
        if any(former[name] != value for name, value in figures.items()):
            parser.error(f"expected the settings of {options.out} to add to it: {figures}")
        figures = former
    else:
        servers[:0] = [("one_client", 1, 64, 1), ("without_batches", 1, 1, options.clients)]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["ENTAIL_DATA_DIR"] = scratch
        prepare(options.premises, set(options.kinds))
        for name, workers, batch, clients in servers:
            command = (sys.executable, "-c", SERVER, "{port}", str(workers), str(batch))
            server, url = start(Path(scratch), command=command, health="/health/ready")
            port = int(url.rpartition(":")[2])
            try:
                for kind in options.kinds:
                    # Several for each process, which builds its index.
                    ask(port, kind, 4 * workers, 1.0, texts)
                    load = round(os.getloadavg()[0], 2)
                    result = ask(port, kind, clients, options.seconds, texts)
                    result |= {
                        "memory_mib": memory(server),
                        "load_average": load,
                        "commit": (commit() or "")[:12],
                    }
                    figures.setdefault(kind, {})[name] = result
                    print(kind, name, result, flush=True)
            finally:
                stop(server)
    figures["published_by_others"] = PUBLISHED
    write_result(options.out, figures=figures, command=sys.argv, seed=0, started=started)


def prepare(count: int, kinds: set[str]) -> None:
    """Write a corpus of made premises, and vectors of them as if they were encoded."""
    facts = sample_corpus()
    numbered = (f"{facts.texts[number % len(facts)]} {number}" for number in range(count))
    corpus = Corpus.of("bench", numbered)
    CorpusStore(open_database()).add_corpus(corpus, author="bench")
    encoders: dict[str, Any] = {
        "retrieval": BiEncoder("minilm"),
        "direction": GaussianRows(GaussianEncoder("gausscse-minilm")),
    }
    for task in kinds & set(METRICS):
        encoder, start = encoders[task], 0
        base = encoder.encode_premises(list(facts.texts)).astype(np.float32)
        folder = Path(os.environ["ENTAIL_DATA_DIR"]) / "vectors" / slug(encoder.premise_revision)
        for rows in mixtures(base, len(corpus), of_unit_length=task == "retrieval"):
            part = corpus.numbers[start : start + len(rows)]
            write_segment(folder, part, rows, revision=encoder.premise_revision, metric=METRICS[task])
            start += len(rows)


def ask(port: int, kind: str, clients: int, seconds: float, texts: Iterator[str]) -> dict[str, float]:
    """Return what so many clients get, each asking again as soon as it is answered."""
    taking = threading.Lock()
    waited: list[float] = []
    path, field, body = REQUESTS[kind]
    until = time.perf_counter() + seconds

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        while time.perf_counter() < until:
            with taking:
                content = json.dumps(body | {field: [next(texts)]})
            began, status = time.perf_counter(), 503
            while status == 503:  # the index is being built
                connection.request("POST", path, content, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                status = answer.status
                answer.read()
            waited.append(time.perf_counter() - began if status == 200 else float("nan"))
        connection.close()

    began = time.perf_counter()
    threads = [threading.Thread(target=send) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, times = time.perf_counter() - began, np.array(waited)
    p50, p99 = 1000 * np.nanquantile(times, [0.5, 0.99])
    answered = int(np.isfinite(times).sum())
    return {
        "requests_per_second": round(answered / took, 1),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "requests": answered,
        "refused": len(times) - answered,
    }


def memory(server: subprocess.Popen[bytes]) -> int:
    """Return the memory of a server and its processes in MiB."""
    processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    return round(sum(process.memory_full_info().pss for process in processes) / 2**20)


if __name__ == "__main__":
    main()
