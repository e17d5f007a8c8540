"""Locks and names of a machine: file locks that end with their processes, and ids for leases."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path

from entail.errors import JobError
from entail.trees.store.state import home_of

_LOCK_TIMEOUT = 1.0
"""Seconds in which `is_locked` of another process has certainly let go."""


def machine_of(folder: Path) -> str:
    """Return the id of this machine with its folder of jobs: a file lock there is known to no other one."""
    return hashlib.sha256(f"{platform.node()}\n{home_of(folder)}".encode()).hexdigest()[:16]


def lock_file(folder: Path) -> Path:
    """Return the lock of this machine's worker."""
    name = "".join(c if c.isalnum() or c in "-." else "-" for c in platform.node()) or "here"
    return folder / "workers" / f"{name}.lock"


def acquire(file: Path) -> int | None:
    """Acquire the lock of a file; return its descriptor, None if another process holds the lock.

    A child process that inherits the descriptor holds the lock too: the system releases it when all have
    ended. `filelock` cannot do this, as it unlocks the file itself on release.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while (lock := _try_lock(file, shared=False)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return lock


def is_locked(file: Path) -> bool:
    """Return whether a process holds the lock of a file."""
    try:
        lock = _try_lock(file, shared=True) if file.exists() else -1
    except OSError:
        return False
    if lock is not None and lock >= 0:
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
