"""Candidates of a node, retrieved or proposed by a scorer, and the evidence of judgements on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entail.data.records import Corpus, Premise
from entail.data.text import fold, premise_key
from entail.errors import ManifestMismatchError
from entail.index.protocol import Floats, PremiseIndex
from entail.trees.log.acts import ShownCandidate
from entail.trees.log.tree import Judgement, Tree


@dataclass(frozen=True, slots=True)
class Candidate:
    """Premise of the corpus that may explain a node, with its rank from 1 among those offered.

    `in_tree` is the id of a node with the same text, of a child of this node (`is_child`) if there is one;
    `retrieved` the rank by the retriever, if a scorer re-ranked the list.
    """

    premise: Premise
    rank: int
    score: float
    in_tree: str | None = None
    is_child: bool = False
    judgement: Judgement | None = None
    retrieved: int | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether it is rejected for this node."""
        return self.judgement is not None and not self.judgement.accepted

    @property
    def is_decided(self) -> bool:
        """Whether it is below this node or rejected for it."""
        return self.is_child or self.is_rejected


def suggest(
    tree: Tree, node_id: str, corpus: Corpus, index: PremiseIndex, *, k: int = 20, query: str | None = None
) -> tuple[Candidate, ...]:
    """Return the k nearest premises of a node, best first; the query is the node's text by default.

    The texts of the node and its ancestors are left out, compared by `fold`. Premises that are already in the
    tree or judged keep their ranks, so that the list is stable while its author works through it. An index of
    another corpus raises `ManifestMismatchError`.
    """
    node, manifest = tree.node(node_id), index.manifest
    if (manifest.corpus_hash, manifest.count) != (corpus.hash, len(corpus)):
        raise ManifestMismatchError(
            f"the index {index.name!r} holds {manifest.count} premises (corpus {manifest.corpus_hash[:12]}), "
            f"expected the {len(corpus)} of corpus {corpus.name!r} ({corpus.hash[:12]}); build it again"
        )
    around = (corpus.position(other.text) for other in (node, *tree.ancestors(node_id)))
    never = {position for position in around if position is not None}
    text = query if query is not None and fold(query) else node.text
    hits = index.search([text], k=min(k + len(never), len(corpus)))
    scored = zip(hits.positions[0].tolist(), hits.scores[0].tolist(), strict=True)
    offered = [(corpus.premises[position], score) for position, score in scored if position not in never]
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
            is_child=premise.folded in below,
            judgement=tree.judgements.get((node_id, premise.key)),
        )
        for rank, (premise, score) in enumerate(scored, start=1)
    )


def shown_of(candidates: Sequence[Candidate]) -> tuple[ShownCandidate, ...]:
    """Return the candidates on the screen as evidence of a judgement keeps them."""
    return tuple(ShownCandidate(c.premise.key, c.rank, c.score, c.retrieved) for c in candidates)


@dataclass(frozen=True, slots=True)
class Basis:
    """State of a node on which a proposal is based: its text, texts below and above it, rejected keys."""

    sentence: str
    accepted: tuple[str, ...] = ()
    rejected: frozenset[str] = frozenset()
    above: tuple[str, ...] = ()

    @property
    def after(self) -> tuple[str, ...]:
        """Keys of the accepted texts."""
        return tuple(map(premise_key, self.accepted))


def basis_of(tree: Tree, node_id: str) -> Basis:
    """Return the current basis of a proposal for a node."""
    node = tree.node(node_id)
    accepted = tuple(tree.nodes[child].text for child in node.children)
    rejected = frozenset(premise.key for premise in tree.rejected(node_id))
    return Basis(node.text, accepted, rejected, tuple(other.text for other in tree.ancestors(node_id)))


def excluded_positions(basis: Basis, corpus: Corpus) -> frozenset[int]:
    """Return what no chain proposes: texts of the node, above or below it, and premises rejected for it."""
    texts = (corpus.position(text) for text in (basis.sentence, *basis.accepted, *basis.above))
    rejected = (corpus.positions.get(key) for key in basis.rejected)
    return frozenset(position for position in (*texts, *rejected) if position is not None)


def rerank(pool: Sequence[Candidate], scores: Floats) -> tuple[Candidate, ...]:
    """Return candidates, best first, re-ranked by their retrieval ranks and by other scores."""
    from entail.arcf.chains.next_premise import next_order

    return _in_order(pool, next_order(np.asarray(scores)), scores)


def _in_order(pool: Sequence[Candidate], order: NDArray[np.intp], scores: Floats) -> tuple[Candidate, ...]:
    return tuple(
        replace(pool[at], rank=rank, score=float(scores[at]), retrieved=pool[at].rank)
        for rank, at in enumerate(order.tolist(), start=1)
    )
