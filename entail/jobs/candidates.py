"""Finished encoders as candidates: each with its figures beside those of the encoder that is active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from entail.data.records import Corpus, ExplanationTree
from entail.encoders.catalogue import resolve
from entail.encoders.seen import seen_by
from entail.errors import EncoderError, JobError
from entail.evaluation.measured import Beside, QueryFigures, beside
from entail.jobs.aeenc import evaluate
from entail.jobs.jobs import Jobs
from entail.jobs.method import Method, method, methods
from entail.jobs.record import Job
from entail.jobs.source import TrainingData
from entail.progress import ProgressCallback
from entail.promotion import active
from entail.roles import in_use


@dataclass(frozen=True)
class Candidate:
    """An encoder that a job made.

    Attributes:
        job: The job.
        revision: The encoder's, as it is now; None if it is gone.
        evaluation: Its figures beside the encoder that was active when they were measured.
    """

    job: Job
    revision: str | None
    evaluation: Beside | None

    @property
    def name(self) -> str:
        """The encoder's."""
        return self.job.name

    @property
    def problem(self) -> str | None:
        """Why it cannot rank as it is, None if it can."""
        how = methods().get(self.job.spec.method)
        if how is not None and not how.encodes:
            return f"it is {how.makes} and no encoder: it ranks for no corpus"
        if self.revision is None:
            return "the encoder is gone"
        if self.evaluation is not None and self.evaluation.candidate != self.revision:
            return "another encoder stands under its name by now"
        return None

    def outdated(self, present: str) -> bool:
        """Say whether its figures stand beside another encoder's than the one that is active, by revision."""
        return self.evaluation is None or self.evaluation.active != present


def candidates(jobs: Jobs) -> list[Candidate]:
    """Return the encoders that jobs made, the newest first."""
    return [candidate(job) for job in jobs.jobs() if job.state == "done"]


def candidate(job: Job) -> Candidate:
    """Return the encoder that a job made.

    Raises:
        JobError: If the job is not done.
    """
    if job.state != "done":
        raise JobError(f"job {job.id} is {job.state}: expected one that is done")
    try:
        revision = resolve(job.name).revision
    except EncoderError:
        revision = None
    told = job.evaluation
    return Candidate(job, revision, Beside.from_json(told) if told else None)


def candidate_called(jobs: Jobs, name: str) -> Candidate | None:
    """Return the candidate of this name, None where no job made such an encoder."""
    return next((found for found in candidates(jobs) if found.name == name), None)


def compared_with(how: Method, corpus: str | None = None) -> str | None:
    """Return what is in use for what a method makes; None where nothing is.

    Args:
        how: The method.
        corpus: Name of the corpus whose active encoder is meant, of methods whose encoders rank.
    """
    return active(corpus).encoder if how.role == "retriever" else in_use(how.role).name


def compare_anew(
    jobs: Jobs, job_id: str, *, corpus: str | None = None, progress: ProgressCallback | None = None
) -> Beside | None:
    """Measure a job's encoder beside the one that is active now, on the job's own split; see `fairly`.

    Args:
        jobs: The installation's jobs.
        job_id: The job.
        corpus: Name of the corpus whose active encoder is meant; None: the one for all.
        progress: Told how far it is.

    Raises:
        JobError: If the job is not done.
        EntailError: If its data or an encoder cannot be read.
    """
    job = jobs.job(job_id)
    name = candidate(job).name
    how = method(job.spec.method)
    data: Any = how.reading(job.spec.source).read(keep=jobs.place(job.id).path)
    measured = how.evaluate(name, data, progress)
    now = compared_with(how, corpus)
    present = how.evaluate(now, data, progress) if now is not None else None
    return fairly(present, measured, names=(now, name)) if measured and present and now else None


def compare_on(
    encoder: str | Path,
    premises: Corpus,
    trees: Sequence[ExplanationTree],
    *,
    corpus: str | None = None,
    progress: ProgressCallback | None = None,
) -> Beside:
    """Measure any encoder beside the active one: the children of every parent of some trees; see `fairly`.

    Args:
        encoder: Name or folder.
        premises: The candidates.
        trees: Gold trees.
        corpus: Name of the corpus whose active encoder is meant; None: the one for all.
        progress: Told how far it is.

    Raises:
        EntailError: If an encoder cannot be loaded, or no tree has a proof.
    """
    data = TrainingData(premises, premises, (), None, tuple(trees))
    measured = evaluate(encoder, data, progress)
    now = active(corpus).encoder
    present = evaluate(now, data, progress)
    if measured is None or present is None:
        raise JobError("expected trees to compare encoders on, found none")
    return fairly(present, measured, names=(now, str(encoder)))


def fairly(present: QueryFigures, candidate: QueryFigures, *, names: tuple[str, str]) -> Beside:
    """Compare two encoders on the queries that neither was trained on.

    Where one of them was trained on every query they are compared on all, and `Beside.seen` says so.

    Args:
        present: Figures of the active encoder.
        candidate: Figures of the other.
        names: What leads to the two, name or folder.

    Raises:
        RetrievalError: If the two were not measured on the same queries.
    """
    seen = frozenset().union(*(seen_by(name, candidate.queries) for name in names))
    if not seen:
        return beside(present, candidate)
    if len(seen) == len(candidate.queries):
        return replace(beside(present, candidate), seen=len(seen))
    found = beside(present.without(seen), candidate.without(seen))
    return replace(
        found, split=f"{found.split}, without the {len(seen):,} claims that one of the two was trained on"
    )
