"""Rules of acts: which are valid on a tree, and the footprint of each.

Invariants of every tree follow from the validity: no sentence is below the same node twice or above itself,
compared by `fold`; a premise is accepted or rejected for a node, not both; the hypothesis is always the root.

A footprint consists of facts about a tree, which are small tuples:

- ``("node", n)``: node n exists;
- ``("text", n)``: its sentence;
- ``("parent", n)``: its parent;
- ``("children", n)``: its premises and their order;
- ``("judgement", n, key)``: the decision on a premise for n;
- ``("judged", n)``: whether anything was decided for n, which a removal of n reads;
- ``("finished", n)``: whether n's candidates were declared done.

Two acts can be swapped if neither writes what the other reads. So two authors can add premises to the same
node (both write its children, neither reads them), but not while another reorders them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from entail.data.records import Premise
from entail.data.stored import parse_as
from entail.data.text import SURROGATES, fold, premise_key, quote
from entail.errors import ActError
from entail.trees.log import acts
from entail.trees.log.tree import ROOT, Node, Tree

LONGEST_SENTENCE = 10_000
"""Most characters of a sentence that an author writes."""

Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Facts that an act reads (depends on) and writes (changes)."""

    reads: frozenset[Fact]
    writes: frozenset[Fact]


def check(tree: Tree, act: acts.Act) -> None:
    """Raise `ActError` unless an act is valid on this tree: it changes something and keeps the invariants."""
    match act:
        case acts.Create():
            raise ActError("a tree is created once, by its first act")
        case acts.Accept(node=node, premise=premise):
            _check_new_premise(tree, node, premise.text)
        case acts.Reject(node=node, premise=premise):
            _check_rejection(tree, node, premise)
            judgement = tree.judgements.get((node, premise.key))
            if judgement is not None and not judgement.accepted:
                raise ActError(f"{quote(premise.text)} is already rejected for this node")
        case acts.Finish(node=node, premises=premises):
            tree.node(node)
            for premise in premises:
                _check_rejection(tree, node, premise)
        case acts.Write(node=node, text=text):
            _check_own_text(text)
            _check_new_premise(tree, node, text)
        case acts.Conclude(node=node, premises=premises, text=text):
            _check_conclude(tree, node, premises, text)
        case acts.Edit(node=node, text=text):
            _check_edit(tree, node, text)
        case acts.Remove(node=node, keep_premises=keep):
            _check_remove(tree, node, keep=keep)
        case acts.Reorder(node=node, order=order):
            children = tree.node(node).children
            if sorted(order) != sorted(children):
                raise ActError(f"expected an order of {children}, each once, found {order}")
            if order == children:
                raise ActError("the premises are already in this order")
        case acts.Move(node=node, parent=parent):
            _check_move(tree, node, parent)
        case acts.Restore():
            pass  # that there was such an act, the log knows


def check_create(act: acts.Create) -> None:
    """Raise `ActError` unless a tree can be created so; unlike in acts, siblings may repeat.

    No text is empty, no node precedes its parent, no sentence is above itself, keys match their texts, and
    `source` is plain JSON.
    """
    _check_own_text(act.hypothesis)
    root = frozenset([fold(act.hypothesis)])
    above: list[frozenset[str]] = []  # of each node: its own sentence and those above
    for i, node in enumerate(act.nodes):
        _check_text(node.text)
        if node.parent is not None and not -1 <= node.parent < i:
            raise ActError(
                f"given node {i}: expected the parent -1 (hypothesis), None or the index of an earlier node, "
                f"found {node.parent}"
            )
        if node.key is not None and node.key != premise_key(node.text):
            raise ActError(f"given node {i}: expected the key of {quote(node.text)}, found {node.key!r}")
        path = frozenset() if node.parent is None else root if node.parent < 0 else above[node.parent]
        if fold(node.text) in path:
            raise ActError(f"{quote(node.text)} is above itself; a sentence cannot explain itself")
        above.append(path | {fold(node.text)})
    try:
        parse_as(dict[str, Any], json.dumps(dict(act.source), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ActError(f"expected plain JSON as the source of a tree ({error})") from error


def _check_text(text: str) -> None:
    if not fold(text):
        raise ActError("the sentence is empty")
    if "\0" in text:
        raise ActError("a sentence cannot contain a NUL character")
    if SURROGATES.search(text):
        raise ActError("the sentence has invalid Unicode (unpaired surrogate)")


def _check_own_text(text: str) -> None:
    _check_text(text)
    if len(text) > LONGEST_SENTENCE:
        raise ActError(f"a sentence has at most {LONGEST_SENTENCE:,} characters, found {len(text):,}")


def _check_no_sibling(tree: Tree, siblings: Iterable[str], text: str) -> None:
    if any(tree.nodes[sibling].folded == fold(text) for sibling in siblings):
        raise ActError(f"{quote(text)} is already accepted here")


def _check_path(around: Iterable[Node], text: str) -> None:
    if any(node.folded == fold(text) for node in around):
        raise ActError("this node or one above or below has this sentence; a sentence cannot explain itself")


def _check_new_premise(tree: Tree, node_id: str, text: str) -> None:
    _check_text(text)
    node = tree.node(node_id)
    _check_path((node, *tree.ancestors(node_id)), text)
    _check_no_sibling(tree, node.children, text)


def _check_rejection(tree: Tree, node_id: str, premise: Premise) -> None:
    _check_text(premise.text)
    if any(tree.nodes[child].key == premise.key for child in tree.node(node_id).children):
        raise ActError(f"{quote(premise.text)} is a premise of this node; remove it to reject it")


def _check_conclude(tree: Tree, node_id: str, premises: tuple[str, ...], text: str) -> None:
    _check_own_text(text)
    node = tree.node(node_id)
    if not premises:
        raise ActError("choose at least one premise for the conclusion")
    if len(set(premises)) != len(premises) or not set(premises) <= set(node.children):
        raise ActError(f"expected premises of {node_id} ({node.children}), each once, found {premises}")
    _check_path((node, *tree.ancestors(node_id), *(n for p in premises for n in tree.walk(p))), text)
    _check_no_sibling(tree, set(node.children) - set(premises), text)


def _check_edit(tree: Tree, node_id: str, text: str) -> None:
    _check_own_text(text)
    node = tree.node(node_id)
    if text == node.text:
        raise ActError("the sentence is unchanged")
    _check_path((*tree.ancestors(node_id), *tree.descendants(node_id)), text)
    if node.parent is not None:
        _check_no_sibling(tree, set(tree.nodes[node.parent].children) - {node_id}, text)


def _check_remove(tree: Tree, node_id: str, *, keep: bool) -> None:
    node = tree.node(node_id)
    if node.id == ROOT:
        raise ActError("the hypothesis cannot be removed; edit its text, or archive the tree")
    if keep and node.parent is not None:
        siblings = set(tree.nodes[node.parent].children) - {node_id}
        for child in node.children:
            _check_no_sibling(tree, siblings, tree.nodes[child].text)


def _check_move(tree: Tree, node_id: str, parent: str) -> None:
    node, target = tree.node(node_id), tree.node(parent)
    if node.id == ROOT:
        raise ActError("the hypothesis cannot be moved")
    if node.parent == parent:
        raise ActError("the node is already there")
    path = (target, *tree.ancestors(parent))
    if any(above.id == node_id for above in path):
        raise ActError("a node cannot be moved below itself")
    above_texts = {above.folded for above in path}
    if any(below.folded in above_texts for below in tree.walk(node_id)):
        raise ActError("the same sentence would be above and below; a sentence cannot explain itself")
    _check_no_sibling(tree, target.children, node.text)


def footprint(tree: Tree, act: acts.Act, *, seq: int) -> Footprint:
    """Return the footprint of an act on the tree before it; `seq` names the node it would make."""
    new = _aspects(f"n{seq}")
    reads: set[Fact] = set()
    writes: set[Fact] = set()
    if not isinstance(act, acts.Create | acts.Restore):
        reads.add(("node", act.node))
    match act:
        case acts.Create(nodes=nodes):
            node_ids = [ROOT, *(f"{ROOT}.{i + 1}" for i in range(len(nodes)))]
            writes.update(fact for node in node_ids for fact in _aspects(node))
        case acts.Accept(node=node, premise=premise):
            judgement = ("judgement", node, premise.key)
            reads |= {("text", node), judgement}
            writes |= {judgement, ("judged", node), ("children", node)} | new
        case acts.Reject(node=node, premise=premise):
            judgement = ("judgement", node, premise.key)
            reads |= {("text", node), judgement}
            writes |= {judgement, ("judged", node)}
        case acts.Finish(node=node, premises=premises):
            judgements = {("judgement", node, premise.key) for premise in premises}
            reads |= {("text", node)} | judgements
            writes |= {("finished", node), ("judged", node)} | judgements
        case acts.Write(node=node):
            reads |= {("text", node)}
            writes |= {("children", node)} | new
        case acts.Conclude(node=node, premises=premises):
            reads |= {("text", node)} | {
                (aspect, p) for p in premises for aspect in ("node", "text", "parent")
            }
            writes |= {("children", node)} | new | {("parent", p) for p in premises}
        case acts.Edit(node=node):
            reads |= {("text", node)}
            writes |= {("text", node)}
        case acts.Remove(node=node, keep_premises=keep):
            _add_removal(tree, node, keep, reads, writes)
        case acts.Reorder(node=node):
            reads |= {("children", node)}
            writes |= {("children", node)}
        case acts.Move(node=node, parent=parent):
            old = tree.node(node).parent
            path = (parent, *(above.id for above in tree.ancestors(parent)))
            reads |= {("parent", node)} | {(aspect, above) for above in path for aspect in ("node", "parent")}
            writes |= {("parent", node), ("children", parent)}
            if old is not None:
                writes.add(("children", old))
            withdrawn = _withdrawn(tree, parent, [node])
            reads |= withdrawn
            writes |= withdrawn
        case acts.Restore():
            writes |= {
                fact for id in tree.nodes for fact in (*_aspects(id), ("judged", id), ("finished", id))
            }
            writes |= {("judgement", *key) for key in tree.judgements}
            reads |= writes
    return Footprint(frozenset(reads), frozenset(writes))


def _aspects(node: str) -> set[Fact]:
    return {(aspect, node) for aspect in ("node", "text", "parent", "children")}


def _withdrawn(tree: Tree, parent: str, children: Iterable[str]) -> set[Fact]:
    """Return the rejections that are withdrawn when these nodes get this parent."""
    keys = (tree.node(child).key for child in children)
    return {("judgement", parent, key) for key in keys if key is not None}


def _add_removal(tree: Tree, node_id: str, keep: bool, reads: set[Fact], writes: set[Fact]) -> None:
    node = tree.node(node_id)
    gone = [node] if keep else list(tree.walk(node_id))
    reads |= {fact for n in gone for fact in (*_aspects(n.id), ("judged", n.id))}
    writes |= {("node", n.id) for n in gone} | {("children", node_id)}
    writes |= {("judgement", *key) for key in tree.judgements_of(gone)}
    if keep:
        reads |= {(aspect, child) for child in node.children for aspect in ("node", "parent")}
        writes |= {("parent", child) for child in node.children}
    if node.parent is not None:
        reads.add(("node", node.parent))
        writes.add(("children", node.parent))
        if keep:
            withdrawn = _withdrawn(tree, node.parent, node.children)
            reads |= withdrawn
            writes |= withdrawn
