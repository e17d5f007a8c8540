"""Jobs of the method `fifth`, trained and ended within the process of a test."""

from collections.abc import Callable
from typing import Any

from entail.jobs.child import Attempt, finish
from entail.jobs.handle import JobHandle
from entail.jobs.record import Job, Outcome
from entail.jobs.worker import run_job
from entail.ui.shared.resources import jobs


class EndedProcess:
    """Stand-in for the process of a training that has ended."""

    pid = 0

    def __init__(self, code: int = 0) -> None:
        self.code = code

    def poll(self) -> int:
        return self.code


def submit(name: str = "mine", **config: Any) -> Job:
    return jobs().submit("fifth", config, {}, name=name, by="Bob")


def end(job: Job, outcome: Callable[[JobHandle, int], Outcome]) -> Job:
    """Return a job after a worker ran a training with this outcome."""

    def spawn(folder: JobHandle, attempt: int, lock: int, pipe: int) -> EndedProcess:
        folder.write_attempt(outcome=outcome(folder, attempt).to_json())
        return EndedProcess()

    run_job(jobs().handle(job.id), stopping=lambda: False, spawn=spawn)
    return jobs().job(job.id)


def train(job: Job, **options: Any) -> Job:
    """Return a job after its training, which runs in this process."""

    def spawn(folder: JobHandle, attempt: int, lock: int, pipe: int) -> EndedProcess:
        return EndedProcess(finish(folder, Attempt(folder, **options).run()))

    run_job(jobs().handle(job.id), stopping=lambda: False, spawn=spawn)
    return jobs().job(job.id)
