"""A lock on a file that a process hands down to its children; the system lets go of it when all are gone."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from entail.errors import JobError

LOOKS = 1.0
"""Seconds in which somebody who only looks has let go."""


def take(file: Path) -> int | None:
    """Take the lock and return its descriptor, to be closed or handed down; None if somebody holds it.

    Raises:
        JobError: Where the system has no such locks.
        OSError: If the file cannot be opened.
    """
    deadline = time.monotonic() + LOOKS
    while True:
        with _opened(file) as lock:
            if _lock(lock, shared=False):
                return os.dup(lock)
        if time.monotonic() > deadline:
            return None
        time.sleep(0.02)


def held(file: Path) -> bool:
    """Say whether somebody holds the lock.

    Raises:
        JobError: Where the system has no such locks.
    """
    if not file.exists():
        return False
    try:
        with _opened(file) as lock:
            return not _lock(lock, shared=True)
    except OSError:
        return False


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[int]:
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield lock
    finally:
        os.close(lock)


def _lock(lock: int, *, shared: bool) -> bool:
    # Not filelock, which the project has: its locks cannot be handed down to a child.
    try:
        import fcntl
    except ImportError as error:
        raise JobError(
            "jobs need Linux or macOS (on Windows: WSL); `entail train` works everywhere"
        ) from error
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
