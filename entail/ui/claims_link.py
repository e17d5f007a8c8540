"""The address of the Claims page, and the claims that a person edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from entail.ui.link import Link

OF_RELEVANCE = ("judge", "questions", "pairs", "encoders")
"""What an address names for what relevance is."""

PARTS = (
    *("mode", "question", "answer", "claim", "over", "left", "right", "k", "beside", "by"),
    *OF_RELEVANCE,
)
"""What an address may name; most are the end of the key `claims_<part>` of a widget."""

LONGEST = 5000
"""Characters of a question, an answer or a claim: 500 words and more."""

_EDITS = "claims_edits"
_CALLED = {"over": "corpus or file", "left": "retriever", "right": "retriever", "by": "judge"}
_CALLED |= {"questions": "number of questions", "pairs": "number of pairs"}
_LINK = Link("claims", PARTS, called=_CALLED)
begin, wanted = _LINK.begin, _LINK.wanted


def arrive() -> None:
    """Take over what the address says, where it says anything new; else go on where this session was."""
    if _LINK.arrive() and (claim := _LINK.wanted("claim")):
        keep(_LINK.wanted("question") or "", claim[:LONGEST])


def write(parts: Sequence[str], *, further: Mapping[str, str] | None = None) -> None:
    """Put what is shown into the address."""
    _LINK.write(parts, further=further)


def begin_text(part: str, default: str) -> str:
    """Give the text field of a part its first value and return its key."""
    key = f"claims_{part}"
    if key not in st.session_state:
        st.session_state[key] = (_LINK.wanted(part) or default)[:LONGEST]
    return key


def kept(question: str) -> str | None:
    """Return the claim that a person wrote for a question, None where the rules' own stands."""
    found: str | None = _edits().get(question.strip())
    return found


def keep(question: str, claim: str | None) -> None:
    """Remember the claim that a person wrote for a question, or with None that the rules' own stands."""
    if claim is None:
        _edits().pop(question.strip(), None)
    else:
        _edits()[question.strip()] = claim


def _edits() -> dict[str, str]:
    edits: dict[str, str] = st.session_state.setdefault(_EDITS, {})
    return edits
