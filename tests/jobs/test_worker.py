"""The worker process: start on demand, priority, idle end, stop, kill."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from entail.jobs.handle import JobHandle
from entail.jobs.jobs import Jobs, ensure_worker
from entail.jobs.record import Job, Worker
from entail.jobs.worker import NICE, run_job, spawn_child, work
from tests.support.machine import until

Submit = Callable[..., Job]


@pytest.fixture
def here(jobs: Jobs) -> Iterator[Callable[[], Worker | None]]:
    """Return what says which worker is there; none is left behind."""

    def worker() -> Worker | None:
        return next((entry for entry in jobs.workers() if entry.alive), None)

    yield worker
    if (left := worker()) is not None:
        os.kill(left.pid, signal.SIGTERM)
        until(lambda: worker() is None)


def test_worker_on_demand(
    jobs: Jobs,
    submit: Submit,
    here: Callable[[], Worker | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (jobs.start_worker(), jobs.workers()) == (False, []), "the settings forbid it"
    monkeypatch.setenv("ENTAIL_WORKER", "auto")
    page = Jobs()
    assert not page.ensure_worker(), "nothing is queued"
    first, second = submit("first", trouble="nan"), submit("second")
    assert page.ensure_worker()
    assert not page.ensure_worker()
    until(lambda: not jobs.job(second.id).open)
    ended = [jobs.job(job.id) for job in (first, second)]
    assert [job.state for job in ended] == ["failed", "done"]
    assert ended[0].status.started < ended[1].status.started  # type: ignore[operator]  # both have started
    live_worker = here()
    assert live_worker is not None
    assert live_worker.pid == ended[1].status.worker
    if os.name == "posix":
        folder = jobs.handle(second.id)
        for path in (folder.path, folder.log, jobs.folder / "worker.log"):
            assert path.stat().st_mode & 0o077 == 0, "other users read nothing"


def test_killed_worker_leaves_a_resumable_job(
    jobs: Jobs, submit: Submit, here: Callable[[], Worker | None]
) -> None:
    job, waiting = submit("mine", steps=60, pace=0.05), submit("next")
    ensure_worker(jobs.folder, idle=30)
    until(lambda: jobs.job(job.id).progress is not None)
    assert not ensure_worker(jobs.folder)
    live_worker = here()
    assert live_worker is not None
    assert live_worker.at == (job.id,)
    os.kill(live_worker.pid, signal.SIGKILL)
    until(lambda: jobs.job(job.id).state != "running")
    lost = jobs.job(job.id)
    assert (lost.state, lost.status.ending) == ("interrupted", "lost_worker")
    assert "the worker on" in str(lost.status.what)
    assert [worker.alive for worker in jobs.workers()] == [False]
    assert jobs.job(waiting.id).queue_position == 1
    jobs.resume(job.id)
    assert jobs.job(job.id).queue_position == 2
    assert ensure_worker(jobs.folder, idle=0.5)
    until(lambda: not jobs.job(job.id).open)
    done = jobs.job(job.id)
    assert (done.state, done.status.attempt, jobs.job(waiting.id).state) == ("done", 2, "done")
    assert done.result is not None
    assert done.result["begun_at"] > 0
    until(lambda: here() is None)
    assert jobs.workers() == [], "an idle worker ends and removes its file"


def test_stopped_worker_lets_the_training_write_a_checkpoint(
    jobs: Jobs, submit: Submit, here: Callable[[], Worker | None]
) -> None:
    job = submit(steps=600, pace=0.05)
    ensure_worker(jobs.folder, idle=30)
    until(lambda: jobs.job(job.id).progress is not None)
    assert not work(Jobs()), "one worker a machine"
    live_worker = here()
    assert live_worker is not None
    os.kill(live_worker.pid, signal.SIGTERM)
    until(lambda: here() is None)
    ended = jobs.job(job.id)
    assert (ended.state, ended.status.ending) == ("interrupted", "stopped_worker")
    assert list(jobs.handle(job.id).checkpoints.glob("state.safetensors"))


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

    def spawn(job: JobHandle, attempt: int, lock: int, pipe: int) -> subprocess.Popen[bytes]:
        process = spawn_child(job, attempt, lock, pipe)
        properties.update(line.split("=", 1) for line in environment(process.pid) if line)
        properties["nice"] = os.getpriority(os.PRIO_PROCESS, process.pid)
        properties["session"] = os.getsid(process.pid) == process.pid != os.getsid(0)
        return process

    run_job(jobs.handle(submit(steps=1).id), stopping=lambda: False, spawn=spawn)
    assert properties["nice"] == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    assert properties["session"]
    # What the environment sets is kept.
    assert [properties[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")] == ["3", "4"]
    assert properties["OMP_WAIT_POLICY"] == "PASSIVE"
