"""The acts on the selected node as buttons, each with its key, and what the last act came to."""

from __future__ import annotations

import streamlit as st

from entail.trees.tree import ROOT
from entail.ui.commands import Command
from entail.ui.screen import Desk, Screen
from entail.ui.words import label

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


def draw_toolbar(desk: Desk) -> None:
    """Draw one button for each tool; those that cannot do anything now are grey."""
    author = desk.author or ""
    possible = {"undo": desk.history.undoable(author), "redo": desk.history.redoable(author)}
    root = desk.screen.selected == ROOT
    with st.container(horizontal=True, gap="xsmall"):
        for verb, target, icon, key in _TOOLS:
            name = target or verb
            event = possible.get(verb)
            disabled = (verb in possible and event is None) or (root and target in ("move", "remove"))
            disabled = disabled or (desk.closed and target not in ("search", "keys"))
            what = f": {label(desk.history.describe(event), longest=80)}" if event else ""
            st.button(
                name.capitalize() if target in ("write", "conclude") else "",
                icon=icon,
                key=f"tool-{name}",
                disabled=disabled,
                on_click=desk.run,
                args=(Command(verb, target),),
                help=f"{name.capitalize()} (key {key}){what}",
            )


def draw_notice(desk: Desk) -> None:
    """Draw what stood in the way of the last act, until it is dismissed or another act succeeds."""
    screen = desk.screen
    if screen.kept:
        _draw_kept(desk)
    if screen.notice is None or (screen.kept and screen.notice[0] == "locked"):
        return
    kind, words = screen.notice
    with st.container(horizontal=True, vertical_alignment="center"):
        if kind == "conflict":
            st.warning(
                f"{label(words)}  \nYou now see the newest version. Do it again if it still holds.",
                icon=":material/group:",
            )
        elif kind == "stale":
            st.info(label(words), icon=":material/update:")
        elif kind == "locked":
            st.warning(label(words), icon=":material/lock_clock:")
        else:
            st.error(label(words), icon=":material/error:")
        st.button("Dismiss", on_click=_dismiss, args=(screen,), type="tertiary", key="dismiss")


def _draw_kept(desk: Desk) -> None:
    lines = "".join(f"  \n• {label(kept.words)}" for kept in desk.screen.kept)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(
            f"Not saved yet, because somebody else is writing to the database:{lines}  \n"
            "Nothing was lost: it is kept here. Try again in a moment.",
            icon=":material/lock_clock:",
        )
        st.button("Try again", on_click=desk.try_again, icon=":material/refresh:", key="try_again")
        st.button("Drop", on_click=_drop, args=(desk.screen,), type="tertiary", key="drop_kept")


def _dismiss(screen: Screen) -> None:
    screen.notice = None


def _drop(screen: Screen) -> None:
    screen.kept, screen.notice = (), None
