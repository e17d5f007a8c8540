"""Outline of a tree for keyboard and screen reader: an ARIA tree, drawn by a Streamlit component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import cache

from entail.trees.formats.text import outline
from entail.trees.layout.appearance import NAMES, SHAPES
from entail.trees.log.tree import Tree
from entail.ui.components.inbox import FIRST_HINT, NodeEvent, node_handler
from entail.ui.components.tree_view import mount_view, script_of

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
    """Draw the tree; its parameters are those of `draw_graph`."""
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
        "apart": _APART,
        "hint": "" if len(lines) > 1 else FIRST_HINT,
    }
    handle = node_handler(("select", "collapse", "expand"), on_event)
    mount_view("outline", key, data, handle, script=_script())


@cache
def _script() -> str:
    return script_of("outline")
