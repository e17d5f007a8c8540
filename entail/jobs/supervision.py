"""Supervision of one job by its worker: start of the training process, cancellation, outcome."""

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
from typing import IO, Protocol

from entail.errors import JobError
from entail.jobs.endings import make_outcome, oom_kills, outcome_of_exit
from entail.jobs.folder import BEAT, JobFolder, acquire
from entail.jobs.record import Outcome, Status
from entail.jobs.workers import python_path

NICE = 10
"""Added to the niceness of the training process: the app comes first."""

TERMINATE_AFTER = 20.0
"""Seconds for a step and a checkpoint, after which a process that should stop is sent SIGTERM."""

KILL_AFTER = 5.0
"""Seconds after SIGTERM until SIGKILL."""

_POLL = 0.1
_TRIES = 5


class Process(Protocol):
    """Part of `subprocess.Popen` that supervision needs."""

    pid: int

    def poll(self) -> int | None:
        """Return the exit code, below 0 for a signal; None while it runs."""
        ...


Spawn = Callable[[JobFolder, int, int, int], Process]
"""Starts the training process of a job: folder, attempt, descriptors of lock and pipe to hand down."""


def run_job(job: JobFolder, *, stopping: Callable[[], bool], spawn: Spawn | None = None) -> Status | None:
    """Run a queued job and return its final status; None if another worker has it or it is not queued.

    Args:
        job: The job.
        stopping: Called all the time; True stops the training with a checkpoint.
        spawn: Function that starts the training process.

    Raises:
        JobError: If the job cannot be read or changed.
    """
    lock = acquire(job.lock)
    if lock is None:
        return None
    try:
        status = _start(job)
        if status is None:
            return None
        outcome = _attempt(job, status, lock, stopping=stopping, spawn=spawn or spawn_child)
        return job.finish(outcome)
    finally:
        os.close(lock)


def spawn_child(job: JobFolder, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
    """Start `entail.jobs.child` in a session of its own, with a lower priority than everything else."""
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    environment = {
        # Half of the processor, so that the app stays quick, unless the environment says otherwise.
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        **os.environ,
        # Threads that wait by spinning would take the app's cores.
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": python_path(),
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
    lower_priority(process.pid)
    return process


def lower_priority(pid: int, *, proc: Path = Path("/proc")) -> None:
    """Lower the priority of a process that leads a session of its own."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    # Linux may share the processor among sessions first (autogroups): niceness then counts within one only.
    with contextlib.suppress(OSError, ValueError):
        # Without a session of its own, as in a container, the file is empty: the default is 0.
        own = int((proc / "self" / "autogroup").read_text(encoding="ascii").rpartition(" ")[2] or 0)
        for _ in range(_TRIES):
            try:
                (proc / str(pid) / "autogroup").write_text(str(min(19, own + NICE)), encoding="ascii")
                return
            except BlockingIOError:  # the system accepts one such change in a tenth of a second
                time.sleep(0.1)


def _start(job: JobFolder) -> Status | None:
    """Set a queued job to running; return its status, None if it is not queued any more."""
    with job.changing() as status:
        if status.state != "queued":
            return None
        now = datetime.now(UTC)
        started = Status(
            state="running",
            since=now,
            queued=status.queued,
            attempt=status.attempt + 1,
            host=platform.node(),
            worker=os.getpid(),
            started=now,
            seconds=status.seconds,
        )
        job.beat()
        for name in ("progress.json", "cancel.json", "noted"):
            (job.path / name).unlink(missing_ok=True)
        job.write_status(started)
    return started


def _attempt(
    job: JobFolder, started: Status, lock: int, *, stopping: Callable[[], bool], spawn: Spawn
) -> Outcome:
    before = oom_kills()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        try:
            process = spawn(job, started.attempt, lock, reading)
        except OSError as error:
            return make_outcome(started.attempt, "error", f"no process could be started: {error}")
        finally:
            os.close(reading)
        with contextlib.suppress(JobError), job.changing() as status:
            if status.attempt == started.attempt:
                job.write_status(replace(status, pid=process.pid))
        code = _wait(job, process, pipe, stopping)
        stopped = pipe.closed
    outcome = job.outcome
    if outcome is None or outcome.attempt != started.attempt:
        memory = oom_kills() > before
        outcome = outcome_of_exit(started.attempt, code, folder=job.path, out_of_memory=memory)
        if stopped and outcome.state != "done":
            outcome = make_outcome(started.attempt, "stopped_worker")
    if outcome.state != "done" and job.cancel_request is not None:
        outcome = make_outcome(started.attempt, "cancelled")
    return outcome


def _wait(job: JobFolder, process: Process, pipe: IO[bytes], stopping: Callable[[], bool]) -> int:
    """Wait for the end and return the exit code; the pipe is closed to stop the process."""
    last_beat, stop_since = 0.0, None
    signals = [(TERMINATE_AFTER, signal.SIGTERM), (TERMINATE_AFTER + KILL_AFTER, signal.SIGKILL)]
    while (code := process.poll()) is None:
        now = time.monotonic()
        if now - last_beat >= BEAT:
            job.beat()
            last_beat = now
        if stopping():
            pipe.close()
        if stop_since is None and (pipe.closed or job.cancel_request is not None):
            stop_since = now
        if stop_since is not None and signals and now - stop_since >= signals[0][0]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signals.pop(0)[1])
        time.sleep(_POLL)
    return code
