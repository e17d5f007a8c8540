"""Toolbar of the selected node, notice of a failed act, and status of a tree that others may edit."""

from __future__ import annotations

import streamlit as st

from entail.errors import EntailError
from entail.trees.log.tree import ROOT
from entail.trees.log.wording import quote
from entail.trees.review.commands import Command
from entail.ui.frame.author import with_mark
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label
from entail.ui.trees.ranked_by import Ranking
from entail.ui.trees.screen import AuthoringSession

EVERY = 3.0
"""Seconds between two refreshes of the status."""

_NOTICES = {
    "stale": (st.info, ":material/update:"),
    "locked": (st.warning, ":material/lock_clock:"),
    "error": (st.error, ":material/error:"),
    "conflict": (st.warning, ":material/group:"),
}

_TOOLS = (
    ("undo", "", ":material/undo:", "u"),
    ("redo", "", ":material/redo:", "r"),
    ("dialog", "write", ":material/edit_note:", "w"),
    ("dialog", "conclude", ":material/call_merge:", "c"),
    ("dialog", "edit", ":material/edit:", "e"),
    ("dialog", "move", ":material/drive_file_move:", "m"),
    ("dialog", "remove", ":material/delete:", "x"),
    ("dialog", "search", ":material/search:", "s"),
    ("dialog", "keys", ":material/keyboard:", "?"),
)


def draw_toolbar(session: AuthoringSession) -> None:
    """Draw a button for each tool, disabled where it has no effect."""
    author = session.author or ""
    possible = {"undo": session.history.undoable(author), "redo": session.history.redoable(author)}
    root = session.screen.selected == ROOT
    with st.container(horizontal=True, gap="xsmall"):
        for verb, target, icon, key in _TOOLS:
            name = target or verb
            event = possible.get(verb)
            disabled = (verb in possible and event is None) or (root and target in ("move", "remove"))
            disabled = disabled or (session.is_locked and target not in ("search", "keys"))
            last_act = f": {label(session.history.describe(event), longest=80)}" if event else ""
            st.button(
                name.capitalize() if target in ("write", "conclude") else "",
                icon=icon,
                key=f"tool-{name}",
                disabled=disabled,
                on_click=session.run,
                args=(Command(verb, target),),
                help=f"{name.capitalize()} (key {key}){last_act}",
            )


def draw_notice(session: AuthoringSession) -> None:
    """Draw the reason why the last act failed, until it is dismissed or another act is saved."""
    screen = session.screen
    if screen.pending:
        _draw_pending(session)
    if screen.notice is None or (screen.pending and screen.notice[0] == "locked"):
        return
    kind, words = screen.notice
    draw, icon = _NOTICES[kind]
    advice = "This is the newest version. Repeat your edit if it still applies." if kind == "conflict" else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw(f"{label(words)}  \n{advice}" if advice else label(words), icon=icon)
        st.button("Dismiss", on_click=screen.dismiss_notice, type="tertiary", key="dismiss")


def _draw_pending(session: AuthoringSession) -> None:
    lines = [f"• {label(act.description)}" for act in session.screen.pending]
    words = [
        "Not saved yet, because the database is locked by another write:",
        *lines,
        "Try again in a moment.",
    ]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning("  \n".join(words), icon=":material/lock_clock:")
        st.button("Try again", on_click=session.retry_pending, icon=":material/refresh:", key="try_again")
        st.button("Discard", on_click=session.screen.discard_pending, type="tertiary", key="drop_kept")


@st.fragment(run_every=EVERY)
def draw_watch(shared: Workspace, session: AuthoringSession, ranking: Ranking) -> None:
    """Draw the last save and the present authors; rerun the page when the tree or the ranking has changed."""
    screen = session.screen
    try:
        if session.author is not None and not shared.database.read_only:
            shared.authors.record_presence(screen.tree_id, session.author, screen.selected)
        now = shared.log.summary(screen.tree_id).seq
        is_outdated = ranking.is_outdated
        others = [
            p
            for p in shared.authors.list_presences()
            if p.tree_id == screen.tree_id and p.author != session.author
        ]
    except EntailError as error:
        st.markdown(f":red[:material/cloud_off: {label(str(error), longest=120)}]")
        return
    if (now != screen.version or is_outdated) and screen.dialog is None:
        st.rerun()
    last = session.history.events[-1]
    lines = [f":gray[:material/cloud_done: saved {last.at.astimezone():%H:%M:%S} · version {now}]"]
    for other in others[:3]:
        node = session.tree.nodes.get(other.node)
        text = quote(node.text, longest=40) if node is not None else "a removed node"
        lines.append(f":material/person: {with_mark(other.author, verified=other.verified)} at {label(text)}")
    st.markdown("  \n".join(lines))
