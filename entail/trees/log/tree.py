"""State of a tree: nodes, judgements, and the effect of each act on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from entail.data.records import Premise
from entail.data.text import fold
from entail.errors import ActError
from entail.trees.log import acts

ROOT = "n1"
"""Id of the hypothesis, which the first act makes."""

Kind = Literal["hypothesis", "intermediate", "premise"]


@dataclass(frozen=True, slots=True)
class Node:
    """Node of a tree; `children` are its premises in order, `parent` what it explains.

    The id is `n12` for the node made by the act with seq 12, `n1.3` for the third node of an imported tree.
    `origin` is the kind of that act, `key` that of a corpus premise, None for own statements, also after an
    edit; `label` is the id in the imported file. The hypothesis and loose nodes have no parent.
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
    def folded(self) -> str:
        """Sentence folded for comparison, see `fold`."""
        return fold(self.text)

    @property
    def kind(self) -> Kind:
        """Hypothesis (root), intermediate conclusion or premise (leaf)."""
        if self.id == ROOT:
            return "hypothesis"
        return "intermediate" if self.children or self.origin == "conclude" else "premise"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of an author on a premise; `query` is the text of the node at that time."""

    premise: Premise
    accepted: bool
    author: str
    seq: int
    query: str


@dataclass(frozen=True, slots=True)
class Review:
    """Stand of a tree in a project, which every export states.

    Attributes:
        tree: Id of the tree.
        project: Name of the project.
        number: Number of its hypothesis there.
        copy: Number of the copy; 0 is the agreed tree.
        annotator: Author of the tree.
        state: State of the piece; `released` if another author has it now.
        by: Author of the last move of the piece.
        at: Time of that move.
    """

    tree: str
    project: str
    number: int
    copy: int
    annotator: str
    state: str
    by: str
    at: datetime

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self) | {"at": self.at.isoformat()}

    def __str__(self) -> str:
        name = "copy" if self.copy else "agreed tree"
        return f"{name}: {self.state} ({self.by}, {self.at:%Y-%m-%d})"


@dataclass(frozen=True)
class Tree:
    """Immutable state that results from a log; `nodes` has the hypothesis first.

    `judgements` has the current one by node id and premise key, `finished` the seq of the act by node id,
    `source` the other fields of an imported row. `review` is looked up for exports alone.
    """

    nodes: Mapping[str, Node]
    judgements: Mapping[tuple[str, str], Judgement] = field(default_factory=dict)
    finished: Mapping[str, int] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
    review: Review | None = None

    @property
    def root(self) -> Node:
        """Hypothesis."""
        return self.nodes[ROOT]

    def node(self, node_id: str) -> Node:
        """Return a node; raise `ActError` if the tree has no such node."""
        if node_id not in self.nodes:
            raise ActError(f"the tree has no node {node_id}; it may have been removed")
        return self.nodes[node_id]

    def walk(self, start: str | None = None) -> Iterator[Node]:
        """Yield a node (by default all, loose ones last) and those below it, depth first."""
        stack = [*reversed(self.loose), ROOT] if start is None else [start]
        while stack:
            node = self.node(stack.pop())
            yield node
            stack.extend(reversed(node.children))

    def descendants(self, node_id: str) -> tuple[Node, ...]:
        """Return the nodes below, depth first."""
        return tuple(self.walk(node_id))[1:]

    def ancestors(self, node_id: str) -> tuple[Node, ...]:
        """Return the nodes above, nearest first."""
        above = [self.node(node_id)]
        while (parent := above[-1].parent) is not None:
            above.append(self.nodes[parent])
        return tuple(above[1:])

    def is_finished(self, node_id: str) -> bool:
        """Return whether a node was finished; one that needs premises also has some."""
        node = self.node(node_id)
        return node_id in self.finished and (node.kind == "premise" or bool(node.children))

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Ids of the nodes without a parent, except the hypothesis."""
        return tuple(node.id for node in self.nodes.values() if node.parent is None and node.id != ROOT)

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """Folded text -> id of the first node with it."""
        texts: dict[str, str] = {}
        for node in self.nodes.values():
            texts.setdefault(fold(node.text), node.id)
        return MappingProxyType(texts)

    def judgements_of(self, nodes: Collection[Node]) -> list[tuple[str, str]]:
        """Return the keys of the judgements on premises of these nodes, and of those that made them."""
        ids = {node.id for node in nodes}
        seqs = {node.seq for node in nodes if node.origin == acts.Accept.kind}
        return [key for key, j in self.judgements.items() if key[0] in ids or (j.accepted and j.seq in seqs)]

    def rejected(self, node_id: str) -> tuple[Premise, ...]:
        """Return the premises rejected for a node, in order of judgement."""
        rejections = (j for (node, _), j in self.judgements.items() if node == node_id and not j.accepted)
        return tuple(j.premise for j in sorted(rejections, key=lambda j: j.seq))


class TreeBuilder:
    """Mutable tree, for acts that `rules.check` accepts."""

    def __init__(self, tree: Tree) -> None:
        self._nodes = dict(tree.nodes)
        self._judgements = dict(tree.judgements)
        self._finished = dict(tree.finished)
        self._source = tree.source

    def freeze(self, *, seq: int) -> Tree:
        """Return the current tree, with `seq` as its last event."""
        return Tree(
            nodes=MappingProxyType(dict(self._nodes)),
            judgements=MappingProxyType(dict(self._judgements)),
            finished=MappingProxyType(dict(self._finished)),
            source=self._source,
            seq=seq,
        )

    def peek(self) -> Tree:
        """Return a view of the tree, which changes with the next `apply`."""
        return Tree(self._nodes, self._judgements, self._finished, self._source)

    def apply(self, act: acts.Act, *, seq: int, author: str) -> None:
        """Change the tree by one act; new nodes get their id from `seq`."""
        new_id = f"n{seq}"
        match act:
            case acts.Create():
                self._create(act, seq, author)
            case acts.Accept(node=node, premise=premise):
                self._attach(Node(new_id, premise.text, node, (), act.kind, author, seq, key=premise.key))
                self._judge(node, premise, True, author, seq)
            case acts.Reject(node=node, premise=premise):
                self._judge(node, premise, False, author, seq)
            case acts.Finish(node=node, premises=premises):
                for premise in premises:
                    if (node, premise.key) not in self._judgements:
                        self._judge(node, premise, False, author, seq)
                self._finished[node] = seq
            case acts.Write(node=node, text=text):
                self._attach(Node(new_id, text, node, (), act.kind, author, seq))
            case acts.Conclude(node=node, premises=premises, text=text):
                children = list(self._nodes[node].children)
                members = tuple(child for child in children if child in premises)
                self._nodes[new_id] = Node(new_id, text, node, members, act.kind, author, seq)
                for child in members:
                    self._nodes[child] = replace(self._nodes[child], parent=new_id)
                children[children.index(members[0])] = new_id
                self._replace_children(node, [child for child in children if child not in members])
            case acts.Edit(node=node, text=text):
                key = self._nodes[node].key if fold(text) == fold(self._nodes[node].text) else None
                self._nodes[node] = replace(self._nodes[node], text=text, key=key)
            case acts.Remove(node=node, keep_premises=keep):
                self._remove(node, keep=keep)
            case acts.Reorder(node=node, order=order):
                children = list(self._nodes[node].children)
                # A damaged order neither adds nor loses a child.
                ordering = [child for child in order if child in children]
                self._replace_children(node, list(dict.fromkeys((*ordering, *children))))
            case acts.Move(node=node, parent=parent):
                old = self._nodes[node].parent
                if old is not None:
                    self._replace_children(old, [c for c in self._nodes[old].children if c != node])
                self._attach(replace(self._nodes[node], parent=parent))
                self._withdraw_rejection(parent, node)

    def _create(self, act: acts.Create, seq: int, author: str) -> None:
        self._source = act.source
        self._nodes[ROOT] = Node(ROOT, act.hypothesis, None, (), act.kind, author, seq)
        ids = [ROOT, *(f"{ROOT}.{i}" for i in range(1, len(act.nodes) + 1))]
        for new_id, node in zip(ids[1:], act.nodes, strict=True):
            parent = None if node.parent is None else ids[node.parent + 1]
            self._attach(
                Node(new_id, node.text, parent, (), act.kind, author, seq, key=node.key, label=node.label)
            )

    def _attach(self, node: Node) -> None:
        self._nodes[node.id] = node
        if node.parent is not None:
            self._replace_children(node.parent, [*self._nodes[node.parent].children, node.id])

    def _replace_children(self, node_id: str, children: list[str]) -> None:
        self._nodes[node_id] = replace(self._nodes[node_id], children=tuple(children))

    def _judge(self, node: str, premise: Premise, accepted: bool, author: str, seq: int) -> None:
        query = self._nodes[node].text
        self._judgements[node, premise.key] = Judgement(premise, accepted, author, seq, query)

    def _withdraw_rejection(self, parent: str, child: str) -> None:
        key = (parent, self._nodes[child].key or "")
        if key in self._judgements and not self._judgements[key].accepted:
            del self._judgements[key]

    def _remove(self, node_id: str, *, keep: bool) -> None:
        node, tree = self._nodes[node_id], self.peek()
        gone = [node] if keep else list(tree.walk(node_id))
        for key in tree.judgements_of(gone):
            del self._judgements[key]
        if node.parent is not None:
            siblings = list(self._nodes[node.parent].children)
            at = siblings.index(node_id)
            siblings[at : at + 1] = node.children if keep else ()
            self._replace_children(node.parent, siblings)
        for below in gone:
            del self._nodes[below.id]
            self._finished.pop(below.id, None)
        if keep:
            for child in node.children:
                self._nodes[child] = replace(self._nodes[child], parent=node.parent)
                if node.parent is not None:
                    self._withdraw_rejection(node.parent, child)
