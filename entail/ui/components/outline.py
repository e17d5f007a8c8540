"""Outline of a tree for keyboard and screen reader: an ARIA tree, drawn by a Streamlit component."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import cache

import streamlit as st

from entail.trees.formats.text import outline
from entail.trees.layout import appearance
from entail.trees.log.tree import Tree
from entail.ui.components.inbox import FIRST_HINT, NodeEvent, component, mount, node_handler, read_assets

_SCRIPTS = ("outbox.js", "meeting.js", "elements.js", "outline_row.js", "outline.js")
_APART = "Not connected: conclusions without a parent (move them with key m)"


def draw_outline(
    tree: Tree,
    *,
    selected: str,
    collapsed: Collection[str] = frozenset(),
    show_rejected: bool = False,
    key: str,
    on_event: Callable[[NodeEvent], object],
) -> None:
    """Draw the tree; pass every event to `on_event` before the next run of the script.

    The caller stores the selected and collapsed nodes. Each tree needs a `key` of its own.
    """
    lines = outline(tree, with_rejected=show_rejected)
    data = {
        "rows": [asdict(line) for line in lines],
        "selected": selected,
        "collapsed": [id for id in tree.nodes if id in collapsed and tree.nodes[id].children],
        "label": "Outline of the explanation tree",
        "apart": _APART,
        "hint": "" if len(lines) > 1 else FIRST_HINT,
    }
    with st.container(gap=None):
        # The scripts are sent once a session; the small component with each change of the tree.
        component("entail_outline_library", _library_js())(key=f"{key}:library")
        small = component("entail_outline", read_assets("meeting.js", "outline_mount.js"))
        mount(small, key, data, node_handler(("select", "collapse", "expand"), on_event))


@cache
def _library_js() -> str:
    """Return the script of the component: styles and our scripts."""
    style = {"names": dict(appearance.NAMES), "shapes": dict(appearance.SHAPES)}
    css = f"{read_assets('tools.css', 'outline.css')}\n{_colours()}"
    return f"const STYLE = {json.dumps(style)};\nconst CSS = {json.dumps(css)};\n{read_assets(*_SCRIPTS)}"


def _colours() -> str:
    """Return the colours of the kinds; `light-dark` follows the page's theme."""
    rules = []
    for kind in appearance.KINDS:
        light, dark = appearance.LIGHT.looks[kind], appearance.DARK.looks[kind]
        fill, border = f"light-dark({light.fill}, {dark.fill})", f"light-dark({light.border}, {dark.border})"
        rules.append(f'[data-kind="{kind}"] {{ --fill: {fill}; --border: {border}; }}')
    return "\n".join(rules)
