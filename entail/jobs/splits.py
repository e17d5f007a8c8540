"""Splits: gold trees on which a trained encoder is compared with the active one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from entail.data.records import Corpus, ExplanationTree
from entail.errors import JobError
from entail.evaluation.retrieval.paired import PairedComparison
from entail.jobs.candidates import Candidate, compare_anew, compare_on
from entail.jobs.jobs import Jobs
from entail.progress import ProgressCallback
from entail.settings import load_settings
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.corpus_versions import CorpusInfo

_SUFFIXES = (".jsonl", ".jsonl.gz")
_MIN_TREES = 3

_Trees = tuple[Corpus, Sequence[ExplanationTree]]


@dataclass(frozen=True)
class Split:
    """Trees to compare two encoders on.

    Attributes:
        name: Name on the page.
        stamp: Cache key that changes with the trees.
        compare: Compares an encoder, by name, with the one that is active for a corpus.
    """

    name: str
    stamp: Hashable
    compare: Callable[[str, str | None, ProgressCallback], PairedComparison]


def list_splits(
    jobs: Jobs, log: TreeLog, corpora: CorpusStore, info: CorpusInfo, candidate: Candidate | None
) -> list[Split]:
    """Return the splits to compare an encoder on, the most informative first.

    These are the dev trees of its training, the files in `splits` of the data folder, and stored trees.

    Args:
        jobs: The installation's jobs.
        log: Stored trees.
        corpora: Stored corpora.
        info: Corpus of the premises.
        candidate: Candidate of the job that trained the encoder, if any.
    """
    splits: list[Split] = []
    dev = candidate.job.spec.source.get("dev") if candidate is not None else None
    if candidate is not None and dev:
        job, file_name = candidate.job.id, str(dev).replace("\\", "/").rpartition("/")[2]
        name = f"dev trees of its training ({file_name})"
        splits.append(Split(name, ("job", job), partial(_compare_job, jobs, job)))
    premises = partial(corpora.corpus, info.id, version=info.version)
    version = (info.id, info.version)
    for file in sorted((load_settings().data_dir / "splits").glob("*")):
        if file.is_file() and file.name.endswith(_SUFFIXES):
            stamp = ("file", file.name, file.stat().st_mtime_ns)
            ours, own = partial(_read_file, file, premises), partial(_read_file, file, None)
            splits += [
                Split(f"{file.name} over {info.name}", (*stamp, version), partial(_compare, ours)),
                Split(f"{file.name} over its own sentences", (*stamp, None), partial(_compare, own)),
            ]
    for kind, example in (("your team's trees", False), ("example trees", True)):
        trees = tuple(
            (tree.id, tree.seq)
            for tree in log.trees(corpus_id=info.id)
            if tree.example == example and tree.steps
        )
        if len(trees) >= _MIN_TREES:
            read = partial(_read_stored, log, [tree_id for tree_id, _ in trees], premises)
            name = f"{kind} ({len(trees):,}) over {info.name}"
            splits.append(Split(name, ("trees", trees, *version), partial(_compare, read)))
    return splits


def _compare_job(
    jobs: Jobs, job: str, _: str, corpus: str | None, report: ProgressCallback
) -> PairedComparison:
    comparison = compare_anew(jobs, job, corpus=corpus, progress=report)
    if comparison is None:
        raise JobError("expected dev trees in this job, found none; compare on another split")
    return comparison


def _compare(
    read: Callable[[], _Trees], encoder: str, corpus: str | None, report: ProgressCallback
) -> PairedComparison:
    premises, trees = read()
    return compare_on(encoder, premises, trees, corpus=corpus, progress=report)


def _read_file(file: Path, premises: Callable[[], Corpus] | None) -> _Trees:
    """Return the trees of a file over these premises, or over the file's own sentences."""
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees

    try:
        trees = tuple(read_trees(file))
        return premises() if premises is not None else read_corpus(file, skip_too_long=True).corpus, trees
    except OSError as error:
        raise JobError(f"{file.name} cannot be read: {error.strerror}") from error


def _read_stored(log: TreeLog, tree_ids: Sequence[str], premises: Callable[[], Corpus]) -> _Trees:
    from entail.trees.formats.entailment_bank import refold

    return premises(), tuple(refold(log.history(tree_id).tree) for tree_id in tree_ids)
