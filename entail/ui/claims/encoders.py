"""Fields for retrievers of passages, with and without entailment tuning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from entail.ui.claims.link import LINK
from entail.ui.shared.resources import LEXICAL, retriever_label, retrievers
from entail.ui.shared.text import label

UNTUNED, TUNED = "dpr-minilm", "dpr-minilm-tuned"
"""Names of the packaged encoders."""

ENCODERS_KEY = "claims_retrievers"
"""Key of the field for encoders of the relevance analysis."""

_METHODS = ("tuning", "dpr")


@dataclass(frozen=True)
class Pair:
    """Values of the fields.

    Attributes:
        left: Name of the first retriever.
        right: Name of the second.
    """

    left: str
    right: str


def tuned_encoders() -> list[str]:
    """Return the encoders tuned on masked claims, directly or before their contrastive stage."""
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
    """Return whether `entail.json` says that a contrastive stage started from a tuned encoder."""
    if folder is None:
        return False
    try:
        about = json.loads((folder / "entail.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # being replaced; the catalogue shows the problem
        return False
    return isinstance(about, dict) and bool(about.get("tuned"))


def default_pair(names: Sequence[str], tuned: Sequence[str]) -> tuple[str, str]:
    """Return the retrievers of a first visit: without tuning and, if there is one, with it.

    >>> default_pair(["minilm", "bm25", "tfidf"], [])
    ('bm25', 'minilm')
    >>> default_pair(["minilm", "bm25", "dpr-minilm", "mine"], ["mine"])
    ('dpr-minilm', 'mine')
    """
    plain = UNTUNED if UNTUNED in names else "minilm"
    if tuned:
        return plain if plain in names else names[0], tuned[0]
    return ("bm25", plain) if plain in names else (names[0], names[-1])


def pick_pair() -> Pair:
    """Draw the fields of both retrievers; without a tuned one, also how to get one."""
    names, tuned = retrievers(), tuned_encoders()
    first, second = default_pair(names, tuned)
    cells = st.columns(2)

    def called(name: str) -> str:
        return (
            f"{retriever_label(name)}, tuned"
            if name in tuned and "tuned" not in name
            else (retriever_label(name))
        )

    sides = ("Without tuning", "With tuning") if tuned else ("Left", "Right")
    left = cells[0].selectbox(sides[0], names, key=LINK.init_widget("left", names, first), format_func=called)
    right = cells[1].selectbox(
        sides[1], names, key=LINK.init_widget("right", names, second), format_func=called
    )
    if not tuned:
        st.caption(
            ":material/info: No encoder with entailment tuning yet. Train one with `entail train tuning`, "
            "then `entail train dpr`."
        )
    if left == right:
        st.info(f"Both sides are {label(retriever_label(left))}. Choose another retriever on one side.")
    return Pair(left, right)


def pick_encoders() -> list[str]:
    """Draw the field for one or two encoders."""
    names = [name for name in retrievers() if name not in LEXICAL]
    if ENCODERS_KEY not in st.session_state:
        requested = LINK.requested("encoders")
        usual = default_pair(names, tuned) if (tuned := tuned_encoders()) else names[:1]
        begun = [name for name in requested.split("|") if name in names] if requested else []
        st.session_state[ENCODERS_KEY] = list(dict.fromkeys(begun or usual))[:2]
    st.session_state[ENCODERS_KEY] = [name for name in st.session_state[ENCODERS_KEY] if name in names]
    return list(
        st.multiselect(
            "Encoders",
            names,
            key=ENCODERS_KEY,
            format_func=retriever_label,
            max_selections=2,
            placeholder="One or two encoders",
            help="Dense retrievers only.",
        )
    )
