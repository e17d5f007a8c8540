"""Chains one step at a time, by a scorer or by TF-IDF, with premises that a person may choose instead.

Without a person it is Algorithm 1, see `entail.arcf.chains.chain`. TF-IDF as the scorer is the baseline: the
premise nearest to question, answer and the chosen premises. It cannot tell when an explanation is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from entail.arcf.chains.chain import Search, Stopped
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import rank_by_chain
from entail.arcf.scoring.premises import StepScores
from entail.cancellation import check_cancelled
from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.index.protocol import Ints


def corpus_facts(corpus: Corpus) -> FactTables:
    """Return a corpus as fact tables: a premise's key is its uid."""
    pairs = zip(corpus.keys, corpus.texts, strict=True)
    return FactTables(tuple(Fact(key, text, corpus.name) for key, text in pairs))


class StepScorer(Protocol):
    """Scorer of the candidates of a step."""

    def score(self, question: Question, chain: Sequence[int], candidates: Sequence[int]) -> StepScores:
        """Score candidates after the chosen premises."""
        ...

    def neighbours(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the premises visible from the question alone, nearest first."""
        ...


class NearestSteps:
    """TF-IDF baseline: similarity to question, answer and the chosen premises, joined."""

    def __init__(self, neighbourhoods: Neighbourhoods) -> None:
        self._neighbourhoods = neighbourhoods

    def score(self, question: Question, chain: Sequence[int], candidates: Sequence[int]) -> StepScores:
        """Score candidates after the chosen premises."""
        texts = self._neighbourhoods.facts.texts
        explanation = " ".join([question.text, *(texts[fact] for fact in chain)])
        return StepScores(self._neighbourhoods.similarities([explanation])[0][list(candidates)])

    def neighbours(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the premises visible from the question alone, nearest first."""
        return neighbourhoods.of_text(question.text)


@dataclass(frozen=True)
class Step:
    """Candidates that can follow some chosen premises.

    Attributes:
        chosen: The premises before, in order.
        candidates: All visible premises, best first; equal ones as they became visible.
        scores: Their scores, same order.
        stop_score: As in `StepScores`.
        newly_visible: Candidates that the last chosen premise made visible; at first all.
        dropped: As in `StepScores`.
        cut: As in `StepScores`.
    """

    chosen: tuple[int, ...]
    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    stop_score: float | None
    newly_visible: frozenset[int]
    dropped: int = 0
    cut: frozenset[int] = frozenset()


def score_step(
    question: Question,
    neighbours: Ints,
    chain: tuple[int, ...],
    scorer: StepScorer,
    neighbourhoods: Neighbourhoods,
) -> Step:
    """Return the candidates that can follow the chosen premises.

    Raises:
        EvaluationError: If a score is not finite.
    """
    visible = neighbourhoods.visible(neighbours, chain)
    before = set(neighbourhoods.visible(neighbours, chain[:-1])) if chain else set()
    scored = scorer.score(question, chain, visible)
    order = np.argsort(-scored.scores, kind="stable")
    return Step(
        chain,
        tuple(visible[int(at)] for at in order),
        tuple(float(scored.scores[at]) for at in order),
        scored.stop_score,
        frozenset(visible) - before,
        scored.dropped,
        scored.cut,
    )


@dataclass(frozen=True)
class Walk:
    """A chain that may still grow.

    Attributes:
        facts: The chosen premises, in order.
        steps: Candidates of each step; one more than premises where the chain ended, or waits.
        stopped: Reason for the end; None where it waits for a step or for a person.
        by_hand: Number of premises, the first ones, that a person chose.
    """

    facts: tuple[int, ...]
    steps: tuple[Step, ...]
    stopped: Stopped | None
    by_hand: int = 0

    @property
    def cut(self) -> frozenset[int]:
        """Premises that were scored at some step and truncated."""
        return frozenset().union(*(step.cut for step in self.steps))

    @property
    def scored(self) -> dict[int, float]:
        """Every premise that was scored and not chosen -> its last score."""
        scores = {
            fact: score
            for step in self.steps
            for fact, score in zip(step.candidates, step.scores, strict=True)
        }
        return {fact: score for fact, score in scores.items() if fact not in self.facts}

    def ranking(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the ranking of all premises, see `rank_by_chain`."""
        return rank_by_chain(question, self.facts, self.scored, neighbourhoods)


StepOf = Callable[[tuple[int, ...]], Step | None]
"""Chosen premises -> the next step; None while it is unknown."""


def follow(step_of: StepOf, search: Search, *, premises: Sequence[int] = (), automatic: bool = True) -> Walk:
    """Build a chain: first the premises a person chose, then the best one at each step.

    Args:
        step_of: Candidates of the next step.
        search: Length of the chain, and when it may stop; always greedy.
        premises: Premises a person chose; from the first that is not visible on they are left out.
        automatic: Whether the chain grows by itself behind them, or waits there.
    """
    facts: tuple[int, ...] = ()
    steps: list[Step] = []
    by_hand = 0
    stopped: Stopped | None = "length"
    while len(facts) < search.length:
        check_cancelled()
        step = step_of(facts)
        if step is None:
            stopped = None
            break
        steps.append(step)
        if not step.candidates:
            stopped = "nothing visible"
            break
        if by_hand == len(facts) < len(premises) and premises[by_hand] in step.candidates:
            facts, by_hand = (*facts, premises[by_hand]), by_hand + 1
            continue
        if not automatic:
            stopped = None
            break
        if step.stop_score is not None and search.may_stop(facts) and step.stop_score >= step.scores[0]:
            stopped = "bare prefix"
            break
        facts = (*facts, step.candidates[0])
    return Walk(facts, tuple(steps), stopped, by_hand)
