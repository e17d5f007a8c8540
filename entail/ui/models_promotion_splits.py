"""On what a candidate can be compared with the active encoder: a job's own trees, a corpus's, a file's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from entail.errors import EntailError, JobError
from entail.evaluation.measured import Beside
from entail.jobs.candidates import Candidate, compare_anew, compare_on
from entail.progress import ProgressCallback
from entail.trees.corpus_versions import CorpusInfo
from entail.ui.compare_source import splits_dir, stored_trees
from entail.ui.resources import Workspace, jobs

_ENDINGS = (".jsonl", ".jsonl.gz")
_FEWEST = 3


@dataclass(frozen=True)
class Split:
    """Trees that two encoders can be compared on.

    Attributes:
        name: For people.
        stamp: Changes when the trees do.
        compare: Measures an encoder, by name, beside the one that is active for a corpus.
    """

    name: str
    stamp: Hashable
    compare: Callable[[str, str | None, ProgressCallback], Beside]


def splits(shared: Workspace, candidate: Candidate | None, corpus: CorpusInfo) -> list[Split]:
    """Return what there is to compare on, the most telling first.

    Args:
        shared: The stores.
        candidate: The job that made the encoder, where one did.
        corpus: Where premises are looked for.
    """
    found: list[Split] = []
    dev = candidate.job.spec.source.get("dev") if candidate is not None else None
    if candidate is not None and dev:
        found.append(_of_job(candidate, str(dev)))
    folder = splits_dir()
    files = sorted(file for file in folder.glob("*") if file.is_file()) if folder.is_dir() else []
    found += [
        _of_file(shared, corpus if over else None, file.name, file.stat().st_mtime_ns)
        for file in files
        if file.name.endswith(_ENDINGS)
        for over in (True, False)
    ]
    for kind, example in (("your team's trees", False), ("the example trees", True)):
        trees = tuple(
            (tree.id, tree.seq)
            for tree in shared.log.trees(corpus_id=corpus.id)
            if tree.example == example and tree.steps
        )
        if len(trees) >= _FEWEST:
            found.append(_of_trees(shared, corpus, f"{kind} ({len(trees):,}) over {corpus.name}", trees))
    return found


def _of_job(candidate: Candidate, dev: str) -> Split:
    job = candidate.job.id

    def compare(_: str, corpus: str | None, report: ProgressCallback) -> Beside:
        found = compare_anew(jobs(), job, corpus=corpus, progress=report)
        if found is None:
            raise JobError("expected trees to compare encoders on, found none with this job")
        return found

    name = dev.replace("\\", "/").rpartition("/")[2]
    return Split(f"the trees that its training kept apart ({name})", ("job", job), compare)


def _of_file(shared: Workspace, info: CorpusInfo | None, name: str, changed: int) -> Split:
    """Return the trees of a file, over a corpus or over the file's own sentences."""

    def compare(encoder: str, corpus: str | None, report: ProgressCallback) -> Beside:
        from entail.data.corpora import read_corpus
        from entail.data.entailment_bank import read_trees

        file = splits_dir() / name
        try:
            trees = tuple(read_trees(file))
            premises = (
                read_corpus(file, skip_too_long=True).corpus
                if info is None
                else shared.corpora.corpus(info.id, version=info.version)
            )
        except OSError as error:
            raise JobError(f"{name} cannot be read: {error.strerror}") from error
        return compare_on(encoder, premises, trees, corpus=corpus, progress=report)

    over = f"over {info.name}" if info is not None else "over its own sentences"
    return Split(f"{name} {over}", ("file", name, changed, info and (info.id, info.version)), compare)


def _of_trees(shared: Workspace, info: CorpusInfo, name: str, trees: tuple[tuple[str, int], ...]) -> Split:
    def compare(encoder: str, corpus: str | None, report: ProgressCallback) -> Beside:
        premises = shared.corpora.corpus(info.id, version=info.version)
        return compare_on(encoder, premises, stored_trees(trees), corpus=corpus, progress=report)

    return Split(name, ("trees", trees, info.id, info.version), compare)


def candidate_of(name: str) -> Candidate | None:
    """Return the job that made an encoder, None where none did, or jobs cannot be read."""
    from entail.jobs.candidates import candidate_called

    try:
        return candidate_called(jobs(), name)
    except EntailError:
        return None
