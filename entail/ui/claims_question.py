"""A question and its claim: the rule that fired, the claim to edit, the statement with the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import streamlit as st

from entail.tuning.answered import Statement, statement
from entail.tuning.claims import Claim, claim
from entail.tuning.rules import RULES
from entail.ui.claims_link import LONGEST, begin_text, keep, kept, wanted
from entail.ui.claims_pool import Known
from entail.ui.start_question import open_start
from entail.ui.words import label

QUESTION, ANSWER, PICK = "claims_question", "claims_answer", "claims_pick"
_CAME = "claims_came"
"""A question and the answer that came with it, neither typed."""

_LISTED = 200
_OWN = ""

HOW = {
    "inserted": "the answer in the place of what is asked for",
    "identified": "the answer as what is asked for",
    "beside": "the answer behind the claim, since no place for it is sure",
    "answer": "the answer alone, which is a statement already",
    "claim": "the claim",
}
"""How an answer got into a statement, for a person."""


@dataclass(frozen=True)
class Asked:
    """What is asked, and what is claimed.

    Attributes:
        question: The question.
        claim: Its claim as it stands now, edited or not.
        edited: Whether a person changed it.
    """

    question: str
    claim: str
    edited: bool


def draw_question(examples: Iterable[Known]) -> Asked | None:
    """Draw the fields; None, explained, while nothing is asked or claimed."""
    known = list(islice(examples, _LISTED))
    first = known[0] if known else Known("When did the first person walk on the Moon?", ("1969",))
    if QUESTION not in st.session_state and wanted("question") is None:
        st.session_state[_CAME] = (first.question, first.answer)
    key = begin_text("question", first.question)
    answer_key = begin_text("answer", first.answer if wanted("question") is None else "")
    left, right = st.columns(2, gap="large")
    with left:
        if known:
            _pick(known)
        typed = st.text_area("Question", key=key, max_chars=LONGEST, height=80, on_change=_forget)
        question = " ".join(typed.split())
        answer = st.text_input(
            "Its answer, where you know it",
            key=answer_key,
            max_chars=LONGEST,
            help="With it the claim becomes a statement, from which a tree can start.",
        )
    if not question:
        right.info("Type a question, and its claim stands here.", icon=":material/edit:")
        return None
    with right:
        asked = _draw_claim(claim(question))
        if asked is not None:
            _draw_start(asked, statement(question, answer))
    return asked


def _forget() -> None:
    """Take an answer away that came with another question; one that a person typed stays."""
    question, answer = st.session_state.get(_CAME, ("", ""))
    if st.session_state[QUESTION].strip() != question and st.session_state.get(ANSWER) == answer:
        st.session_state[ANSWER] = ""


def _pick(known: list[Known]) -> None:
    by_question = {one.question: one for one in known}

    def take() -> None:
        picked = by_question.get(str(st.session_state.get(PICK)))
        if picked is not None:
            st.session_state[QUESTION], st.session_state[ANSWER] = picked.question, picked.answer
            st.session_state[_CAME] = (picked.question, picked.answer)

    # It follows what is typed: the list stands at a question only as long as that is asked.
    now = str(st.session_state.get(QUESTION, "")).strip()
    st.session_state[PICK] = now if now in by_question else _OWN
    st.selectbox(
        "Questions over these passages",
        [_OWN, *by_question],
        format_func=lambda text: text or "A question of my own",
        key=PICK,
        on_change=take,
        help=f"Type to find one. The first {_LISTED} are listed; any other can be typed below.",
    )


def _draw_claim(found: Claim) -> Asked | None:
    rule = RULES[found.rule]
    digest = hashlib.sha256(found.question.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    key = f"claims_said-{digest}"
    st.session_state.setdefault(key, kept(found.question) or found.text)

    def back() -> None:
        st.session_state[key] = found.text
        keep(found.question, None)

    said = " ".join(st.text_area("Claim", key=key, max_chars=LONGEST + 200, height=80).split())
    edited = said != found.text
    keep(found.question, said if edited else None)
    with st.container(horizontal=True, vertical_alignment="center"):
        mark = ":material/help:" if found.fallback else ":material/rule:"
        st.caption(
            f"{mark} Rule **{label(rule.name)}**: {label(rule.question)} → {label(rule.claim)}"
            + (", as no rule for questions fits" if found.fallback else "")
            + (" · edited" if edited else "")
        )
        if edited:
            st.button("Back to the rule's", key="claims_back", type="tertiary", on_click=back)
    if not said:
        st.info("The claim is empty: write what is claimed.", icon=":material/edit:")
        return None
    return Asked(found.question, said, edited)


def _draw_start(asked: Asked, told: Statement) -> None:
    hypothesis = told.text if told.how != "claim" else asked.claim
    if told.how != "claim":
        st.markdown(f"**With the answer:** {label(told.text, longest=600)}")
        st.caption(f"{HOW[told.how].capitalize()}.")
    if st.button("Start a tree with this", icon=":material/park:", key="claims_start"):
        open_start(asked.question, told.answer, hypothesis)
