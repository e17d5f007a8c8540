"""Training data of AE-Enc: reference trees in files, or the decisions of a team in the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from entail.errors import JobError, SettingsError
from entail.statistics.votes import Merging
from entail.training.fields import check_values

if TYPE_CHECKING:
    from entail.data.judgements import Judgements
    from entail.data.records import Corpus, ExplanationTree

    Premises = Mapping[str, Iterable[str]]
    Decisions = tuple[Corpus, Judgements, Premises]
    DecisionReader = Callable[[str, Merging, int | None], Decisions]
    """Name of a team's corpus, `votes`, `hold_out` -> the corpus, the judgements, and sentence -> premises of
    reviewed trees that are held out."""

SAMPLE = {"corpus": "premises.jsonl.gz", "trees": "trees.jsonl.gz", "hold_out": 10}
"""Values of a `TreeSource` for the bundled sample."""

_SNAPSHOT = "decisions.json"


@dataclass(frozen=True)
class TrainingData:
    """Gold trees, or judgements of a team, over a corpus that may be extended; `original` is for evaluation.

    `dev` trees select the weights. `names` are those of known data sets, for the card.
    """

    corpus: Corpus
    original: Corpus
    trees: tuple[ExplanationTree, ...]
    judgements: Judgements | None
    dev: tuple[ExplanationTree, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TreeSource:
    """Reference trees and a corpus in files, or the decisions of a team on one of its corpora.

    Raises:
        SettingsError: If not exactly one of both is given.
    """

    from_log: Annotated[str | None, "Instead of trees: the decisions in the app on this corpus"] = None
    corpus: Annotated[Path | None, "Premises: txt, csv, tsv, xlsx, jsonl or json; may be gzipped"] = None
    encoding: Annotated[str | None, "Encoding of the corpus: cp1252, cp932 (Shift-JIS) ..."] = None
    column: Annotated[str | None, "Column of the corpus that holds the texts"] = None
    trees: Annotated[Path | None, "Reference trees: EntailmentBank JSONL; may be gzipped"] = None
    dev: Annotated[
        Path | None, "Dev trees that select the weights (MAP) and compare with the active encoder"
    ] = None
    extend: Annotated[
        bool | None,
        "Add judged sentences that are not in the corpus; default: with from_log",
    ] = None
    hold_out: Annotated[
        int | None,
        Ge(2),
        "Without dev trees: every n-th of the trees is one, and is not trained on; with from_log every n-th "
        "of those that a reviewer accepted",
    ] = None
    votes: Annotated[
        Merging,
        "Decisions on which annotators differ: agree leaves them out, majority decides as most did, weighted "
        "trusts each annotator as far as the others agree",
    ] = "agree"

    def __post_init__(self) -> None:
        if (self.trees is None) == (self.from_log is None):
            raise SettingsError("expected either --trees FILE or --from-log CORPUS; give one of them")
        if self.trees is not None and self.corpus is None:
            raise SettingsError("expected --corpus FILE with --trees; give the premises")
        check_values(self, SettingsError)

    def read(self, *, keep: Path | None = None, decisions: DecisionReader | None = None) -> TrainingData:
        """Return the data; a team's decisions are those that the folder `keep` of the job has, if any.

        Raises:
            SettingsError: If `from_log` is given without `decisions`, which
                `entail.trees.review.decisions.read_source` passes.
            EntailError: If a file or the database cannot be read.
        """
        from entail.aeenc.pairs import training_corpus
        from entail.data.bundled import sample_dir
        from entail.data.entailment_bank.trees import read_trees
        from entail.training.cards.sources import TEAM

        dev = tuple(read_trees(self.dev, name=self.dev.name)) if self.dev else ()
        if self.from_log is None:
            assert self.corpus is not None
            assert self.trees is not None
            original = self._read_corpus(self.corpus)
            trees = tuple(read_trees(self.trees, name=self.trees.name))
            if self.hold_out is not None and not dev:
                trees, dev = hold_out(trees, every=self.hold_out)
            corpus = training_corpus(original, trees=trees) if self.extend else original
            is_sample = self.trees.absolute() == sample_dir() / "trees.jsonl.gz"
            names = ("entailment_bank",) if is_sample else ()
            return TrainingData(corpus, original, trees, None, dev, names=names)
        if keep is not None and (keep / _SNAPSHOT).exists():
            return _read_snapshot(keep / _SNAPSHOT, dev)
        if decisions is None:
            raise SettingsError(
                f"expected a reader of decisions with from_log={self.from_log!r}, found none; "
                "call entail.trees.review.decisions.read_source"
            )
        stored, judgements, reviewed = decisions(self.from_log, self.votes, None if dev else self.hold_out)
        original = self._read_corpus(self.corpus) if self.corpus else stored
        corpus = original if self.extend is False else training_corpus(original, judgements=judgements)
        if keep is not None:
            _write_snapshot(keep / _SNAPSHOT, corpus, original, judgements, reviewed)
        return TrainingData(corpus, original, (), judgements, dev or _flat_trees(reviewed), names=(TEAM,))

    def _read_corpus(self, file: Path) -> Corpus:
        from entail.data.corpora import read_corpus

        return read_corpus(file, column=self.column, encoding=self.encoding).corpus

    def __str__(self) -> str:
        if self.from_log is not None:
            return f"the decisions on {self.from_log}"
        return f"{Path(str(self.trees)).name} over {Path(str(self.corpus)).name}"


def hold_out(
    trees: Sequence[ExplanationTree], *, every: int
) -> tuple[tuple[ExplanationTree, ...], tuple[ExplanationTree, ...]]:
    """Return the trees to train on and every n-th one; trees of one hypothesis stay together."""
    from entail.data.text import fold

    hypotheses = dict.fromkeys(fold(tree.hypothesis) for tree in trees)
    holdout = set(list(hypotheses)[every - 1 :: every])
    training, dev = (
        tuple(tree for tree in trees if (fold(tree.hypothesis) in holdout) == is_held)
        for is_held in (False, True)
    )
    return training, dev


def _flat_trees(premises: Premises) -> tuple[ExplanationTree, ...]:
    """Return a tree for each sentence that has premises."""
    from entail.data.records import ExplanationTree

    trees = (ExplanationTree.of_premises(sentence, sentence, own) for sentence, own in premises.items())
    return tuple(tree for tree in trees if tree.steps)


def decision_halves(data: TrainingData) -> tuple[tuple[TrainingData, TrainingData], ...]:
    """Return the decisions on either half of the sentences, with the other half as dev trees.

    For cross-validation: a training on one half is measured on the other. Sentences stay together where one
    was accepted as a premise of the other, as in a tree. None are returned for gold trees, for data with dev
    trees, and for too few sentences to measure (`FEW`).
    """
    from entail.evaluation.retrieval.paired import FEW

    judgements, corpus = data.judgements, data.original
    if judgements is None or data.dev:
        return ()
    groups: dict[str, set[str]] = {}
    for sentence, premises in judgements.accepted.items():
        linked = [sentence, *(premise for premise in premises if premise in judgements.accepted)]
        group = set(linked).union(*(groups.get(member, ()) for member in linked))
        groups.update(dict.fromkeys(group, group))
    first: set[str] = set()
    second: set[str] = set()
    for group in {id(group): group for group in groups.values()}.values():
        (first if len(first) <= len(second) else second).update(group)
    halves = []
    for trained, measured in ((first, second), (second, first)):
        dev = _flat_trees(
            {
                sentence: (
                    corpus.texts[at] for premise in own if (at := corpus.position(premise)) is not None
                )
                for sentence, own in judgements.accepted.items()
                if sentence in measured
            }
        )
        accepted, rejected = (
            {sentence: premises for sentence, premises in side.items() if sentence in trained}
            for side in (judgements.accepted, judgements.rejected)
        )
        roots = tuple(root for root in judgements.roots if root in trained)
        part = replace(judgements, accepted=accepted, rejected=rejected, contradictions=(), roots=roots)
        halves.append((replace(data, judgements=part), replace(data, judgements=None, dev=dev)))
    counts = [len(measured.dev) for _, measured in halves]
    return tuple(halves) if min(counts) and sum(counts) >= FEW else ()


@dataclass(frozen=True)
class _Texts:
    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Snapshot:
    """Decisions as stored with a job: sentence -> premises."""

    corpus: _Texts
    given: _Texts
    accepted: Mapping[str, tuple[str, ...]]
    rejected: Mapping[str, tuple[str, ...]]
    contradictions: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    reviewed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _write_snapshot(
    file: Path,
    corpus: Corpus,
    original: Corpus,
    judgements: Judgements,
    reviewed: Premises,
) -> None:
    from entail.data.writing import write_text

    record = {
        "corpus": {"name": corpus.name, "texts": list(corpus.texts)},
        "given": {"name": original.name, "texts": list(original.texts)},
        "accepted": {query: list(premises) for query, premises in judgements.accepted.items()},
        "rejected": {query: list(premises) for query, premises in judgements.rejected.items()},
        "contradictions": judgements.contradictions,
        "roots": judgements.roots,
        "weights": judgements.weights,
        "reviewed": {sentence: list(premises) for sentence, premises in reviewed.items()},
    }
    write_text(file, json.dumps(record, ensure_ascii=False))


def _read_snapshot(file: Path, dev: tuple[ExplanationTree, ...]) -> TrainingData:
    from entail.data.judgements import Judgements
    from entail.data.reading import MAX_BYTES
    from entail.data.records import Corpus
    from entail.data.stored import read_json
    from entail.training.cards.sources import TEAM

    # As large as its corpora, which may have been uploaded.
    record = read_json(
        file, _Snapshot, error=JobError, remedy="submit the job again", max_bytes=3 * MAX_BYTES
    )
    if record is None:
        raise JobError("the stored decisions of this job are missing; submit it again")
    accepted, rejected = (
        {query: dict.fromkeys(premises) for query, premises in side.items()}
        for side in (record.accepted, record.rejected)
    )
    judgements = Judgements(
        accepted=accepted,
        rejected=rejected,
        contradictions=record.contradictions,
        roots=record.roots,
        weights=record.weights,
    )
    corpus, original = (Corpus.of(part.name, part.texts) for part in (record.corpus, record.given))
    dev = dev or _flat_trees(record.reviewed)
    return TrainingData(corpus, original, (), judgements, dev, names=(TEAM,))
