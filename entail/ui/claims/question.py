"""A question, its claim to edit, and the statement with the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import streamlit as st

from entail.claims import RULES, existence_claim, state_answer
from entail.evaluation.passages.pool import KnownQuestion
from entail.ui.claims.fields import LINK, LONGEST, edits
from entail.ui.shared.link import init_value
from entail.ui.shared.start_question import open_start
from entail.ui.shared.text import label

_QUESTION, _ANSWER, _PICK = "claims_question", "claims_answer", "claims_pick"
_LISTED = 200
_OWN = ""

_HOW = {
    "inserted": "answer inserted into the claim",
    "identified": "answer identified with the unknown",
    "appended": "answer appended to the claim",
    "answer": "answer alone, already a statement",
}
"""Ways to combine claim and answer, as text."""


@dataclass(frozen=True)
class ClaimedQuestion:
    """A question with its claim, which the user may have edited.

    `hypothesis` is what passages are judged against: the statement with the answer, without one the claim.
    """

    question: str
    claim: str
    edited: bool
    hypothesis: str


def draw_question(examples: Iterable[KnownQuestion]) -> ClaimedQuestion | None:
    """Draw the fields; return None without a question or claim."""
    listed = {question.question: question for question in islice(examples, _LISTED)}
    moon = KnownQuestion("When did the first person walk on the Moon?", ("1969",))
    first = next(iter(listed.values()), moon)
    is_first = LINK.requested("question") is None
    LINK.init_text("question", first.question, longest=LONGEST)
    LINK.init_text("answer", first.answer if is_first else "", longest=LONGEST)
    left, right = st.columns(2, gap="large")
    with left:
        if listed:
            _pick(listed)
        answers = {first.answer, *(question.answer for question in listed.values())}
        typed = st.text_area(
            "Question", key=_QUESTION, max_chars=LONGEST, height=80, on_change=_forget, args=(answers,)
        )
        question = " ".join(typed.split())
        answer = st.text_input(
            "Answer (optional)", key=_ANSWER, max_chars=LONGEST, help="Turns the claim into a statement."
        )
    with right:
        if not question:
            st.info("Enter a question.", icon=":material/edit:")
            return None
        return _draw_claim(question, answer)


def _forget(answers: Collection[str]) -> None:
    """Clear an answer that was filled in with a known question; an entered one stays."""
    if st.session_state.get(_ANSWER) in answers:
        st.session_state[_ANSWER] = ""


def _pick(listed: Mapping[str, KnownQuestion]) -> None:
    def take() -> None:
        picked = listed.get(str(st.session_state.get(_PICK)))
        if picked is not None:
            st.session_state[_QUESTION], st.session_state[_ANSWER] = picked.question, picked.answer

    # The list follows the question field.
    now = str(st.session_state.get(_QUESTION, "")).strip()
    st.session_state[_PICK] = now if now in listed else _OWN
    st.selectbox(
        "Example questions",
        [_OWN, *listed],
        format_func=lambda text: text or "My own question",
        key=_PICK,
        on_change=take,
        help=f"Lists the first {_LISTED}; enter any other below.",
    )


def _draw_claim(question: str, answer: str) -> ClaimedQuestion | None:
    """Draw the claim, the statement with the answer and the button for a tree."""
    claim = existence_claim(question)
    digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    key = f"claims_said-{digest}"
    init_value(key, edits().get(question) or claim.text)

    def reset() -> None:
        st.session_state[key] = claim.text

    text = " ".join(st.text_area("Claim", key=key, max_chars=LONGEST + 200, height=80).split())
    edited = text != claim.text
    edits().pop(question, None)
    if edited:
        edits()[question] = text
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            (
                ":material/rule: No rule for questions fits."
                if claim.fallback
                else f":material/rule: Rule **{claim.rule}**, as in “{label(RULES[claim.rule])}”"
            )
            + (" · edited" if edited else "")
        )
        if edited:
            st.button("Reset claim", key="claims_back", type="tertiary", on_click=reset)
    if not text:
        st.info("The claim is empty. Enter one.", icon=":material/edit:")
        return None
    stated = state_answer(question, answer)
    hypothesis = text
    if stated.how != "claim":
        hypothesis = stated.text
        st.markdown(f"**With the answer:** {label(stated.text, longest=600)}")
        st.caption(f"{_HOW[stated.how].capitalize()}.")
    if st.button("Start tree", icon=":material/park:", key="claims_start"):
        open_start(question, stated.answer, hypothesis)
    return ClaimedQuestion(question, text, edited, hypothesis)
