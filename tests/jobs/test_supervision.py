"""What trains comes after the app: it stands behind it, and leaves it half of the cores."""

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
from entail.jobs.supervision import NICE, lower_priority, run_job, spawn_child


def autogroup(pid: int) -> int | None:
    """Return the niceness of a process's session, None where the system knows no such thing."""
    file = Path(f"/proc/{pid}/autogroup")
    told = file.read_text(encoding="ascii").split() if file.exists() else []
    return int(told[-1]) if told else None


def sessions_can_be_weighed() -> bool:
    """Say whether a process may set the weight of a session it begins: not in every container."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        try:
            Path(f"/proc/{process.pid}/autogroup").write_text("1", encoding="ascii")
            return autogroup(process.pid) == 1
        except OSError:
            return False
        finally:
            process.kill()


def environment(pid: int) -> list[str]:
    """Return what a process was started with; it is not there yet while the new program is being set up."""
    for _ in range(1000):
        if told := Path(f"/proc/{pid}/environ").read_bytes():
            return told.decode().split("\0")
        time.sleep(0.01)
    raise AssertionError(f"process {pid} has no environment")


def test_what_trains_stands_behind_everything_else(
    jobs: Jobs, submit: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    seen: dict[str, Any] = {}

    def spying(job: JobFolder, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
        process = spawn_child(job, attempt, lock, pipe)
        seen.update(line.split("=", 1) for line in environment(process.pid) if line)
        seen["nice"] = os.getpriority(os.PRIO_PROCESS, process.pid)
        seen["group"] = autogroup(process.pid)
        seen["session"] = os.getsid(process.pid) == process.pid != os.getsid(0)
        return process

    run_job(jobs.folder_of(submit().id), stopping=lambda: False, spawn=spying)
    assert seen["nice"] == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    assert seen["session"]
    # A session has a weight of its own, beside which its processes' niceness counts for nothing.
    if sessions_can_be_weighed():
        assert seen["group"] == min(19, (autogroup(os.getpid()) or 0) + NICE)
    assert [seen[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")] == ["4", "4"]
    assert seen["OMP_WAIT_POLICY"] == "PASSIVE"


def test_what_was_said_of_threads_beforehand_holds(
    jobs: Jobs, submit: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    seen: list[str] = []

    def spying(job: JobFolder, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
        process = spawn_child(job, attempt, lock, pipe)
        seen.extend(environment(process.pid))
        return process

    run_job(jobs.folder_of(submit(steps=1).id), stopping=lambda: False, spawn=spying)
    assert "OMP_NUM_THREADS=3" in seen


@pytest.mark.parametrize(
    ("own", "then"), [("", NICE), ("/autogroup-7 nice 3\n", 3 + NICE), ("/autogroup-7 nice 19\n", 19)]
)
def test_a_session_weighs_less_than_the_one_that_began_it(tmp_path: Path, own: str, then: int) -> None:
    """What never began a session, as in a container, reads as nothing: it weighs what is usual."""
    for name, told in (("self", own), ("started", "/autogroup-8 nice 0\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "autogroup").write_text(told, encoding="ascii")
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        (tmp_path / "started").rename(tmp_path / str(process.pid))
        lower_priority(process.pid, proc=tmp_path)
        process.kill()
    assert (tmp_path / str(process.pid) / "autogroup").read_text(encoding="ascii") == str(then)
