"""Trees as sets of leaves, so that copies by several annotators can be compared whatever their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from entail.data.text import premise_key
from entail.trees.log.tree import ROOT, Tree

Clade = frozenset[str]
"""Keys of the leaves below a node; a leaf's own is itself alone."""

Step = frozenset[Clade]
"""Clades of the premises of a step, whose union is that of its conclusion."""


def leaf_keys(tree: Tree) -> Mapping[str, Clade]:
    """Return the keys of the leaves below each node of a tree; a hypothesis without premises has none."""
    clades: dict[str, Clade] = {}
    for node in reversed(list(tree.walk())):
        own = frozenset() if node.id == ROOT else frozenset([node.key or premise_key(node.text)])
        clades[node.id] = frozenset().union(*map(clades.__getitem__, node.children)) if node.children else own
    return clades


@dataclass(frozen=True)
class Shape:
    """A tree without its wording: what stands below each node.

    Two copies of a hypothesis have a node in common if the same leaves stand below it. Leaves are premises,
    compared by key; an intermediate conclusion without premises of its own is a leaf, too. The hypothesis is
    in every copy and says nothing.

    Attributes:
        clades: Clade of every node but the hypothesis, leaves included.
        steps: Step of every conclusion, the hypothesis included.
    """

    clades: frozenset[Clade]
    steps: frozenset[Step]

    @cached_property
    def leaves(self) -> frozenset[str]:
        """Keys of the leaves."""
        return frozenset().union(*self.clades)

    @classmethod
    def of(cls, children: Mapping[str, Iterable[str]], keys: Mapping[str, str], root: str) -> Shape:
        """Return the shape of a tree: node -> the nodes below it, and node -> the key of its text.

        >>> shape = Shape.of({"h": "ax", "x": "bc"}, {leaf: leaf for leaf in "abc"}, "h")
        >>> sorted(map(sorted, shape.clades))
        [['a'], ['b'], ['b', 'c'], ['c']]
        """
        clades: dict[str, Clade] = {}
        steps: set[Step] = set()

        def visit(node: str) -> Clade:
            if node not in clades:
                below = frozenset(visit(child) for child in children.get(node, ()))
                if below:
                    steps.add(below)
                clades[node] = frozenset().union(*below) if below else frozenset([keys[node]])
            return clades[node]

        visit(root)
        return cls(frozenset(clade for node, clade in clades.items() if node != root), frozenset(steps))

    @classmethod
    def of_tree(cls, tree: Tree) -> Shape:
        """Return the shape of what stands below the hypothesis of a tree."""
        clades = leaf_keys(tree)
        nodes = [node for node in tree.walk(ROOT) if node.id != ROOT or node.children]
        steps = (frozenset(clades[child] for child in node.children) for node in nodes if node.children)
        return cls(frozenset(clades[node.id] for node in nodes if node.id != ROOT), frozenset(steps))
