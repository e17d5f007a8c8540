"""Workers of an installation: who is alive, and the start of one on this machine.

A worker locks `workers/<machine>.lock` while it lives, and writes heartbeats into `workers/<machine>.json`.
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from entail.data.private import create_private, make_folder
from entail.data.stored import read_json
from entail.errors import DataError, JobError
from entail.jobs.folder import is_alive, is_locked
from entail.jobs.record import Stored

IDLE = 60.0
"""Seconds without work after which a worker ends that was started on demand."""


@dataclass(frozen=True)
class Worker(Stored):
    """A worker as of its last heartbeat, which runs `jobs` at a time and works `at` those with these ids."""

    host: str
    pid: int
    since: datetime
    jobs: int
    at: tuple[str, ...] = ()
    alive: bool = True


def lock_file(folder: Path) -> Path:
    """Return the lock of this machine's worker."""
    name = "".join(c if c.isalnum() or c in "-." else "-" for c in platform.node()) or "here"
    return folder / "workers" / f"{name}.lock"


def list_workers(folder: Path) -> list[Worker]:
    """Return the workers of all machines, dead ones too."""
    workers = []
    for file in sorted((folder / "workers").glob("*.json")):
        with contextlib.suppress(DataError):
            if (worker := read_json(file, Worker)) is not None:
                alive = is_alive(worker.host, lock=file.with_suffix(".lock"), beat=file)
                workers.append(replace(worker, alive=alive))
    return workers


def ensure_worker(folder: Path, *, idle: float = IDLE) -> bool:
    """Start a worker in a session of its own, unless this machine has one; return whether it was started.

    Raises:
        JobError: If it cannot be started.
    """
    if is_locked(lock_file(folder)):
        return False
    try:
        make_folder(folder)
        create_private(folder / "worker.log")
        with (folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "entail", "worker", "--idle", str(idle)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": python_path()},
                start_new_session=True,
            )
    except OSError as error:
        raise JobError(f"no worker could be started: {error}; start one with `entail worker`") from error
    # Unless something waits for it, it would stay as a zombie as long as this process lives.
    threading.Thread(target=process.wait, name=f"wait for worker {process.pid}", daemon=True).start()
    return True


def python_path() -> str:
    """Return a PYTHONPATH by which another process finds this package."""
    return os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
