"""Commands of the authoring screen and their keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from entail.trees.log.acts import Act, Conclude, Edit, TypedAct, Write
from entail.trees.log.replay import History
from entail.trees.log.tree import ROOT, Tree
from entail.trees.review.suggestions import Candidate

PAGE = 10
"""Candidates on the screen, which the digits 1 to 9 and 0 select."""

KEYS: tuple[tuple[str, str], ...] = (
    ("1 … 9, 0", "accept the candidate"),
    ("Shift + digit", "reject the candidate"),
    ("n / p", "next / previous candidates"),
    ("f", "reject the remaining candidates shown so far"),
    ("u / r", "undo / redo your last act"),
    ("↑ ↓", "previous / next node"),
    ("← →", "parent / first child; in the outline, collapse / expand first"),
    ("w", "write your own premise"),
    ("c", "combine premises into an intermediate conclusion"),
    ("e", "edit the sentence"),
    ("m", "move the node under another"),
    ("[ ]", "move the node up / down among its siblings"),
    ("x", "remove the node"),
    ("s", "search with your own words"),
    ("l", "next list: retrieved, next premise, chain (with a chain scorer)"),
    ("d", "draft a chain of premises (with a chain scorer)"),
    ("v", "show or hide rejected premises"),
    ("?", "show the keys"),
)
"""Keys and their effect, as the dialog shows them."""

_DIGITS, _ARROWS = "1234567890", ("up", "down", "left", "right")
_NAMES = ("write", "conclude", "edit", "move", "remove", "search", "keys")
_DIALOGS = dict(zip("wcemxs?", _NAMES, strict=True))
LISTENED = (*_DIGITS, *(f"shift+{digit}" for digit in _DIGITS), *"nfpurwcemxsvld[]?", *_ARROWS)
"""Keys that the screen listens to."""


@dataclass(frozen=True, slots=True)
class Command:
    """Verb, with its target: a premise key, a node id, or the name of a dialog, switch or list.

    Verbs are those below, and `withdraw`; `step` is +1 or -1 for `page` and `reorder`.
    """

    verb: str
    target: str = ""
    step: int = 0


def command_for(
    key: str,
    *,
    tree: Tree,
    selected: str,
    candidates: Sequence[Candidate],
    collapsed: Collection[str] = frozenset(),
) -> Command | None:
    """Return the command of a key, None if it has none, such as a digit without a candidate."""
    digit = key.removeprefix("shift+")
    if digit.isdigit():
        at = (int(digit) - 1) % 10
        if at >= len(candidates):
            return None
        return Command("reject" if key.startswith("shift+") else "accept", candidates[at].premise.key)
    if key in _ARROWS:
        node = neighbour(tree, selected, key, collapsed=collapsed)
        return Command("select", node) if node != selected else None
    if key in _DIALOGS:
        return Command("dialog", _DIALOGS[key])
    return {
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
    }.get(key)


def neighbour(tree: Tree, selected: str, key: str, *, collapsed: Collection[str] = frozenset()) -> str:
    """Return the node that an arrow key selects; only right enters a collapsed one."""
    if key == "left":
        return tree.node(selected).parent or selected
    if key == "right":
        return next(iter(tree.node(selected).children), selected)
    hidden = {node.id for id in collapsed if id in tree.nodes for node in tree.descendants(id)}
    order = [node.id for node in tree.walk() if node.id == selected or node.id not in hidden]
    at = order.index(selected) + (1 if key == "down" else -1)
    return order[min(max(at, 0), len(order) - 1)]


def swap_siblings(tree: Tree, node_id: str, step: int) -> tuple[str, ...] | None:
    """Return the siblings with this node moved by one position; None at the edge."""
    parent = tree.node(node_id).parent
    order = list(tree.nodes[parent].children) if parent is not None else [node_id]
    at = order.index(node_id)
    if not 0 <= at + step < len(order):
        return None
    order[at], order[at + step] = order[at + step], order[at]
    return tuple(order)


def restore_text(act: Act, history: History, *, base: int) -> Write | Conclude | None:
    """Return an act that saves the author's sentence whose node another author removed; None without one.

    The sentence stands over its premises if they moved up, else below the nearest node above that is left.
    """
    if not isinstance(act, TypedAct) or act.node in history.tree.nodes:
        return None
    tree, former = history.tree, history.at(base).tree
    parent = next((node.id for node in former.ancestors(act.node) if node.id in tree.nodes), ROOT)
    below = former.node(act.node).children if isinstance(act, Edit) else getattr(act, "premises", ())
    if moved := tuple(id for id in below if id in tree.nodes and tree.nodes[id].parent == parent):
        return Conclude(node=parent, premises=moved, text=act.text)
    return Write(node=parent, text=act.text)
