"""Candidates for promotion: models of finished jobs, with their comparison to the active model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from entail.encoders.catalogue import resolve
from entail.errors import EncoderError, JobError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.comparison import active_counterpart, compare_on_unseen
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.progress import ProgressCallback
from entail.training.method import method, methods
from entail.trees.review.decisions import read_source


@dataclass(frozen=True)
class Candidate:
    """Model of a finished job.

    Attributes:
        job: The job.
        revision: Present revision of the model; None if it is gone.
        evaluation: Comparison with the model that was active at the time.
    """

    job: Job
    revision: str | None
    evaluation: PairedComparison | None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.job.name

    @property
    def problem(self) -> str | None:
        """Reason why it cannot rank; None if it can."""
        trainer = methods().get(self.job.spec.method)
        if trainer is not None and not trainer.encodes:
            return f"it is {trainer.makes} and no encoder: it ranks for no corpus"
        if self.revision is None:
            return "the encoder is gone"
        if self.evaluation is not None and self.evaluation.candidate != self.revision:
            return "its weights changed since the training"
        return None

    def outdated(self, present: str) -> bool:
        """Return whether it was not compared with the active model, given by its revision."""
        return self.evaluation is None or self.evaluation.active != present


def candidates(jobs: Jobs) -> list[Candidate]:
    """Return the models of finished jobs, newest first."""
    return [candidate(job) for job in jobs.jobs() if job.state == "done"]


def candidate(job: Job) -> Candidate:
    """Return the model of a job.

    Raises:
        JobError: If the job is not done.
    """
    if job.state != "done":
        raise JobError(f"job {job.id} is {job.state}: expected one that is done")
    try:
        revision = resolve(job.name).revision
    except EncoderError:
        revision = None
    evaluation = PairedComparison.from_json(job.evaluation) if job.evaluation else None
    return Candidate(job, revision, evaluation)


def candidate_called(jobs: Jobs, name: str) -> Candidate | None:
    """Return the candidate of a name, None where no job trained it."""
    return next((found for found in candidates(jobs) if found.name == name), None)


def compare_anew(
    jobs: Jobs, job_id: str, *, corpus: str | None = None, progress: ProgressCallback | None = None
) -> PairedComparison | None:
    """Compare the model of a job with the active one, on the dev data of the job.

    Args:
        jobs: The installation's jobs.
        job_id: Id of the job.
        corpus: Name of the corpus whose active model to compare with; None for the default.
        progress: Callback for progress.

    Raises:
        JobError: If the job is not done.
        EntailError: If its data or an encoder cannot be read.
    """
    job = jobs.job(job_id)
    name = candidate(job).name
    trainer = method(job.spec.method)
    data: Any = read_source(trainer.reading(job.spec.source), keep=jobs.folder_of(job.id).path)
    measured = trainer.evaluate(name, data, progress)
    now = active_counterpart(trainer, corpus)
    present = trainer.evaluate(now, data, progress) if now is not None else None
    if measured is None or present is None or now is None:
        return None
    return compare_on_unseen(present, measured, names=(now, name))
