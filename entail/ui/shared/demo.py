"""Demo mode: its banner, its locked parts, and the visitor's own trees."""

from __future__ import annotations

import streamlit as st

from entail.settings import is_demo
from entail.trees.installation.demo import VisitorLog
from entail.trees.log.event_log import TreeLog
from entail.trees.store.corpora import CorpusStore

BANNER = (
    "This is a demo. The team's data cannot be changed. Trees that you start are private and are deleted "
    "when you leave."
)
"""Text above every page of a demo."""


def visitor_log(team: TreeLog, corpora: CorpusStore) -> VisitorLog:
    """Return the team's trees with this session's own ones, which are deleted with the session."""
    log: VisitorLog | None = st.session_state.get("visitor_log")
    if log is None:
        log = st.session_state["visitor_log"] = VisitorLog(team, corpora)
    return log


def draw_banner() -> None:
    """Draw the banner of a demo; nothing elsewhere."""
    if is_demo():
        st.space("small")  # below the page's own bar, which covers the first element
        st.info(BANNER, icon=":material/visibility:")


def is_locked_in_demo(restriction: str) -> bool:
    """Return whether this is a demo; draw there what is unavailable, a clause: "nothing can be trained"."""
    if is_demo():
        st.caption(f":material/lock: In this demo {restriction}.")
        return True
    return False
