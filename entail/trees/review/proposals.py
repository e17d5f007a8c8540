"""Proposals of a scorer for a node: their basis, their candidates and their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from entail.data.records import Corpus
from entail.data.text import fold, premise_key
from entail.index.protocol import Floats
from entail.trees.log.acts import Evidence, Proposal, Shown
from entail.trees.log.tree import Tree
from entail.trees.log.wording import count_of
from entail.trees.review.suggestions import Candidate, candidates_of


@dataclass(frozen=True, slots=True)
class Basis:
    """State of a node on which a proposal is based.

    Attributes:
        sentence: Text of the node.
        accepted: Texts below it, in order: premises, own statements, conclusions.
        rejected: Keys of the premises rejected for it.
        above: Texts of the nodes above it.
    """

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


def not_proposed(basis: Basis, corpus: Corpus) -> frozenset[int]:
    """Return the positions of premises that no chain proposes.

    These are premises below the node or rejected for it, and texts of the node or of nodes above.
    """
    texts = (corpus.position(text) for text in (basis.sentence, *basis.accepted, *basis.above))
    rejected = (corpus.positions.get(key) for key in basis.rejected)
    return frozenset(position for position in (*texts, *rejected) if position is not None)


def still_open(pool: Sequence[Candidate], tree: Tree, node_id: str, *, k: int) -> tuple[Candidate, ...]:
    """Return the top k candidates that are not below the node."""
    below = tree.node(node_id).children
    return tuple(candidate for candidate in pool if candidate.in_tree not in below)[:k]


def ordered(pool: Sequence[Candidate], scores: Floats) -> tuple[Candidate, ...]:
    """Return candidates re-ranked by both their retrieval ranks and other scores.

    They get the new ranks and the other scores; see `entail.arcf.chains.next_premise.next_order`.

    Args:
        pool: Retrieved candidates, best first.
        scores: Score of each candidate.
    """
    from entail.arcf.chains.next_premise import next_order

    order = next_order(np.asarray(scores))
    return tuple(
        replace(pool[at], rank=rank, score=float(scores[at]), retrieved=pool[at].rank)
        for rank, at in enumerate(order.tolist(), start=1)
    )


def chain_candidates(
    tree: Tree, node_id: str, corpus: Corpus, facts: Sequence[int], scores: Sequence[float]
) -> tuple[Candidate, ...]:
    """Return a drafted chain as candidates, in its order, with their current judgements."""
    scored = [(corpus.premises[fact], score) for fact, score in zip(facts, scores, strict=True)]
    return candidates_of(tree, node_id, scored)


def proposal_evidence(
    candidates: Sequence[Candidate],
    proposal: Proposal,
    *,
    scorer: str,
    revision: str,
    corpus_version: int,
    query: str,
    own_words: bool = False,
) -> Evidence:
    """Return the evidence of a judgement on a proposal.

    Args:
        candidates: Candidates on the screen.
        proposal: Origin of the list.
        scorer: Name of the scorer.
        revision: Revision of the scorer.
        corpus_version: Version of the corpus.
        query: Query of the retrieval, or the node's text.
        own_words: Whether the author typed the query.
    """
    return Evidence(
        retriever=scorer,
        revision=revision,
        corpus_version=corpus_version,
        query=query,
        own_words=own_words,
        shown=tuple(Shown(c.premise.key, c.rank, c.score, c.retrieved) for c in candidates),
        proposal=proposal,
    )


def is_decided(candidate: Candidate, tree: Tree, node_id: str) -> bool:
    """Return whether a proposal is accepted below the node or rejected for it."""
    below = tree.node(node_id).children
    rejected = candidate.judgement is not None and not candidate.judgement.accepted
    return rejected or candidate.in_tree in below


def departures(basis: Basis, tree: Tree, node_id: str, chain: Sequence[Candidate]) -> tuple[str, ...]:
    """Return descriptions of the changes to the tree since a chain was drafted.

    An accepted proposal is no change, since the later ones were chosen after it. A rejected one is, while a
    later one is undecided.

    Args:
        basis: Basis of the chain.
        tree: Current tree.
        node_id: Node.
        chain: Chain with its current judgements.
    """
    now = basis_of(tree, node_id)
    changes = []
    if now.sentence != basis.sentence:
        changes.append("the sentence was edited")
    before, below = set(map(fold, basis.accepted)), set(map(fold, now.accepted))
    if gone := len(before - below):
        changes.append(f"removed {count_of(gone, 'premise')} of its basis")
    if new := len(below - before - {candidate.premise.folded for candidate in chain}):
        changes.append(f"added {count_of(new, 'premise')}")
    waiting = [c.rank for c in chain if not is_decided(c, tree, node_id)]
    rejected = [c.rank for c in chain if c.premise.key in now.rejected]
    if rejected and waiting and rejected[0] < waiting[-1]:
        changes.append(f"rejected proposal {rejected[0]}, on which later ones are based")
    return tuple(changes)
