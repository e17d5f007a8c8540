"""Two retrievers over one corpus, with all that is known of what explains what in it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import streamlit as st

from entail.data.judgements import Judgements
from entail.data.records import Corpus
from entail.data.text import fold
from entail.evaluation.comparison import Comparison, compare
from entail.index.protocol import PremiseIndex
from entail.trees.corpus_versions import CorpusInfo
from entail.ui.authoring import draw_progress
from entail.ui.resources import Workspace, gold, retriever_label, shelf, workspace


@dataclass(frozen=True)
class Pair:
    """What a comparison is made of.

    Attributes:
        corpus: The candidates.
        indexes: The retrievers, left and right.
        known: Folded text of a parent -> its gold premises, by folded text.
        judgements: What authors accepted and rejected.
    """

    corpus: Corpus
    indexes: tuple[PremiseIndex, PremiseIndex]
    known: Mapping[str, Mapping[str, str]]
    judgements: Judgements

    @property
    def labels(self) -> tuple[str, str]:
        """What a person calls the two, as in the lists."""
        return retriever_label(self.indexes[0].name), retriever_label(self.indexes[1].name)

    @property
    def names(self) -> tuple[str, str]:
        """The same in one word, for sentences."""
        return self.labels[0].partition(" (")[0], self.labels[1].partition(" (")[0]

    @property
    def place(self) -> Hashable:
        """What everything computed from the two depends on: both encoders, and the corpus."""
        return tuple((index.name, index.manifest.revision) for index in self.indexes), self.corpus.hash

    def compare(self, query: str, *, k: int, gold: Mapping[str, str] | None = None) -> Comparison:
        """Compare the two on one query, with `gold` (folded -> raw) or else what example trees say."""
        asked = fold(query)
        decisions = dict.fromkeys(self.judgements.rejected.get(asked, ()), False)
        decisions |= dict.fromkeys(self.judgements.accepted.get(asked, ()), True)
        return compare(
            query,
            self.corpus,
            self.indexes,
            k=k,
            gold=self.known.get(asked, {}) if gold is None else gold,
            decisions=decisions,
        )


def take_pair(shared: Workspace, corpus: Corpus, info: CorpusInfo, left: str, right: str) -> Pair | None:
    """Return the two retrievers over a corpus; draw how far they are, and return None, while one is made."""
    works = [shelf().take(name, corpus) for name in (left, right)]
    for work in works:
        if work.value is None:
            draw_progress(work)
            st.caption("Each sentence is encoded once and kept.")
            return None
    first, second = (work.value for work in works)
    assert first is not None
    assert second is not None
    return Pair(corpus, (first, second), gold(info.id), decided(shared, info.id))


def decided(shared: Workspace, corpus_id: str) -> Judgements:
    """Return what the team's trees over a corpus accept and reject, as they are now."""
    trees = [
        (tree.id, tree.seq, archived)
        for archived in (False, True)
        for tree in shared.log.trees(corpus_id=corpus_id, archived=archived)
        if not tree.example
    ]
    return _decided(corpus_id, tuple(trees))


@st.cache_resource(show_spinner=False, max_entries=8)
def _decided(corpus_id: str, trees: tuple[tuple[str, int, bool], ...]) -> Judgements:
    # `trees` is the key: a tree that went on is read again.
    from entail.trees.decisions import judgements_of

    return judgements_of(workspace().log, corpus_id=corpus_id)
