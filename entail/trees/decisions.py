"""What a team decided, read from its logs: the judgements that encoders learn from."""

from __future__ import annotations

from collections.abc import Iterator

from entail.data.judgements import JudgedPair, Judgements
from entail.trees.log import TreeLog
from entail.trees.tree import ROOT, Tree


def judgements_of(log: TreeLog, *, corpus_id: str | None = None) -> Judgements:
    """Return what was accepted and rejected in all trees that were authored here, archived ones too.

    Everything that stands below a node explains it, whether it was accepted, written or concluded. What was
    shown and rejected does not, one by one or by `finish`. What was never looked at is neither, and so is
    what two authors, or one at two times, judged both ways. Examples were not authored here.

    Args:
        log: The trees.
        corpus_id: Only the trees that are built from this corpus.
    """
    trees = [
        log.history(summary.id).tree
        for archived in (False, True)
        for summary in log.trees(corpus_id=corpus_id, archived=archived)
        if not summary.example
    ]
    pairs = (pair for tree in trees for pair in pairs_of(tree))
    return Judgements.of_pairs(pairs, roots=(tree.nodes[ROOT].text for tree in trees))


def pairs_of(tree: Tree) -> Iterator[JudgedPair]:
    """Yield what one tree says: its edges, then what was rejected; contradictions included."""
    for node in tree.nodes.values():
        for child in node.children:
            yield JudgedPair(node.text, tree.nodes[child].text, True)
    for judgement in tree.judgements.values():
        if not judgement.accepted:
            yield JudgedPair(judgement.query, judgement.premise.text, False)
