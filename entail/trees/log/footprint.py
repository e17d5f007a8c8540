"""Footprints of acts: the facts that an act reads and changes.

A *fact* about a tree is a small tuple:

- ``("node", n)``: node n is there;
- ``("text", n)``: its sentence;
- ``("parent", n)``: where it hangs;
- ``("children", n)``: its premises and their order;
- ``("judgement", n, key)``: what was decided on a premise for n;
- ``("judged", n)``: that anything was decided for n, which who removes n should know;
- ``("finished", n)``: whether n's candidates were declared done.

Two acts can be swapped when neither writes what the other reads. So two authors who hang premises under the
same node do not disturb each other (both write its children, neither reads them), but who reorders them does.
"""

from __future__ import annotations

from dataclasses import dataclass

from entail.trees.log.acts import (
    Accept,
    Act,
    Conclude,
    Create,
    Edit,
    Finish,
    Move,
    Reject,
    Remove,
    Reorder,
    Write,
)
from entail.trees.log.tree import ROOT, Tree

Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """The facts that an act reads (rests on) and writes (changes)."""

    reads: frozenset[Fact]
    writes: frozenset[Fact]


def footprint(tree: Tree, act: Act, *, seq: int) -> Footprint:
    """Return the footprint of an act on the tree before it; `seq` names the node it would make."""
    new = f"n{seq}"
    reads: set[Fact] = set()
    writes: set[Fact] = set()
    match act:
        case Create(nodes=given):
            made = [ROOT, *(f"{ROOT}.{i + 1}" for i in range(len(given)))]
            writes.update((what, n) for n in made for what in ("node", "text", "parent", "children"))
        case Accept(node=node, premise=premise):
            judgement = ("judgement", node, premise.key)
            reads |= {("node", node), ("text", node), judgement}
            writes |= {judgement, ("judged", node), ("children", node), *_made(new)}
        case Reject(node=node, premise=premise):
            judgement = ("judgement", node, premise.key)
            reads |= {("node", node), ("text", node), judgement}
            writes |= {judgement, ("judged", node)}
        case Finish(node=node, premises=premises):
            judgements = {("judgement", node, premise.key) for premise in premises}
            reads |= {("node", node), ("text", node)} | judgements
            writes |= {("finished", node), ("judged", node)} | judgements
        case Write(node=node):
            reads |= {("node", node), ("text", node)}
            writes |= {("children", node), *_made(new)}
        case Conclude(node=node, premises=premises):
            reads |= {("node", node), ("text", node)}
            reads |= {(what, p) for p in premises for what in ("node", "text", "parent")}
            writes |= {("children", node), *_made(new)} | {("parent", p) for p in premises}
        case Edit(node=node):
            reads |= {("node", node), ("text", node)}
            writes |= {("text", node)}
        case Remove(node=node, keep_premises=keep):
            _remove(tree, node, keep, reads, writes)
        case Reorder(node=node):
            reads |= {("node", node), ("children", node)}
            writes |= {("children", node)}
        case Move(node=node, parent=parent):
            old = tree.node(node).parent
            path = (parent, *(above.id for above in tree.ancestors(parent)))
            reads |= {("node", node), ("parent", node)}
            reads |= {(what, above) for above in path for what in ("node", "parent")}
            writes |= {("parent", node), ("children", parent)}
            if old is not None:
                writes.add(("children", old))
            _hang_again(tree, parent, node, reads, writes)
    return Footprint(frozenset(reads), frozenset(writes))


def _made(node: str) -> set[Fact]:
    return {("node", node), ("text", node), ("parent", node), ("children", node)}


def _hang_again(tree: Tree, parent: str, child: str, reads: set[Fact], writes: set[Fact]) -> None:
    """Hanging a premise below a node withdraws its rejection there."""
    key = tree.node(child).key
    if key is not None:
        reads.add(("judgement", parent, key))
        writes.add(("judgement", parent, key))


def _remove(tree: Tree, node_id: str, keep: bool, reads: set[Fact], writes: set[Fact]) -> None:
    node = tree.node(node_id)
    gone = [node] if keep else list(tree.walk(node_id))
    reads |= {(what, n.id) for n in gone for what in ("node", "text", "parent", "children", "judged")}
    writes |= {("node", n.id) for n in gone} | {("children", node_id)}
    writes |= {("judgement", *place) for place in (*tree.judged_on(gone), *tree.accepted_by(gone))}
    if node.parent is not None:
        reads.add(("node", node.parent))
        writes.add(("children", node.parent))
    if keep:
        reads |= {(what, child) for child in node.children for what in ("node", "parent")}
        writes |= {("parent", child) for child in node.children}
        if node.parent is not None:
            for child in node.children:
                _hang_again(tree, node.parent, child, reads, writes)
