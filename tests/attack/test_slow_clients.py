"""Half-open connections and slow bodies: health is answered in time, other clients lose nothing but time."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.conftest import Tally
from tests.attack.visitor import ask

pytestmark = pytest.mark.attack

HALF_OPEN, SLOW = 1_100, 200
SECONDS = {"half-open": 60, "slow bodies": 120}
SEARCH = {"queries": ["what is cold"], "premises": ["ice is cold", "the sun is hot"], "k": 1}
HEAD = "POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
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
            yield number
        finally:
            process.terminate()
            process.wait(90)
    assert (tmp_path / "log.txt").stat().st_size < 20_000
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


async def hold_half_open(port: int, until: float) -> int:
    """Send half a head, and begin again when it is closed; return how often."""
    connections = 0
    while time.monotonic() < until:
        connections += 1
        with contextlib.suppress(OSError), socket.socket() as client:
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, ("127.0.0.1", port))
            await loop.sock_sendall(client, b"GET /health HTTP/1.1\r\nHost: x\r\n")
            await asyncio.wait_for(loop.sock_recv(client, 100), max(0.0, until - time.monotonic()))
        await asyncio.sleep(0.5)
    return connections


async def send_slowly(port: int, until: float) -> int:
    """Send a body of a megabyte at a byte a second, and begin again when it is closed; return how often."""
    connections = 0
    while time.monotonic() < until:
        connections += 1
        with contextlib.suppress(OSError), socket.socket() as client:
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, ("127.0.0.1", port))
            await loop.sock_sendall(client, HEAD.encode())
            while time.monotonic() < until:
                await loop.sock_sendall(client, b" ")
                await asyncio.sleep(1)
        await asyncio.sleep(0.5)
    return connections


async def attack(kind: str, port: int) -> tuple[int, list[float], list[int], list[int]]:
    """Attack for a while; return its connections, seconds and statuses of health, statuses of searches."""
    until = time.monotonic() + SECONDS[kind]
    act, count = {"half-open": (hold_half_open, HALF_OPEN), "slow bodies": (send_slowly, SLOW)}[kind]
    attackers = [asyncio.create_task(act(port, until)) for _ in range(count)]
    await asyncio.sleep(2)
    seconds, healths, searches = [], [], []
    while time.monotonic() < until:
        began = time.monotonic()
        healths.append((await asyncio.to_thread(ask, port, "GET", "/health", source=OTHER))[0])
        seconds.append(time.monotonic() - began)
        searches.append((await asyncio.to_thread(ask, port, "POST", "/search", SEARCH, source=OTHER))[0])
        await asyncio.sleep(0.5)
    return sum(await asyncio.gather(*attackers)), seconds, healths, searches


@pytest.mark.parametrize("kind", SECONDS)
def test_hostile_clients(port: int, kind: str, tally: Tally) -> None:
    connections, seconds, healths, searches = asyncio.run(attack(kind, port))
    statuses = [*healths, *searches]
    tally(
        attempts=connections,
        failures=len([status for status in statuses if status != 200]),
        slowest_health_seconds=max(seconds),
    )
    assert set(healths) == {200}
    assert set(searches) == {200}
    assert max(seconds) < 1
