"""Copies of a tree compared by leaves: what all of them agree on, and what a reviewer may take from each.

A node of one copy and one of another are the same if the same leaves stand below them, among those that both
trees have. What all copies agree on is their strict consensus, as that of phylogenies (Sokal and Rohlf 1981):
leaves that all have, and conclusions over them that all draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from entail.data.records import Premise
from entail.data.text import fold, premise_key
from entail.teams.shapes import Clade, leaf_keys
from entail.trees.log.acts import Accept, Act, Conclude, Create, Edit, GivenNode, Remove, Write
from entail.trees.log.tree import ROOT, Node, Tree, TreeBuilder

Kind = Literal["premise", "conclusion", "wording"]


class Leaves:
    """The leaves below each node of a tree, by key."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.of: Mapping[str, Clade] = leaf_keys(tree)

    @property
    def all(self) -> Clade:
        """Keys of all leaves below the hypothesis."""
        return self.of[ROOT]

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Key -> the first leaf that has it."""
        nodes: dict[str, Node] = {}
        for node in self.tree.walk(ROOT):
            if not node.children and node.id != ROOT:
                nodes.setdefault(next(iter(self.of[node.id])), node)
        return nodes

    @cached_property
    def conclusions(self) -> tuple[Node, ...]:
        """Intermediate conclusions with premises, those above first."""
        return tuple(node for node in self.tree.walk(ROOT) if node.children and node.id != ROOT)

    def place(self, keys: Clade) -> str:
        """Return the lowest conclusion above all of these leaves, which the tree has."""
        node = self.tree.root
        while below := next((c for c in node.children if keys <= self.of[c] and self._has_premises(c)), None):
            node = self.tree.nodes[below]
        return node.id

    def _has_premises(self, node: str) -> bool:
        return bool(self.tree.nodes[node].children)


@dataclass(frozen=True)
class Difference:
    """Part of some copies that the agreed tree lacks.

    Attributes:
        kind: A premise, a conclusion from premises that the tree has, or the wording of a conclusion.
        text: Its text.
        place: Node of the agreed tree below which it belongs; of a wording its node.
        copies: Copies that have it, by number, and the node there.
        acts: Acts on the agreed tree that take it.
    """

    kind: Kind
    text: str
    place: str
    copies: Mapping[int, str]
    acts: tuple[Act, ...]

    @property
    def key(self) -> str:
        """Key of what differs, wherever the agreed tree would have it."""
        return premise_key(f"{self.kind}: {self.text}")

    @property
    def replaces(self) -> tuple[str, ...]:
        """Conclusions of the agreed tree that go, as theirs cross it."""
        return tuple(act.node for act in self.acts if isinstance(act, Remove))


def consensus(copies: Sequence[Tree]) -> Create:
    """Return the act that begins the agreed tree of some copies of a hypothesis: what all of them agree on.

    A conclusion that is worded differently has the wording of most copies, of the first of equally many.
    """
    leaves = [Leaves(tree) for tree in copies]
    shared = frozenset.intersection(*(copy.all for copy in leaves)) if leaves else frozenset()
    conclusions = [_drawn(copy, shared) for copy in leaves]
    agreed = set(conclusions[0]).intersection(*conclusions[1:])
    nodes: list[GivenNode] = []
    first = leaves[0]
    concluded = frozenset().union(*agreed)

    def add(node: Node, parent: int) -> None:
        keys = first.of[node.id] & shared
        is_conclusion = keys in agreed and conclusions[0][keys].id == node.id
        if is_conclusion:
            nodes.append(GivenNode(_usual([texts[keys].text for texts in conclusions]), parent))
            parent = len(nodes) - 1
        elif keys and not node.children:
            # A premise may stand below several conclusions, but below each and the hypothesis once.
            leaf = GivenNode(node.text, parent, key=next(iter(keys)))
            if leaf not in nodes and not (parent < 0 and keys <= concluded):
                nodes.append(leaf)
        for child in node.children:
            add(copies[0].nodes[child], parent)

    for child in copies[0].root.children:
        add(copies[0].nodes[child], -1)
    return Create(hypothesis=copies[0].root.text, nodes=tuple(nodes))


def _drawn(copy: Leaves, shared: Clade) -> dict[Clade, Node]:
    """Return the conclusions of a copy by the shared leaves below them, two or more; the lowest of each."""
    clades = {copy.of[node.id] & shared: node for node in copy.conclusions}
    return {keys: node for keys, node in clades.items() if 1 < len(keys) < len(shared)}


def _usual(texts: Sequence[str]) -> str:
    count = Counter(map(fold, texts))
    return max(texts, key=lambda text: count[fold(text)])


def differences(agreed: Tree, copies: Sequence[Tree]) -> list[Difference]:
    """Return what the agreed tree lacks of some copies, those first that most copies have.

    It depends on the trees alone, so it is right after every act, an undone one too.
    """
    own, rows = Leaves(agreed), list(map(Leaves, copies))
    joined: dict[tuple[object, ...], Difference] = {}
    for number, copy in enumerate(rows):
        for difference in _lacking(own, copy, number):
            key = (difference.kind, difference.place, fold(difference.text), difference.acts)
            before = joined.get(key)
            holders = {**before.copies, **difference.copies} if before else difference.copies
            joined[key] = replace(difference, copies=holders)
    return sorted(joined.values(), key=lambda difference: -len(difference.copies))


def take_whole(agreed: Tree, copy: Tree) -> list[Act]:
    """Return the acts that turn the agreed tree into a copy; its rejections are not taken."""
    acts: list[Act] = []

    def do(*following: Act) -> Tree:
        builder = TreeBuilder(agreed)
        for seq, act in enumerate(following, start=agreed.seq + 1):
            builder.apply(act, seq=seq, author="")
        acts.extend(following)
        return builder.freeze(seq=agreed.seq + len(following))

    theirs = Leaves(copy)
    clades = {theirs.of[node.id] for node in theirs.conclusions}
    while foreign := next(_foreign(Leaves(agreed), theirs.all, clades), None):
        agreed = do(foreign)
    # A conclusion that stands twice in the copy stays a difference, however often it is taken.
    done: set[str] = set()
    while rest := [row for row in differences(agreed, [copy]) if row.key not in done]:
        done.add(rest[0].key)
        agreed = do(*rest[0].acts)
    return acts


def _foreign(own: Leaves, leaves: Clade, clades: Collection[Clade]) -> Iterator[Act]:
    """Yield the removals of leaves, then of conclusions, that a copy does not have."""
    for key, node in own.nodes.items():
        if key not in leaves:
            yield Remove(node=node.id)
    for node in own.conclusions:
        if own.of[node.id] not in clades:
            yield Remove(node=node.id, keep_premises=True)


def _lacking(own: Leaves, copy: Leaves, number: int) -> Iterator[Difference]:
    for key, node in copy.nodes.items():
        if key not in own.all:
            yield _missing_premise(own, copy, node, number)
    for node in copy.conclusions:
        keys = copy.of[node.id] & own.all
        if len(keys) > 1:
            yield from _missing_conclusion(own, copy, node, keys, number)


def _missing_premise(own: Leaves, copy: Leaves, node: Node, number: int) -> Difference:
    near = next((c for n in copy.tree.ancestors(node.id) if (c := copy.of[n.id] & own.all)), frozenset())
    parent = own.place(near) if near else ROOT
    return Difference("premise", node.text, parent, {number: node.id}, (_add_leaf(parent, node),))


def _add_leaf(parent: str, node: Node) -> Act:
    if node.key:
        return Accept(node=parent, premise=Premise(node.text))
    return Write(node=parent, text=node.text)


def _missing_conclusion(
    own: Leaves, copy: Leaves, node: Node, keys: Clade, number: int
) -> Iterator[Difference]:
    """Yield a conclusion over leaves of the agreed tree, or its wording there if it is drawn already."""
    common = copy.all & own.all
    for conclusion in reversed(own.conclusions):
        if own.of[conclusion.id] & common == keys:
            if conclusion.folded != node.folded:
                edit = Edit(node=conclusion.id, text=node.text)
                yield Difference("wording", node.text, conclusion.id, {number: node.id}, (edit,))
            return
    parent = own.place(keys)
    if own.of[parent] & common == keys:  # all that stands there: nothing is concluded apart
        return
    clades = {copy.of[other.id] & common for other in copy.conclusions}
    acts: list[Act] = []
    premises: list[str] = []
    repeated: Clade = frozenset()
    left = list(own.tree.nodes[parent].children)
    while left:
        child = left.pop(0)
        below = own.of[child] & common
        if below <= keys:
            premises += [child] if below else []
        elif below & keys and below in clades:  # the copy has both, with premises that stand below each
            repeated |= below & keys
        elif below & keys:
            acts.append(Remove(node=child, keep_premises=True))
            left = [*own.tree.nodes[child].children, *left]
    for key in sorted(repeated.difference(*(own.of[child] for child in premises))):
        acts.append(_add_leaf(parent, copy.nodes[key]))
        premises.append(f"n{own.tree.seq + len(acts)}")
    acts.append(Conclude(node=parent, premises=tuple(premises), text=node.text))
    yield Difference("conclusion", node.text, parent, {number: node.id}, tuple(acts))
