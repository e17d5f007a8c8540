"""A question, its claim to edit, and the statement with the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import streamlit as st

from entail.claims import RULES, Claim, Statement, existence_claim, state_answer
from entail.evaluation.passages.pool import KnownQuestion
from entail.ui.claims.fields import LINK, LONGEST, edited_claim, store_edit
from entail.ui.shared.link import init_value
from entail.ui.shared.start_question import open_start
from entail.ui.shared.text import label

QUESTION, ANSWER, PICK = "claims_question", "claims_answer", "claims_pick"
_CAME = "claims_came"
"""Key of the question and answer that were filled in together."""

_LISTED = 200
_OWN = ""

HOW = {
    "inserted": "answer inserted into the claim",
    "identified": "answer identified with the unknown",
    "beside": "answer appended to the claim",
    "answer": "answer alone, already a statement",
    "claim": "claim",
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
    known_questions = list(islice(examples, _LISTED))
    first = (
        known_questions[0]
        if known_questions
        else KnownQuestion("When did the first person walk on the Moon?", ("1969",))
    )
    is_first = LINK.requested("question") is None
    if QUESTION not in st.session_state and is_first:
        st.session_state[_CAME] = (first.question, first.answer)
    key = LINK.init_text("question", first.question, longest=LONGEST)
    answer_key = LINK.init_text("answer", first.answer if is_first else "", longest=LONGEST)
    left, right = st.columns(2, gap="large")
    with left:
        if known_questions:
            _pick(known_questions)
        typed = st.text_area("Question", key=key, max_chars=LONGEST, height=80, on_change=_forget)
        question = " ".join(typed.split())
        answer = st.text_input(
            "Answer (optional)", key=answer_key, max_chars=LONGEST, help="Turns the claim into a statement."
        )
    if not question:
        right.info("Enter a question.", icon=":material/edit:")
        return None
    with right:
        claim_pair = _draw_claim(existence_claim(question))
        return None if claim_pair is None else _draw_start(claim_pair, state_answer(question, answer))


def _forget() -> None:
    """Clear an answer that was filled in with another question; an entered one stays."""
    question, answer = st.session_state.get(_CAME, ("", ""))
    if st.session_state[QUESTION].strip() != question and st.session_state.get(ANSWER) == answer:
        st.session_state[ANSWER] = ""


def _pick(known_questions: list[KnownQuestion]) -> None:
    by_question = {question.question: question for question in known_questions}

    def take() -> None:
        picked = by_question.get(str(st.session_state.get(PICK)))
        if picked is not None:
            st.session_state[QUESTION], st.session_state[ANSWER] = picked.question, picked.answer
            st.session_state[_CAME] = (picked.question, picked.answer)

    # The list follows the question field.
    now = str(st.session_state.get(QUESTION, "")).strip()
    st.session_state[PICK] = now if now in by_question else _OWN
    st.selectbox(
        "Known questions",
        [_OWN, *by_question],
        format_func=lambda text: text or "My own question",
        key=PICK,
        on_change=take,
        help=f"Lists the first {_LISTED}; enter any other below.",
    )


def _draw_claim(claim: Claim) -> ClaimedQuestion | None:
    rule = RULES[claim.rule]
    digest = hashlib.sha256(claim.question.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    key = f"claims_said-{digest}"
    init_value(key, edited_claim(claim.question) or claim.text)

    def reset() -> None:
        st.session_state[key] = claim.text
        store_edit(claim.question, None)

    text = " ".join(st.text_area("Claim", key=key, max_chars=LONGEST + 200, height=80).split())
    edited = text != claim.text
    store_edit(claim.question, text if edited else None)
    with st.container(horizontal=True, vertical_alignment="center"):
        mark = ":material/help:" if claim.fallback else ":material/rule:"
        st.caption(
            f"{mark} Rule **{label(rule.name)}**: {label(rule.question)} → {label(rule.claim)}"
            + (" (fallback: no question rule fits)" if claim.fallback else "")
            + (" · edited" if edited else "")
        )
        if edited:
            st.button("Reset claim", key="claims_back", type="tertiary", on_click=reset)
    if not text:
        st.info("The claim is empty. Enter one.", icon=":material/edit:")
        return None
    return ClaimedQuestion(claim.question, text, edited, hypothesis=text)


def _draw_start(claim_pair: ClaimedQuestion, stated: Statement) -> ClaimedQuestion:
    """Draw the statement with the answer and the button for a tree; return what was asked, with it."""
    if stated.how != "claim":
        claim_pair = replace(claim_pair, hypothesis=stated.text)
        st.markdown(f"**With the answer:** {label(stated.text, longest=600)}")
        st.caption(f"{HOW[stated.how].capitalize()}.")
    if st.button("Start tree", icon=":material/park:", key="claims_start"):
        open_start(claim_pair.question, stated.answer, claim_pair.hypothesis)
    return claim_pair
