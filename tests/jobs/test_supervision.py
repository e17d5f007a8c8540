"""Priority, session and environment of the training process."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entail.jobs.folder import JobFolder
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.worker import NICE, run_job, spawn_child


def environment(pid: int) -> list[str]:
    """Return the environment of a process; it is empty while the new program is being set up."""
    for _ in range(1000):
        if content := Path(f"/proc/{pid}/environ").read_bytes():
            return content.decode().split("\0")
        time.sleep(0.01)
    raise AssertionError(f"process {pid} has no environment")


def test_training_has_lower_priority_and_half_of_the_cores(
    jobs: Jobs, submit: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for name in ("MKL_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    properties: dict[str, Any] = {}

    def spawn(job: JobFolder, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
        process = spawn_child(job, attempt, lock, pipe)
        properties.update(line.split("=", 1) for line in environment(process.pid) if line)
        properties["nice"] = os.getpriority(os.PRIO_PROCESS, process.pid)
        properties["session"] = os.getsid(process.pid) == process.pid != os.getsid(0)
        return process

    run_job(jobs.folder_of(submit(steps=1).id), stopping=lambda: False, spawn=spawn)
    assert properties["nice"] == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    assert properties["session"]
    # What the environment sets is kept.
    assert [properties[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")] == ["3", "4"]
    assert properties["OMP_WAIT_POLICY"] == "PASSIVE"
