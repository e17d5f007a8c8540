"""Example tree that the first screens show."""

from __future__ import annotations

from collections.abc import Iterable

from entail.trees.log.event_log import TreeSummary


def smallest_example(trees: Iterable[TreeSummary]) -> TreeSummary | None:
    """Return the smallest example of two steps or more, None without any."""
    examples = [tree for tree in trees if tree.example and tree.steps > 1]
    return min(examples, key=lambda tree: (tree.premises, len(tree.hypothesis)), default=None)
