"""Link of the Claims page, and the claims that the user edited."""

from __future__ import annotations

import streamlit as st

from entail.ui.shared.link import Link

OF_RELEVANCE = ("judge", "questions", "pairs", "encoders")
"""Parts of the relevance analysis."""

PARTS = (
    *("mode", "question", "answer", "claim", "over", "left", "right", "k", "beside", "by"),
    *OF_RELEVANCE,
)

LONGEST = 5000
"""Most characters of a question, an answer or a claim."""

LINK = Link(
    "claims",
    PARTS,
    called={
        "over": "corpus or file",
        "left": "retriever",
        "right": "retriever",
        "by": "judge",
        "questions": "number of questions",
        "pairs": "number of pairs",
    },
)


def load_link() -> None:
    """Take over a new address."""
    if LINK.load_from_url() and (claim := LINK.requested("claim")):
        store_edit(LINK.requested("question") or "", claim[:LONGEST])


def edited_claim(question: str) -> str | None:
    """Return the user's claim for a question, None if it was not edited."""
    claim: str | None = _edits().get(question.strip())
    return claim


def store_edit(question: str, claim: str | None) -> None:
    """Store the user's claim for a question; None removes it."""
    if claim is None:
        _edits().pop(question.strip(), None)
    else:
        _edits()[question.strip()] = claim


def _edits() -> dict[str, str]:
    edits: dict[str, str] = st.session_state.setdefault("claims_edits", {})
    return edits
