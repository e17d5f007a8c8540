"""Files of one job, and the changes of its state; files of workers.

==================  ===================================================================================
`spec.json`         immutable specification
`status.json`       last written status
`cancel.json`       request to cancel, and its author
`outcome.json`      outcome of the last attempt, written by the training process
`progress.json`     progress of the current piece of work
`events.jsonl`      events of the training, see `entail.jobs.events`
`log.txt`           output of the training and its libraries
`checkpoints/`      checkpoints; removed when the job is done
`lock`              locked while a worker, or the training process, works on the job
`beat`              touched while a worker works on the job, for machines that cannot see the lock
`change.lock`       locked while the status is changed
==================  ===================================================================================

Each file is replaced whole. Each change of the status is made under a lock, from the status that it was
decided on: readers see one of the states and nothing in between.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entail.data.stored import T, read_json
from entail.data.writing import write_text
from entail.errors import DataError, JobError
from entail.jobs.events import EventFile
from entail.jobs.record import Ending, Job, JobSpec, Outcome, Status, Worker, make_outcome
from entail.progress import Progress
from entail.settings import is_demo

BEAT = 2.0
"""Seconds between two heartbeats."""

SILENCE = 60.0
"""Seconds without a heartbeat after which a worker on another machine counts as lost."""

_CHANGE_TIMEOUT = 20.0
_REMEDY = "delete the job"
_LOCK_TIMEOUT = 1.0
"""Seconds in which `is_locked` of another process has certainly let go."""


class JobFolder:
    """Folder of one job; a file is read again only after it changed.

    A specification or status that cannot be read is a `JobError`; other files are then None.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.events = path / "events.jsonl"
        self.reader = EventFile(self.events)
        self.log = path / "log.txt"
        self.lock = path / "lock"
        self._cache: dict[str, tuple[tuple[int, int, int] | None, Any]] = {}

    @property
    def spec(self) -> JobSpec:
        """Specification of the job."""
        return self.read("spec.json", JobSpec)

    @property
    def status(self) -> Status:
        """Last written status."""
        return self.read("status.json", Status)

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the last attempt that wrote one."""
        return self._read_optional("outcome.json", Outcome)

    @property
    def progress(self) -> Progress | None:
        """Progress of the current piece of work."""
        return self._read_optional("progress.json", Progress)

    @property
    def cancel_request(self) -> dict[str, Any] | None:
        """Request to cancel, None if there is none."""
        return self._read_optional("cancel.json", dict[str, Any])

    def load(self) -> Job:
        """Return the job as it is now; an attempt whose processes are gone is settled first."""
        spec, status = self.spec, self.status
        if status.state == "running" and not is_demo() and not self._is_alive(status):
            status = self._settle()
        state = status.state
        request = self.cancel_request if state in ("running", "cancelled") else None
        done = self.outcome if state == "done" else None
        return Job(
            spec=spec,
            state="cancelling" if state == "running" and request else state,
            status=status,
            progress=self.progress if state == "running" else None,
            cancelled_by=str(request.get("by")) if request else None,
            result=done.result if done else None,
            evaluation=done.evaluation if done else None,
        )

    def beat(self) -> None:
        """Write a heartbeat."""
        with contextlib.suppress(OSError):
            (self.path / "beat").touch()

    def write_progress(self, progress: Progress) -> None:
        """Write the progress of the current piece of work, unless the disk is full."""
        with contextlib.suppress(DataError):
            write_text(self.path / "progress.json", json.dumps(asdict(progress)))

    @contextlib.contextmanager
    def lock_status(self) -> Iterator[Status]:
        """Give the status, and keep other processes from changing it meanwhile.

        Raises:
            JobError: If it cannot be read, or another process does not release it.
        """
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.path / "change.lock", timeout=_CHANGE_TIMEOUT):
                yield self.status
        except Timeout as error:
            raise JobError(f"another process is changing job {self.path.name}; try again") from error
        except (OSError, DataError) as error:
            raise JobError(f"job {self.path.name} cannot be changed: {error}") from error

    def write_status(self, status: Status) -> None:
        """Write the status; only under `lock_status`."""
        write_text(self.path / "status.json", json.dumps(status.to_json(), ensure_ascii=False))

    def write_outcome(self, outcome: Outcome) -> None:
        """Write the outcome of an attempt; raises `DataError` if it cannot be written."""
        write_text(self.path / "outcome.json", json.dumps(outcome.to_json(), ensure_ascii=False))

    def finish(self, outcome: Outcome) -> Status:
        """Make an outcome the status of the job, if it still runs that attempt; return the status."""
        with self.lock_status() as status:
            if status.state != "running" or status.attempt != outcome.attempt:
                return status
            now = datetime.now(UTC)
            status = replace(
                status,
                state=outcome.state,
                since=now,
                ended=min(now, self._last_sign(status)) if outcome.ending == "lost_worker" else now,
                ending=outcome.ending,
                what=outcome.what,
                todo=outcome.todo,
            )
            # On a full disk the next reader settles the job again.
            with contextlib.suppress(DataError):
                self.write_status(status)
        if status.state == "done":
            shutil.rmtree(self.checkpoints, ignore_errors=True)
        return status

    def read(self, name: str, kind: type[T]) -> T:
        """Return the content of a JSON file as a type; raise `JobError` if it cannot be read as that."""
        file, stamp = self.path / name, None
        with contextlib.suppress(OSError):
            stat = file.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        cached = self._cache.get(name)
        if cached is None or cached[0] != stamp:
            cached = self._cache[name] = (stamp, read_json(file, kind, error=JobError, remedy=_REMEDY))
        if cached[1] is None:
            raise JobError(f"job {self.path.name}: {name} is missing; {_REMEDY}")
        content: T = cached[1]
        return content

    def _read_optional(self, name: str, kind: type[T]) -> T | None:
        try:
            return self.read(name, kind)
        except JobError:
            return None

    def _is_alive(self, status: Status) -> bool:
        return is_alive(status.host, lock=self.lock, beat=self.path / "beat")

    def _settle(self) -> Status:
        """Write how an attempt ended whose processes are gone; return the status."""
        with self.lock_status() as status:
            if status.state != "running" or self._is_alive(status):
                return status
        outcome = self.outcome
        # The process only saw that the worker was gone; a worker that is stopped writes that itself.
        if outcome is None or outcome.attempt != status.attempt or outcome.ending == "stopped_worker":
            worker = f"the worker on {status.host}" if status.host else "the worker"
            lost = f"{worker} disappeared: it was killed, or the machine restarted"
            ending: Ending = "cancelled" if self.cancel_request else "lost_worker"
            outcome = make_outcome(status.attempt, ending, None if self.cancel_request else lost)
        return self.finish(outcome)

    def _last_sign(self, status: Status) -> datetime:
        stamps = [(status.started or status.since).timestamp()]
        for name in ("beat", "progress.json", "events.jsonl", "log.txt"):
            with contextlib.suppress(OSError):
                stamps.append((self.path / name).stat().st_mtime)
        return datetime.fromtimestamp(max(stamps), UTC)


def staging_folder(models: Path, job_id: str) -> Path:
    """Return the folder in which a job writes its model; catalogues skip names that begin with a dot."""
    return models / f".job-{job_id}"


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


def is_alive(host: str | None, *, lock: Path, beat: Path) -> bool:
    """Return whether a process of a machine lives: by its lock here, by its heartbeat elsewhere."""
    if host == platform.node():
        return is_locked(lock)
    try:
        return time.time() - beat.stat().st_mtime < SILENCE
    except OSError:
        return False


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
