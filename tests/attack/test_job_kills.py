"""`kill -9` at random moments of jobs: none is lost, no model is incomplete, resumed ones end the same."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable

from entail.jobs.jobs import Jobs
from entail.jobs.locks import is_locked
from entail.jobs.record import Job
from entail.jobs.worker import run_job
from tests.attack.conftest import FULL, SEED, Tally
from tests.attack.forks import Fork, Report, Striker, Work
from tests.jobs.conftest import fork_child
from tests.support.machine import until

STEPS = 40
JOBS = 6 if FULL else 3
"""Jobs that one process submits, cancels, resumes or deletes."""

Submit = Callable[..., Job]


def work_on(jobs: Jobs, job_id: str) -> Work:
    return lambda report: run_job(jobs.handle(job_id), stopping=lambda: False, spawn=fork_child) and None


def weights(jobs: Jobs, name: str) -> bytes:
    return (jobs.settings.models_dir / name / "model.safetensors").read_bytes()


def test_acts_on_jobs(jobs: Jobs, tally: Tally) -> None:
    """Submit, cancel, resume, delete."""
    striker, attempts, most = Striker(SEED), 0, 100 if FULL else 3
    expected: dict[str, str] = {}

    def states() -> dict[str, str]:
        fresh_jobs = Jobs()
        assert fresh_jobs.unreadable() == {}
        return {job.id: job.state for job in fresh_jobs.jobs()}

    def submit(report: Report) -> None:
        for number in range(JOBS):
            report(Jobs().submit("fifth", {}, {}, name=f"m{attempts}-{number}", by="Ann").id)

    def each(do: Callable[[Jobs, str], object], ids: list[str]) -> Work:
        def work(report: Report) -> None:
            for job_id in ids:
                do(Jobs(), job_id)
                report(job_id)

        return work

    cycle: list[tuple[str, str | None, Callable[[Jobs, str], object] | None]] = [
        ("submit", "queued", None),
        ("cancel", "cancelled", lambda fresh_jobs, job_id: fresh_jobs.cancel(job_id, by="Ann")),
        ("resume", "queued", lambda fresh_jobs, job_id: fresh_jobs.resume(job_id)),
        ("cancel", "cancelled", lambda fresh_jobs, job_id: fresh_jobs.cancel(job_id, by="Ann")),
        ("delete", None, lambda fresh_jobs, job_id: fresh_jobs.delete(job_id)),
    ]
    while striker.kills < most:
        act, state, do = cycle[attempts % len(cycle)]
        attempts += 1
        before = {"cancel": "queued", "resume": "cancelled", "delete": "cancelled"}.get(act)
        ids = [job_id for job_id, job_state in expected.items() if job_state == before]
        total = len(list(jobs.folder.glob("*")))
        if do is None:
            (reports,) = striker.strike(act, submit, sign=lambda: len(list(jobs.folder.glob("*"))) > total)  # noqa: B023 - called here
        else:
            (reports,) = striker.strike(act, each(do, ids))
        job_states = states()
        done = {job_id for (job_id,) in reports}
        for job_id in done:
            assert job_states.get(job_id) == state, act
        # Of the others at most one was touched, wholly or not at all.
        touched = {
            job_id
            for job_id in {*expected, *job_states} - done
            if job_states.get(job_id) != expected.get(job_id)
        }
        assert len(touched) <= 1
        assert all(job_states.get(job_id) == state for job_id in touched)
        expected = job_states
    tally(attempts=attempts, failures=0, kills=striker.kills)


def test_trainings(jobs: Jobs, submit: Submit, tally: Tally) -> None:
    draw, most, kills, attempts = random.Random(1), 60 if FULL else 6, 0, 0

    def progress(job_id: str) -> int:
        return getattr(jobs.job(job_id).progress, "done", 0)

    reference = submit("whole", steps=STEPS)
    Fork(work_on(jobs, reference.id)).join()
    assert jobs.job(reference.id).state == "done", jobs.log_tail(reference.id)

    job, models = submit("mine", steps=STEPS, pace=0.02), 1
    endings: list[str | None] = []
    while kills < most:
        attempts += 1
        worker = Fork(work_on(jobs, job.id))
        folder, moment = jobs.handle(job.id), draw.randint(0, 4)
        victims = draw.choice([("worker",), ("training",), ("worker", "training")])
        begun = folder.status.attempt
        # Before the training starts, while it trains, or about when it ends.
        if moment:
            until(lambda: folder.status.attempt > begun or not jobs.job(job.id).open)  # noqa: B023 - called here
        if moment > 1:
            step = draw.randint(1, STEPS)
            until(lambda: progress(job.id) >= step or not jobs.job(job.id).open)  # noqa: B023 - called here
        time.sleep(draw.uniform(0.0, 0.05))
        for name, pid in (("worker", worker.pid), ("training", folder.status.pid)):
            if name in victims and pid and is_locked(folder.lock):
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself since
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
        worker.join()
        until(lambda: jobs.job(job.id).state != "running")  # noqa: B023 - called here
        job = jobs.job(job.id)
        assert job.state in ("queued", "interrupted", "done"), (job.status.what, jobs.log_tail(job.id))
        assert [stored_job.id for stored_job in Jobs().jobs()].count(job.id) == 1
        published = (jobs.settings.models_dir / job.name).exists()
        assert published or job.state != "done"
        assert not published or weights(jobs, job.name) == weights(jobs, "whole")
        endings.append(job.status.ending if job.state == "interrupted" else job.state)
        if job.state == "done":
            job, models = submit(f"mine-{models}", steps=STEPS, pace=0.02), models + 1
        elif job.state == "interrupted":
            job = jobs.resume(job.id)
    # Some were struck while they trained, or this would show nothing.
    assert sum(ending in ("killed", "lost_worker") for ending in endings) >= 3, endings
    Fork(work_on(jobs, job.id)).join()
    assert jobs.job(job.id).state == "done"
    assert weights(jobs, job.name) == weights(jobs, "whole")
    assert not [path for path in jobs.settings.models_dir.iterdir() if path.name.startswith(".job")]
    tally(attempts=attempts, failures=0, kills=kills)
