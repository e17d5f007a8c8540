"""Keeps an eye on a tree that others may work on, and says what is saved."""

from __future__ import annotations

import streamlit as st

from entail.errors import EntailError
from entail.ui.author import with_mark
from entail.ui.ranked_by import Ranking
from entail.ui.resources import Workspace
from entail.ui.screen import Desk
from entail.ui.words import label

EVERY = 3.0
"""Seconds between two looks."""


def draw_watch(shared: Workspace, desk: Desk, ranking: Ranking) -> None:
    """Draw who else is here and when the last act was saved; redraws the page when somebody acted."""
    _watch(shared, desk, ranking)


@st.fragment(run_every=EVERY)
def _watch(shared: Workspace, desk: Desk, ranking: Ranking) -> None:
    screen = desk.screen
    try:
        if desk.author is not None and not shared.database.read_only:
            shared.authors.seen(screen.tree_id, desk.author, screen.selected)
        now = shared.log.summary(screen.tree_id).seq
        outdated = ranking.outdated
        here = [p for p in shared.authors.here() if p.tree_id == screen.tree_id and p.author != desk.author]
    except EntailError as error:
        st.markdown(f":red[:material/cloud_off: {label(str(error), longest=120)}]")
        return
    if (now != screen.seen or outdated) and screen.dialog is None:
        st.rerun()
    last = desk.history.events[-1]
    st.markdown(
        f":gray[:material/cloud_done: saved {last.at.astimezone():%H:%M:%S} · version {now}]"
        + "".join(
            f"  \n:material/person: {with_mark(p.author, verified=p.verified)} is at {p.node}"
            for p in here[:3]
        )
    )
