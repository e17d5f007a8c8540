"""What a scorer of facts goes on from at a node, and what it proposes there, as candidates to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from entail.data.records import Corpus
from entail.data.text import fold, premise_key
from entail.index.protocol import Floats
from entail.trees.acts import Evidence, Proposal, Shown
from entail.trees.suggestions import Candidate, candidates_of
from entail.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Basis:
    """What a proposal rests on, and belongs to.

    Attributes:
        sentence: The node's text.
        accepted: What stood below it, in order: premises, statements of an author's own, conclusions.
        rejected: Keys of the premises that were rejected for it.
        above: Texts of the nodes above it.
    """

    sentence: str
    accepted: tuple[str, ...] = ()
    rejected: frozenset[str] = frozenset()
    above: tuple[str, ...] = ()

    @property
    def after(self) -> tuple[str, ...]:
        """Keys of what was accepted."""
        return tuple(map(premise_key, self.accepted))


def basis_of(tree: Tree, node_id: str) -> Basis:
    """Return what a proposal for a node would rest on now."""
    node = tree.node(node_id)
    accepted = tuple(tree.nodes[child].text for child in node.children)
    rejected = frozenset(premise.key for premise in tree.rejected(node_id))
    return Basis(node.text, accepted, rejected, tuple(other.text for other in tree.ancestors(node_id)))


def not_proposed(basis: Basis, corpus: Corpus) -> frozenset[int]:
    """Return the positions of premises that no chain proposes.

    They are those that stand below the node or were rejected for it, and those that say its own text or that
    of a node above.
    """
    said = (corpus.position(text) for text in (basis.sentence, *basis.accepted, *basis.above))
    rejected = (corpus.positions.get(key) for key in basis.rejected)
    return frozenset(position for position in (*said, *rejected) if position is not None)


def still_open(pool: Sequence[Candidate], tree: Tree, node_id: str, *, k: int) -> tuple[Candidate, ...]:
    """Return the k best candidates that do not stand below the node: what may come next."""
    below = tree.node(node_id).children
    return tuple(candidate for candidate in pool if candidate.in_tree not in below)[:k]


def ordered(pool: Sequence[Candidate], scores: Floats) -> tuple[Candidate, ...]:
    """Return candidates in the order of how they were retrieved and of other scores, by both ranks.

    Their ranks are those of this order, their scores the other ones; see
    `entail.arcf.next_premise.next_order`.

    Args:
        pool: The candidates as they were retrieved, best first.
        scores: One a candidate.
    """
    from entail.arcf.next_premise import next_order

    order = next_order(np.asarray(scores))
    return tuple(
        replace(pool[at], rank=rank, score=float(scores[at]), retrieved=pool[at].rank)
        for rank, at in enumerate(order.tolist(), start=1)
    )


def chain_candidates(
    tree: Tree, node_id: str, corpus: Corpus, facts: Sequence[int], scores: Sequence[float]
) -> tuple[Candidate, ...]:
    """Return a drafted chain as candidates, in its order, with what became of each since."""
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
    """Return what a judgement of a proposal rests on: what was on the screen, and how it got there.

    Args:
        candidates: What was on the screen.
        proposal: How they were proposed.
        scorer: Name of the scorer.
        revision: Its revision.
        corpus_version: Version of the corpus.
        query: The text that candidates were retrieved by, or the node's.
        own_words: Whether the author typed it.
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
    """Whether a proposal was accepted below the node or rejected for it."""
    below = tree.node(node_id).children
    rejected = candidate.judgement is not None and not candidate.judgement.accepted
    return rejected or candidate.in_tree in below


def departures(basis: Basis, tree: Tree, node_id: str, chain: Sequence[Candidate]) -> tuple[str, ...]:
    """Return, in words, in what the tree is no longer what a chain was drafted for.

    Accepting what the chain proposes is no departure: the premises behind it were chosen in its light. A
    rejection is, as long as one behind it waits.

    Args:
        basis: What the chain rests on.
        tree: The tree now.
        node_id: The node.
        chain: The chain, as the tree stands now.
    """
    now = basis_of(tree, node_id)
    told = []
    if now.sentence != basis.sentence:
        told.append("the sentence was reworded")
    then, below = set(map(fold, basis.accepted)), set(map(fold, now.accepted))
    if gone := len(then - below):
        told.append(f"{_premises(gone)} that it goes on from {_was(gone)} taken away")
    if new := len(below - then - {candidate.premise.folded for candidate in chain}):
        told.append(f"{_premises(new)} {_was(new)} added beside it")
    waiting = [c.rank for c in chain if not is_decided(c, tree, node_id)]
    rejected = [c.rank for c in chain if c.premise.key in now.rejected]
    if rejected and waiting and rejected[0] < waiting[-1]:
        told.append(f"proposal {rejected[0]} was rejected, in whose light those behind it were chosen")
    return tuple(told)


def _premises(count: int) -> str:
    return "a premise" if count == 1 else f"{count} premises"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"
