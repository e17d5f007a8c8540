"""Validity of acts on a tree, from which the invariants of every tree follow.

No sentence is below the same node twice or above itself, compared by `fold`. A premise is accepted or
rejected for a node, not both. The hypothesis is always the root.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from entail.data.records import Premise
from entail.data.text import fold, premise_key
from entail.errors import ActError
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
from entail.trees.log.wording import quote

LONGEST_SENTENCE = 10_000
"""Most characters of a sentence that an author writes."""

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Pattern of a lone surrogate, which no encoding can represent."""


def check(tree: Tree, act: Act) -> None:
    """Check that an act is valid on this tree.

    Raises:
        ActError: If it names a missing node, has an empty text, would make a sentence explain itself or
            appear
            twice below a node, or changes nothing.
    """
    match act:
        case Create():
            raise ActError("a tree is created once, by its first act")
        case Accept(node=node, premise=premise):
            _check_new_premise(tree, node, premise.text)
        case Reject(node=node, premise=premise):
            _check_text(premise.text)
            _check_not_below(tree, node, premise)
            judgement = tree.judgements.get((node, premise.key))
            if judgement is not None and not judgement.accepted:
                raise ActError(f"{quote(premise.text)} is already rejected for this node")
        case Finish(node=node, premises=premises):
            tree.node(node)
            for premise in premises:
                _check_text(premise.text)
                _check_not_below(tree, node, premise)
        case Write(node=node, text=text):
            _check_own_text(text)
            _check_new_premise(tree, node, text)
        case Conclude(node=node, premises=premises, text=text):
            _check_conclude(tree, node, premises, text)
        case Edit(node=node, text=text):
            _check_edit(tree, node, text)
        case Remove(node=node, keep_premises=keep):
            _check_remove(tree, node, keep=keep)
        case Reorder(node=node, order=order):
            children = tree.node(node).children
            if sorted(order) != sorted(children):
                raise ActError(f"expected an order of {children}, each once, found {order}")
            if order == children:
                raise ActError("the premises are already in this order")
        case Move(node=node, parent=parent):
            _check_move(tree, node, parent)


def check_create(act: Create) -> None:
    """Check that a tree can be created so; unlike acts, siblings may repeat, as in official rows.

    Raises:
        ActError: If a text is empty, a node precedes its parent, a sentence is above itself, a key does not
            match the text, or `source` is not plain JSON.
    """
    _check_own_text(act.hypothesis)
    above: list[frozenset[str]] = []
    root = frozenset([fold(act.hypothesis)])
    for i, given in enumerate(act.nodes):
        _check_text(given.text)
        if given.parent is not None and not -1 <= given.parent < i:
            raise ActError(
                f"given node {i}: expected the parent -1 (hypothesis), None or the index of an earlier node, "
                f"found {given.parent}"
            )
        if given.key is not None and given.key != premise_key(given.text):
            raise ActError(f"given node {i}: expected the key of {quote(given.text)}, found {given.key!r}")
        path: frozenset[str] = (
            frozenset() if given.parent is None else root if given.parent < 0 else above[given.parent]
        )
        if fold(given.text) in path:
            raise ActError(f"{quote(given.text)} is above itself; a sentence cannot explain itself")
        above.append(path | {fold(given.text)})
    try:
        json.dumps(dict(act.source), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ActError(f"expected plain JSON as the source of a tree ({error})") from error


def _check_text(text: str) -> None:
    if not fold(text):
        raise ActError("the sentence is empty")
    if "\0" in text:
        raise ActError("a sentence cannot contain a NUL character")
    if HALF_CHARACTER.search(text):
        raise ActError("a sentence cannot contain half a character (a lone surrogate)")


def _check_own_text(text: str) -> None:
    _check_text(text)
    if len(text) > LONGEST_SENTENCE:
        raise ActError(f"a sentence has at most {LONGEST_SENTENCE:,} characters, found {len(text):,}")


def _check_no_sibling(tree: Tree, siblings: Iterable[str], text: str) -> None:
    if any(tree.nodes[sibling].folded == fold(text) for sibling in siblings):
        raise ActError(f"{quote(text)} is already accepted here")


def _check_new_premise(tree: Tree, node_id: str, text: str) -> None:
    _check_text(text)
    node = tree.node(node_id)
    if any(above.folded == fold(text) for above in (node, *tree.ancestors(node_id))):
        raise ActError("this sentence is the node itself or above it; a sentence cannot explain itself")
    _check_no_sibling(tree, node.children, text)


def _check_not_below(tree: Tree, node_id: str, premise: Premise) -> None:
    if any(tree.nodes[child].key == premise.key for child in tree.node(node_id).children):
        raise ActError(
            f"{quote(premise.text)} is a premise of this node; remove it from the tree to reject it"
        )


def _check_conclude(tree: Tree, node_id: str, premises: tuple[str, ...], text: str) -> None:
    _check_own_text(text)
    node = tree.node(node_id)
    if not premises:
        raise ActError("choose at least one premise for the conclusion")
    if len(set(premises)) != len(premises) or not set(premises) <= set(node.children):
        raise ActError(f"expected premises of {node_id} ({node.children}), each once, found {premises}")
    around = (node, *tree.ancestors(node_id), *(below for p in premises for below in tree.walk(p)))
    if any(other.folded == fold(text) for other in around):
        raise ActError("a node above or below has this sentence; a sentence cannot explain itself")
    _check_no_sibling(tree, (child for child in node.children if child not in premises), text)


def _check_edit(tree: Tree, node_id: str, text: str) -> None:
    _check_own_text(text)
    node = tree.node(node_id)
    if text == node.text:
        raise ActError("the sentence is unchanged")
    around = [*tree.ancestors(node_id), *list(tree.walk(node_id))[1:]]
    if any(other.folded == fold(text) for other in around):
        raise ActError("a node above or below has this sentence; a sentence cannot explain itself")
    if node.parent is not None:
        _check_no_sibling(tree, (c for c in tree.nodes[node.parent].children if c != node_id), text)


def _check_remove(tree: Tree, node_id: str, *, keep: bool) -> None:
    node = tree.node(node_id)
    if node.id == ROOT:
        raise ActError("the hypothesis cannot be removed; edit its text, or archive the tree")
    if keep and node.parent is not None:
        siblings = [child for child in tree.nodes[node.parent].children if child != node_id]
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
