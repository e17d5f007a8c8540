"""A tree in words, one sentence a line: what pictures say to readers who cannot see them."""

from __future__ import annotations

from dataclasses import dataclass

from entail.trees.appearance import NAMES, DrawnKind
from entail.trees.tree import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of the outline; `depth` is 0 for the hypothesis and for loose nodes."""

    depth: int
    kind: DrawnKind
    text: str

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{NAMES[self.kind]}: {self.text}"


def outline(tree: Tree, *, with_rejected: bool = False) -> list[Line]:
    """Return the sentences of a tree, depth first; what was rejected for a node stands right below it."""
    lines: list[Line] = []
    depths: dict[str, int] = {}
    for start in (ROOT, *tree.loose):
        for node in tree.walk(start):
            depth = depths[node.id] = 0 if node.parent is None else depths[node.parent] + 1
            lines.append(Line(depth, node.kind, node.text))
            if with_rejected:
                lines += [Line(depth + 1, "rejected", premise.text) for premise in tree.rejected(node.id)]
    return lines
