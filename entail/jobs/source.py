"""What a training reads: gold trees in files, or the decisions of a team in the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from entail.errors import CorpusError, JobError, SettingsError

if TYPE_CHECKING:
    from entail.data.judgements import Judgements
    from entail.data.records import Corpus, ExplanationTree

_KEPT = "decisions.json"


class Source(Protocol):
    """What a method's data dataclass must offer beside its fields (see `entail.jobs.fields`).

    One that takes names of what is fetched in the place of files says so by two more: `is_elsewhere` tells
    such a name from a file (see `entail.jobs.given`), and `named` makes a field's value of one that a person
    typed, or says what is expected.
    """

    def read(self, *, keep: Path | None = None) -> Any:  # noqa: ANN401 - the method's own
        """Return what the method trains on.

        Args:
            keep: Folder of the job. What may change while the job waits or is interrupted is kept there the
                first time and read from there afterwards, so that a resumed training goes on with the same.
        """
        ...


@dataclass(frozen=True)
class TrainingData:
    """What samplers and trainers of premise retrieval read.

    Attributes:
        corpus: The candidates to learn from, extended where that was asked for.
        given: The corpus as it was given, to measure on.
        trees: Gold trees, none with `judgements`.
        judgements: What a team judged, None with `trees`.
        dev: Trees to choose the best weights on.
    """

    corpus: Corpus
    given: Corpus
    trees: tuple[ExplanationTree, ...]
    judgements: Judgements | None
    dev: tuple[ExplanationTree, ...]


@dataclass(frozen=True, kw_only=True)
class TreeSource:
    """Gold trees and a corpus in files, or what a team accepted and rejected on one of its corpora.

    Raises:
        SettingsError: If it is not said what to learn from, or said twice.
    """

    from_log: Annotated[
        str | None, "instead of trees: what was accepted and rejected in the app; the corpus's name"
    ] = None
    corpus: Annotated[Path | None, "premises: txt, csv, jsonl or json, may be gzipped"] = None
    trees: Annotated[Path | None, "gold trees: EntailmentBank JSONL, may be gzipped"] = None
    dev: Annotated[
        Path | None, "trees to choose the best weights on (MAP), and to compare with the active encoder on"
    ] = None
    extend: Annotated[
        bool | None,
        "judged sentences that are not in the corpus take part, too; default: with from_log",
    ] = None
    limit: Annotated[int | None, "take only the first trees"] = None

    def __post_init__(self) -> None:
        """Check that one thing is learnt from."""
        if (self.trees is None) == (self.from_log is None):
            raise SettingsError("expected either --trees FILE or --from-log CORPUS; give one of them")
        if self.trees is not None and self.corpus is None:
            raise SettingsError("expected --corpus FILE beside --trees; give the premises")
        if self.limit is not None and self.limit < 1:
            raise SettingsError(f"limit: expected at least 1, found {self.limit}")

    def read(self, *, keep: Path | None = None) -> TrainingData:
        """Return the data; a team's decisions as they were when they were read first.

        Raises:
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

    Raises:
        SettingsError: If it is not said what to learn from, or said twice.
        EntailError: If a file or the database cannot be read.
    """
    from entail.aeenc.pairs import training_corpus
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank import read_trees

    TreeSource(corpus=corpus, trees=trees, from_log=from_log)
    chosen = tuple(read_trees(dev)) if dev else ()
    if from_log is not None:
        from entail.trees.corpora import CorpusStore
        from entail.trees.database import open_database
        from entail.trees.decisions import judgements_of
        from entail.trees.log import TreeLog

        database = open_database()
        store = CorpusStore(database)
        info = next((info for info in store.corpora() if from_log in (info.name, info.id)), None)
        if info is None:
            known = ", ".join(info.name for info in store.corpora()) or "none"
            raise CorpusError(f"no corpus is called {from_log!r}; here are: {known}")
        premises = read_corpus(corpus).corpus if corpus else store.corpus(info.id)
        judgements = judgements_of(TreeLog(database), corpus_id=info.id)
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
    from entail.data.entailment_bank import read_trees
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
