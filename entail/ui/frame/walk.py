"""Five-minute walk: a bar above the real pages, one sentence a step, started on Home."""

from __future__ import annotations

from typing import Final, NamedTuple

import streamlit as st

from entail.trees.log.event_log import TreeLog
from entail.ui.shared.start_question import CLAIM, open_start_with, smallest_example

STATE: Final = "walk"
"""Key of the session state: index of the current step; missing while no walk is in progress."""


class Step(NamedTuple):
    """Step of the walk: its page, the page's file, and a sentence."""

    page: str
    path: str
    sentence: str


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
    ),
    Step(
        "Compare",
        "pages/Compare.py",
        "Two retrievers rank premises for the same claim. “Many trees” has the figures over all claims.",
    ),
    Step(
        "Direction",
        "pages/Direction.py",
        "Entailment has a direction: swap the two sentences and compare the answers.",
    ),
    Step(
        "Results",
        "pages/Results.py",
        "Measured figures with their limits, rivals in grey. This page prints on one sheet.",
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
    step, is_last = STEPS[number], number + 1 == len(STEPS)
    with st.container(key="walk", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{number + 1} of {len(STEPS)}** {step.sentence}")
        if page == step.page == "Trees" and st.button("Try it", key="walk_try", icon=":material/park:"):
            example = smallest_example(log.trees())
            open_start_with(*((example.hypothesis, example.corpus_id) if example else ()))
        if page != step.page:
            if st.button("Resume", key="walk_resume", icon=":material/undo:", type="primary"):
                _open(number, log)
        elif not is_last and st.button(
            "Next", key="walk_next", icon=":material/arrow_forward:", type="primary"
        ):
            _open(number + 1, log)
        st.button("Finish" if is_last else "Leave", key="walk_leave", on_click=_leave, type="tertiary")


def _open(number: int, log: TreeLog) -> None:
    st.session_state[STATE] = number
    step = STEPS[number]
    example = smallest_example(log.trees()) if step.page == "Trees" else None
    st.switch_page(step.path, query_params={"tree": example.id} if example else {})


def _leave() -> None:
    st.session_state.pop(STATE, None)
    st.session_state.pop(CLAIM, None)
