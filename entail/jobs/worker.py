"""Worker of a machine: takes jobs from the queue, runs each in a process of its own.

It locks `workers/<machine>.lock` while it lives, and writes heartbeats into the database.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from entail.data.private import create_private, make_folder
from entail.errors import DatabaseError, EntailError
from entail.jobs.handle import BEAT, JobHandle
from entail.jobs.jobs import Jobs, ensure_worker, python_path
from entail.jobs.locks import acquire, lock_file, machine_of
from entail.jobs.record import Outcome, Status, Worker, make_outcome, oom_kills, outcome_of_exit
from entail.settings import refuse_in_demo
from entail.trees.store.state import home_of

NICE = 10
"""Added to the niceness of the training process: the app comes first."""

TERMINATE_AFTER = 20.0
"""Seconds for a step and a checkpoint, after which a process that should stop is sent SIGTERM."""

KILL_AFTER = 5.0
"""Seconds after SIGTERM until SIGKILL."""

_POLL = 0.1

_ASK_EVERY = 0.5
"""Seconds between two looks for a request to cancel."""

_LOOK_EVERY = 0.5
"""Seconds between two looks for queued jobs: one starts within a second."""

_log = logging.getLogger(__name__)


Spawn = Callable[[JobHandle, int, int, int], subprocess.Popen[bytes]]
"""Starts the training process of a job: handle, attempt, descriptors of lock and pipe to hand down."""


def work(jobs: Jobs, *, idle: float | None = None, at_once: int = 1) -> bool:
    """Run the jobs of the queue in the main thread; return False if this machine has a worker already.

    The worker runs `at_once` jobs at a time and ends after `idle` seconds without work. On Ctrl+C or SIGTERM
    the trainings write a checkpoint, and it ends.

    """
    refuse_in_demo("nothing can be trained")
    file = lock_file(jobs.folder)
    make_folder(file.parent)
    lock = acquire(file)
    if lock is None:
        return False
    try:
        _WorkerLoop(jobs, idle=idle, at_once=at_once).run()
    finally:
        os.close(lock)
    # A job submitted while this worker ended must not wait forever.
    if idle is not None and jobs.state.queued_ids(home_of(jobs.folder)):
        ensure_worker(jobs.folder, idle=idle)
    return True


class _WorkerLoop:
    def __init__(self, jobs: Jobs, *, idle: float | None, at_once: int) -> None:
        self._jobs, self._idle = jobs, idle
        self._home, self._machine = home_of(jobs.folder), machine_of(jobs.folder)
        self._last_beat = float("-inf")
        self._self = Worker(platform.node(), os.getpid(), datetime.now(UTC), at_once)
        self._threads: dict[str, threading.Thread] = {}
        self._last_work = time.monotonic()
        self._stopping = threading.Event()

    def run(self) -> None:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while self._look():
                time.sleep(min(_LOOK_EVERY, self._idle or _LOOK_EVERY))
        except KeyboardInterrupt:
            self._stopping.set()
        finally:
            signal.signal(signal.SIGTERM, before)
        for thread in self._threads.values():
            thread.join(TERMINATE_AFTER + 2 * KILL_AFTER)
        with contextlib.suppress(DatabaseError):
            self._jobs.state.delete_worker(self._machine)

    def _look(self) -> bool:
        """Start queued jobs and write a heartbeat; return whether to go on."""
        self._threads = {job_id: thread for job_id, thread in self._threads.items() if thread.is_alive()}
        try:
            for job_id in self._jobs.state.queued_ids(self._home):
                if len(self._threads) < self._self.jobs and job_id not in self._threads:
                    self._threads[job_id] = threading.Thread(target=self._work, args=(job_id,), daemon=True)
                    self._threads[job_id].start()
            at = tuple(sorted(self._threads))
            if at != self._self.at or time.monotonic() - self._last_beat >= BEAT:
                self._self, self._last_beat = replace(self._self, at=at), time.monotonic()
                self._jobs.state.write_worker(self._machine, json.dumps(self._self.to_json()))
        except DatabaseError as error:
            _log.error("%s", error)
        if self._threads:
            self._last_work = time.monotonic()
        return self._idle is None or time.monotonic() - self._last_work < self._idle

    def _work(self, job_id: str) -> None:
        try:
            status = run_job(JobHandle(job_id, self._jobs.settings), stopping=self._stopping.is_set)
            if status is not None:
                _log.info("job %s: %s %s", job_id, status.state, status.what or "")
        except EntailError as error:
            _log.error("job %s: %s", job_id, error)


def run_job(job: JobHandle, *, stopping: Callable[[], bool], spawn: Spawn | None = None) -> Status | None:
    """Run a queued job and return its final status; None if another worker has it or it is not queued.

    Args:
        job: The job.
        stopping: Called all the time; True stops the training with a checkpoint.
        spawn: Function that starts the training process.

    Raises:
        JobError: If the job cannot be read or changed.
    """
    job.make_folder()
    lock = acquire(job.lock)
    if lock is None:
        return None
    try:
        job.pull_log()
        status = job.claim(_start)
        if status is None:
            return None
        outcome = _attempt(job, status, lock, stopping=stopping, spawn=spawn or spawn_child)
        job.push_log()
        return job.finish(outcome)
    finally:
        os.close(lock)


def spawn_child(job: JobHandle, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
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
    create_private(job.log)
    with job.log.open("ab") as log:
        log.write(f"-- attempt {attempt}, {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())
        log.flush()
        process = subprocess.Popen(
            [sys.executable, "-m", "entail.jobs.child", job.id, str(attempt), str(pipe)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            pass_fds=(lock, pipe),
        )
    lower_priority(process.pid)
    return process


def lower_priority(pid: int) -> None:
    """Lower the priority of a process that leads a session of its own."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    # Linux may share the processor among sessions first (autogroups): niceness then counts within one only.
    with contextlib.suppress(OSError, ValueError):
        # Without a session of its own, as in a container, the file is empty: the default is 0.
        own = int(Path("/proc/self/autogroup").read_text(encoding="ascii").rpartition(" ")[2] or 0)
        Path(f"/proc/{pid}/autogroup").write_text(str(min(19, own + NICE)), encoding="ascii")


def _start(status: Status) -> Status:
    """Return the status of the next attempt at a queued job."""
    now, attempt = datetime.now(UTC), status.attempt + 1
    host, pid = platform.node(), os.getpid()
    return Status("running", now, status.queued, attempt, host, pid, started=now, seconds=status.seconds)


def _attempt(
    job: JobHandle, started: Status, lock: int, *, stopping: Callable[[], bool], spawn: Spawn
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
        with contextlib.suppress(EntailError):
            job.change(lambda now: replace(now, pid=process.pid) if now.attempt == started.attempt else None)
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


def _wait(
    job: JobHandle, process: subprocess.Popen[bytes], pipe: IO[bytes], stopping: Callable[[], bool]
) -> int:
    """Wait for the end and return the exit code; the pipe is closed to stop the process."""
    last_beat, last_look, is_cancelled, stop_since = 0.0, 0.0, False, None
    signals = [(TERMINATE_AFTER, signal.SIGTERM), (TERMINATE_AFTER + KILL_AFTER, signal.SIGKILL)]
    while (code := process.poll()) is None:
        now = time.monotonic()
        with contextlib.suppress(DatabaseError):
            if now - last_beat >= BEAT:
                last_beat = now
                if not job.beat():  # another machine may have the job
                    pipe.close()
            if now - last_look >= _ASK_EVERY:
                last_look = now
                is_cancelled = job.cancel_request is not None
        if is_cancelled or stopping():
            pipe.close()
        if stop_since is None and pipe.closed:
            stop_since = now
        if stop_since is not None and signals and now - stop_since >= signals[0][0]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signals.pop(0)[1])
        time.sleep(_POLL)
    return code
