"""Proposals of a scorer for a node: the next premise, or a whole chain, computed in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, cast

from entail.arcf.scoring.scorer import list_scorers
from entail.runtime.chains import GROUNDS, SCORERS, SCORING, take_builder, take_scorer
from entail.runtime.tasks import Task, TaskGroup, finish
from entail.trees.log.acts import Proposal
from entail.trees.review.suggestions import (
    Basis,
    basis_of,
    candidates_of,
    describe_changes,
    excluded_positions,
    rerank,
)
from entail.ui.shared.active import LazyModel, pick_model

if TYPE_CHECKING:
    from entail.arcf.chains.next_premise import Draft
    from entail.arcf.scoring.premises import PremiseScorer, StepScores
    from entail.arcf.scoring.scorer import Scorer
    from entail.data.records import Corpus
    from entail.progress import ProgressCallback
    from entail.trees.log.acts import Means
    from entail.trees.log.tree import Tree
    from entail.trees.review.suggestions import Candidate

BY_KEY = "proposed_by"
"""Widget key of the choice of scorer."""

POOL = 60
"""Candidates to re-rank, and neighbours of each sentence of a chain."""

WAIT = 0.15
"""Seconds that a page waits for proposals before it shows progress."""


@dataclass(frozen=True)
class Offer:
    """Proposals of a scorer for a node in one run of the page.

    Attributes:
        means: `next` or `draft`.
        task: Task that makes them, None if no chain was requested.
        retry: Returns the task again, started if it could not be started before.
        candidates: Proposals, the best or the first of the chain first; empty while they are computed.
        proposal: Record of their origin for the log.
        scores: Scores of `next`.
        draft: Chain of `draft`.
        changes: Differences between the tree and the basis of the draft.
        undecided: Number of proposals without a judgement.
    """

    means: Means
    task: Task[StepScores] | Task[Draft] | None = None
    retry: Callable[[], Task[StepScores] | Task[Draft]] | None = field(default=None, repr=False)
    candidates: tuple[Candidate, ...] = ()
    proposal: Proposal | None = None
    scores: StepScores | None = None
    draft: Draft | None = None
    changes: tuple[str, ...] = ()
    undecided: int = 0


@dataclass(frozen=True)
class Suggester(LazyModel["Scorer"]):
    """Scorer of chains in one run of the page; `names` are those that can be chosen, the active one first."""

    models: ClassVar[TaskGroup] = TaskGroup("suggesters", failure="the scorer could not be loaded")
    results: ClassVar[TaskGroup] = TaskGroup("proposals", failure="the proposals could not be made")

    names: tuple[str, ...] = ()

    def load(self) -> Scorer:
        """Load the scorer."""
        from entail.arcf.chains.next_premise import score_next

        scorer = finish(take_scorer(self.name, self.revision, wait=0))
        with SCORING:
            score_next(scorer, "a text", (), ["another"])
        return scorer

    def retry(self) -> None:
        """Drop the failed tasks, so that they start again."""
        for group in (self.models, self.results, SCORERS, GROUNDS):
            group.drop_failed()

    def next(self, basis: Basis, candidates: Sequence[str], *, wait: float = 0) -> Task[StepScores]:
        """Return the task that scores each candidate as the next premise."""

        def make(scorer: Scorer, report: ProgressCallback) -> StepScores:
            from entail.arcf.chains.next_premise import score_next

            with SCORING:
                return score_next(scorer, basis.sentence, basis.accepted, candidates)

        return self.start(("next", basis.sentence, basis.accepted, tuple(candidates)), make, wait=wait)

    def draft(self, basis: Basis, corpus: Corpus, *, wait: float = 0) -> Task[Draft]:
        """Return the task that drafts a chain from the accepted premises."""

        def make(scorer: Scorer, report: ProgressCallback) -> Draft:
            from entail.arcf.chains.chain import corpus_facts
            from entail.arcf.chains.next_premise import draft_chain

            builder = finish(take_builder(corpus_facts(corpus), scorer, k=POOL, wait=0))
            return draft_chain(
                basis.sentence,
                basis.accepted,
                cast("PremiseScorer", builder.steps),
                builder.around,
                never=excluded_positions(basis, corpus),
                lock=SCORING,  # one step at a time, so that other tasks are served in between
                progress=report,
            )

        return self.start(("draft", basis, corpus.hash), make, wait=wait)

    def offer_next(self, tree: Tree, node_id: str, pool: Sequence[Candidate], *, among: str) -> Offer:
        """Return the candidates of a retriever, re-ranked as next premises.

        Args:
            tree: Tree.
            node_id: Node.
            pool: Top candidates of the retriever that are not below the node.
            among: Revision of the retriever.
        """
        basis, texts = basis_of(tree, node_id), [candidate.premise.text for candidate in pool]
        task = self.next(basis, texts, wait=WAIT)
        offer = Offer("next", task, lambda: self.next(basis, texts))
        if task.value is None:
            return offer
        return replace(
            offer,
            candidates=rerank(pool, task.value.scores),
            proposal=Proposal(means="next", after=basis.after, k=len(pool), among=among),
            scores=task.value,
        )

    def offer_draft(self, tree: Tree, node_id: str, corpus: Corpus, basis: Basis | None) -> Offer:
        """Return the chain drafted for a node, with the current judgements of its premises.

        Args:
            tree: Tree.
            node_id: Node.
            corpus: Corpus of the tree.
            basis: Basis of the chain, None if none was requested.
        """
        if basis is None:
            return Offer("draft")
        task = self.draft(basis, corpus, wait=WAIT)
        offer = Offer("draft", task, lambda: self.draft(basis, corpus))
        if task.value is None:
            return offer
        facts = [corpus.premises[fact] for fact in task.value.facts]
        chain = candidates_of(tree, node_id, list(zip(facts, task.value.scores, strict=True)))
        return replace(
            offer,
            candidates=chain,
            proposal=Proposal(means="draft", after=basis.after, k=POOL),
            draft=task.value,
            changes=describe_changes(basis, tree, node_id, chain),
            undecided=sum(not candidate.is_decided for candidate in chain),
        )


def current_suggester() -> Suggester | None:
    """Return the session's scorer of chains; None if none is available."""
    usable = {scorer.name: scorer for scorer in list_scorers() if scorer.problem is None}
    if not usable:
        return None
    name, names = pick_model("chains", BY_KEY, usable)
    return Suggester(name, usable[name].revision, tuple(names))
