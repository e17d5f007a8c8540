"""What a visitor of a demo is told, and the trees that are theirs alone."""

from __future__ import annotations

import streamlit as st

from entail.errors import EntailError
from entail.settings import is_demo
from entail.trees.acts import Create
from entail.trees.corpora import CorpusStore
from entail.trees.demo import VisitorLog
from entail.trees.log import TreeLog
from entail.ui.screen import Desk
from entail.ui.words import label

BANNER = (
    "This is a demo: look at everything, nothing of the team's changes. Trees that you start are yours "
    "alone: nobody else sees them, and they go when you leave."
)
"""What stands above every page."""


def visitor_log(team: TreeLog, corpora: CorpusStore) -> VisitorLog:
    """Return this session's own trees beside the team's; they go with the session."""
    found: VisitorLog | None = st.session_state.get("visitor_log")
    if found is None or found.closed:
        found = st.session_state["visitor_log"] = VisitorLog(team, corpora)
    return found


def draw_banner() -> None:
    """Draw what a demo is, above every page of one."""
    if is_demo():
        st.space("small")  # below the page's own bar, which lies over what is first
        st.info(BANNER, icon=":material/visibility:")


def closed(what: str) -> bool:
    """Say, in a demo, why something is not there; return whether this is one.

    Args:
        what: What is not there, as the subject of a sentence: "nothing can be trained".
    """
    if is_demo():
        st.caption(f":material/lock: In this demo {what}.")
        return True
    return False


def draw_theirs(desk: Desk) -> None:
    """Draw, at a tree of the team's, that it stays as it is, and the button that starts one's own."""
    if not (is_demo() and desk.closed):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(":material/lock: In this demo the team's trees can be looked at, not changed.")
        if st.button("Start my own", icon=":material/park:", key="start_own", type="tertiary"):
            _start_own(desk)


def _start_own(desk: Desk) -> None:
    from entail.ui.chooser import open_tree

    if desk.author is None:
        desk.screen.dialog = "name"
        st.rerun()
    summary = desk.log.summary(desk.screen.tree_id)
    try:
        begun = desk.log.create(
            Create(hypothesis=summary.hypothesis), author=desk.author, corpus_id=summary.corpus_id
        )
    except EntailError as error:
        st.error(label(str(error)))
        return
    open_tree(begun)
