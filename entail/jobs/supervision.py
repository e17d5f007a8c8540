"""A worker at one job: starts the process that trains, ends it where that is wished, sees how it ended."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from entail.errors import DataError, JobError
from entail.jobs.endings import ended, oom_kills, outcome_of_exit
from entail.jobs.folder import BEAT, JobFolder
from entail.jobs.record import Outcome, Status

NICE = 10
"""Added to the niceness of the process that trains: the app comes first."""

STOPS = 20.0
"""Seconds for a step and a checkpoint, after which a process that was asked to stop is told to."""

ENDS = 5.0
"""Seconds after which a process that was told to end is killed."""

LOOKS = 0.1
"""Seconds between two looks at it."""

_TRIES = 5


class Process(Protocol):
    """What is needed of a process; `subprocess.Popen` has it."""

    pid: int

    def poll(self) -> int | None:
        """Return its exit code, below 0 for a signal; None while it runs."""
        ...


Spawn = Callable[[JobFolder, int, int, int], Process]
"""Starts the process that trains: job, attempt, the lock and the end of a pipe to hand down."""


def run_job(job: JobFolder, *, stopping: Callable[[], bool], spawn: Spawn | None = None) -> Status | None:
    """Take a queued job, train, and return how it ended; None if it is not to be had.

    Args:
        job: The job.
        stopping: Asked all the while whether the worker is to end: then the training stops with a checkpoint.
        spawn: Starts the process that trains; default: `spawn_child`.

    Raises:
        JobError: If the job cannot be read or changed.
    """
    lock = job.hold()
    if lock is None:
        return None
    try:
        try:
            begun = _begin(job)
        except DataError as error:
            raise JobError(f"job {job.path.name} cannot be begun: {error}") from error
        if begun is None:
            return None
        outcome = _attempt(job, begun, lock, stopping=stopping, spawn=spawn or spawn_child)
        return job.finish(outcome)
    finally:
        os.close(lock)


def spawn_child(job: JobFolder, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
    """Start `entail.jobs.child` in a session of its own, behind everything else that the machine does."""
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    package = str(Path(__file__).parents[2])
    environment = {
        # What was said beforehand holds: half of the processor, so that the app stays quick.
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        **os.environ,
        # Threads that wait by spinning would take the core that the app was left.
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
    }
    with job.log.open("ab") as log:
        log.write(f"-- attempt {attempt}, {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())
        log.flush()
        process = subprocess.Popen(
            [sys.executable, "-m", "entail.jobs.child", str(job.path), str(attempt), str(pipe)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            pass_fds=(lock, pipe),
        )
    stand_behind(process.pid)
    return process


def stand_behind(pid: int, *, proc: Path = Path("/proc")) -> None:
    """Let a process that leads a session of its own have the processor after everything else.

    Args:
        pid: The process.
        proc: Where the system tells of its processes.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    # Where Linux shares the processor among sessions first (autogroups), that weighs within one session only.
    with contextlib.suppress(OSError, ValueError):
        # What never began a session, as in a container, reads as nothing: it weighs what is usual, 0.
        own = int((proc / "self" / "autogroup").read_text(encoding="ascii").rpartition(" ")[2] or 0)
        for _ in range(_TRIES):
            try:
                (proc / str(pid) / "autogroup").write_text(str(min(19, own + NICE)), encoding="ascii")
                return
            except BlockingIOError:  # the system takes one such change in a tenth of a second
                time.sleep(LOOKS)


def _begin(job: JobFolder) -> Status | None:
    """Make a queued job one that runs, None if it does not queue any more."""
    with job.changing() as status:
        if status.state != "queued":
            return None
        now = datetime.now(UTC)
        begun = replace(
            status,
            state="running",
            since=now,
            started=now,
            attempt=status.attempt + 1,
            host=platform.node(),
            worker=os.getpid(),
            pid=None,
            ended=None,
            ending=None,
            what=None,
            todo=None,
        )
        job.beat()
        for name in ("progress.json", "cancel.json", "noted"):
            (job.path / name).unlink(missing_ok=True)
        job.write_status(begun)
    return begun


def _attempt(
    job: JobFolder, begun: Status, lock: int, *, stopping: Callable[[], bool], spawn: Spawn
) -> Outcome:
    before = oom_kills()
    reading, writing = os.pipe()
    try:
        try:
            process = spawn(job, begun.attempt, lock, reading)
        except OSError as error:
            return ended(begun.attempt, "error", f"no process could be started: {error}")
        finally:
            os.close(reading)
        with contextlib.suppress(DataError), job.changing() as status:
            if status.attempt == begun.attempt:
                job.write_status(replace(status, pid=process.pid))
        code, stopped = _wait(job, process, writing, stopping)
        writing = -1 if stopped else writing
    finally:
        if writing >= 0:
            os.close(writing)
    told = job.outcome
    if told is None or told.attempt != begun.attempt:
        memory = oom_kills() > before
        told = outcome_of_exit(begun.attempt, code, folder=job.path, out_of_memory=memory)
        if stopped and told.state != "done":
            told = ended(begun.attempt, "stopped_worker")
    if told.state != "done" and job.wish() is not None:
        told = ended(begun.attempt, "cancelled")
    return told


def _wait(job: JobFolder, process: Process, pipe: int, stopping: Callable[[], bool]) -> tuple[int, bool]:
    """Wait for the end; return the exit code, and whether the pipe was closed to stop it."""
    closed, beaten, asked = False, 0.0, None
    signals = [(STOPS, signal.SIGTERM), (STOPS + ENDS, signal.SIGKILL)]
    while (code := process.poll()) is None:
        now = time.monotonic()
        if now - beaten >= BEAT:
            job.beat()
            beaten = now
        if stopping() and not closed:
            os.close(pipe)
            closed = True
        if asked is None and (closed or job.wish() is not None):
            asked = now
        if asked is not None and signals and now - asked >= signals[0][0]:
            _send(process.pid, signals.pop(0)[1])
        time.sleep(LOOKS)
    return code, closed


def _send(group: int, sent: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, sent)
