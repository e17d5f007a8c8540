"""The process that works off the queue: one on a machine, started by whoever needs it.

It holds `workers/<machine>.lock` as long as it lives, and gives a sign of life in `workers/<machine>.json`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from entail.data.writing import write_text
from entail.errors import DataError, EntailError, JobError
from entail.jobs.folder import BEAT, SILENT
from entail.jobs.holding import held, take
from entail.jobs.supervision import ENDS, STOPS, run_job
from entail.settings import refuse_in_demo

if TYPE_CHECKING:
    from entail.jobs.jobs import Jobs

IDLE = 60.0
"""Seconds without work after which a worker ends that nobody started by hand."""

MENDS = 5.0
"""Seconds between two looks for jobs that queue and are not in the queue."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Worker:
    """A worker, as it told last.

    Attributes:
        host: Its machine.
        pid: Its process.
        since: When it began, in UTC.
        jobs: How many jobs at a time it takes.
        at: What it is at, ids.
        alive: Whether it is there.
    """

    host: str
    pid: int
    since: datetime
    jobs: int
    at: tuple[str, ...] = ()
    alive: bool = True


def workers(folder: Path) -> list[Worker]:
    """Return the workers that told of themselves, by machine; those that are gone are not `alive`."""
    found = []
    for file in sorted((folder / "workers").glob("*.json")):
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            silent = time.time() - file.stat().st_mtime
            worker = Worker(
                **{**told, "since": datetime.fromisoformat(told["since"]), "at": tuple(told["at"])}
            )
        except (OSError, ValueError, KeyError, TypeError):
            continue
        here = worker.host == platform.node()
        alive = held(file.with_suffix(".lock")) if here else silent < SILENT
        found.append(replace(worker, alive=alive))
    return found


def ensure_worker(folder: Path, *, idle: float = IDLE) -> bool:
    """Start a worker on this machine, in a session of its own, unless there is one; return whether it was.

    Raises:
        JobError: If it cannot be started.
    """
    place = _place(folder)
    if held(place):
        return False
    package = str(Path(__file__).parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "entail", "worker", "--idle", str(idle)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
    except OSError as error:
        raise JobError(f"no worker could be started: {error}; start one with `entail worker`") from error
    # Somebody has to take note of its end, or it stays as a zombie as long as this process lives.
    threading.Thread(target=process.wait, name=f"wait for worker {process.pid}", daemon=True).start()
    return True


def work(jobs: Jobs, *, idle: float | None = None, at_once: int = 1) -> bool:
    """Work off the queue, in the main thread of a process; return whether there was no worker here already.

    Stopped by Ctrl+C or SIGTERM it lets trainings write a checkpoint, and ends.

    Args:
        jobs: The installation's jobs.
        idle: Seconds without work after which it ends; None: never.
        at_once: How many jobs at a time.

    Raises:
        JobError: If the queue cannot be opened.
    """
    refuse_in_demo("nothing can be trained")
    place = _place(jobs.folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = take(place)
    if lock is None:
        return False
    try:
        _Worker(jobs, place.with_suffix(".json"), idle=idle, at_once=at_once).run()
    finally:
        os.close(lock)
    # What came in while this one was on its way out must not wait for ever.
    if idle is not None and jobs.queued():
        ensure_worker(jobs.folder, idle=idle)
    return True


class _Worker:
    def __init__(self, jobs: Jobs, told: Path, *, idle: float | None, at_once: int) -> None:
        self._jobs, self._told, self._idle = jobs, told, idle
        self._self = Worker(platform.node(), os.getpid(), datetime.now(UTC), at_once)
        self._at: set[str] = set()
        self._busy = time.monotonic()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def run(self) -> None:
        consumer = self._jobs.queue.consumer(self._work, jobs=self._self.jobs)
        threading.Thread(target=self._tend, args=(consumer.stop_flag.set,), daemon=True).start()
        consumer.run()
        self._stopping.set()
        for _, thread in consumer.worker_threads:
            thread.join(STOPS + 2 * ENDS)
        self._told.unlink(missing_ok=True)

    def _work(self, job_id: str) -> None:
        with self._lock:
            self._at.add(job_id)
        try:
            self._tell()
            ended = run_job(self._jobs.place(job_id), stopping=self._stopping.is_set)
            if ended is not None:
                _log.info("job %s: %s %s", job_id, ended.state, ended.what or "")
        except EntailError as error:
            _log.error("job %s: %s", job_id, error)
        finally:
            with self._lock:
                self._at.discard(job_id)
                self._busy = time.monotonic()

    def _tend(self, stop: Callable[[], None]) -> None:
        """Give signs of life, mend the queue, and end where there is nothing to do."""
        mended = float("-inf")
        while not self._stopping.is_set():
            self._tell()
            with contextlib.suppress(EntailError):
                if time.monotonic() - mended >= MENDS:
                    self._jobs.mend()
                    mended = time.monotonic()
                rested = time.monotonic() - self._busy
                if self._idle is not None and rested >= self._idle and not self._at:
                    if self._jobs.queue.waiting():
                        continue
                    stop()
                    return
            self._stopping.wait(min(BEAT, self._idle or BEAT))

    def _tell(self) -> None:
        told = asdict(replace(self._self, at=tuple(sorted(self._at))))
        del told["alive"]
        with contextlib.suppress(DataError):
            write_text(self._told, json.dumps(told | {"since": self._self.since.isoformat()}))


def _place(folder: Path) -> Path:
    name = "".join(c if c.isalnum() or c in "-." else "-" for c in platform.node()) or "here"
    return folder / "workers" / f"{name}.lock"
