"""Interactive graph of a tree: pyvis's network, drawn by vis-network in a Streamlit component."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.trees.formats.graphs import to_svg
from entail.trees.formats.network import OPTIONS, SAMPLE, SMALLEST, groups_of, to_network, vis_script
from entail.trees.formats.text import caption_of, printable
from entail.trees.layout import appearance
from entail.trees.layout.appearance import KINDS
from entail.trees.layout.drawing import Direction, Layout, rejected_id
from entail.trees.layout.positions import choose_direction, layout
from entail.trees.log.tree import ROOT, Tree
from entail.ui.components.inbox import FIRST_HINT, NodeEvent, node_handler, read_assets
from entail.ui.components.tree_view import colours, mount_view, script_of
from entail.ui.shared.text import label

if TYPE_CHECKING:
    from pyvis.network import Network


@dataclass
class GraphView:
    """Node that is shown with all below it, and where premises stand: None for what suits the tree."""

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
    editable: bool = False,
    notes: Mapping[str, str] | None = None,
    meters: Mapping[str, float] | None = None,
    key: str,
    on_event: Callable[[NodeEvent], object],
) -> None:
    """Draw the tree; pass every event to `on_event` before the next run of the script.

    The caller stores the selected and collapsed nodes, the browser zoom and position, the session focus and
    direction.

    Boxes can be dragged onto others where it is `editable`. The newest node of `author` comes into view.
    `notes` has further lines of a box's hover card: its ranking, the check of its step; `meters` the
    probability that its step holds. Each tree needs a `key` of its own.
    """
    view = graph_view(key)
    view.show(tree, selected)
    drawing = layout(
        tree,
        collapsed=collapsed,
        with_rejected=show_rejected,
        max_lines=7,  # a box's title has all of its text
        direction=view.direction,
        start=view.focus,
    )
    network = network_of(tree, drawing, collapsed=collapsed, notes=notes, meters=meters)
    first = next(iter(drawing.boxes.values()))
    visible = _visible(tree, drawing, selected)
    newest = max(tree.nodes.values(), key=lambda node: node.seq)
    inner = [id for id in drawing.boxes if id in tree.nodes and tree.nodes[id].children]
    folded = [id for id in tree.nodes if id in collapsed and tree.nodes[id].children]
    foldable = folded or [id for id in inner if tree.nodes[id].kind == "intermediate"]
    fold, fold_all = ("Expand" if is_folded else "Collapse" for is_folded in (visible in folded, folded))
    data = {
        "nodes": network.nodes,
        "edges": network.edges,
        "size": [drawing.width, drawing.height],
        "part": f"{view.focus} {drawing.direction}",
        "direction": drawing.direction,
        "start": [first.x, first.top] if drawing.direction == "down" else [first.left, first.y],
        "key": key,
        "editable": editable,
        "selected": visible,
        "newest": newest.id if newest.author == author else None,
        "tools": {
            "connect": _tool("Draw a step from a premise to its conclusion", editable),
            "toggle": _tool(f"{fold} the selected node", visible in inner, pressed=visible in folded),
            "toggle all": _tool(f"{fold_all} all", bool(foldable), pressed=bool(folded)),
            "focus": _tool("Show the selected subtree only", visible in inner and visible != view.focus),
            "turn": _tool("Left-to-right layout" if drawing.direction == "down" else "Top-down layout"),
        },
        "description": f"Explanation tree of “{tree.root.text}”. The outline has the same as text.",
        "hint": "" if len(drawing.boxes) > 1 or view.focus != ROOT else FIRST_HINT,
    }
    pass_on = node_handler(("select", "open", "toggle", "move", "connect", "dialog"), on_event)

    def handle(message: Mapping[str, Any]) -> None:
        view.handle(message, tree)
        pass_on(message)
        if message.get("kind") == "toggle all":
            for id in foldable:
                on_event(NodeEvent("toggle", id))

    with st.container(gap=None):
        with st.container(key=f"{key}-path", horizontal=True, vertical_alignment="center", gap="xsmall"):
            for above in reversed(tree.ancestors(view.focus)):
                name = "Whole tree" if above.id == ROOT else label(above.text, longest=40)
                st.button(
                    name,
                    icon=":material/chevron_left:",
                    type="tertiary",
                    key=f"{key}-path-{above.id}",
                    on_click=view.handle,
                    args=({"kind": "focus", "node": above.id}, tree),
                )
        mount_view("graph", key, data, handle, script=graph_script())


def _tool(label: str, enabled: bool = True, *, pressed: bool | None = None) -> dict[str, Any]:
    """Return the properties of the button of a tool."""
    button = {"title": label, "ariaLabel": label, "disabled": not enabled}
    return button if pressed is None else button | {"ariaPressed": str(pressed).lower()}


def network_of(
    tree: Tree,
    drawing: Layout,
    *,
    collapsed: Collection[str] = (),
    notes: Mapping[str, str] | None = None,
    meters: Mapping[str, float] | None = None,
) -> Network:
    """Return a drawing as a network whose boxes also have captions and levels, and signs to collapse them.

    The box of a rejected premise has `of`: the node that it was rejected for; the nodes of the groups `fold`
    and `tick` have the one that they stand at.
    """
    network = to_network(drawing)
    rejected = {rejected_id(*judged): judged for judged, j in tree.judgements.items() if not j.accepted}
    joints = {step.parent: step.stem[0] for step in drawing.steps if step.stem}

    def add_sign(id: str, group: str, text: str, x: float, y: float) -> None:
        position = {"x": round(x), "y": round(y)}
        network.add_node(f"{id}@{group}", label=text, shape="box", group=group, of=id, **position)

    for id, box in drawing.boxes.items():
        about = network.get_node(id)
        about |= {"level": box.layer + 1, "words": box.text.lower()}
        if box.kind == "rejected":
            about["of"] = rejected[id][0]
            caption = f"Rejected by {tree.judgements[rejected[id]].author}"
        else:
            node = tree.nodes[id]
            caption = caption_of(node)
            if tree.is_finished(id):
                caption += "; finished"
                add_sign(id, "tick", "\N{CHECK MARK}", box.right - 8, box.top)
            if box.hidden:
                caption += f"; {box.hidden} below"
                about["words"] += "\n" + "\n".join(below.text.lower() for below in tree.descendants(id))
            if node.children:
                about["open"] = id not in collapsed
                joint = joints.get(id) or (box.right + 8, box.y)
                sign = f"+{box.hidden}" if box.hidden else "\N{MINUS SIGN}"
                share = (meters or {}).get(id)
                add_sign(id, "fold", sign if share is None else f"{sign} {meter(share)}", *joint)
        lines = (caption, box.text, (notes or {}).get(id, ""))
        about["title"] = printable("\n".join(filter(None, lines)))
    return network


def meter(probability: float) -> str:
    """Return a circle that is filled by quarters, wholly from .9 on.

    >>> meter(0.04), meter(0.5), meter(0.95)
    ('○', '◑', '●')
    """
    return "○◔◑◕●"[bisect((0.1, 0.4, 0.65, 0.9), probability)]


def _visible(tree: Tree, drawing: Layout, selected: str | None) -> str | None:
    """Return the selected node, or the collapsed ancestor that hides it."""
    if selected is None or selected not in tree.nodes:
        return None
    path = (selected, *(node.id for node in tree.ancestors(selected)))
    return next((id for id in path if id in drawing.boxes), None)


def show_picture(tree: Tree) -> None:
    """Draw a tree as a still picture, which follows the page's theme."""
    style = f"<style>{read_assets('picture.css')}\n{colours('svg')}</style>"
    head, end, rest = to_svg(tree).partition(">")
    st.image(f"{head}{end}{style}{rest}", width="stretch", alt=f"Explanation tree of “{tree.root.text}”")


@cache
def graph_script() -> str:
    """Return the script of the view: vis-network as pyvis ships it, and ours."""
    style = {
        "options": OPTIONS,
        "sample": SAMPLE,
        "accent": appearance.ACCENT,
        "radii": {
            kind: groups_of(appearance.LIGHT)[kind]["shapeProperties"]["borderRadius"] for kind in KINDS
        },
        "smallest": SMALLEST,
        "themes": {"light": _groups(appearance.LIGHT), "dark": _groups(appearance.DARK)},
    }
    return f"{vis_script()}\n{script_of('graph', STYLE=style)}"


def _groups(theme: appearance.Theme) -> dict[str, Any]:
    """Return the groups of a theme, with those of the signs at a box."""
    groups = groups_of(theme)
    for kind in KINDS:
        groups[kind]["fixed"] = dict.fromkeys("xy", kind == "rejected")
    for name, fill, text in (("fold", theme.background, theme.text), ("tick", theme.edge, theme.background)):
        colours = {"background": fill, "border": theme.edge}
        groups[name] = {
            "color": {**colours, "highlight": colours, "hover": {**colours, "border": theme.text}},
            "font": {"color": text, "size": 11},
            "margin": {"left": 4, "right": 4, "top": 0, "bottom": 1},
            "shapeProperties": {"borderRadius": 9},
            "borderWidth": 1,
            "fixed": {"x": True, "y": True},
        }
    return groups
