"""Candidates for promotion: models of finished jobs, and splits to compare them with the active model on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from entail.aeenc.method import AEENC
from entail.aeenc.reranking.method import RERANKER
from entail.aeenc.source import TrainingData
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.catalogue import resolve
from entail.encoders.training_queries import training_queries_of
from entail.errors import EntailError, JobError
from entail.evaluation.retrieval.paired import PairedComparison, QueryFigures, compare_paired
from entail.jobs.jobs import Jobs
from entail.jobs.record import Job
from entail.progress import ProgressCallback
from entail.registry.models import active, fetch_model
from entail.registry.roles import ROLES, list_usable, role_of
from entail.settings import load_settings
from entail.training.method import Method, Role, Run, method, methods
from entail.trees.formats.entailment_bank import refold
from entail.trees.log.event_log import TreeLog
from entail.trees.review.decisions import read_source
from entail.trees.store.corpora import CorpusInfo, CorpusStore

_SUFFIXES = (".jsonl", ".jsonl.gz")
_MIN_TREES = 3


@dataclass(frozen=True)
class Candidate:
    """Model of a finished job: its present revision, and how it compared with what was active then."""

    job: Job
    revision: str | None
    evaluation: PairedComparison | None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.job.name

    @property
    def problem(self) -> str | None:
        """Reason why it cannot be promoted; None if it can."""
        if self.revision is None:
            return "the model is gone"
        if self.evaluation is not None and self.evaluation.candidate != self.revision:
            return "its weights changed since the training"
        return None

    def is_outdated(self, present: str) -> bool:
        """Return whether it was not compared with the active model, given by its revision."""
        return self.evaluation is None or self.evaluation.active != present


def candidates(jobs: Jobs) -> list[Candidate]:
    """Return the models of finished jobs, newest first."""
    return [_candidate(job) for job in jobs.jobs() if job.state == "done"]


def find_candidate(jobs: Jobs, name: str) -> Candidate | None:
    """Return the candidate of a name, None where no job trained it; fetch it from another machine."""
    fetch_model(name)
    return next((_candidate(job) for job in jobs.jobs() if job.state == "done" and job.name == name), None)


def _candidate(job: Job) -> Candidate:
    revision = None
    with contextlib.suppress(EntailError):  # it is gone, or fits no role
        role = role_of(job.name)
        encodes = not ROLES[role].method
        revision = (resolve(job.name).revision if encodes else list_usable(role).get(job.name)) or None
    return Candidate(job, revision, PairedComparison.from_json(job.evaluation) if job.evaluation else None)


def compare_anew(
    jobs: Jobs, job_id: str, *, corpus: str | None = None, progress: ProgressCallback | None = None
) -> PairedComparison | None:
    """Compare the model of a job with the active one (of a corpus), on the dev data of the job.

    Raises:
        EntailError: If its data or an encoder cannot be read.
    """
    job, handle = jobs.job(job_id), jobs.handle(job_id)
    trainer = method(job.spec.method)
    handle.make_folder()
    source = trainer.make_source(handle.source_values())
    data = read_source(source, keep=handle.path, viewer=job.spec.viewer)
    return compare_with_active(trainer, job.name, data, corpus=corpus, progress=progress)


def compare_on(
    encoder: str | Path,
    corpus: str | None = None,
    progress: ProgressCallback | None = None,
    *,
    premises: Callable[[], Corpus],
    trees: Callable[[], Iterable[ExplanationTree]],
    role: Role = "retriever",
) -> PairedComparison:
    """Compare a retriever or re-ranker with the active one: ranks of the children of every parent of trees.

    Premises and trees are read when they are needed.

    Raises:
        EntailError: If an encoder cannot be loaded, or no tree has a proof.
    """
    data = TrainingData(texts := premises(), texts, (), None, tuple(trees()))
    trainer = AEENC if role == "retriever" else RERANKER
    comparison = compare_with_active(trainer, encoder, data, corpus=corpus, progress=progress)
    if comparison is None:
        raise JobError("expected trees to compare encoders on, found none")
    return comparison


def compare_with_active(
    trainer: Method,
    encoder: str | Path,
    data: Any,
    *,
    corpus: str | None = None,
    name: str | None = None,
    progress: ProgressCallback | None = None,
) -> PairedComparison | None:
    """Compare a model with the active one (of a corpus) of its method's role, on the method's own dev data.

    Returns:
        The comparison, under another `name` than the folder's where one is given; None where one of the two
        cannot be measured.
    """
    if trainer.evaluate is None or (measured := trainer.evaluate(encoder, data, progress)) is None:
        return None
    present = active(corpus, role=trainer.role).encoder
    if not present or (figures := trainer.evaluate(present, data, progress)) is None:
        return None
    measured = replace(measured, encoder=name or measured.encoder)
    return compare_on_unseen(figures, measured, names=(present, str(encoder)))


def cross_validate(
    trainer: Method,
    config: Any,
    data: Any,
    run: Run,
    *,
    encoder: Path,
    corpus: str | None = None,
) -> PairedComparison | None:
    """Compare trainings on parts of the data with the active model, each on the queries of the rest.

    So a model without dev data is judged by its recipe, on every query that it was trained on itself. Queries
    that the active model was trained on are left out. The trainings write next to `run.out`.

    Returns:
        The comparison; None where the data are not split (`Method.folds`), or no query is left.
    """
    present = active(corpus, role=trainer.role).encoder
    if trainer.evaluate is None or trainer.folds is None or run.out is None or not present:
        return None
    folds = trainer.folds(data)
    pairs: list[tuple[QueryFigures, QueryFigures]] = []
    for number, (part, rest) in enumerate(folds, start=1):
        out = run.out.with_name(f"{run.out.name}.{number}")
        report = _prefixed(run.progress, f"check {number} of {len(folds)}")
        trainer.train(part, config, replace(run, out=out, work=None, watch=None, progress=report))
        names = (present, str(out))
        first, second = (trainer.evaluate(name, rest, report) for name in names)
        if first is None or second is None:
            return None
        overlap = frozenset().union(*(training_queries_of(name, first.queries) for name in names))
        pairs.append((first.without(overlap), second.without(overlap)))
    if not any(first.queries for first, _ in pairs):
        return None
    before, after = (QueryFigures.join(side) for side in zip(*pairs, strict=True))
    split = "the decisions, each ranked after a training on the other half"
    after = replace(after, encoder=encoder.name, revision=resolve(encoder).revision or "", split=split)
    return compare_paired(replace(before, split=split), after)


def _prefixed(report: ProgressCallback | None, words: str) -> ProgressCallback | None:
    if report is None:
        return None
    return lambda progress: report(replace(progress, what=f"{words}: {progress.what}"))


def compare_on_unseen(
    present: QueryFigures, candidate: QueryFigures, *, names: tuple[str, str]
) -> PairedComparison:
    """Compare two models, by name or folder, on the queries that neither was trained on.

    If that leaves none, all queries are compared and `PairedComparison.seen` is set.

    Raises:
        RetrievalError: If the two were not measured on the same queries.
    """
    overlap = frozenset().union(*(training_queries_of(name, candidate.queries) for name in names))
    if len(overlap) in (0, len(candidate.queries)):
        return replace(compare_paired(present, candidate), seen=len(overlap))
    comparison = compare_paired(present.without(overlap), candidate.without(overlap))
    split = f"{comparison.split}, without the {len(overlap):,} claims that one of the two was trained on"
    return replace(comparison, split=split)


@dataclass(frozen=True)
class Split:
    """Data to compare two models on: the name on the page, and a cache key that changes with the data.

    `compare` compares a model, by name, with the one that is active for a corpus.
    """

    name: str
    stamp: Hashable
    compare: Callable[[str, str | None, ProgressCallback | None], PairedComparison]


def list_splits(
    jobs: Jobs,
    log: TreeLog,
    corpora: CorpusStore,
    info: CorpusInfo | None,
    candidate: Candidate | None,
    role: Role = "retriever",
) -> list[Split]:
    """Return the splits to compare a model on; the most informative first.

    These are the dev data of the candidate's training. Over a corpus of premises, the files in `splits` of
    the data folder and the stored trees follow for retrievers and re-rankers; else the bundled sample.
    """
    splits: list[Split] = []
    source = candidate.job.spec.source if candidate is not None else {}
    if candidate is not None and (source.get("dev") or source.get("hold_out")):
        job, file_name = candidate.job.id, str(source.get("dev") or "held out").replace("\\", "/")
        name = f"dev data of its training ({file_name.rpartition('/')[2]})"
        splits.append(Split(name, ("job", job), partial(_compare_job, jobs, job)))
    if info is None or role not in ("retriever", "reranker"):
        return [*splits, *sample_splits(role)]
    premises = partial(corpora.corpus, info.id, version=info.version)
    version = (info.id, info.version)
    for file in sorted((load_settings().data_dir / "splits").glob("*")):
        if file.is_file() and file.name.endswith(_SUFFIXES):
            stamp, read = ("file", role, file.name, file.stat().st_mtime_ns), partial(read_trees, file)
            over, own = (
                partial(compare_on, premises=texts, trees=read, role=role)
                for texts in (premises, partial(_sentences, file))
            )
            splits.append(Split(f"{file.name} over {info.name}", (*stamp, version), over))
            splits.append(Split(f"{file.name} over its own sentences", (*stamp, None), own))
    log = log.exportable()  # what a comparison shows, all see
    for kind, example in (("your team's trees", False), ("example trees", True)):
        summaries = [tree for tree in log.trees(corpus_id=info.id) if tree.example == example and tree.steps]
        if len(summaries) >= _MIN_TREES:
            stored = tuple((tree.id, tree.seq) for tree in summaries)
            read_stored = partial(_read_stored, log, [tree.id for tree in summaries])
            name = f"{kind} ({len(summaries):,}) over {info.name}"
            compare = partial(compare_on, premises=premises, trees=read_stored, role=role)
            splits.append(Split(name, ("trees", role, stored, *version), compare))
    return splits


def _compare_job(
    jobs: Jobs, job: str, _: str, corpus: str | None, report: ProgressCallback | None
) -> PairedComparison:
    comparison = compare_anew(jobs, job, corpus=corpus, progress=report)
    if comparison is None:
        raise JobError("expected dev data in this job, found none; compare on another split")
    return comparison


def sample_splits(role: Role) -> Iterator[Split]:
    """Yield the dev part of the bundled sample of each method whose models have a role."""
    for trainer in methods().values():
        if trainer.role == role and trainer.sample and trainer.evaluate is not None:
            yield Split("the bundled sample", ("sample", trainer.name), partial(_compare_sample, trainer))


def _compare_sample(
    trainer: Method, name: str, corpus: str | None, report: ProgressCallback | None
) -> PairedComparison:
    data = read_source(trainer.make_source(trainer.sample_values()), progress=report)
    comparison = compare_with_active(trainer, name, data, progress=report)
    if comparison is None:
        raise JobError(f"expected an active model of the role {trainer.role}, found none to compare with")
    return comparison


def _sentences(file: Path) -> Corpus:
    return read_corpus(file, skip_too_long=True).corpus


def _read_stored(log: TreeLog, tree_ids: Sequence[str]) -> Iterator[ExplanationTree]:
    return (refold(history.tree) for _, history in log.histories(tree_ids))
