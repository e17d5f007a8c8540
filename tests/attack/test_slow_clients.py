"""Half-open connections and slow bodies at nginx (docs/nginx.conf): other clients are answered in time."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.attack.conftest import Tally
from tests.attack.visitor import ask
from tests.serving.conftest import nginx_in_front

pytestmark = pytest.mark.attack

SEARCH = {"queries": ["what is cold"], "premises": ["ice is cold", "the sun is hot"], "k": 1}
HALF = b"GET /health HTTP/1.1\r\nHost: x\r\n"
SLOW = (
    b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
)
ATTACKS = {"half-open": (HALF, 1_100, 60), "slow bodies": (SLOW, 200, 120)}
"""Bytes that a client begins with, clients, seconds."""

OTHER = "127.0.0.2"
"""Address of clients that attack nobody; that of the attackers may be full."""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = int(free.getsockname()[1])
    with (tmp_path / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "entail", "serve", "--port", str(number)],
            env={**os.environ, "ENTAIL_DATA_DIR": str(tmp_path / "data"), "OMP_WAIT_POLICY": "PASSIVE"},
            stderr=log,
        )
        try:
            for _ in range(600):
                try:
                    if json.loads(ask(number, "GET", "/health")[2])["ready"]:
                        break
                except OSError:
                    assert process.poll() is None
                time.sleep(0.1)
            with nginx_in_front(number, tmp_path) as front:
                yield front
        finally:
            process.terminate()
            process.wait(90)
    assert (tmp_path / "log.txt").stat().st_size < 20_000
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


async def hold(port: int, begin: bytes, until: float) -> int:
    """Begin a request, send a byte a second, and begin again when closed; return how often."""
    connections = 0
    while time.monotonic() < until:
        connections += 1
        with contextlib.suppress(OSError), socket.socket() as client:
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, ("127.0.0.1", port))
            await loop.sock_sendall(client, begin)
            while time.monotonic() < until:
                await asyncio.sleep(1)
                await loop.sock_sendall(client, b" " if begin is SLOW else b"")
                with contextlib.suppress(BlockingIOError):
                    if not client.recv(100):
                        break
        await asyncio.sleep(0.5)
    return connections


async def attack(kind: str, port: int) -> tuple[int, list[float], list[int]]:
    """Attack for a while; return its connections, and the seconds and statuses of other clients."""
    begin, count, lasting = ATTACKS[kind]
    until = time.monotonic() + lasting
    attackers = [asyncio.create_task(hold(port, begin, until)) for _ in range(count)]
    await asyncio.sleep(2)
    seconds, statuses = [], []
    while time.monotonic() < until:
        began = time.monotonic()
        statuses.append((await asyncio.to_thread(ask, port, "GET", "/health", source=OTHER))[0])
        seconds.append(time.monotonic() - began)
        statuses.append((await asyncio.to_thread(ask, port, "POST", "/search", SEARCH, source=OTHER))[0])
        await asyncio.sleep(0.5)
    return sum(await asyncio.gather(*attackers)), seconds, statuses


@pytest.mark.parametrize("kind", ATTACKS)
def test_hostile_clients(port: int, kind: str, tally: Tally) -> None:
    with ThreadPoolExecutor(1) as threads:  # Playwright's loop runs in this one
        connections, seconds, statuses = threads.submit(asyncio.run, attack(kind, port)).result()
    failures = len([status for status in statuses if status != 200])
    tally(attempts=connections, failures=failures, slowest_health_seconds=max(seconds))
    assert set(statuses) == {200}
    assert max(seconds) < 1
