"""Ranked candidates of a node, and the evidence of judgements on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entail.data.records import Corpus, Premise
from entail.data.text import fold
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.protocol import PremiseIndex
from entail.trees.log.acts import Evidence, Shown
from entail.trees.log.tree import Judgement, Tree


@dataclass(frozen=True, slots=True)
class Candidate:
    """Premise of the corpus that may explain a node.

    Attributes:
        premise: Premise.
        rank: Rank from 1 among the candidates offered.
        score: Similarity, higher is closer.
        in_tree: Id of a node with the same text, preferably a child of this node; None if there is none.
        judgement: Judgement for this node, None if there is none.
        retrieved: Rank by the retriever, if a scorer re-ranked the list.
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

    The texts of the node and its ancestors are left out, compared by `fold`. Premises that are already in the
    tree or judged keep their ranks, so that the list is stable while its author works through it.

    Args:
        tree: Tree.
        node_id: Node to explain.
        corpus: Corpus of the candidates.
        index: Index of exactly this corpus.
        k: Number of candidates; fewer if the corpus has no more.
        query: Search words of the author; the node's text by default.

    Raises:
        ActError: If the tree has no such node.
        RetrievalError: If k is below 1.
        ManifestMismatchError: If the index holds another corpus.
    """
    if k < 1:
        raise RetrievalError(f"expected k of at least 1, found {k}")
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
    """Return premises with scores, best first, as candidates of a node."""
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
    """Return the evidence of a judgement: the candidates on the screen and their retriever."""
    return Evidence(
        retriever=index.name,
        revision=index.manifest.revision,
        corpus_version=corpus_version,
        query=query,
        own_words=own_words,
        shown=tuple(Shown(c.premise.key, c.rank, c.score) for c in candidates),
    )
