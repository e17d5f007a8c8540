"""Interactive graph of a tree: pyvis's `Network`, drawn by a Streamlit component."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.trees.formats.network import to_network, vis_script
from entail.trees.formats.text import caption_of
from entail.trees.layout import appearance
from entail.trees.layout.positions import COLUMN, Layout, Place, columns_of, layout, rejected_id
from entail.trees.log.tree import Tree
from entail.ui.components.inbox import FIRST_HINT, NodeEvent, component, mount, node_handler, read_assets

if TYPE_CHECKING:
    from pyvis.network import Network

MAX_LINES = 7
"""Most lines of text in a box; the tooltip has all of it."""

_SCRIPTS = (
    *("outbox.js", "meeting.js", "elements.js", "graph_paint.js", "graph_view.js", "graph_panel.js"),
    "graph.js",
)

_SAMPLE = "at night a side of the moon is turned away from the sun"


def draw_graph(
    tree: Tree,
    *,
    selected: str | None,
    collapsed: Collection[str] = frozenset(),
    show_rejected: bool = False,
    key: str,
    height: int = 560,
    on_event: Callable[[NodeEvent], object],
) -> None:
    """Draw the tree; pass every event to `on_event` before the next run of the script.

    The caller stores the selected and collapsed nodes. The browser keeps zoom and position across reruns.
    Each tree needs a `key` of its own.
    """
    drawing = layout(tree, collapsed=collapsed, with_rejected=show_rejected, max_lines=MAX_LINES)
    network = build_network(tree, drawing, collapsed=collapsed)
    data = {
        "nodes": network.nodes,
        "edges": network.edges,
        "key": key,
        "height": height,
        "selected": _visible(tree, drawing, selected),
        "collapsed": [id for id in tree.nodes if id in collapsed and tree.nodes[id].children],
        "description": describe_graph(tree, selected=selected),
        "hint": "" if len(drawing.places) > 1 else FIRST_HINT,
    }
    with st.container(gap=None):
        # The scripts are sent once a session; the small component with each change of the tree.
        component("entail_graph_library", _library_js())(key=f"{key}:library")
        small = component("entail_graph", read_assets("meeting.js", "graph_mount.js"))
        mount(small, key, data, node_handler(("select", "open", "toggle"), on_event))


def prepare_graph() -> None:
    """Load the modules and scripts of the first graph; for a thread at start, so that no page waits."""
    import pyvis.network  # noqa: F401 - loaded for the first page

    _library_js()


def build_network(tree: Tree, drawing: Layout, *, collapsed: Collection[str] = frozenset()) -> Network:
    """Return the drawing as pyvis's `Network`, with the fields of `graph.js`.

    A node has `width`, `height`, `title`, `caption`, `below` (number of descendants), `collapsed`, `inside`
    (texts of hidden descendants, for the search) and `finished`. A rejected premise has `of` (the node that
    it was rejected for) and `key`.
    """
    rejected = {
        rejected_id(node, key): {"of": node, "key": key, "caption": f"Rejected by {judgement.author}"}
        for (node, key), judgement in tree.judgements.items()
        if not judgement.accepted
    }

    def describe(id: str, place: Place) -> dict[str, Any]:
        about = rejected[id] if place.kind == "rejected" else _about(tree, id, folded=id in collapsed)
        size = {"width": round(place.width), "height": round(place.height)}
        return {"title": place.text, "physics": False, **size, **about}

    return to_network(drawing, describe)


def _visible(tree: Tree, drawing: Layout, selected: str | None) -> str | None:
    """Return the selected node, or the collapsed ancestor that hides it."""
    if selected is None or selected not in tree.nodes:
        return None
    path = (selected, *(node.id for node in tree.ancestors(selected)))
    return next((id for id in path if id in drawing.places), None)


def _about(tree: Tree, node_id: str, *, folded: bool) -> dict[str, Any]:
    node = tree.nodes[node_id]
    about: dict[str, Any] = {"caption": caption_of(node)}
    if node.children:
        below = [other.text for other in tree.descendants(node_id)]
        about["below"] = len(below)
        if folded:
            about |= {"collapsed": True, "inside": "\n".join(below)}
    if node_id in tree.finished:
        about |= {"finished": True, "caption": f"{caption_of(node)}; finished"}
    return about


def describe_graph(tree: Tree, *, selected: str | None) -> str:
    """Return a description of the graph for screen readers."""
    kinds = [node.kind for node in tree.nodes.values()]
    words = [
        f"Explanation tree of “{tree.root.text}”: {kinds.count('intermediate')} intermediate conclusions, "
        f"{kinds.count('premise')} premises."
    ]
    if selected is not None and selected in tree.nodes:
        words.append(f"Selected: “{tree.nodes[selected].text}”.")
    return " ".join([*words, "The outline has the same as text."])


@cache
def _library_js() -> str:
    """Return the script of the component: pyvis's vis-network, the styles, our scripts."""
    style = {
        "light": _theme(appearance.LIGHT),
        "dark": _theme(appearance.DARK),
        "legend": [{"kind": kind, "name": appearance.NAMES[kind]} for kind in appearance.KINDS],
        "shapes": dict(appearance.SHAPES),
        "font_size": appearance.FONT_SIZE,
        "sample": {"text": _SAMPLE, "width": columns_of(_SAMPLE) * COLUMN},
        "line_height": appearance.LINE_HEIGHT,
        "padding": appearance.PADDING,
        "corner": appearance.CORNER,
        "border_width": appearance.BORDER_WIDTH,
        "dashes": appearance.DASHES,
        "dots": appearance.DOTS,
    }
    return "\n".join(
        (
            # vis-network's exports stay out of the page's globals.
            "const vis = {};\n(function (exports, module, define) {",
            vis_script(),
            "})(vis, {}, undefined);",
            f"const STYLE = {json.dumps(style)};",
            f"const CSS = {json.dumps(read_assets('tools.css', 'graph.css'))};",
            read_assets(*_SCRIPTS),
        )
    )


def _theme(theme: appearance.Theme) -> dict[str, Any]:
    return {"edge": theme.edge, "looks": {kind: asdict(look) for kind, look in theme.looks.items()}}
