"""``kill -9`` at random moments: no job is lost, no model is incomplete, all resumed jobs end the same."""

import os
import random
import signal
import time
from collections.abc import Callable

from entail.jobs.folder import is_locked
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.jobs.worker import run_job
from tests.jobs.conftest import fork_child

STRIKES = 10
STEPS = 40


def fork_worker(jobs: Jobs, job_id: str) -> int:
    pid = os.fork()
    if not pid:
        run_job(jobs.folder_of(job_id), stopping=lambda: False, spawn=fork_child)
        os._exit(0)
    return pid


def weights(jobs: Jobs, name: str) -> bytes:
    return (jobs.settings.models_dir / name / "model.safetensors").read_bytes()


def test_kills_at_random_moments(
    jobs: Jobs, submit: Callable[..., Job], until: Callable[[Callable[[], object]], None]
) -> None:
    draw = random.Random(1)

    def progress(job_id: str) -> int:
        return getattr(jobs.job(job_id).progress, "done", 0)

    reference = submit("whole", steps=STEPS)
    os.waitpid(fork_worker(jobs, reference.id), 0)
    assert jobs.job(reference.id).state == "done", jobs.log_tail(reference.id)

    job, models = submit("mine", steps=STEPS, pace=0.02), 1
    endings: list[str | None] = []
    while len(endings) < STRIKES:
        worker = fork_worker(jobs, job.id)
        folder, moment = jobs.folder_of(job.id), draw.randint(0, 4)
        victims = draw.choice([("worker",), ("training",), ("worker", "training")])
        begun = folder.status.attempt
        # Before the training starts, while it trains, or about when it ends.
        if moment:
            until(lambda: folder.status.attempt > begun or not jobs.job(job.id).open)  # noqa: B023 - called here
        if moment > 1:
            step = draw.randint(1, STEPS)
            until(lambda: progress(job.id) >= step or not jobs.job(job.id).open)  # noqa: B023 - called here
        time.sleep(draw.uniform(0.0, 0.05))
        for name, pid in (("worker", worker), ("training", folder.status.pid)):
            if name in victims and pid and is_locked(folder.lock):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(worker, 0)
        until(lambda: jobs.job(job.id).state != "running")  # noqa: B023 - called here
        job = jobs.job(job.id)
        assert job.state in ("queued", "interrupted", "done"), (job.status.what, jobs.log_tail(job.id))
        assert [found.id for found in Jobs().jobs()].count(job.id) == 1
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
    os.waitpid(fork_worker(jobs, job.id), 0)
    assert jobs.job(job.id).state == "done"
    assert weights(jobs, job.name) == weights(jobs, "whole")
    assert not [path for path in jobs.settings.models_dir.iterdir() if path.name.startswith(".job")]
