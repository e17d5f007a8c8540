"""Outline of a tree, a sentence a line; also the text alternative of the pictures."""

from __future__ import annotations

from dataclasses import dataclass

from entail.trees.layout.appearance import NAMES, DrawnKind
from entail.trees.log.tree import ROOT, Judgement, Tree


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the outline.

    Attributes:
        depth: Indentation, 0 for the hypothesis and for loose nodes.
        kind: Kind of node.
        text: Sentence.
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
    """Return the lines of a tree, depth first, rejected premises right below their node."""
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
