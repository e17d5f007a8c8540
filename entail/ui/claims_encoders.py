"""Which retrievers of passages are here, and which of them were tuned by entailment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from entail.ui.claims_link import begin, wanted
from entail.ui.resources import LEXICAL, retriever_label, retrievers
from entail.ui.words import label

UNTUNED, TUNED = "dpr-minilm", "dpr-minilm-tuned"
"""Names of those that ship, where they do."""

ENCODERS_KEY = "claims_retrievers"
"""Key of the field of those whose similarities are drawn."""

_METHODS = ("tuning", "dpr")


@dataclass(frozen=True)
class Pair:
    """What the fields say.

    Attributes:
        left: Name of the first retriever.
        right: Name of the second.
    """

    left: str
    right: str


def tuned_encoders() -> list[str]:
    """Return the encoders that learnt to predict masked claims, alone or before their contrastive stage."""
    from entail.encoders.catalogue import catalogue

    found = [
        entry.name
        for entry in catalogue()
        if entry.problem is None
        and entry.method in _METHODS
        and (entry.method == "tuning" or _was_tuned(entry.path))
    ]
    return sorted(found, key=lambda name: (name != TUNED, name))


def _was_tuned(folder: Path | None) -> bool:
    """Whether what a contrastive stage went on from was tuned, as its `entail.json` says."""
    if folder is None:
        return False
    try:
        told = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it is being replaced; the catalogue says what is wrong with it
        return False
    return isinstance(told, dict) and bool(told.get("tuned"))


def usual_pair(names: Sequence[str], tuned: Sequence[str]) -> tuple[str, str]:
    """Return the two that stand side by side at first: without tuning and with it, where one is here.

    >>> usual_pair(["minilm", "bm25", "tfidf"], [])
    ('bm25', 'minilm')
    >>> usual_pair(["minilm", "bm25", "dpr-minilm", "mine"], ["mine"])
    ('dpr-minilm', 'mine')
    """
    plain = UNTUNED if UNTUNED in names else "minilm"
    if tuned:
        return plain if plain in names else names[0], tuned[0]
    return ("bm25", plain) if plain in names else (names[0], names[-1])


def pick_pair() -> Pair:
    """Draw the fields of both retrievers, and where no encoder is tuned, how to get one."""
    names, tuned = retrievers(), tuned_encoders()
    first, second = usual_pair(names, tuned)
    cells = st.columns(2)

    def called(name: str) -> str:
        return (
            f"{retriever_label(name)}, tuned"
            if name in tuned and "tuned" not in name
            else (retriever_label(name))
        )

    sides = ("Without tuning", "With tuning") if tuned else ("One retriever", "Another")
    left = cells[0].selectbox(sides[0], names, key=begin("left", names, first), format_func=called)
    right = cells[1].selectbox(sides[1], names, key=begin("right", names, second), format_func=called)
    if not tuned:
        st.caption(
            ":material/info: No encoder here was tuned by entailment yet, so others stand side by side. "
            "Tune one on the Models page by the methods tuning and dpr, or by `entail train tuning` and "
            "`entail train dpr`, and it stands here."
        )
    if left == right:
        st.info(f"Both are {label(retriever_label(left))}: choose another one on either side.")
    return Pair(left, right)


def pick_encoders() -> list[str]:
    """Draw the choice of one or two encoders; what searches by shared words has no similarity of meaning."""
    names = [name for name in retrievers() if name not in LEXICAL]
    if ENCODERS_KEY not in st.session_state:
        told = wanted("encoders")
        usual = usual_pair(names, tuned) if (tuned := tuned_encoders()) else names[:1]
        begun = [name for name in told.split("|") if name in names] if told else []
        st.session_state[ENCODERS_KEY] = list(dict.fromkeys(begun or usual))[:2]
    st.session_state[ENCODERS_KEY] = [name for name in st.session_state[ENCODERS_KEY] if name in names]
    return list(
        st.multiselect(
            "Similarity by",
            names,
            key=ENCODERS_KEY,
            format_func=retriever_label,
            max_selections=2,
            placeholder="One or two retrievers",
            help="Retrievers of meaning. TF-IDF and BM25 have no similarity of two sentences alone, and "
            "encoders of Gaussians tell a direction.",
        )
    )
