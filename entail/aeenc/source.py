"""Sources of training data: gold trees in files, or the decisions of a team in the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from entail.errors import JobError, SettingsError

if TYPE_CHECKING:
    from entail.data.judgements import Judgements
    from entail.data.records import Corpus, ExplanationTree
    from entail.training.distillation.cross_encoder import CrossEncoderTeacher
    from entail.training.distillation.teachers import Teaching

    DecisionReader = Callable[[str], tuple[Corpus, Judgements]]
    """Returns a team's corpus and what it decided over it, by the corpus's name."""

_KEPT = "decisions.json"


@dataclass(frozen=True)
class TrainingData:
    """Data of samplers and trainers of premise retrieval.

    Attributes:
        corpus: The candidates to learn from, extended where that was asked for.
        given: The corpus as it was given, to measure on.
        trees: Gold trees, none with `judgements`.
        judgements: What a team judged, None with `trees`.
        dev: Trees to choose the best weights on.
        teaching: Teachers' vectors or rankings of further sentences, for distillation.
    """

    corpus: Corpus
    given: Corpus
    trees: tuple[ExplanationTree, ...]
    judgements: Judgements | None
    dev: tuple[ExplanationTree, ...]
    teaching: Teaching | CrossEncoderTeacher | None = None


@dataclass(frozen=True, kw_only=True)
class TreeSource:
    """Gold trees and a corpus in files, or what a team accepted and rejected on one of its corpora.

    Raises:
        SettingsError: If it is not said what to learn from, or said twice.
    """

    from_log: Annotated[str | None, "Instead of trees: the decisions in the app on this corpus"] = None
    corpus: Annotated[Path | None, "Premises: txt, csv, jsonl or json; may be gzipped"] = None
    trees: Annotated[Path | None, "Gold trees: EntailmentBank JSONL; may be gzipped"] = None
    dev: Annotated[
        Path | None, "Dev trees that select the weights (MAP) and compare with the active encoder"
    ] = None
    extend: Annotated[
        bool | None,
        "Add judged sentences that are not in the corpus; default: with from_log",
    ] = None
    limit: Annotated[int | None, "Maximum number of trees"] = None

    def __post_init__(self) -> None:
        """Check that one thing is learnt from."""
        if (self.trees is None) == (self.from_log is None):
            raise SettingsError("expected either --trees FILE or --from-log CORPUS; give one of them")
        if self.trees is not None and self.corpus is None:
            raise SettingsError("expected --corpus FILE beside --trees; give the premises")
        if self.limit is not None and self.limit < 1:
            raise SettingsError(f"limit: expected at least 1, found {self.limit}")

    def read(self, *, keep: Path | None = None, decisions: DecisionReader | None = None) -> TrainingData:
        """Return the data; a team's decisions as they were when they were first read.

        Args:
            keep: Folder of the job, where decisions are stored at the first read and read from afterwards.
            decisions: Reader of a corpus and its judgements, by the corpus's name; `from_log` needs one
                (`entail.trees.review.decisions.read_source` passes it).

        Raises:
            SettingsError: If `from_log` is given and `decisions` is not.
            EntailError: If a file or the database cannot be read.
        """
        if self.from_log is not None and keep is not None and (keep / _KEPT).exists():
            return _thaw(keep / _KEPT, dev=self.dev)
        data = training_data(
            corpus=self.corpus,
            trees=self.trees,
            from_log=self.from_log,
            dev=self.dev,
            limit=self.limit,
            extend=self.extend,
            decisions=decisions,
        )
        if self.from_log is not None and keep is not None:
            _freeze(keep / _KEPT, data)
        return data

    def __str__(self) -> str:
        if self.from_log is not None:
            return f"the decisions on {self.from_log}"
        first = f"the first {self.limit:,} trees of " if self.limit else ""
        return f"{first}{Path(str(self.trees)).name} over {Path(str(self.corpus)).name}"


def training_data(
    *,
    corpus: Path | None,
    trees: Path | None,
    from_log: str | None,
    dev: Path | None = None,
    limit: int | None = None,
    extend: bool | None = None,
    decisions: DecisionReader | None = None,
) -> TrainingData:
    """Read what to learn from.

    Args:
        corpus: File of premises; with `from_log` instead of the team's corpus.
        trees: File of gold trees.
        from_log: Name of the team's corpus, whose decisions are learnt from.
        dev: File of trees to choose on.
        limit: Take the first trees only.
        extend: Add judged sentences that the corpus lacks (`training_corpus`); default: with `from_log`, in
            whose corpus no conclusion and no statement of an author stands.
        decisions: Reader of a corpus and its judgements, by the corpus's name; `from_log` needs one.

    Raises:
        SettingsError: If it is not said what to learn from, or said twice.
        EntailError: If a file or the database cannot be read.
    """
    from entail.aeenc.pairs import training_corpus
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees

    TreeSource(corpus=corpus, trees=trees, from_log=from_log)
    chosen = tuple(read_trees(dev)) if dev else ()
    if from_log is not None:
        if decisions is None:
            raise SettingsError(
                f"expected a reader of decisions beside from_log={from_log!r}, found none; "
                "call entail.trees.review.decisions.read_source"
            )
        stored, judgements = decisions(from_log)
        premises = read_corpus(corpus).corpus if corpus else stored
        whole = premises if extend is False else training_corpus(premises, judgements=judgements)
        return TrainingData(whole, premises, (), judgements, chosen)
    assert corpus is not None
    assert trees is not None
    premises, gold = read_corpus(corpus).corpus, tuple(read_trees(trees))[:limit]
    whole = training_corpus(premises, trees=gold) if extend else premises
    return TrainingData(whole, premises, gold, None, chosen)


def _freeze(file: Path, data: TrainingData) -> None:
    from entail.data.writing import write_text

    said = data.judgements
    assert said is not None
    plain = {
        **{
            name: {"name": corpus.name, "texts": corpus.texts}
            for name, corpus in (("corpus", data.corpus), ("given", data.given))
        },
        "accepted": {query: list(premises) for query, premises in said.accepted.items()},
        "rejected": {query: list(premises) for query, premises in said.rejected.items()},
        "contradictions": said.contradictions,
        "roots": said.roots,
    }
    write_text(file, json.dumps(plain, ensure_ascii=False))


def _thaw(file: Path, *, dev: Path | None) -> TrainingData:
    from entail.data.entailment_bank.trees import read_trees
    from entail.data.judgements import Judgements
    from entail.data.records import Corpus

    def judged(side: Mapping[str, list[str]]) -> dict[str, dict[str, None]]:
        return {query: dict.fromkeys(premises) for query, premises in side.items()}

    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        corpus, given = (Corpus.of(told[name]["name"], told[name]["texts"]) for name in ("corpus", "given"))
        said = Judgements(
            accepted=judged(told["accepted"]),
            rejected=judged(told["rejected"]),
            contradictions=tuple((query, premise) for query, premise in told["contradictions"]),
            roots=tuple(told["roots"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JobError(
            f"the decisions that this job kept cannot be read ({error}); submit it again"
        ) from error
    return TrainingData(corpus, given, (), said, tuple(read_trees(dev)) if dev else ())
