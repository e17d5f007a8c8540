"""Five-minute walk: a bar above the real pages, one sentence a step, started on Home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import streamlit as st

from entail.trees.log.event_log import TreeLog
from entail.ui.shared.example_tree import smallest_example
from entail.ui.shared.start_question import CLAIM, open_start_with

STATE: Final = "walk"
"""Key of the session state: index of the current step; missing while no walk is in progress."""


class Step(NamedTuple):
    """Step of the walk: its page, the page's file, a sentence, and the query parameters to open it with."""

    page: str
    path: str
    sentence: str
    parameters: Callable[[TreeLog], Mapping[str, str]] = lambda _: {}


def _example(log: TreeLog) -> Mapping[str, str]:
    tree = smallest_example(log.trees())
    return {"tree": tree.id} if tree is not None else {}


STEPS: Final = (
    Step(
        "Home",
        "streamlit_app.py",
        "A finished tree: the premises at its ends lead up to the hypothesis, step by step.",
    ),
    Step(
        "Trees",
        "pages/Trees.py",
        "Select a node: candidates for its premises are ranked. Accept one in a tree of your own.",
        _example,
    ),
    Step(
        "Compare",
        "pages/Compare.py",
        "Two retrievers rank the premises of the same claims. The tour shows the largest differences.",
        lambda _: {"mode": "tour"},
    ),
    Step(
        "Direction",
        "pages/Direction.py",
        "Entailment has a direction: swap the two sentences and compare the answers.",
    ),
    Step(
        "What it can do",
        "pages/Results.py",
        "Measured figures with their limits; each opens its document. This page prints on one sheet.",
    ),
)
"""The walk, in order."""


def is_walking() -> bool:
    """Whether this session is on the walk."""
    return STATE in st.session_state


def draw_walk_button() -> None:
    """Draw the button that starts the walk on Home; nothing during a walk."""
    if not is_walking() and st.button(
        "Five-minute walk", icon=":material/tour:", key="walk_start", width="stretch"
    ):
        st.session_state[STATE] = 0
        st.rerun()


def draw_walk(page: str, log: TreeLog) -> None:
    """Draw the bar of the current step; on a page off the walk, with a button that leads back."""
    number: int | None = st.session_state.get(STATE)
    if number is None:
        return
    step = STEPS[number]
    on_page = page == step.page
    with st.container(key="walk", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{number + 1} of {len(STEPS)}** {step.sentence}")
        if page == "Trees" and on_page and st.button("Try it", key="walk_try", icon=":material/park:"):
            example = smallest_example(log.trees())
            if example is None:
                open_start_with("")
            else:
                open_start_with(example.hypothesis, example.corpus_id)
        if not on_page:
            if st.button("Resume", key="walk_resume", icon=":material/undo:", type="primary"):
                _open(number, log)
        elif number + 1 < len(STEPS) and st.button(
            "Next", key="walk_next", icon=":material/arrow_forward:", type="primary"
        ):
            _open(number + 1, log)
        title = "Leave" if number + 1 < len(STEPS) else "Finish"
        st.button(title, key="walk_leave", on_click=_leave, type="tertiary")


def _open(number: int, log: TreeLog) -> None:
    st.session_state[STATE] = number
    step = STEPS[number]
    st.switch_page(step.path, query_params=dict(step.parameters(log)))


def _leave() -> None:
    st.session_state.pop(STATE, None)
    st.session_state.pop(CLAIM, None)
