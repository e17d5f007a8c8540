"""What is compared: how, over which corpus, which two retrievers, how deep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from entail.trees.corpus_versions import CorpusInfo
from entail.ui.compare_link import begin
from entail.ui.resources import retriever_label, retrievers
from entail.ui.words import label

QUERY, TREE, SPLIT, BIAS, TOUR = "query", "tree", "split", "bias", "tour"
MODES = {
    TOUR: "Tour",
    QUERY: "A claim",
    TREE: "A tree",
    SPLIT: "Many trees",
    BIAS: "Similarity bias",
}
DEPTHS = (10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the fields at the top say.

    Attributes:
        mode: One of `MODES`.
        corpus: Where premises are looked for.
        left: Name of the first retriever.
        right: Name of the second.
        depth: How many of each are compared on one query.
    """

    mode: str
    corpus: CorpusInfo
    left: str
    right: str
    depth: int


def usual_pair(names: Sequence[str], debiased: Sequence[str] = ()) -> tuple[str, str]:
    """Return the two that are compared at first: what there was before, then what is better.

    >>> usual_pair(["minilm", "bm25", "tfidf"])
    ('tfidf', 'minilm')
    >>> usual_pair(["minilm", "tfidf", "aeenc-minilm"], ["aeenc-minilm"])
    ('minilm', 'aeenc-minilm')
    """
    trained = [name for name in debiased if name in names]
    if "minilm" not in names:
        return names[0], names[-1]
    return ("minilm", trained[0]) if trained else ("tfidf", "minilm")


def pick(corpora: Sequence[CorpusInfo]) -> Choice:
    """Draw the fields and return what they say; there is one corpus at least."""
    names = retrievers()
    mode = st.segmented_control(
        "Compare over",
        list(MODES),
        format_func=MODES.__getitem__,
        key=begin("mode", list(MODES), QUERY),
        required=True,
        label_visibility="collapsed",
    )
    ids = {corpus.id: corpus for corpus in corpora}
    usual = max(corpora, key=lambda corpus: corpus.count).id
    left, right = usual_pair(names, _debiased())
    top = st.columns([3, 2, 2, 1])
    corpus = top[0].selectbox(
        "Corpus",
        list(ids),
        format_func=lambda id: f"{ids[id].name} ({ids[id].count:,} facts)",
        key=begin("corpus", list(ids), usual),
    )
    first = top[1].selectbox("Left", names, key=begin("left", names, left), format_func=retriever_label)
    second = top[2].selectbox("Right", names, key=begin("right", names, right), format_func=retriever_label)
    depth = top[3].selectbox("Depth", DEPTHS, key=begin("depth", DEPTHS, 20))
    if first == second:
        st.info(f"Both sides are {label(retriever_label(first))}: choose another one on either.")
    return Choice(mode or QUERY, ids[corpus], first, second, depth)


def _debiased() -> list[str]:
    from entail.encoders.catalogue import catalogue

    return [entry.name for entry in catalogue() if entry.problem is None and "aeenc" in entry.method.lower()]
