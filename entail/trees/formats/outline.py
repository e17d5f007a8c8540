"""A tree in words, one sentence a line: what pictures say to readers who cannot see them."""

from __future__ import annotations

from dataclasses import dataclass

from entail.trees.appearance import NAMES, DrawnKind
from entail.trees.tree import ROOT, Judgement, Tree


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of the outline; `depth` is 0 for the hypothesis and for loose nodes.

    Attributes:
        depth: How far it is set in.
        kind: What it is.
        text: The sentence.
        node: Id of the node; for a rejected premise, of the node that it was rejected for.
        premise: Key of the rejected premise, None for nodes of the tree.
    """

    depth: int
    kind: DrawnKind
    text: str
    node: str
    premise: str | None = None

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{NAMES[self.kind]}: {self.text}"


def outline(tree: Tree, *, with_rejected: bool = False) -> list[Line]:
    """Return the sentences of a tree, depth first; what was rejected for a node stands right below it."""
    rejected: dict[str, list[Judgement]] = {}
    for (id, _), judgement in tree.judgements.items():
        if with_rejected and not judgement.accepted:
            rejected.setdefault(id, []).append(judgement)
    lines: list[Line] = []
    depths: dict[str, int] = {}
    for start in (ROOT, *tree.loose):
        for node in tree.walk(start):
            depth = depths[node.id] = 0 if node.parent is None else depths[node.parent] + 1
            lines.append(Line(depth, node.kind, node.text, node.id))
            for judgement in sorted(rejected.get(node.id, ()), key=lambda judgement: judgement.seq):
                premise = judgement.premise
                lines.append(Line(depth + 1, "rejected", premise.text, node.id, premise.key))
    return lines
