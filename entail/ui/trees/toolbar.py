"""Toolbar of the selected node, notice of a failed act, and status of a tree that others may edit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import streamlit as st

from entail.data.text import quote
from entail.errors import EntailError
from entail.trees.log.acts import TypedAct
from entail.trees.log.tree import ROOT
from entail.trees.review.commands import Command
from entail.trees.store.authors import Presence
from entail.ui.frame.author import with_mark
from entail.ui.shared.model_names import model_name
from entail.ui.shared.text import label, local
from entail.ui.trees.page import TreePage, read_presences
from entail.ui.trees.proposals import draw_lists
from entail.ui.trees.ranked_by import draw_ranked_by
from entail.ui.trees.screen import LISTS

EVERY = 3.0
"""Seconds between two refreshes of the status."""

RENEW = timedelta(seconds=20)
"""Age from which an author's own presence is recorded again."""

_NOTICES = {
    "stale": (st.info, ":material/update:"),
    "locked": (st.warning, ":material/lock_clock:"),
    "error": (st.error, ":material/error:"),
    "conflict": (st.warning, ":material/group:"),
}

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


def draw_undo(page: TreePage) -> None:
    """Draw the buttons to undo and redo, with the author's last act in their help."""
    author, history = page.author or "", page.history
    undo, redo = history.undoable(author), history.redoable(author)
    for verb, key, event in (("undo", "u", undo), ("redo", "r", redo)):
        last_act = f": {label(history.describe(event), longest=80)}" if event else ""
        _draw_tool(page, verb, "", f":material/{verb}:", key, disabled=event is None, more=last_act)


def draw_tools(page: TreePage) -> None:
    """Draw a button for each tool of the selected node, disabled where it has no effect."""
    selected = page.screen.selected
    for verb, target, icon, key in _TOOLS:
        more = f": {len(page.tree.rejected(selected))} here" if target == "rejected" else ""
        is_idle = selected == ROOT and target in ("move", "remove")
        _draw_tool(page, verb, target, icon, key, disabled=is_idle, more=more)


def draw_order(page: TreePage) -> None:
    """Draw the list and its ranking as one button, which opens their fields, and the search."""
    name = model_name(page.ranking.name)
    title = name if page.offer is None else f"{LISTS[page.screen.listing]} · {name}"
    with st.popover(title, icon=":material/sort:", help="Ranking and list of the candidates", key="ranking"):
        draw_lists(page)
        draw_ranked_by(page.ranking)
    _draw_tool(page, "dialog", "search", ":material/search:", "s")
    if page.screen.query:
        st.button("Clear search", on_click=page.screen.search, args=(None,), type="tertiary", key="own")


def _draw_tool(
    page: TreePage,
    verb: str,
    target: str,
    icon: str,
    key: str,
    *,
    disabled: bool = False,
    more: str = "",
) -> None:
    name = target or verb
    is_on = name == "rejected" and page.screen.show_rejected
    title = {"rejected": "Hide rejected" if is_on else "Show rejected"}.get(name, name.capitalize())
    st.button(
        name.capitalize() if name in ("write", "conclude") else "",
        icon=icon,
        key=f"tool-{name}",
        disabled=disabled or (page.is_locked and name not in _READING),
        type="primary" if is_on else "secondary",
        on_click=page.run,
        args=(Command(verb, target),),
        help=f"{title} (key {key}){more}",
    )


def draw_notice(page: TreePage) -> None:
    """Draw the acts that wait for the database, and why the last one failed, until dismissed or saved.

    A sentence that can be restored stays until it is restored or dismissed.
    """
    screen = page.screen
    if screen.pending:
        lines = [f"• {label(pending.description)}" for pending in screen.pending]
        words = ["Not saved yet, because the database is locked by another write:", *lines]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning("  \n".join([*words, "Try again in a moment."]), icon=":material/lock_clock:")
            st.button("Try again", on_click=page.retry_pending, icon=":material/refresh:", key="try_again")
            st.button("Discard", on_click=screen.discard_pending, type="tertiary", key="drop_kept")
    notice = screen.notice
    if notice is None and screen.recovery is not None:  # another act was saved since
        notice = ("conflict", "Not saved yet.")
    if notice is None or (screen.pending and notice[0] == "locked"):
        return
    kind, reason = notice
    draw, icon = _NOTICES[kind]
    advice = ""
    if isinstance(screen.recovery, TypedAct):
        advice = f"  \nYour sentence: {label(quote(screen.recovery.text))}"
    elif kind == "conflict":
        advice = "  \nThis is the newest version. Repeat your edit if it still applies."
    with st.container(horizontal=True, vertical_alignment="center"):
        draw(label(reason) + advice, icon=icon)
        if screen.recovery is not None:
            st.button(
                "Restore with your text",
                on_click=page.recover,
                key="recover",
                icon=":material/restore_from_trash:",
            )
        st.button("Dismiss", on_click=screen.dismiss_notice, type="tertiary", key="dismiss")


def draw_watch(page: TreePage) -> None:
    """Draw the last save and the present authors; rerun the page when the tree or the ranking has changed."""
    _draw_watch(page, [page.presences])


@st.fragment(run_every=EVERY)
def _draw_watch(page: TreePage, read: list[tuple[Presence, ...]]) -> None:
    screen, author, shared = page.screen, page.author, page.shared
    try:
        if read:  # the page itself has just read the tree
            presences, seq = read.pop(), screen.history.seq
        else:
            with shared.log.snapshot():
                presences = read_presences(shared, screen.tree_id)
                seq = shared.log.summary(screen.tree_id).seq
        # A key or a click does not pay for this: it is written where it is new or old.
        if author is not None and not any(
            (p.author, p.node) == (author, screen.selected) and datetime.now(UTC) - p.at < RENEW
            for p in presences
        ):
            shared.authors.record_presence(screen.tree_id, author, screen.selected)
        is_outdated = seq != screen.history.seq or page.ranking.is_outdated
    except EntailError as error:
        st.markdown(f":red[:material/cloud_off: {label(str(error), longest=120)}]")
        return
    if is_outdated and screen.dialog is None:
        st.rerun()
    last = page.history.events[-1]
    parts = []
    for presence in [presence for presence in presences if presence.author != author][:3]:
        node = page.tree.nodes.get(presence.node)
        text = quote(node.text, longest=40) if node is not None else "a removed node"
        parts.append(
            f":material/person: {with_mark(presence.author, verified=presence.verified)} at {label(text)}"
        )
    parts.append(f":gray[:material/cloud_done: version {last.seq}, saved {local(last.at):%H:%M:%S}]")
    st.markdown(" · ".join(parts), width="content")
