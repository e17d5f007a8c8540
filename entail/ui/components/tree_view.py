"""Outline of a tree for keyboard and screen reader, and what it shares with the graph in the browser.

The scripts of a view are sent once a session; a small component travels with each change of the tree.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import streamlit as st

from entail.trees.formats.text import outline
from entail.trees.layout.appearance import DARK, KINDS, LIGHT, NAMES, SHAPES
from entail.trees.log.tree import Tree
from entail.ui.components.inbox import FIRST_HINT, NodeEvent, component, mount, node_handler, read_assets

LEGEND = "".join(
    f'<li data-kind="{kind}"><span class="key {SHAPES[kind]}"></span>{NAMES[kind]}</li>' for kind in KINDS
)
"""Entries of the legend of a tree, as HTML."""


def mount_view(
    view: str,
    key: str,
    data: Mapping[str, Any],
    on_message: Callable[[Mapping[str, Any]], object],
    *,
    script: str,
) -> None:
    """Draw a tree by the script of a view; pass its messages on as `mount` does."""
    with st.container(gap=None):
        component(f"entail_{view}_library", script)(key=f"{key}:library")
        small = f"const VIEW = {view!r};\n{read_assets('meeting.js', 'mount.js')}"
        mount(component(f"entail_{view}", small), key, data, on_message)


def script_of(view: str, **constants: object) -> str:
    """Return the script of a view with its page, its styles and these constants in front."""
    css = f"{read_assets('tools.css', f'{view}.css')}\n{colours(f'.{view}')}"
    html = f"<style>{css}</style>{read_assets(f'{view}.html').replace('LEGEND', LEGEND)}"
    constants = {"VIEW": view, "HTML": html, **constants}
    lines = [f"const {name} = {json.dumps(value)};" for name, value in constants.items()]
    scripts = ("outbox.js", "meeting.js", "elements.js", f"{view}.js", "serving.js")
    return "\n".join([*lines, read_assets(*scripts)])


def colours(root: str) -> str:
    """Return the colours of boxes and lines below this selector; `light-dark` follows the page's theme."""
    rules = [f"{root} {{ --edge: light-dark({LIGHT.edge}, {DARK.edge}); }}"]
    for kind in KINDS:
        looks = (LIGHT.looks[kind], DARK.looks[kind])
        values = " ".join(
            f"--{name}: light-dark({', '.join(getattr(look, name) for look in looks)});"
            for name in ("fill", "border", "text")
        )
        rules.append(f'.{kind}, [data-kind="{kind}"] {{ {values} }}')
    return "\n".join(rules)


def draw_outline(
    tree: Tree,
    *,
    selected: str,
    collapsed: Collection[str] = frozenset(),
    show_rejected: bool = False,
    key: str,
    on_event: Callable[[NodeEvent], object],
) -> None:
    """Draw the tree as an ARIA tree; the parameters are those of `draw_graph`."""
    lines = outline(tree, with_rejected=show_rejected)
    sizes, positions = Counter(line.parent for line in lines), Counter[str | None]()
    rows = []
    for line in lines:
        positions[line.parent] += 1
        siblings = {"position": positions[line.parent], "size": sizes[line.parent]}
        rows.append({**asdict(line), "shape": SHAPES[line.kind], "name": NAMES[line.kind], **siblings})
    data = {
        "rows": rows,
        "selected": selected,
        "collapsed": [id for id in tree.nodes if id in collapsed and tree.nodes[id].children],
        "label": "Outline of the explanation tree",
        "apart": "Not connected: conclusions without a parent (move them with key m)",
        "hint": "" if len(lines) > 1 else FIRST_HINT,
    }
    handle = node_handler(("select", "collapse", "expand"), on_event)
    mount_view("outline", key, data, handle, script=outline_script())


@cache
def outline_script() -> str:
    """Return the script of the outline."""
    return script_of("outline")
