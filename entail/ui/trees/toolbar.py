"""Toolbar of the selected node, and the notice of a failed act."""

from __future__ import annotations

import streamlit as st

from entail.trees.log.tree import ROOT
from entail.trees.review.commands import Command
from entail.ui.shared.text import label
from entail.ui.trees.screen import AuthoringSession, Screen

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
    with st.container(horizontal=True, vertical_alignment="center"):
        if kind == "conflict":
            st.warning(
                f"{label(words)}  \nThis is the newest version. Repeat your edit if it still applies.",
                icon=":material/group:",
            )
        elif kind == "stale":
            st.info(label(words), icon=":material/update:")
        elif kind == "locked":
            st.warning(label(words), icon=":material/lock_clock:")
        else:
            st.error(label(words), icon=":material/error:")
        st.button("Dismiss", on_click=_dismiss, args=(screen,), type="tertiary", key="dismiss")


def _draw_pending(session: AuthoringSession) -> None:
    lines = "".join(f"  \n• {label(act.description)}" for act in session.screen.pending)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(
            f"Not saved yet, because the database is locked by another write:{lines}  \nTry again in a "
            f"moment.",
            icon=":material/lock_clock:",
        )
        st.button("Try again", on_click=session.retry_pending, icon=":material/refresh:", key="try_again")
        st.button("Discard", on_click=_drop, args=(session.screen,), type="tertiary", key="drop_kept")


def _dismiss(screen: Screen) -> None:
    screen.notice = None


def _drop(screen: Screen) -> None:
    screen.pending, screen.notice = (), None
