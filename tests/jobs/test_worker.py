"""The worker process itself: started on demand, alone on its machine, idle, stopped, killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.workers import Worker, ensure_worker

Submit = Callable[..., Job]
Until = Callable[[Callable[[], Any]], None]


@pytest.fixture
def here(jobs: Jobs, until: Until) -> Iterator[Callable[[], Worker | None]]:
    """Return what says which worker is there; none is left behind."""

    def worker() -> Worker | None:
        return next((found for found in jobs.workers() if found.alive), None)

    yield worker
    if (left := worker()) is not None:
        os.kill(left.pid, signal.SIGTERM)
        until(lambda: worker() is None)


def test_started_on_demand_it_works_the_queue_off_and_ends(
    jobs: Jobs, submit: Submit, until: Until, here: Callable[[], Worker | None]
) -> None:
    first, second = submit("first"), submit("second", trouble="nan")
    third = submit("third")
    assert ensure_worker(jobs.folder, idle=0.5)
    until(lambda: not jobs.job(third.id).open)
    states = [jobs.job(job.id).state for job in (first, second, third)]
    assert states == ["done", "failed", "done"]
    begun = [jobs.job(job.id).status.started for job in (first, second, third)]
    assert sorted(begun) == begun  # type: ignore[type-var]  # all have begun
    until(lambda: here() is None)
    # It took note of its end: nothing is left that says it lives.
    assert jobs.workers() == []


def test_killed_with_a_job_at_hand_it_leaves_one_that_can_be_resumed(
    jobs: Jobs, submit: Submit, until: Until, here: Callable[[], Worker | None]
) -> None:
    job, waiting = submit("mine", steps=60, pace=0.05), submit("next")
    ensure_worker(jobs.folder, idle=30)
    until(lambda: jobs.job(job.id).progress is not None)
    assert not ensure_worker(jobs.folder)
    found = here()
    assert found is not None
    assert found.at == (job.id,)
    os.kill(found.pid, signal.SIGKILL)
    until(lambda: jobs.job(job.id).state != "running")
    lost = jobs.job(job.id)
    assert (lost.state, lost.status.ending) == ("interrupted", "lost_worker")
    assert "the worker on" in str(lost.status.what)
    assert [worker.alive for worker in jobs.workers()] == [False]
    assert jobs.job(waiting.id).place == 1
    jobs.resume(job.id)
    assert jobs.job(job.id).place == 2
    assert ensure_worker(jobs.folder, idle=0.5)
    until(lambda: not jobs.job(job.id).open)
    done = jobs.job(job.id)
    assert (done.state, done.status.attempt, jobs.job(waiting.id).state) == ("done", 2, "done")
    assert done.result is not None
    assert done.result["begun_at"] > 0


def test_stopped_it_lets_the_training_write_a_checkpoint(
    jobs: Jobs, submit: Submit, until: Until, here: Callable[[], Worker | None]
) -> None:
    job = submit(steps=600, pace=0.05)
    ensure_worker(jobs.folder, idle=30)
    until(lambda: jobs.job(job.id).progress is not None)
    second = subprocess.run(
        [sys.executable, "-m", "entail", "worker"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "worker already runs" in second.stdout
    found = here()
    assert found is not None
    os.kill(found.pid, signal.SIGTERM)
    until(lambda: here() is None)
    ended = jobs.job(job.id)
    assert (ended.state, ended.status.ending) == ("interrupted", "stopped_worker")
    assert list(jobs.folder_of(job.id).checkpoints.glob("state.safetensors"))


def test_whoever_looks_sees_to_it_that_what_queues_is_worked_off(
    jobs: Jobs,
    submit: Submit,
    until: Until,
    here: Callable[[], Worker | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ENTAIL_WORKER", "auto")
    looker = Jobs()
    assert not looker.ensure_worker()
    job = submit()
    assert looker.ensure_worker()
    assert not looker.ensure_worker()
    until(lambda: jobs.job(job.id).state == "done")


def test_nobody_starts_one_where_that_is_not_wished(jobs: Jobs) -> None:
    assert not jobs.settings.starts_worker
    assert not jobs.start_worker()
    assert jobs.workers() == []
