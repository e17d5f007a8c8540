"""The parent and child of every edge as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from entail.trees.formats.escaping import cell
from entail.trees.tree import Tree

COLUMNS = ("tree", "parent", "child", "parent_kind", "child_kind")


def to_pairs_csv(trees: Mapping[str, Tree]) -> str:
    """Return one line for each premise of each node; texts as `cell` guards them.

    Args:
        trees: What the column `tree` calls a tree -> the tree.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, tree in trees.items():
        for start in (tree.root.id, *tree.loose):
            for node in tree.walk(start):
                for child in map(tree.node, node.children):
                    writer.writerow((cell(name), cell(node.text), cell(child.text), node.kind, child.kind))
    return out.getvalue()
