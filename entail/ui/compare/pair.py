"""Two retrievers over one corpus, with reference premises and authors' decisions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.catalogue import seen_by
from entail.evaluation.retrieval.comparison import Comparison, compare
from entail.index.protocol import PremiseIndex
from entail.trees.store.corpus_versions import CorpusInfo
from entail.ui.shared.resources import Workspace, model_cache, reference_premises, retriever_label, workspace
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_progress


@dataclass(frozen=True)
class Pair:
    """Two retrievers to compare.

    Attributes:
        corpus: The candidates.
        indexes: The retrievers, left and right.
        known: Folded text of a parent -> its reference premises, by folded text.
        judgements: Premises that authors accepted and rejected.
    """

    corpus: Corpus
    indexes: tuple[PremiseIndex, PremiseIndex]
    known: Mapping[str, Mapping[str, str]]
    judgements: Judgements

    @property
    def labels(self) -> tuple[str, str]:
        """Display names of the two."""
        return retriever_label(self.indexes[0].name), retriever_label(self.indexes[1].name)

    @property
    def names(self) -> tuple[str, str]:
        """Short display names, for sentences."""
        return self.labels[0].partition(" (")[0], self.labels[1].partition(" (")[0]

    @property
    def key(self) -> Hashable:
        """Cache key of a comparison: both revisions and the corpus."""
        return tuple((index.name, index.manifest.revision) for index in self.indexes), self.corpus.hash

    def compare(self, query: str, *, k: int, gold: Mapping[str, str] | None = None) -> Comparison:
        """Compare the two on one query.

        Args:
            query: The query.
            k: Depth of the comparison.
            gold: Gold premises, folded text -> text; by default those of the example trees.
        """
        text = fold(query)
        decisions = dict.fromkeys(self.judgements.rejected.get(text, ()), False)
        decisions |= dict.fromkeys(self.judgements.accepted.get(text, ()), True)
        return compare(
            query,
            self.corpus,
            self.indexes,
            k=k,
            gold=self.known.get(text, {}) if gold is None else gold,
            decisions=decisions,
        )


def take_pair(shared: Workspace, corpus: Corpus, info: CorpusInfo, left: str, right: str) -> Pair | None:
    """Return the two retrievers over a corpus; draw the progress and return None while one is built."""
    tasks = [model_cache().get_or_start(name, corpus) for name in (left, right)]
    for task in tasks:
        if task.value is None:
            draw_progress(task)
            st.caption("Premise vectors are computed once and cached.")
            return None
    first, second = (task.value for task in tasks)
    assert first is not None
    assert second is not None
    return Pair(corpus, (first, second), reference_premises(info.id), _judgements(shared, info.id))


def _judgements(shared: Workspace, corpus_id: str) -> Judgements:
    """Return the current decisions of the team's trees over a corpus."""
    trees = [
        (tree.id, tree.seq, archived)
        for archived in (False, True)
        for tree in shared.log.trees(corpus_id=corpus_id, archived=archived)
        if not tree.example
    ]
    return _read_judgements(corpus_id, tuple(trees))


@st.cache_resource(show_spinner=False, max_entries=8)
def _read_judgements(corpus_id: str, trees: tuple[tuple[str, int, bool], ...]) -> Judgements:
    # `trees` is part of the key: a changed tree is read again.
    from entail.trees.review.decisions import judgements_of

    return judgements_of(workspace().log, corpus_id=corpus_id)


def draw_training_notice(queries: Sequence[str], names: Iterable[str]) -> None:
    """Warn for each retriever that was trained on some of the queries."""
    for name in names:
        if seen := len(seen_by(name, queries)):
            subject = (
                "Training example"
                if len(queries) == 1
                else f"Training examples: {seen:,} of {len(queries):,} claims"
            )
            st.caption(f":material/school: {label(retriever_label(name))}: {subject}; scores are optimistic.")
