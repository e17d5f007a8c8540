"""What sampling and training read: gold files, or the decisions of a team in the database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from entail.errors import CorpusError, SettingsError

if TYPE_CHECKING:
    from entail.data.judgements import Judgements
    from entail.data.records import Corpus, ExplanationTree


@dataclass(frozen=True)
class TrainingData:
    """What samplers and trainers read.

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

    chosen = tuple(read_trees(dev)) if dev else ()
    if (trees is None) == (from_log is None):
        raise SettingsError("expected either --trees FILE or --from-log CORPUS; give one of them")
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
    if corpus is None:
        raise SettingsError("expected --corpus FILE beside --trees; give the premises")
    assert trees is not None
    premises, gold = read_corpus(corpus).corpus, tuple(read_trees(trees))[:limit]
    whole = training_corpus(premises, trees=gold) if extend else premises
    return TrainingData(whole, premises, gold, None, chosen)
