"""A chain one step at a time, by a scorer or by shared words: for whoever looks on, and may choose otherwise.

Left to itself it is Algorithm 1, as `entail.arcf.chains.chain` builds it.
Facts that a person chose stand at its
beginning. TF-IDF as the scorer is the baseline: the fact nearest to question, answer and the facts chosen so
far. It cannot tell when an explanation is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from entail.arcf.chains.chain import Search, Stopped
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import ranking_of
from entail.arcf.scoring.inputs import Inputs
from entail.arcf.scoring.priors import Evidence, PremisePriors
from entail.arcf.scoring.scorer import Scorer, whole_scores
from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.index.protocol import Floats, Ints


def corpus_facts(corpus: Corpus) -> FactTables:
    """Return a corpus as facts that can explain: a premise's key is its uid."""
    pairs = zip(corpus.keys, corpus.texts, strict=True)
    return FactTables(tuple(Fact(key, text, corpus.name) for key, text in pairs))


@dataclass(frozen=True)
class Told:
    """Scores of candidates after a prefix.

    Attributes:
        scores: One a candidate.
        bare: Score of the bare prefix; None where the scorer cannot tell when to stop.
        dropped: Facts of the prefix, the oldest, that were not read; -1 where the question was cut.
        cut: Those of the candidates whose end was not read.
    """

    scores: Floats
    bare: float | None = None
    dropped: int = 0
    cut: frozenset[int] = frozenset()


class StepScorer(Protocol):
    """Scorer of the candidates of a step."""

    def told(self, question: Question, chosen: Sequence[int], candidates: Sequence[int]) -> Told:
        """Score candidates after the chosen facts."""
        ...

    def near(self, question: Question, around: Neighbourhoods) -> Ints:
        """Return the facts that are visible behind the question alone, nearest first."""
        ...


class NearestSteps:
    """The baseline: nearness to question, answer and the chosen facts, joined.

    Args:
        neighbourhoods: Whose metric is taken.
    """

    def __init__(self, neighbourhoods: Neighbourhoods) -> None:
        self._neighbourhoods = neighbourhoods

    def told(self, question: Question, chosen: Sequence[int], candidates: Sequence[int]) -> Told:
        """Score candidates after the chosen facts."""
        texts = self._neighbourhoods.facts.texts
        joined = " ".join([question.text, *(texts[fact] for fact in chosen)])
        return Told(self._neighbourhoods.similarities([joined])[0][list(candidates)])

    def near(self, question: Question, around: Neighbourhoods) -> Ints:
        """Return the facts that are visible behind the question alone, nearest first."""
        return around.of_text(question.text)


class ScoredSteps:
    """A trained scorer; one that learnt on single facts sees the question alone, whatever was chosen.

    Args:
        scorer: The scorer.
        facts: All facts.
    """

    def __init__(self, scorer: Scorer, facts: FactTables) -> None:
        self.scorer, self._facts = scorer, facts

    @cached_property
    def inputs(self) -> Inputs:
        """The facts as tokens."""
        return self.scorer.inputs(self._facts.texts)

    @cached_property
    def _known(self) -> PremisePriors | None:
        return self.scorer.known_of(self._facts)

    def evidence(self, text: str, before: Sequence[str] = ()) -> Evidence | None:
        """Return what the scorer knows of facts behind a question without reading them."""
        return self._known.behind(text, before) if self._known is not None else None

    def near(self, question: Question, around: Neighbourhoods) -> Ints:
        """Return the facts that are visible behind the question alone, nearest first."""
        return around.of_text(question.text, evidence=self.evidence(question.text))

    def told(
        self,
        question: Question,
        chosen: Sequence[int],
        candidates: Sequence[int],
        *,
        before: Sequence[str] = (),
    ) -> Told:
        """Score candidates after the chosen facts.

        Args:
            question: The question.
            chosen: Positions of facts.
            candidates: Positions of facts.
            before: Sentences of the explanation that stand before the chosen facts.

        Raises:
            EvaluationError: If a score is not a number.
        """
        form = self.scorer.form
        (asked,) = self.inputs.questions([(question.stem, question.answer)])
        alone = form.scheme == "single-fact"
        prefix = self.inputs.prefix(asked, () if alone else chosen, before=() if alone else before)
        pairs = [(prefix.ids, self.inputs.candidates[fact]) for fact in candidates]
        stops = form.stop and form.scheme != "single-fact"
        read = self.scorer.pairs.score([(prefix.ids, ()), *pairs] if stops else pairs)
        evidence = self.evidence(question.text, () if alone else before)
        known = evidence(() if alone else chosen, candidates) if evidence is not None else None
        scores = whole_scores(read, known, of=question.id)
        bare, scores = (float(scores[0]), scores[1:]) if stops else (None, scores)
        return Told(scores, bare, prefix.dropped, self.inputs.cut.intersection(candidates))


@dataclass(frozen=True)
class Step:
    """Candidates that can follow some chosen premises.

    Attributes:
        chosen: The facts before, in order.
        candidates: All that are visible, best first; equal ones as they became visible.
        scores: Their scores, same order.
        bare: Score of the bare prefix; None where the scorer cannot tell when to stop.
        joined: Those of the candidates that the last chosen fact made visible; at first all.
        dropped: As in `Told`.
        cut: As in `Told`.
    """

    chosen: tuple[int, ...]
    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    bare: float | None
    joined: frozenset[int]
    dropped: int = 0
    cut: frozenset[int] = frozenset()


def step(
    question: Question, near: Ints, chosen: tuple[int, ...], scorer: StepScorer, around: Neighbourhoods
) -> Step:
    """Return what can follow the chosen facts.

    Args:
        question: The question.
        near: The facts nearest to it.
        chosen: Positions of facts.
        scorer: What scores.
        around: What is visible.

    Raises:
        EvaluationError: If a score is not a number.
    """
    visible = around.visible(near, chosen)
    before = set(around.visible(near, chosen[:-1])) if chosen else set()
    told = scorer.told(question, chosen, visible)
    order = np.argsort(-told.scores, kind="stable")
    return Step(
        chosen,
        tuple(visible[int(at)] for at in order),
        tuple(float(told.scores[at]) for at in order),
        told.bare,
        frozenset(visible) - before,
        told.dropped,
        told.cut,
    )


@dataclass(frozen=True)
class Walk:
    """A chain as far as it goes.

    Attributes:
        facts: The chosen facts, in order.
        steps: What could be chosen at each step; one more than facts where it ended, or waits.
        stopped: Why it ended; None where it waits, for a step or for a person.
        by_hand: How many of the facts, the first ones, a person chose.
    """

    facts: tuple[int, ...]
    steps: tuple[Step, ...]
    stopped: Stopped | None
    by_hand: int = 0

    @property
    def cut(self) -> frozenset[int]:
        """Facts that were scored at some step and whose end was not read."""
        return frozenset().union(*(one.cut for one in self.steps))

    @property
    def scored(self) -> dict[int, float]:
        """Every fact that was scored and not chosen -> its last score."""
        found: dict[int, float] = {}
        for one in self.steps:
            found |= dict(zip(one.candidates, one.scores, strict=True))
        return {fact: score for fact, score in found.items() if fact not in self.facts}

    def ranking(self, question: Question, around: Neighbourhoods) -> Ints:
        """Return all facts: the chain, what was scored by its last score, the rest by nearness to it."""
        return ranking_of(question, self.facts, self.scored, around)


StepOf = Callable[[tuple[int, ...]], Step | None]
"""Possible next premises; None while they are unknown."""


def follow(step_of: StepOf, how: Search, *, given: Sequence[int] = (), alone: bool = True) -> Walk:
    """Build a chain: first the facts a person chose, then the best one at each step.

    Args:
        step_of: What can follow some facts.
        how: Its length, and when it may stop by itself; never by beam, and all is scored anew.
        given: The facts a person chose; from the first that is not visible on they are left out.
        alone: Whether it goes on alone behind them, or waits there.
    """
    facts: tuple[int, ...] = ()
    steps: list[Step] = []
    by_hand = 0
    while len(facts) < how.length:
        found = step_of(facts)
        if found is None:
            return Walk(facts, tuple(steps), None, by_hand)
        steps.append(found)
        if not found.candidates:
            return Walk(facts, tuple(steps), "nothing visible", by_hand)
        if by_hand == len(facts) < len(given) and given[by_hand] in found.candidates:
            facts, by_hand = (*facts, given[by_hand]), by_hand + 1
            continue
        if not alone:
            return Walk(facts, tuple(steps), None, by_hand)
        if found.bare is not None and how.may_stop(facts) and found.bare >= found.scores[0]:
            return Walk(facts, tuple(steps), "bare prefix", by_hand)
        facts = (*facts, found.candidates[0])
    return Walk(facts, tuple(steps), "length", by_hand)
