"""Fields at the top of the Compare page, and their link: mode, corpus, two retrievers, depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from entail.trees.store.corpus_versions import CorpusInfo
from entail.ui.shared.link import Link
from entail.ui.shared.resources import retriever_label, retrievers
from entail.ui.shared.text import label

QUERY, TREE, SPLIT, BIAS, TOUR = "query", "tree", "split", "bias", "tour"
MODES = {TOUR: "Tour", QUERY: "A claim", TREE: "A tree", SPLIT: "Many trees", BIAS: "Similarity bias"}
DEPTHS = (10, 20, 50, 100)

_ALWAYS = ("mode", "corpus", "left", "right", "depth")
_BY_MODE = {
    QUERY: ("pick", "query"),
    TREE: ("tree",),
    SPLIT: ("trees", "file"),
    BIAS: ("trees", "file"),
    TOUR: ("trees", "file", "stop"),
}
PARTS = tuple(dict.fromkeys((*_ALWAYS, *(part for parts in _BY_MODE.values() for part in parts))))
LINK = Link(
    "compare",
    PARTS,
    called={
        "left": "retriever",
        "right": "retriever",
        "pick": "claim",
        "trees": "kind of trees",
        "stop": "card",
    },
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Values of the fields.

    Attributes:
        mode: One of `MODES`.
        corpus: The candidates.
        left: Name of the first retriever.
        right: Name of the second retriever.
        depth: Ranks that are compared.
    """

    mode: str
    corpus: CorpusInfo
    left: str
    right: str
    depth: int


def default_pair(names: Sequence[str], debiased: Sequence[str] = ()) -> tuple[str, str]:
    """Return the retrievers of a first visit: a baseline and a better one.

    >>> default_pair(["minilm", "bm25", "tfidf"])
    ('tfidf', 'minilm')
    >>> default_pair(["minilm", "tfidf", "aeenc-minilm"], ["aeenc-minilm"])
    ('minilm', 'aeenc-minilm')
    """
    trained = [name for name in debiased if name in names]
    if "minilm" not in names:
        return names[0], names[-1]
    return ("minilm", trained[0]) if trained else ("tfidf", "minilm")


def draw_fields(corpora: Sequence[CorpusInfo]) -> Choice:
    """Draw the fields and return their values; there must be a corpus."""
    names, ids = retrievers(), {corpus.id: corpus for corpus in corpora}
    mode = st.segmented_control(
        "Compare over",
        list(MODES),
        format_func=MODES.__getitem__,
        key=LINK.init_widget("mode", list(MODES), QUERY),
        required=True,
        label_visibility="collapsed",
    )
    largest = max(corpora, key=lambda corpus: corpus.count).id
    left, right = default_pair(names, _debiased())
    cells = st.columns([3, 2, 2, 1])
    corpus = cells[0].selectbox(
        "Corpus",
        list(ids),
        format_func=lambda id: f"{ids[id].name} ({ids[id].count:,} premises)",
        key=LINK.init_widget("corpus", list(ids), largest),
    )
    first, second = (
        cell.selectbox(
            part.capitalize(), names, key=LINK.init_widget(part, names, name), format_func=retriever_label
        )
        for cell, part, name in zip(cells[1:], ("left", "right"), (left, right), strict=False)
    )
    depth = cells[3].selectbox("Depth", DEPTHS, key=LINK.init_widget("depth", DEPTHS, 20))
    if first == second:
        st.info(f"Both sides are {label(retriever_label(first))}. Choose another retriever on one side.")
    return Choice(mode or QUERY, ids[corpus], first, second, depth)


def _debiased() -> list[str]:
    from entail.encoders.catalogue import catalogue

    return [entry.name for entry in catalogue() if entry.problem is None and "aeenc" in entry.method.lower()]


def save_link(mode: str) -> None:
    """Write the parts of a mode into the address."""
    LINK.save_to_url((*_ALWAYS, *_BY_MODE.get(mode, ())))
