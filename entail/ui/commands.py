"""What a key means on the authoring screen; pure, so that it can be tested without a browser."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from entail.trees.suggestions import Candidate
from entail.trees.tree import ROOT, Tree

PAGE = 10
"""Candidates on the screen at a time; the digits 1 to 9 and 0 stand for them."""

KEYS: tuple[tuple[str, str], ...] = (
    ("1 … 9, 0", "accept this candidate"),
    ("Shift + digit", "reject this candidate"),
    ("n / p", "next / previous candidates"),
    ("f", "finish: reject the others shown so far"),
    ("u / r", "undo / redo your own last act"),
    ("↑ ↓", "previous / next node"),
    ("← →", "to the conclusion above / the first premise below; in the outline first collapse / expand"),
    ("w", "write a premise of your own"),
    ("c", "conclude: put an intermediate conclusion over premises"),
    ("e", "edit the node's sentence"),
    ("m", "move the node under another"),
    ("[ ]", "move the node one place up / down among its siblings"),
    ("x", "remove the node"),
    ("s", "search with your own words"),
    ("l", "another list, where a scorer of facts is here: retrieved, next premise, chain"),
    ("d", "draft a chain of premises, where a scorer of facts is here"),
    ("v", "show or hide rejected premises"),
    ("?", "this list"),
)
"""Keys and their meaning, as the list on screen shows them."""

LISTENED: tuple[str, ...] = (
    *"1234567890",
    *(f"shift+{digit}" for digit in "1234567890"),
    *"nfpurwcemxsvld[]?",
    "up",
    "down",
    "left",
    "right",
)
"""Keys that the screen takes from the browser."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to do: a verb, and the node or candidate that it is about.

    Attributes:
        verb: `accept`, `reject`, `finish`, `undo`, `redo`, `select`, `page`, `reorder`, `dialog`, `toggle`,
            `list` or `draft`.
        target: Premise key, node id, name of a dialog, of a switch, or of a list; none for the next list.
        step: For `page` and `reorder`: +1 or -1.
    """

    verb: str
    target: str = ""
    step: int = 0


_DIALOGS = {
    "w": "write",
    "c": "conclude",
    "e": "edit",
    "m": "move",
    "x": "remove",
    "s": "search",
    "?": "keys",
}


def command_for(
    key: str,
    *,
    tree: Tree,
    selected: str,
    shown: Sequence[Candidate],
    collapsed: Collection[str] = frozenset(),
) -> Command | None:
    """Return what a key means now, None where it means nothing (a digit without a candidate)."""
    digit = key.removeprefix("shift+")
    if digit.isdigit():
        at = (int(digit) - 1) % 10
        if at >= len(shown):
            return None
        return Command("reject" if key.startswith("shift+") else "accept", shown[at].premise.key)
    if key in _DIALOGS:
        return Command("dialog", _DIALOGS[key])
    if key in ("up", "down", "left", "right"):
        node = neighbour(tree, selected, key, collapsed=collapsed)
        return Command("select", node) if node != selected else None
    simple = {
        "u": Command("undo"),
        "r": Command("redo"),
        "f": Command("finish"),
        "n": Command("page", step=1),
        "p": Command("page", step=-1),
        "v": Command("toggle", "rejected"),
        "l": Command("list"),
        "d": Command("draft"),
        "[": Command("reorder", selected, -1),
        "]": Command("reorder", selected, 1),
    }
    return simple.get(key)


def neighbour(tree: Tree, selected: str, key: str, *, collapsed: Collection[str] = frozenset()) -> str:
    """Return the node to which an arrow key leads from the selected one, itself at an edge.

    Up and down pass over what is folded away below a collapsed node; right goes into it.
    """
    if key == "left":
        return tree.node(selected).parent or selected
    if key == "right":
        return next(iter(tree.node(selected).children), selected)
    folded = {node.id for id in collapsed if id in tree.nodes for node in tree.walk(id) if node.id != id}
    walk = (node.id for start in (ROOT, *tree.loose) for node in tree.walk(start))
    order = [id for id in walk if id == selected or id not in folded]
    at = order.index(selected) + (1 if key == "down" else -1)
    return order[min(max(at, 0), len(order) - 1)]


def moved(tree: Tree, node_id: str, step: int) -> tuple[str, ...] | None:
    """Return the order of the siblings with this node one place further, None where it stands at the edge."""
    parent = tree.node(node_id).parent
    if parent is None:
        return None
    order = list(tree.node(parent).children)
    at = order.index(node_id)
    if not 0 <= at + step < len(order):
        return None
    order[at], order[at + step] = order[at + step], order[at]
    return tuple(order)
