"""Which acts make sense on a tree: what every tree keeps to is decided here.

No sentence stands twice below the same node or above itself, by `fold`; a premise is accepted or rejected for
a node, not both; the hypothesis is the root and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from entail.data.records import Premise
from entail.data.text import fold, premise_key
from entail.errors import ActError
from entail.trees.acts import (
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
from entail.trees.tree import ROOT, Tree
from entail.trees.wording import quote

LONGEST_SENTENCE = 10_000
"""Characters of a sentence that an author writes."""

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which no encoding can write down."""


def check(tree: Tree, act: Act) -> None:
    """See whether an act makes sense on this tree.

    Raises:
        ActError: If it names a node that is not there, has an empty text, would make a sentence explain
            itself or stand twice below a node, or says what is so already.
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
                raise ActError(f"{quote(premise.text)} is rejected for this node already")
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
                raise ActError(f"an order of {node} names each of {children} once, found {order}")
            if order == children:
                raise ActError("the premises are already in this order")
        case Move(node=node, parent=parent):
            _check_move(tree, node, parent)


def check_create(act: Create) -> None:
    """See whether a tree can begin so.

    What an official row says twice may stand twice; all else holds as for acts.

    Raises:
        ActError: If a text is empty, a node stands before its parent, a sentence stands above itself, a key
            is not that of the text, or `source` is not plain JSON.
    """
    _check_own_text(act.hypothesis)
    above: list[frozenset[str]] = []
    root = frozenset([fold(act.hypothesis)])
    for i, given in enumerate(act.nodes):
        _check_text(given.text)
        if given.parent is not None and not -1 <= given.parent < i:
            raise ActError(
                f"given node {i} hangs under {given.parent}; expected -1 (the hypothesis), None or the index "
                "of an earlier node"
            )
        if given.key is not None and given.key != premise_key(given.text):
            raise ActError(f"given node {i} has the key {given.key!r}, expected that of {quote(given.text)}")
        path: frozenset[str] = (
            frozenset() if given.parent is None else root if given.parent < 0 else above[given.parent]
        )
        if fold(given.text) in path:
            raise ActError(f"{quote(given.text)} stands above itself; a sentence cannot explain itself")
        above.append(path | {fold(given.text)})
    try:
        json.dumps(dict(act.source), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ActError(f"the source of a tree is plain JSON, found what is not ({error})") from error


def _check_text(text: str) -> None:
    if not fold(text):
        raise ActError("a sentence needs at least one character that is not white space")
    if "\0" in text:
        raise ActError("a sentence cannot hold a NUL character")
    if HALF_CHARACTER.search(text):
        raise ActError("a sentence cannot hold half a character (a lone surrogate)")


def _check_own_text(text: str) -> None:
    _check_text(text)
    if len(text) > LONGEST_SENTENCE:
        raise ActError(f"a sentence has at most {LONGEST_SENTENCE:,} characters, found {len(text):,}")


def _check_no_sibling(tree: Tree, siblings: Iterable[str], text: str) -> None:
    if any(tree.nodes[sibling].folded == fold(text) for sibling in siblings):
        raise ActError(f"{quote(text)} is already a premise of the node; it would stand there twice")


def _check_new_premise(tree: Tree, node_id: str, text: str) -> None:
    _check_text(text)
    node = tree.node(node_id)
    if any(above.folded == fold(text) for above in (node, *tree.ancestors(node_id))):
        raise ActError("this is the sentence of the node itself or of one above it; it cannot explain itself")
    _check_no_sibling(tree, node.children, text)


def _check_not_below(tree: Tree, node_id: str, premise: Premise) -> None:
    if any(tree.nodes[child].key == premise.key for child in tree.node(node_id).children):
        raise ActError(
            f"{quote(premise.text)} is a premise of this node: remove it from the tree to reject it"
        )


def _check_conclude(tree: Tree, node_id: str, premises: tuple[str, ...], text: str) -> None:
    _check_own_text(text)
    node = tree.node(node_id)
    if not premises:
        raise ActError("choose at least one premise from which the conclusion follows")
    if len(set(premises)) != len(premises) or not set(premises) <= set(node.children):
        raise ActError(
            f"a conclusion below {node_id} is drawn from its premises {node.children}, found {premises}"
        )
    around = (node, *tree.ancestors(node_id), *(below for p in premises for below in tree.walk(p)))
    if any(other.folded == fold(text) for other in around):
        raise ActError("a node above or below already says this; a sentence cannot explain itself")
    _check_no_sibling(tree, (child for child in node.children if child not in premises), text)


def _check_edit(tree: Tree, node_id: str, text: str) -> None:
    _check_own_text(text)
    node = tree.node(node_id)
    if text == node.text:
        raise ActError("the sentence is already in these words")
    around = [*tree.ancestors(node_id), *list(tree.walk(node_id))[1:]]
    if any(other.folded == fold(text) for other in around):
        raise ActError("a node above or below already says this; a sentence cannot explain itself")
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
        raise ActError("the hypothesis is the root and cannot be moved")
    if node.parent == parent:
        raise ActError("the node already hangs there")
    path = (target, *tree.ancestors(parent))
    if any(above.id == node_id for above in path):
        raise ActError("a node cannot hang under itself or below its own premises")
    above_texts = {above.folded for above in path}
    if any(below.folded in above_texts for below in tree.walk(node_id)):
        raise ActError("the same sentence would stand above and below; a sentence cannot explain itself")
    _check_no_sibling(tree, target.children, node.text)
