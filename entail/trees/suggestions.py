"""Ranked candidates for a node, and what was shown of them as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entail.data.records import Corpus, Premise
from entail.data.text import fold
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.protocol import PremiseIndex
from entail.trees.acts import Evidence, Shown
from entail.trees.tree import Judgement, Tree


@dataclass(frozen=True, slots=True)
class Candidate:
    """A premise of the corpus that may explain a node.

    Attributes:
        premise: The premise.
        rank: 1 for the best one offered; what is never offered takes no rank.
        score: Its similarity, higher is closer.
        in_tree: Id of the node that says it already: a premise of this node, else the first that does;
            None if none does.
        judgement: What was decided on it for this node, None if nothing was.
        retrieved: Where a scorer of facts ordered the list anew: its rank on the retriever's own.
    """

    premise: Premise
    rank: int
    score: float
    in_tree: str | None = None
    judgement: Judgement | None = None
    retrieved: int | None = None


def suggest(
    tree: Tree, node_id: str, corpus: Corpus, index: PremiseIndex, *, k: int = 20, query: str | None = None
) -> tuple[Candidate, ...]:
    """Return the k nearest premises of a node, best first.

    Never offered, by `fold`: the node's own text and those of its ancestors. Premises that stand in the
    tree already, below this node or elsewhere, and those judged for it are offered where they rank and say
    so: a list keeps its places while its author goes down it.

    Args:
        tree: The tree.
        node_id: The node to be explained.
        corpus: Candidates.
        index: An index of exactly this corpus.
        k: How many; fewer come back when the corpus has no more to offer.
        query: Words of the author's own to search with; without any, the node's text.

    Raises:
        ActError: If the tree has no such node.
        RetrievalError: If k is below 1.
        ManifestMismatchError: If the index holds another corpus.
    """
    if k < 1:
        raise RetrievalError(f"expected at least 1 candidate to ask for, found k = {k}")
    node = tree.node(node_id)
    manifest = index.manifest
    if (manifest.corpus_hash, manifest.count) != (corpus.hash, len(corpus)):
        raise ManifestMismatchError(
            f"the index {index.name!r} holds {manifest.count} premises (corpus {manifest.corpus_hash[:12]}), "
            f"expected the {len(corpus)} of corpus {corpus.name!r} ({corpus.hash[:12]}); build it again"
        )
    around = (corpus.position(other.text) for other in (node, *tree.ancestors(node_id)))
    never = {position for position in around if position is not None}
    text = query if query is not None and fold(query) else node.text
    hits = index.search([text], k=min(k + len(never), len(corpus)))
    offered = [
        (corpus.premises[position], score)
        for position, score in zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
        if position not in never
    ]
    return candidates_of(tree, node_id, offered[:k])


def candidates_of(tree: Tree, node_id: str, scored: Sequence[tuple[Premise, float]]) -> tuple[Candidate, ...]:
    """Return premises with their scores, best first, as candidates for a node of the tree as it stands."""
    below = {tree.nodes[child].folded: child for child in tree.node(node_id).children}
    return tuple(
        Candidate(
            premise=premise,
            rank=rank,
            score=score,
            in_tree=below.get(premise.folded) or tree.folded.get(premise.folded),
            judgement=tree.judgements.get((node_id, premise.key)),
        )
        for rank, (premise, score) in enumerate(scored, start=1)
    )


def evidence_of(
    candidates: Sequence[Candidate],
    index: PremiseIndex,
    *,
    corpus_version: int,
    query: str,
    own_words: bool = False,
) -> Evidence:
    """Return what a judgement rests on: the candidates that were on the screen, and how they got there."""
    return Evidence(
        retriever=index.name,
        revision=index.manifest.revision,
        corpus_version=corpus_version,
        query=query,
        own_words=own_words,
        shown=tuple(Shown(c.premise.key, c.rank, c.score) for c in candidates),
    )
