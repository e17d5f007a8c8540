"""The tree as a list to walk by keys, within reach of screen readers: an ARIA tree, drawn by a component."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import streamlit as st

from entail.trees import appearance
from entail.trees.formats.outline import Line, outline
from entail.trees.layout import rejected_id
from entail.trees.tree import Node, Tree
from entail.ui.inbox import ASSETS, inbox, receiver

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_SCRIPTS = ("outbox.js", "meeting.js", "elements.js", "outline_row.js", "outline.js")
_APART = "Not connected: conclusions that nothing above uses yet (move them with key m)"
_FIRST_HINT = "Premises that you accept appear here, below the hypothesis."

Verb = Literal["select", "expand", "collapse"]


@dataclass(frozen=True, slots=True)
class OutlineEvent:
    """What was done to a row of the outline; `open` (Enter, double-click) comes as `select` and `expand`."""

    kind: Verb
    node: str


@dataclass(frozen=True, slots=True)
class Row:
    """A sentence as the outline shows it.

    Attributes:
        id: The node's id; for a rejected premise that of its box in the graph.
        node: The node that a click selects: itself, or the one that it was rejected for.
        parent: Id of the row above that it belongs to; None for the hypothesis and for loose nodes.
        kind: How it looks.
        text: The sentence.
        level: 1 for rows without a parent.
        caption: What it is and who made it.
        marks: What else is known of it, in words: `finished`, `no premises yet`, `rejected by …`.
    """

    id: str
    node: str
    parent: str | None
    kind: appearance.DrawnKind
    text: str
    level: int
    caption: str
    marks: tuple[str, ...] = ()


def draw_outline(
    tree: Tree,
    *,
    selected: str,
    collapsed: Collection[str] = frozenset(),
    show_rejected: bool = False,
    key: str,
    on_event: Callable[[OutlineEvent], object],
) -> None:
    """Draw the tree; every event is handed to `on_event` before the next run of the script begins.

    What is selected and collapsed is the caller's to keep; the browser shows at once what was done there.
    `key` names the outline: give every tree its own.
    """
    box = inbox(key)

    def handle(messages: Iterator[Mapping[str, Any]]) -> None:
        for event in events_of(messages):
            on_event(event)

    rows = rows_of(tree, with_rejected=show_rejected)
    with st.container(gap=None):
        _library()(key=f"{key}:library")  # sends nothing anew: the browser has it
        _mount()(
            key=key,
            data={
                "rows": [asdict(row) for row in rows],
                "selected": selected,
                "collapsed": [id for id in tree.nodes if id in collapsed and tree.nodes[id].children],
                "label": "Outline of the explanation tree",
                "apart": _APART,
                "hint": "" if len(rows) > 1 else _FIRST_HINT,
                "acknowledged": box.acknowledged,
            },
            on_sent_change=receiver(key, handle),
        )


def rows_of(tree: Tree, *, with_rejected: bool = False) -> list[Row]:
    """Return the rows depth first, loose nodes last; what was rejected for a node stands right below it."""
    return [_row(tree, line) for line in outline(tree, with_rejected=with_rejected)]


def _row(tree: Tree, line: Line) -> Row:
    node, name = tree.nodes[line.node], appearance.NAMES[line.kind]
    level = line.depth + 1
    if line.premise is not None:
        id, author = rejected_id(node.id, line.premise), tree.judgements[node.id, line.premise].author
        marks: tuple[str, ...] = (f"rejected by {author}",)
        return Row(id, node.id, node.id, "rejected", line.text, level, f"{name} of {node.id}", marks)
    caption = f"{name} {node.label or node.id}, by {node.author}"
    return Row(node.id, node.id, node.parent, node.kind, node.text, level, caption, _marks(tree, node))


def events_of(messages: Iterator[Mapping[str, Any]]) -> Iterator[OutlineEvent]:
    """Yield what the browser's messages say, leaving out what is malformed."""
    for message in messages:
        if message.get("kind") in get_args(Verb) and isinstance(message.get("node"), str):
            yield OutlineEvent(message["kind"], message["node"])


def _marks(tree: Tree, node: Node) -> tuple[str, ...]:
    if node.id in tree.finished:
        return ("finished",)
    if node.kind == "intermediate" and not node.children:
        return ("no premises yet",)
    return ()


@cache
def _library_js() -> str:
    """Return the script that draws: the looks, our scripts."""
    style = {"names": dict(appearance.NAMES), "shapes": dict(appearance.SHAPES)}
    css = "\n".join((_asset("tools.css"), _asset("outline.css"), _colours()))
    return "\n".join(
        (f"const STYLE = {json.dumps(style)};", f"const CSS = {json.dumps(css)};", *map(_asset, _SCRIPTS))
    )


def _colours() -> str:
    """Return the kinds' colours; `light-dark` follows the page's theme by itself."""
    rules = []
    for kind in appearance.KINDS:
        light, dark = appearance.LIGHT.looks[kind], appearance.DARK.looks[kind]
        fill, border = f"light-dark({light.fill}, {dark.fill})", f"light-dark({light.border}, {dark.border})"
        rules.append(f'[data-kind="{kind}"] {{ --fill: {fill}; --border: {border}; }}')
    return "\n".join(rules)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _library() -> ComponentRenderer:
    """Return what draws outlines; it never changes, so Streamlit sends it once a session."""
    return st.components.v2.component("entail_outline_library", js=_library_js())


@cache
def _mount() -> ComponentRenderer:
    """Return one outline on the page; it travels with each change of the tree, so it is small."""
    js = "\n".join(map(_asset, ("meeting.js", "outline_mount.js")))
    return st.components.v2.component("entail_outline", js=js)
