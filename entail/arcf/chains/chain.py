"""Chains of premises that explain an answer (Cartuyvels et al. 2020, Algorithm 1), and rankings by them.

Each step scores all visible premises after the prefix of question and chosen premises, and appends the best;
a user may choose another. TF-IDF is the baseline scorer: the premise nearest to question, answer and chosen
premises. It cannot tell when an explanation is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer, StepScores
from entail.arcf.scoring.scorer import Scorer
from entail.cancellation import check_cancelled
from entail.data.records import Corpus
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import SettingsError
from entail.index.protocol import Floats, Ints
from entail.progress import Meter, ProgressCallback

Stopped = Literal["bare prefix", "length", "nothing visible"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """Settings of the greedy search for a chain of at most L premises, which may stop from L_min on.

    Raises:
        SettingsError: If a value is out of range.
    """

    length: int = 9
    least: int = 3

    def __post_init__(self) -> None:
        if self.length < 1 or self.least < 0:
            raise SettingsError(
                f"expected length of 1 or more and least of 0 or more, found {self.length} and {self.least}"
            )


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
        return StepScores(_to_explanation(question, chain, self._neighbourhoods)[list(candidates)])

    def neighbours(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return the premises visible from the question alone, nearest first."""
        return neighbourhoods.of_text(question.text)


@dataclass(frozen=True)
class Step:
    """Candidates that can follow the `chosen` premises: all visible ones, best first, and their scores.

    The last chosen premise made the candidates `newly_visible`; at first all are. See `StepScores`.
    """

    chosen: tuple[int, ...]
    candidates: tuple[int, ...]
    scores: tuple[float, ...]
    stop_score: float | None
    newly_visible: frozenset[int]
    dropped: int = 0

    @classmethod
    def of(
        cls, chain: Sequence[int], visible: Sequence[int], before: Sequence[int], scored: StepScores
    ) -> Step:
        """Return a step of scored candidates; those not visible `before` are new."""
        order = np.argsort(-scored.scores, kind="stable")
        return cls(
            tuple(chain),
            tuple(visible[int(at)] for at in order),
            tuple(scored.scores[order].tolist()),
            scored.stop_score,
            frozenset(visible).difference(before),
            scored.dropped,
        )


def score_step(
    question: Question,
    neighbours: Ints,
    chain: tuple[int, ...],
    scorer: StepScorer,
    neighbourhoods: Neighbourhoods,
) -> Step:
    """Return the candidates that can follow the chosen premises; `neighbours` are those of the question.

    Raises:
        EvaluationError: If a score is not finite.
    """
    visible = neighbourhoods.visible(neighbours, chain)
    before = neighbourhoods.visible(neighbours, chain[:-1]) if chain else ()
    return Step.of(chain, visible, before, scorer.score(question, chain, visible))


@dataclass(frozen=True)
class Chain:
    """A chain that may still grow: the chosen premises, of which a user chose the first ones `by_hand`.

    There is one step more than premises where the chain ended, or waits for a step or a user; then nothing
    stopped it.
    """

    facts: tuple[int, ...]
    steps: tuple[Step, ...]
    stopped: Stopped | None
    by_hand: int = 0

    def ranking(self, question: Question, neighbourhoods: Neighbourhoods) -> Ints:
        """Return all premises: chosen ones, others scored by last score (S2), the rest by similarity (R3)."""
        rows = (zip(step.candidates, step.scores, strict=True) for step in self.steps)
        last = {fact: score for row in rows for fact, score in row}
        scored = sorted(last.keys() - set(self.facts), key=lambda fact: (-last[fact], fact))
        first = np.array([*self.facts, *scored], dtype=np.int64)
        rest = np.argsort(-_to_explanation(question, self.facts, neighbourhoods), kind="stable")
        return np.concatenate([first, rest[~np.isin(rest, first)]])


StepOf = Callable[[tuple[int, ...]], Step | None]
"""Chosen premises -> the next step; None while it is unknown."""


def follow(step_of: StepOf, search: Search, *, premises: Sequence[int] = ()) -> Chain:
    """Build a chain: first the premises a user chose, then the best one at each step.

    From the first that is not visible on, the user's premises are left out.
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
        if step.stop_score is not None and len(facts) >= search.least and step.stop_score >= step.scores[0]:
            stopped = "bare prefix"
            break
        facts = (*facts, step.candidates[0])
    return Chain(facts, tuple(steps), stopped, by_hand)


def build_chain(
    question: Question, steps: StepScorer, neighbourhoods: Neighbourhoods, search: Search
) -> Chain:
    """Build the whole chain of a question.

    Raises:
        EvaluationError: If a score is not finite.
    """
    first = steps.neighbours(question, neighbourhoods)
    return follow(lambda facts: score_step(question, first, facts, steps, neighbourhoods), search)


@dataclass(frozen=True)
class Ranked:
    """Ranking of all premises for a question, best first; `chain` is None for one by shared words."""

    question: Question
    ranking: Ints
    chain: Chain | None = None

    @property
    def dropped(self) -> int:
        """Oldest premises that did not fit at the last step; -1 where the question was truncated."""
        return self.chain.steps[-1].dropped if self.chain else 0


class ChainRanker(PremiseScorer):
    """Ranker by chains; a scorer that was not trained to stop grows them to their full length."""

    def __init__(
        self, scorer: Scorer, neighbourhoods: Neighbourhoods, *, search: Search | None = None
    ) -> None:
        super().__init__(scorer, neighbourhoods.facts)
        self.neighbourhoods, self.search = neighbourhoods, search or Search()

    def rank(
        self, questions: Sequence[Question], *, progress: ProgressCallback | None = None
    ) -> Iterator[Ranked]:
        """Yield the rankings of questions, in order.

        Raises:
            EvaluationError: If a score is not finite.
        """
        meter = Meter(len(questions), "ranking facts", unit="questions", report=progress)
        for question in questions:
            chain = build_chain(question, self, self.neighbourhoods, self.search)
            yield Ranked(question, chain.ranking(question, self.neighbourhoods), chain)
            meter.add(1)


def corpus_facts(corpus: Corpus) -> FactTables:
    """Return a corpus as fact tables: a premise's key is its uid."""
    pairs = zip(corpus.keys, corpus.texts, strict=True)
    return FactTables(tuple(Fact(key, text, corpus.name) for key, text in pairs))


def _to_explanation(question: Question, chain: Sequence[int], neighbourhoods: Neighbourhoods) -> Floats:
    """Return the similarity of each premise to question and chosen premises, shape (facts,)."""
    texts = neighbourhoods.facts.texts
    prefix = " ".join([question.text, *(texts[fact] for fact in chain)])
    similarity: Floats = neighbourhoods.similarities([prefix])[0]
    return similarity
