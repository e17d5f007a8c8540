"""Example tree that the first screens show."""

from __future__ import annotations

from collections.abc import Iterable

from entail.trees.installation.seed import HELD_OUT_ID
from entail.trees.log.event_log import TreeSummary


def smallest_example(trees: Iterable[TreeSummary]) -> TreeSummary | None:
    """Return the smallest example of two steps or more, held-out ones first, None without any."""
    examples = [tree for tree in trees if tree.example and tree.steps > 1]
    return min(
        examples,
        key=lambda tree: (tree.corpus_id != HELD_OUT_ID, tree.premises, len(tree.hypothesis)),
        default=None,
    )
