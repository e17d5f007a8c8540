"""Status of a tree that others may edit: last save, version, present authors."""

from __future__ import annotations

import streamlit as st

from entail.errors import EntailError
from entail.trees.log.wording import quote
from entail.ui.frame.author import with_mark
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.trees.ranked_by import Ranking
from entail.ui.trees.screen import AuthoringSession

EVERY = 3.0
"""Seconds between two refreshes."""


@st.fragment(run_every=EVERY)
def draw_watch(shared: Workspace, session: AuthoringSession, ranking: Ranking) -> None:
    """Draw the last save and the present authors; rerun the page when the tree or the ranking has changed."""
    screen = session.screen
    try:
        if session.author is not None and not shared.database.read_only:
            shared.authors.seen(screen.tree_id, session.author, screen.selected)
        now = shared.log.summary(screen.tree_id).seq
        is_outdated = ranking.is_outdated
        others = [
            p for p in shared.authors.here() if p.tree_id == screen.tree_id and p.author != session.author
        ]
    except EntailError as error:
        st.markdown(f":red[:material/cloud_off: {label(str(error), longest=120)}]")
        return
    if (now != screen.version or is_outdated) and screen.dialog is None:
        st.rerun()
    last = session.history.events[-1]
    st.markdown(
        f":gray[:material/cloud_done: saved {last.at.astimezone():%H:%M:%S} · version {now}]"
        + "".join(
            f"  \n:material/person: {with_mark(other.author, verified=other.verified)} at "
            f"{label(_node_text(session, other.node))}"
            for other in others[:3]
        )
    )


def _node_text(session: AuthoringSession, node_id: str) -> str:
    node = session.history.tree.nodes.get(node_id)
    return quote(node.text, longest=40) if node is not None else "a removed node"
