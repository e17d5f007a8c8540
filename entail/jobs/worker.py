"""Worker process: runs the jobs of the queue, one worker per machine."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from entail.data.writing import write_text
from entail.errors import DataError, EntailError
from entail.jobs.folder import BEAT, acquire
from entail.jobs.jobs import Jobs
from entail.jobs.supervision import KILL_AFTER, TERMINATE_AFTER, run_job
from entail.jobs.workers import Worker, ensure_worker, lock_file
from entail.settings import refuse_in_demo

_REQUEUE_EVERY = 5.0
"""Seconds between two looks for queued jobs that the broker lacks."""

_log = logging.getLogger(__name__)


def work(jobs: Jobs, *, idle: float | None = None, at_once: int = 1) -> bool:
    """Run the jobs of the queue in the main thread; return False if this machine has a worker already.

    On Ctrl+C or SIGTERM the trainings write a checkpoint, and the worker ends.

    Args:
        jobs: The installation's jobs.
        idle: Seconds without work after which it ends; None: never.
        at_once: Number of jobs at a time.

    Raises:
        JobError: If the queue cannot be opened.
    """
    refuse_in_demo("nothing can be trained")
    file = lock_file(jobs.folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = acquire(file)
    if lock is None:
        return False
    try:
        _WorkerLoop(jobs, file.with_suffix(".json"), idle=idle, at_once=at_once).run()
    finally:
        os.close(lock)
    # A job submitted while this worker ended must not wait forever.
    if idle is not None and jobs.queued():
        ensure_worker(jobs.folder, idle=idle)
    return True


class _WorkerLoop:
    def __init__(self, jobs: Jobs, file: Path, *, idle: float | None, at_once: int) -> None:
        self._jobs, self._file, self._idle = jobs, file, idle
        self._self = Worker(platform.node(), os.getpid(), datetime.now(UTC), at_once)
        self._at: set[str] = set()
        self._last_work = time.monotonic()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def run(self) -> None:
        consumer = self._jobs.queue.consumer(self._work, jobs=self._self.jobs)
        threading.Thread(target=self._watch, args=(consumer.stop_flag.set,), daemon=True).start()
        consumer.run()
        self._stopping.set()
        for _, thread in consumer.worker_threads:
            thread.join(TERMINATE_AFTER + 2 * KILL_AFTER)
        self._file.unlink(missing_ok=True)

    def _work(self, job_id: str) -> None:
        with self._lock:
            self._at.add(job_id)
        try:
            self._beat()
            status = run_job(self._jobs.folder_of(job_id), stopping=self._stopping.is_set)
            if status is not None:
                _log.info("job %s: %s %s", job_id, status.state, status.what or "")
        except EntailError as error:
            _log.error("job %s: %s", job_id, error)
        finally:
            with self._lock:
                self._at.discard(job_id)
                self._last_work = time.monotonic()

    def _watch(self, stop: Callable[[], None]) -> None:
        """Write heartbeats, requeue missing jobs, and stop after a time without work."""
        requeued = float("-inf")
        while not self._stopping.is_set():
            self._beat()
            with contextlib.suppress(EntailError):
                if time.monotonic() - requeued >= _REQUEUE_EVERY:
                    self._jobs.requeue_missing()
                    requeued = time.monotonic()
                idle = time.monotonic() - self._last_work
                if self._idle is not None and idle >= self._idle and not self._at:
                    if self._jobs.queue.waiting():
                        continue
                    stop()
                    return
            self._stopping.wait(min(BEAT, self._idle or BEAT))

    def _beat(self) -> None:
        content = replace(self._self, at=tuple(sorted(self._at))).to_json()
        with contextlib.suppress(DataError):
            write_text(self._file, json.dumps(content))
