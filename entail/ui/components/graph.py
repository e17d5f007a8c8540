"""Interactive graph of a tree: the picture that is also exported, in a Streamlit component."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import streamlit as st

from entail.trees.formats.svg import Picture, draw_svg, to_svg
from entail.trees.formats.text import caption_of, printable
from entail.trees.layout import appearance
from entail.trees.layout.drawing import Direction, Layout, rejected_id
from entail.trees.layout.positions import choose_direction, layout
from entail.trees.log.tree import ROOT, Tree
from entail.ui.components.inbox import FIRST_HINT, NodeEvent, component, mount, node_handler, read_assets

MAX_LINES = 7
"""Most lines of text in a box; its title has all of it."""

_SCRIPTS = ("outbox.js", "meeting.js", "elements.js", "graph_view.js", "graph.js")


@dataclass
class GraphView:
    """Part of a tree that an author looks at, and how.

    Attributes:
        focus: Node that is shown with everything below it.
        direction: Where premises stand; None for the direction that suits the tree.
    """

    focus: str = ROOT
    direction: Direction | None = None

    def handle(self, message: Mapping[str, Any], tree: Tree) -> None:
        """Apply a message of the browser: `focus` on a node, or `turn` to the other direction."""
        if message.get("kind") == "focus" and message.get("node") in tree.nodes:
            self.focus = message["node"]
        elif message.get("kind") == "turn":
            suits = choose_direction(tree, start=self.focus)
            other: Direction = "down" if (self.direction or suits) == "right" else "right"
            self.direction = None if other == suits else other

    def show(self, tree: Tree, selected: str | None) -> None:
        """Look at the whole tree again if the focus is gone, or something outside it is selected."""
        if self.focus not in tree.nodes:
            self.focus = ROOT
        elif selected is not None and selected in tree.nodes and selected != self.focus:
            above = {node.id for node in tree.ancestors(selected)}
            self.focus = self.focus if self.focus in above else ROOT


def graph_view(key: str) -> GraphView:
    """Return the view of the graph with this key, which lasts as long as the session."""
    view: GraphView = st.session_state.setdefault(f"{key}:view", GraphView())
    return view


def draw_graph(
    tree: Tree,
    *,
    selected: str | None,
    collapsed: Collection[str] = frozenset(),
    show_rejected: bool = False,
    author: str | None = None,
    key: str,
    height: int = 560,
    on_event: Callable[[NodeEvent], object],
) -> None:
    """Draw the tree; pass every event to `on_event` before the next run of the script.

    The newest node of `author` is scrolled into view when it appears; others' nodes move nothing. The caller
    stores the selected and collapsed nodes. The browser keeps zoom and position across reruns, the
    session the focus and the direction. Each tree needs a `key` of its own.
    """
    view = graph_view(key)
    view.show(tree, selected)
    drawing = layout(
        tree,
        collapsed=collapsed,
        with_rejected=show_rejected,
        max_lines=MAX_LINES,
        direction=view.direction,
        start=view.focus,
    )
    newest = max(tree.nodes.values(), key=lambda node: node.seq)
    path = [tree.nodes[view.focus], *tree.ancestors(view.focus)][::-1]
    data = {
        "picture": asdict(draw_picture(tree, drawing, collapsed=collapsed)),
        "key": key,
        "height": height,
        "direction": drawing.direction,
        "path": [{"id": node.id, "text": node.text} for node in path],
        "selected": _visible(tree, drawing, selected),
        "newest": newest.id if newest.author == author else None,
        "collapsed": [id for id in tree.nodes if id in collapsed and tree.nodes[id].children],
        "inside": {
            id: "\n".join(node.text for node in tree.descendants(id))
            for id, box in drawing.boxes.items()
            if box.hidden
        },
        "description": describe_graph(tree, selected=selected),
        "hint": "" if len(drawing.boxes) > 1 or view.focus != ROOT else FIRST_HINT,
    }
    pass_on = node_handler(("select", "open", "toggle"), on_event)

    def handle(message: Mapping[str, Any]) -> None:
        view.handle(message, tree)
        pass_on(message)

    with st.container(gap=None):
        # The scripts are sent once a session; the small component with each change of the tree.
        component("entail_graph_library", _library_js())(key=f"{key}:library")
        small = component("entail_graph", read_assets("meeting.js", "graph_mount.js"))
        mount(small, key, data, handle)


def draw_picture(tree: Tree, drawing: Layout, *, collapsed: Collection[str] = frozenset()) -> Picture:
    """Return the drawing as SVG whose boxes are items of an ARIA tree, with their captions as titles.

    The box of a rejected premise has `data-of`: the node that it was rejected for.
    """
    titles: dict[str, str] = {}
    roles: dict[str, str] = {}
    rejected = {rejected_id(*judged): judged for judged, j in tree.judgements.items() if not j.accepted}
    for id, box in drawing.boxes.items():
        role = f'id="{printable(id)}" role="treeitem" aria-level="{box.layer + 1}"'
        if box.kind == "rejected":
            node_id, key = rejected[id]
            caption = f"Rejected by {tree.judgements[node_id, key].author}"
            role += f' data-of="{node_id}"'
        else:
            caption = caption_of(tree.nodes[id])
            if id in tree.finished:
                caption += "; finished"
            if tree.nodes[id].children:
                role += f' aria-expanded="{str(id not in collapsed).lower()}"'
                caption += f"; {len(tree.descendants(id))} below" if id in collapsed else ""
        titles[id], roles[id] = f"{caption}:\n{box.text}", role
    expandable = {id for id in drawing.boxes if id in tree.nodes and tree.nodes[id].children}
    return draw_svg(
        drawing, titles, finished=tree.finished, expandable=expandable, roles=roles, attributes='role="none"'
    )


def _visible(tree: Tree, drawing: Layout, selected: str | None) -> str | None:
    """Return the selected node, or the collapsed ancestor that hides it."""
    if selected is None or selected not in tree.nodes:
        return None
    path = (selected, *(node.id for node in tree.ancestors(selected)))
    return next((id for id in path if id in drawing.boxes), None)


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


def show_picture(tree: Tree) -> None:
    """Draw a tree as a still picture, which follows the page's theme."""
    style = f"<style>{read_assets('picture.css')}\n{_colours('svg')}</style>"
    head, end, rest = to_svg(tree).partition(">")
    st.image(f"{head}{end}{style}{rest}", width="stretch", alt=f"Explanation tree of “{tree.root.text}”")


@cache
def _library_js() -> str:
    """Return the script of the component: styles and our scripts."""
    style = {
        "legend": [{"kind": kind, "name": appearance.NAMES[kind]} for kind in appearance.KINDS],
        "shapes": dict(appearance.SHAPES),
    }
    css = f"{read_assets('tools.css', 'graph.css')}\n{_colours()}"
    return f"const STYLE = {json.dumps(style)};\nconst CSS = {json.dumps(css)};\n{read_assets(*_SCRIPTS)}"


def _colours(root: str = ".graph") -> str:
    """Return the colours of boxes and lines; `light-dark` follows the page's theme.

    They replace those that the picture has for those who take it out of the page.
    """
    light, dark = appearance.LIGHT, appearance.DARK
    rules = [f"{root} {{ --edge: light-dark({light.edge}, {dark.edge}); }}"]
    for kind in appearance.KINDS:
        light_look, dark_look = light.looks[kind], dark.looks[kind]
        pairs = {
            name: (getattr(light_look, name), getattr(dark_look, name)) for name in ("fill", "border", "text")
        }
        values = " ".join(f"--{name}: light-dark({a}, {b});" for name, (a, b) in pairs.items())
        rules.append(f'.{kind}, [data-kind="{kind}"] {{ {values} }}')
    return "\n".join(rules)
