"""The three ways to look at a tree: graph, outline, history."""

from __future__ import annotations

import streamlit as st

from entail.ui.graph import GraphEvent, draw_graph
from entail.ui.history import draw_history
from entail.ui.outline import OutlineEvent, draw_outline
from entail.ui.resources import Workspace
from entail.ui.screen import Desk, Screen


def draw_view(view: str, shared: Workspace, desk: Desk) -> None:
    """Draw the view of this name."""
    screen, tree = desk.screen, desk.history.tree
    if view == "History":
        draw_history(desk.history, shared.log.evidence(screen.tree_id))
        return
    st.toggle(
        f"Show rejected premises ({len(tree.rejected(screen.selected))} here)",
        value=screen.show_rejected,
        key=f"rejected-{screen.tree_id}-{screen.show_rejected}",
        on_change=_toggle,
        args=(screen,),
        help="Key v. Violet, with dotted edges.",
    )
    if view == "Outline":
        draw_outline(
            tree,
            selected=screen.selected,
            collapsed=screen.collapsed,
            show_rejected=screen.show_rejected,
            key=f"outline-{screen.tree_id}",
            on_event=lambda event: follow(screen, event),
        )
    else:
        draw_graph(
            tree,
            selected=screen.selected,
            collapsed=screen.collapsed,
            show_rejected=screen.show_rejected,
            key=f"graph-{screen.tree_id}",
            height=640,
            on_event=lambda event: follow(screen, event),
        )


def _toggle(screen: Screen) -> None:
    screen.show_rejected = not screen.show_rejected


def follow(screen: Screen, event: GraphEvent | OutlineEvent) -> None:
    """Take what was done in the graph or the outline into the screen, which both share.

    A click selects, a double click opens (selects, and shows what is below), a toggle folds or unfolds;
    the outline says which.
    """
    if event.kind in ("select", "open"):
        screen.select(event.node)
    if event.kind in ("open", "expand"):
        screen.collapsed -= {event.node}
    elif event.kind == "collapse":
        screen.collapsed |= {event.node}
    elif event.kind == "toggle":
        screen.collapsed ^= {event.node}
