"""Ports, time and files of the machine that tests run on."""

import socket
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def until(true: Callable[[], object], *, seconds: float = 240) -> None:
    """Wait for a condition; the limit is for a failing test, not for a slow machine."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "the condition was never met"
        time.sleep(0.02)


def digests(*folders: Path) -> dict[str, str]:
    """Return the digests of the files below folders, without those that SQLite needs to read."""
    return {
        str(path): sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }
