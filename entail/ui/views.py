"""The three ways to look at a tree: graph, outline, history."""

from __future__ import annotations

import streamlit as st

from entail.ui.graph import GraphEvent, draw_graph
from entail.ui.history import draw_history
from entail.ui.outline import draw_outline
from entail.ui.resources import Workspace
from entail.ui.screen import Desk, Screen


def draw_view(view: str, shared: Workspace, desk: Desk) -> None:
    """Draw the view of this name."""
    screen = desk.screen
    if view == "Graph":
        st.toggle(
            f"Show rejected premises ({len(desk.history.tree.rejected(screen.selected))} here)",
            value=screen.show_rejected,
            key=f"rejected-{screen.tree_id}-{screen.show_rejected}",
            on_change=_toggle,
            args=(screen,),
            help="Key v. Violet, with dotted edges.",
        )
        draw_graph(
            desk.history.tree,
            selected=screen.selected,
            collapsed=screen.collapsed,
            show_rejected=screen.show_rejected,
            key=f"graph-{screen.tree_id}",
            height=640,
            on_event=lambda event: follow(screen, event),
        )
    elif view == "Outline":
        find = st.text_input(
            "Find",
            key=f"find-{screen.tree_id}",
            placeholder="Words in a sentence",
            label_visibility="collapsed",
        )
        draw_outline(desk, find=find)
    else:
        draw_history(desk.history, shared.log.evidence(screen.tree_id))


def _toggle(screen: Screen) -> None:
    screen.show_rejected = not screen.show_rejected


def follow(screen: Screen, event: GraphEvent) -> None:
    """Take a graph event into the screen.

    A click selects, a double click opens (selects, and shows what is below), a toggle folds or unfolds.
    """
    if event.kind in ("select", "open"):
        screen.select(event.node)
    if event.kind == "open":
        screen.collapsed -= {event.node}
    elif event.kind == "toggle":
        screen.collapsed ^= {event.node}
