"""Start of a new tree from other pages: a claim, a question and its answer, an example."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import streamlit as st

from entail.claims import state_answer
from entail.trees.installation.seed import HELD_OUT_ID
from entail.trees.log.event_log import TreeSummary
from entail.ui.shared.corpus_choice import preselect
from entail.ui.shared.link import Link, init_value

PARTS = ("question", "answer", "hypothesis")
"""Query parameters of the Trees page for a new tree."""

LONGEST = 10_000
"""Most characters of a hypothesis, a question or an answer in the address."""

CLAIM = "start_claim"
"""Key of the session state: first text of the field for a claim, until a tree is started."""

_LINK = Link("start", PARTS, called={})


def smallest_example(trees: Iterable[TreeSummary]) -> TreeSummary | None:
    """Return the smallest example of two steps or more, held-out ones first, None without any."""
    examples = [tree for tree in trees if tree.example and tree.steps > 1]
    return min(
        examples,
        key=lambda tree: (tree.corpus_id != HELD_OUT_ID, tree.premises, len(tree.hypothesis)),
        default=None,
    )


def open_start(question: str, answer: str, hypothesis: str) -> None:
    """Open the form of a new tree with a question in it."""
    values = {"question": question, "answer": answer, "hypothesis": hypothesis}
    _open({part: text[:LONGEST] for part, text in values.items() if text.strip()})


def open_start_with(claim: str = "", corpus_id: str | None = None) -> None:
    """Open the form of a new tree with a claim in it, over a corpus if one is given."""
    if claim:
        st.session_state[CLAIM] = claim
    if corpus_id is not None:
        preselect("start_corpus", corpus_id)
    _open({})


def _open(parameters: dict[str, str]) -> None:
    st.session_state.pop("tree", None)
    st.switch_page("pages/Trees.py", query_params=parameters)


def begin_start(way: str) -> None:
    """Select the question, by its name in the form's list, where the address or this session has one."""
    is_new = _LINK.load_from_url()
    if _LINK.requested("question") and (is_new or "start_pick" not in st.session_state):
        st.session_state["start_pick"] = way


def asks_to_start() -> bool:
    """Return whether the address has a question and no tree."""
    return "question" in st.query_params and "tree" not in st.query_params


def draw_question() -> str:
    """Draw question, answer and the editable hypothesis made from them; return the hypothesis."""
    left, right = st.columns([3, 2])
    keys = [_LINK.init_text(part, "", longest=LONGEST) for part in ("question", "answer")]
    question = left.text_input("Question", key=keys[0], placeholder="When did the first ...?")
    answer = right.text_input("Answer (optional)", key=keys[1])
    if not question.strip():
        return ""
    statement = state_answer(question, answer)
    digest = hashlib.sha256(f"{question}\n{answer}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
    key = f"start_hypothesis-{digest}"
    requested = [(_LINK.requested(part) or "").strip() for part in ("question", "answer")]
    is_unchanged = requested == [question.strip(), answer.strip()]
    linked_hypothesis = _LINK.requested("hypothesis") if is_unchanged else None
    init_value(key, (linked_hypothesis or statement.text)[:LONGEST])
    hypothesis = st.text_area(
        "The claim to explain",
        key=key,
        height=80,
        help="Made from question and answer by rules. Edit it as you like.",
    )
    further = {"hypothesis": hypothesis} if hypothesis.strip() else {}
    _LINK.save_to_url(("question", "answer"), further=further)
    return hypothesis


def leave_question() -> None:
    """Remove the question from the address when a hypothesis is started in another way."""
    if _LINK.values:
        forget()


def forget() -> None:
    """Remove the question from the address and the session."""
    st.session_state.pop(CLAIM, None)
    for part in PARTS:
        st.session_state.pop(f"start_{part}", None)
    if _LINK.values:
        _LINK.save_to_url(())
