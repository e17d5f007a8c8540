"""A tree as its log adds up to it: nodes, judgements, and how one act changes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from entail.data.records import Premise
from entail.data.text import fold
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

ROOT = "n1"
"""Id of the hypothesis: the node made by the first act."""

Kind = Literal["hypothesis", "intermediate", "premise"]


@dataclass(frozen=True, slots=True)
class Node:
    """A sentence in its place.

    Attributes:
        id: `n12` for the node made by the act with seq 12; `n1.3` for the third node of an imported tree.
        text: Its sentence, as it stands now.
        parent: Id of the node it helps to explain; None for the hypothesis and for loose nodes.
        children: Ids of its premises, in order.
        origin: The act that made it: `create`, `accept`, `write` or `conclude`.
        author: Who made it.
        seq: Seq of that act.
        key: Key of the corpus premise it is; None for own words, also after an edit.
        label: The id it had where it was imported from.
    """

    id: str
    text: str
    parent: str | None
    children: tuple[str, ...]
    origin: str
    author: str
    seq: int
    key: str | None = None
    label: str | None = None

    @property
    def kind(self) -> Kind:
        """Hypothesis (root), intermediate conclusion or premise (leaf)."""
        if self.id == ROOT:
            return "hypothesis"
        return "intermediate" if self.children or self.origin == "conclude" else "premise"


@dataclass(frozen=True, slots=True)
class Judgement:
    """An author's word on whether a premise explains a node.

    Attributes:
        premise: What was judged.
        accepted: True for accepted, False for rejected.
        author: Whose word.
        seq: Seq of the act.
        query: The node's text at that time.
    """

    premise: Premise
    accepted: bool
    author: str
    seq: int
    query: str


@dataclass(frozen=True)
class Tree:
    """The state that a log adds up to; immutable.

    Attributes:
        nodes: Id -> node, the hypothesis first.
        judgements: (node id, premise key) -> the judgement in force.
        finished: Nodes whose candidates were declared done, with the seq of that act.
        source: What an imported row said beside the tree.
        seq: Seq of the last event taken in, also when it was taken back.
    """

    nodes: Mapping[str, Node]
    judgements: Mapping[tuple[str, str], Judgement] = field(default_factory=dict)
    finished: Mapping[str, int] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0

    @property
    def root(self) -> Node:
        """The hypothesis."""
        return self.nodes[ROOT]

    def node(self, node_id: str) -> Node:
        """Return a node.

        Raises:
            ActError: If the tree has no such node (any more).
        """
        if node_id not in self.nodes:
            raise ActError(f"the tree has no node {node_id}; it may have been removed")
        return self.nodes[node_id]

    def walk(self, start: str = ROOT) -> Iterator[Node]:
        """Yield a node and all below it, depth first, each before its premises."""
        stack = [start]
        while stack:
            node = self.node(stack.pop())
            yield node
            stack.extend(reversed(node.children))

    def ancestors(self, node_id: str) -> tuple[Node, ...]:
        """Return the nodes above, nearest first."""
        above: list[Node] = []
        parent = self.node(node_id).parent
        while parent is not None:
            above.append(self.nodes[parent])
            parent = self.nodes[parent].parent
        return tuple(above)

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Ids of nodes that hang under nothing, the hypothesis aside."""
        return tuple(node.id for node in self.nodes.values() if node.parent is None and node.id != ROOT)

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """Folded text -> id of the first node that says it."""
        texts: dict[str, str] = {}
        for node in self.nodes.values():
            texts.setdefault(fold(node.text), node.id)
        return MappingProxyType(texts)

    def rejected(self, node_id: str) -> tuple[Premise, ...]:
        """Return the premises rejected for a node, in order of judgement."""
        found = (j for (node, _), j in self.judgements.items() if node == node_id and not j.accepted)
        return tuple(j.premise for j in sorted(found, key=lambda j: j.seq))


def check(tree: Tree, act: Act) -> None:
    """See whether an act makes sense on this tree.

    Raises:
        ActError: If it names a node that is not there, has an empty text, would make a sentence explain
            itself, or says what is so already.
    """
    match act:
        case Create():
            raise ActError("a tree is created once, by its first act")
        case Accept(node=node, premise=premise):
            _check_premise(tree, node, premise.text)
        case Reject(node=node, premise=premise):
            _check_not_below(tree, node, premise)
        case Finish(node=node, premises=premises):
            for premise in premises:
                _check_not_below(tree, node, premise)
        case Write(node=node, text=text):
            _check_premise(tree, node, text)
        case Conclude(node=node, premises=premises, text=text):
            _check_conclude(tree, node, premises, text)
        case Edit(node=node, text=text):
            _check_text(text)
            if text == tree.node(node).text:
                raise ActError("the sentence is already in these words")
            around = [*tree.ancestors(node), *list(tree.walk(node))[1:]]
            if any(fold(other.text) == fold(text) for other in around):
                raise ActError("a node above or below already says this; a sentence cannot explain itself")
        case Remove(node=node):
            if tree.node(node).id == ROOT:
                raise ActError("the hypothesis cannot be removed; edit its text, or archive the tree")
        case Reorder(node=node, order=order):
            children = tree.node(node).children
            if sorted(order) != sorted(children):
                raise ActError(f"an order of {node} names each of {children} once, found {order}")
            if order == children:
                raise ActError("the premises are already in this order")
        case Move(node=node, parent=parent):
            _check_move(tree, node, parent)


def _check_text(text: str) -> None:
    if not fold(text):
        raise ActError("a sentence needs at least one character that is not white space")
    if "\0" in text:
        raise ActError("a sentence cannot hold a NUL character")


def _check_premise(tree: Tree, node_id: str, text: str) -> None:
    _check_text(text)
    node, folded = tree.node(node_id), fold(text)
    if any(fold(above.text) == folded for above in (node, *tree.ancestors(node_id))):
        raise ActError("this is the sentence of the node itself or of one above it; it cannot explain itself")
    if any(fold(tree.nodes[child].text) == folded for child in node.children):
        raise ActError("this sentence is already a premise of the node")


def _check_not_below(tree: Tree, node_id: str, premise: Premise) -> None:
    if any(tree.nodes[child].key == premise.key for child in tree.node(node_id).children):
        raise ActError(f"“{premise.text}” is a premise of this node: remove it from the tree to reject it")


def _check_conclude(tree: Tree, node_id: str, premises: tuple[str, ...], text: str) -> None:
    _check_text(text)
    node = tree.node(node_id)
    if not premises:
        raise ActError("choose at least one premise from which the conclusion follows")
    if len(set(premises)) != len(premises) or not set(premises) <= set(node.children):
        raise ActError(
            f"a conclusion below {node_id} is drawn from its premises {node.children}, found {premises}"
        )
    around = (node, *tree.ancestors(node_id), *(below for p in premises for below in tree.walk(p)))
    if any(fold(other.text) == fold(text) for other in around):
        raise ActError("a node above or below already says this; a sentence cannot explain itself")


def _check_move(tree: Tree, node_id: str, parent: str) -> None:
    node, target = tree.node(node_id), tree.node(parent)
    if node.id == ROOT:
        raise ActError("the hypothesis is the root and cannot be moved")
    if node.parent == parent:
        raise ActError("the node already hangs there")
    path = (target, *tree.ancestors(parent))
    if any(above.id == node_id for above in path):
        raise ActError("a node cannot hang under itself or below its own premises")
    above_texts = {fold(above.text) for above in path}
    if any(fold(below.text) in above_texts for below in tree.walk(node_id)):
        raise ActError("the same sentence would stand above and below; a sentence cannot explain itself")
    if any(fold(tree.nodes[child].text) == fold(node.text) for child in target.children):
        raise ActError("this sentence is already a premise of that node")


class TreeBuilder:
    """A tree under construction: applies acts in place, `freeze` gives the `Tree`.

    `apply` expects acts that `check` let pass on the same state.
    """

    def __init__(self, tree: Tree | None = None) -> None:
        self._nodes: dict[str, Node] = dict(tree.nodes) if tree else {}
        self._judgements = dict(tree.judgements) if tree else {}
        self._finished = dict(tree.finished) if tree else {}
        self._source: Mapping[str, Any] = tree.source if tree else {}

    def freeze(self, *, seq: int) -> Tree:
        """Return the tree as it stands, with `seq` as its last event."""
        return Tree(
            nodes=MappingProxyType(dict(self._nodes)),
            judgements=MappingProxyType(dict(self._judgements)),
            finished=MappingProxyType(dict(self._finished)),
            source=self._source,
            seq=seq,
        )

    def peek(self) -> Tree:
        """Return a view of the tree as it stands now; it changes with the next `apply`."""
        return Tree(self._nodes, self._judgements, self._finished, self._source)

    def apply(self, act: Act, *, seq: int, author: str) -> None:
        """Change the tree by one act; new nodes get their id from `seq`."""
        new_id = f"n{seq}"
        match act:
            case Create():
                self._create(act, seq, author)
            case Accept(node=node, premise=premise):
                self._hang(Node(new_id, premise.text, node, (), act.kind, author, seq, key=premise.key))
                self._judge(node, premise, True, author, seq)
            case Reject(node=node, premise=premise):
                self._judge(node, premise, False, author, seq)
            case Finish(node=node, premises=premises):
                for premise in premises:
                    self._judge(node, premise, False, author, seq)
                self._finished[node] = seq
            case Write(node=node, text=text):
                self._hang(Node(new_id, text, node, (), act.kind, author, seq))
            case Conclude(node=node, premises=premises, text=text):
                children = self._nodes[node].children
                chosen = tuple(child for child in children if child in premises)
                self._nodes[new_id] = Node(new_id, text, node, chosen, act.kind, author, seq)
                for child in chosen:
                    self._nodes[child] = replace(self._nodes[child], parent=new_id)
                self._replace_children(
                    node,
                    [new_id if c == chosen[0] else c for c in children if c == chosen[0] or c not in chosen],
                )
            case Edit(node=node, text=text):
                key = self._nodes[node].key if fold(text) == fold(self._nodes[node].text) else None
                self._nodes[node] = replace(self._nodes[node], text=text, key=key)
            case Remove(node=node, keep_premises=keep):
                self._remove(node, keep=keep)
            case Reorder(node=node, order=order):
                self._replace_children(node, list(order))
            case Move(node=node, parent=parent):
                old = self._nodes[node].parent
                if old is not None:
                    self._replace_children(old, [c for c in self._nodes[old].children if c != node])
                self._hang(replace(self._nodes[node], parent=parent))

    def _create(self, act: Create, seq: int, author: str) -> None:
        self._source = act.source
        self._nodes[ROOT] = Node(ROOT, act.hypothesis, None, (), act.kind, author, seq)
        for i, given in enumerate(act.nodes):
            parent = (
                None if given.parent is None else ROOT if given.parent < 0 else f"{ROOT}.{given.parent + 1}"
            )
            self._hang(
                Node(
                    f"{ROOT}.{i + 1}",
                    given.text,
                    parent,
                    (),
                    act.kind,
                    author,
                    seq,
                    key=given.key,
                    label=given.label,
                )
            )

    def _hang(self, node: Node) -> None:
        self._nodes[node.id] = node
        if node.parent is not None:
            self._replace_children(node.parent, [*self._nodes[node.parent].children, node.id])

    def _replace_children(self, node_id: str, children: list[str]) -> None:
        self._nodes[node_id] = replace(self._nodes[node_id], children=tuple(children))

    def _judge(self, node: str, premise: Premise, accepted: bool, author: str, seq: int) -> None:
        query = self._nodes[node].text
        self._judgements[node, premise.key] = Judgement(premise, accepted, author, seq, query)

    def _remove(self, node_id: str, *, keep: bool) -> None:
        node = self._nodes[node_id]
        if node.parent is not None:
            siblings = list(self._nodes[node.parent].children)
            at = siblings.index(node_id)
            siblings[at : at + 1] = node.children if keep else ()
            self._replace_children(node.parent, siblings)
            if node.key is not None:
                self._judgements.pop((node.parent, node.key), None)
        gone = [node_id]
        if keep:
            for child in node.children:
                self._nodes[child] = replace(self._nodes[child], parent=node.parent)
        else:
            for below in gone:
                gone.extend(self._nodes[below].children)
        for below in gone:
            del self._nodes[below]
            self._finished.pop(below, None)
        dropped = set(gone)
        for place in [place for place in self._judgements if place[0] in dropped]:
            del self._judgements[place]
