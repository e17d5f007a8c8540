"""File locks that a process hands down to its children; the system releases them when all have ended.

The project's `filelock` cannot do this: it unlocks the file itself on release, for the children too.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from entail.errors import JobError

_WAIT = 1.0
"""Seconds in which `is_locked` of another process has certainly let go."""


def acquire(file: Path) -> int | None:
    """Acquire the lock of a file.

    Returns:
        Its descriptor, to be closed or handed down; None if another process holds the lock.

    Raises:
        JobError: If the system has no such locks.
        OSError: If the file cannot be opened.
    """
    deadline = time.monotonic() + _WAIT
    while (lock := _try_lock(file, shared=False)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return lock


def is_locked(file: Path) -> bool:
    """Return whether a process holds the lock of a file.

    Raises:
        JobError: If the system has no such locks.
    """
    if not file.exists():
        return False
    try:
        lock = _try_lock(file, shared=True)
    except OSError:
        return False
    if lock is not None:
        os.close(lock)
    return lock is None


def _try_lock(file: Path, *, shared: bool) -> int | None:
    try:
        import fcntl
    except ImportError as error:
        raise JobError(
            "jobs need Linux or macOS (on Windows: WSL); `entail train` works everywhere"
        ) from error
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock
