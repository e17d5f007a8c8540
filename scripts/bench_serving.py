"""Measure `POST /encode` of a running `entail serve`, and write docs/results/serving.json.

Distinct texts of 17 tokens, one a request, none asked for twice (so no cache can answer), asked for by 1, 8
and 32 clients at a time, against one by one: one client that waits for each answer before it asks again. The
same 32 clients are also measured with batching off (a batch of one text), so that what batching gives is
told from what waiting clients give. The server runs in a process of its own, the clients in another.

    python scripts/bench_serving.py [--encoder minilm] [--seconds 10] [--out docs/results/serving.json]
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from entail.results import write_result

ROOT = Path(__file__).parent.parent
CLIENTS = (1, 8, 32)
WORDS = ("water", "plant", "animal", "sun", "earth", "energy", "light", "heat", "food", "air", "rock", "ice")
SERVER = """
import sys, uvicorn
from entail.runtime import batching
from entail.serving.app import create_app
from entail.serving.service import Service
encoder, port, batch = sys.argv[1:]
batching.BATCH = int(batch)
uvicorn.run(create_app(Service([encoder])), port=int(port), log_level="warning", access_log=False)
"""


def main() -> None:
    """Run all measurements once and write them down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--seconds", type=float, default=10.0, help="time of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each kind, in turns")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "serving.json")
    options = parser.parse_args()
    started = datetime.now(UTC)
    before = os.getloadavg()[0]
    heads = itertools.product(WORDS, repeat=7)
    texts = (" ".join((*head, *WORDS[:8])) for head in heads)  # 17 tokens each
    measured: dict[str, list[dict[str, float]]] = {}
    for _ in range(options.rounds):
        for batch in (64, 1):
            server, port = start(options.encoder, batch)
            try:
                for clients in CLIENTS if batch > 1 else (32,):
                    kind = f"clients_{clients}" if batch > 1 else "clients_32_without_batches"
                    measured.setdefault(kind, []).append(ask(port, clients, options.seconds, texts))
            finally:
                server.terminate()
                server.wait(timeout=60)
    figures = {kind: summed(rounds) for kind, rounds in measured.items()}
    single_rate = figures["clients_1"]["texts_per_second"]
    ratios = {kind: summary["texts_per_second"] / single_rate for kind, summary in figures.items()}
    write_result(
        options.out,
        figures={
            "encoder": options.encoder,
            "tokens_a_text": 17,
            "seconds_a_measurement": options.seconds,
            "load_before": before,
            "encode": figures,
            "times_one_by_one": ratios,
            "target_times_at_32": 3.0,
        },
        command=sys.argv,
        seed=0,
        started=started,
    )
    print(options.out.read_text(encoding="utf-8"))


def start(encoder: str, batch: int) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server and return it once it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, encoder, str(port), str(batch)],
        cwd=ROOT,
        env={"OMP_WAIT_POLICY": "PASSIVE", "ENTAIL_DATA_DIR": tempfile.mkdtemp(), **os.environ},
    )
    for _ in range(600):
        time.sleep(0.1)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health/ready")
            if connection.getresponse().status == 200:
                return server, port
        except OSError:
            continue
        finally:
            connection.close()
    server.terminate()
    sys.exit("the server did not become ready within a minute")


def ask(port: int, clients: int, seconds: float, texts: Iterator[str]) -> dict[str, float]:
    """Return what so many clients get, each asking again as soon as it is answered."""
    taking = threading.Lock()
    waited: list[float] = []
    failed: list[str] = []
    until = time.perf_counter() + seconds

    def one() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.perf_counter() < until:
            with taking:
                text = next(texts)
            began = time.perf_counter()
            body = json.dumps({"texts": [text]})
            connection.request("POST", "/encode", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                failed.append(f"status {answer.status}")
                break
            waited.append(time.perf_counter() - began)
        connection.close()

    began = time.perf_counter()
    threads = [threading.Thread(target=one) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed or not waited:
        sys.exit(
            f"{len(failed)} of {clients} clients were refused: {', '.join(failed[:3]) or 'no answer at all'}"
        )
    took = time.perf_counter() - began
    ordered = sorted(waited)
    return {
        "texts_per_second": len(waited) / took,
        "p50_ms": 1000 * statistics.median(ordered),
        "p95_ms": 1000 * ordered[int(0.95 * (len(ordered) - 1))],
        "texts": len(waited),
    }


def summed(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure over the rounds."""
    return {name: statistics.median(measurement[name] for measurement in rounds) for name in rounds[0]}


if __name__ == "__main__":
    main()
