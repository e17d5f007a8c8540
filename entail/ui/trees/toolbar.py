"""Toolbar of the selected node, notice of a failed act, and status of a tree that others may edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from entail.data.text import quote
from entail.errors import EntailError
from entail.trees.log.acts import Act, TypedAct
from entail.trees.log.tree import ROOT
from entail.trees.review.commands import Command
from entail.ui.frame.author import with_mark
from entail.ui.shared.model_names import model_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, local
from entail.ui.trees.candidates import DETAILS_KEY
from entail.ui.trees.proposals import draw_lists
from entail.ui.trees.ranked_by import Ranking, draw_ranked_by
from entail.ui.trees.ranking_check import draw_ranking_check
from entail.ui.trees.reranking import draw_switch
from entail.ui.trees.screen import LISTS, AuthoringSession

if TYPE_CHECKING:
    from entail.ui.trees.authoring import TreeContext

EVERY = 3.0
"""Seconds between two refreshes of the status."""

_NOTICES = {
    "stale": (st.info, ":material/update:"),
    "locked": (st.warning, ":material/lock_clock:"),
    "error": (st.error, ":material/error:"),
    "conflict": (st.warning, ":material/group:"),
}

_UNDO = (("undo", "", ":material/undo:", "u"), ("redo", "", ":material/redo:", "r"))
_TOOLS = (
    ("dialog", "write", ":material/edit_note:", "w"),
    ("dialog", "conclude", ":material/call_merge:", "c"),
    ("dialog", "edit", ":material/edit:", "e"),
    ("dialog", "move", ":material/drive_file_move:", "m"),
    ("dialog", "remove", ":material/delete:", "x"),
    ("toggle", "rejected", ":material/visibility:", "v"),
    ("dialog", "keys", ":material/keyboard:", "?"),
)
_READING = ("search", "rejected", "keys")
"""Tools that change nothing in the tree."""


def draw_undo(session: AuthoringSession) -> None:
    """Draw the buttons to undo and redo, with the author's last act in their help."""
    author = session.author or ""
    for tool, event in zip(
        _UNDO, (session.history.undoable(author), session.history.redoable(author)), strict=True
    ):
        last_act = f": {label(session.history.describe(event), longest=80)}" if event else ""
        _draw_tool(session, *tool, disabled=event is None, more=last_act)


def draw_tools(session: AuthoringSession) -> None:
    """Draw a button for each tool of the selected node, disabled where it has no effect."""
    root = session.screen.selected == ROOT
    for tool in _TOOLS:
        target = tool[1]
        more = f": {len(session.tree.rejected(session.screen.selected))} here" if target == "rejected" else ""
        _draw_tool(session, *tool, disabled=root and target in ("move", "remove"), more=more)


def draw_search(session: AuthoringSession) -> None:
    """Draw the button to search with one's own words, and one to return to the node's text."""
    _draw_tool(session, "dialog", "search", ":material/search:", "s")
    if session.screen.query:
        st.button("Clear search", on_click=session.screen.search, args=(None,), type="tertiary", key="own")


def draw_order(context: TreeContext, session: AuthoringSession) -> None:
    """Draw the list of candidates and its ranking as one button, which opens their fields."""
    name = model_name(context.ranking.name)
    title = name if session.offer is None else f"{LISTS[session.screen.listing]} · {name}"
    with st.popover(title, icon=":material/sort:", help="Ranking and list of the candidates", key="ranking"):
        draw_lists(context.suggester, session)
        draw_ranked_by(context.ranking)
        draw_ranking_check(context)
        draw_switch()
        st.toggle(
            "Show scores and provenance",
            key=DETAILS_KEY,
            persist_state="session",
            help="Rank and score of each candidate, and the ranking behind each judgement.",
        )


def _draw_tool(
    session: AuthoringSession,
    verb: str,
    target: str,
    icon: str,
    key: str,
    *,
    disabled: bool = False,
    more: str = "",
) -> None:
    name = target or verb
    is_on = name == "rejected" and session.screen.show_rejected
    title = {"rejected": "Hide rejected" if is_on else "Show rejected"}.get(name, name.capitalize())
    st.button(
        name.capitalize() if name in ("write", "conclude") else "",
        icon=icon,
        key=f"tool-{name}",
        disabled=disabled or (session.is_locked and name not in _READING),
        type="primary" if is_on else "secondary",
        on_click=session.run,
        args=(Command(verb, target),),
        help=f"{title} (key {key}){more}",
    )


def draw_notice(session: AuthoringSession) -> None:
    """Draw the reason why the last act failed, until it is dismissed or another act is saved.

    A sentence that can be restored stays until it is restored or dismissed.
    """
    screen = session.screen
    if screen.pending:
        _draw_pending(session)
    notice = screen.notice
    if notice is None and screen.recovery is not None:  # another act was saved since
        notice = ("conflict", "Not saved yet.")
    if notice is None or (screen.pending and notice[0] == "locked"):
        return
    kind, words = notice
    draw, icon = _NOTICES[kind]
    advice = ""
    if isinstance(screen.recovery, TypedAct):
        advice = f"Your sentence: {label(quote(screen.recovery.text))}"
    elif kind == "conflict":
        advice = "This is the newest version. Repeat your edit if it still applies."
    with st.container(horizontal=True, vertical_alignment="center"):
        draw(f"{label(words)}  \n{advice}" if advice else label(words), icon=icon)
        if screen.recovery is not None:
            st.button(
                "Restore with your text",
                on_click=_recover,
                args=(session, screen.recovery),
                key="recover",
                icon=":material/restore_from_trash:",
            )
        st.button("Dismiss", on_click=screen.dismiss_notice, type="tertiary", key="dismiss")


def _recover(session: AuthoringSession, act: Act) -> None:
    session.screen.version = session.log.summary(session.screen.tree_id).seq
    session.act(act, keep=True)


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
        presences = [
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
    parts = []
    for presence in presences[:3]:
        node = session.tree.nodes.get(presence.node)
        text = quote(node.text, longest=40) if node is not None else "a removed node"
        parts.append(
            f":material/person: {with_mark(presence.author, verified=presence.verified)} at {label(text)}"
        )
    parts.append(f":gray[:material/cloud_done: version {last.seq}, saved {local(last.at):%H:%M:%S}]")
    st.markdown(" · ".join(parts), width="content")
