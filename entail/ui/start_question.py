"""A tree that begins with a question: its claim, with the answer where that is given, is the hypothesis."""

from __future__ import annotations

import hashlib

import streamlit as st

from entail.tuning.answered import statement
from entail.ui.link import Link

PARTS = ("question", "answer", "hypothesis")
"""What the address of the Trees page may name of a tree that is not begun yet."""

LONGEST = 2000
"""Characters of a hypothesis, and of what it is made of."""

_LINK = Link("start", PARTS, called={})


def open_start(question: str, answer: str, hypothesis: str) -> None:
    """Go to the form that starts a tree, with a question in it."""
    st.session_state.pop("tree", None)
    said = {"question": question, "answer": answer, "hypothesis": hypothesis}
    st.switch_page(
        "pages/Trees.py", query_params={part: text[:LONGEST] for part, text in said.items() if text.strip()}
    )


def begin_start(way: str) -> None:
    """Give the form's list of ways its first value, where the address or this session asks for a question.

    Args:
        way: What the list calls it.
    """
    arrived = _LINK.arrive()
    if _LINK.wanted("question") and (arrived or "start_pick" not in st.session_state):
        st.session_state["start_pick"] = way


def asks_to_start() -> bool:
    """Whether the address asks for a tree from a question, and for no tree that is there."""
    return "question" in st.query_params and "tree" not in st.query_params


def draw_question() -> str:
    """Draw question, answer and the hypothesis that they make, to edit; return the hypothesis."""
    left, right = st.columns([3, 2])
    question = left.text_input(
        "Question", key=_begin("question"), max_chars=LONGEST, placeholder="When did the first ...?"
    )
    answer = right.text_input("Its answer, where you know it", key=_begin("answer"), max_chars=LONGEST)
    if not question.strip():
        return ""
    told = statement(question, answer)
    digest = hashlib.sha256(f"{question}\n{answer}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
    key = f"start_hypothesis-{digest}"
    if key not in st.session_state:
        given = _LINK.wanted("hypothesis") if _is_as_linked(question, answer) else None
        st.session_state[key] = (given or told.text)[:LONGEST]
    hypothesis = st.text_area(
        "The claim to explain",
        key=key,
        max_chars=LONGEST,
        height=80,
        help="Made of question and answer by rules; write it as you want it.",
    )
    _LINK.write(("question", "answer"), further={"hypothesis": hypothesis} if hypothesis.strip() else {})
    return hypothesis


def leave_question() -> None:
    """Take a question out of the address, where another way was chosen."""
    if _LINK.said:
        forget()


def forget() -> None:
    """Leave the question behind: its tree is begun, or it is not wanted."""
    for part in PARTS:
        st.session_state.pop(f"start_{part}", None)
    if _LINK.said:
        _LINK.write(())


def _begin(part: str) -> str:
    key = f"start_{part}"
    if key not in st.session_state:
        st.session_state[key] = (_LINK.wanted(part) or "")[:LONGEST]
    return key


def _is_as_linked(question: str, answer: str) -> bool:
    return (question.strip(), answer.strip()) == (
        (_LINK.wanted("question") or "").strip(),
        (_LINK.wanted("answer") or "").strip(),
    )
