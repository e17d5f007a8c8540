"""Answer selection: the answer of a multiple-choice question with the best explanation.

A chain is built for each answer as if it were correct: future work of Cartuyvels et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from entail.arcf.chains.chain import Chain
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import Ranked
from entail.data.worldtree.questions import Question
from entail.errors import EvaluationError
from entail.statistics.classification import McNemar, mcnemar, wilson_interval

Rank = Callable[[Sequence[Question]], Iterator[Ranked]]
"""Questions -> their rankings with chains, in order."""


def chain_value(question: Question, chain: Chain, neighbourhoods: Neighbourhoods) -> float:
    """Return the mean similarity of a chain's premises to question and answer, minus infinity without any."""
    if not chain.facts:
        return -np.inf
    return float(neighbourhoods.similarities([question.text])[0][list(chain.facts)].mean())


@dataclass(frozen=True)
class AnswerSelection:
    """Answers that were selected.

    Attributes:
        questions: The questions, each with several answers.
        values: A value for each answer of each question; of equal ones the first is selected.
    """

    questions: tuple[Question, ...]
    values: tuple[tuple[float, ...], ...]

    @property
    def selected(self) -> tuple[str, ...]:
        """The selected answer of each question."""
        pairs = zip(self.questions, self.values, strict=True)
        return tuple(question.choices[int(np.argmax(values))] for question, values in pairs)

    @property
    def correct(self) -> tuple[bool, ...]:
        """Whether each is the correct one."""
        pairs = zip(self.questions, self.selected, strict=True)
        return tuple(question.answer == answer for question, answer in pairs)

    @property
    def accuracy(self) -> float:
        """Share of the questions whose correct answer is selected."""
        return float(np.mean(self.correct))

    def compare(self, other: AnswerSelection) -> McNemar:
        """Return McNemar's test against another selection for the same questions."""
        return mcnemar(self.correct, other.correct)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, with the accuracies of levels and of chance."""
        levels: dict[str, list[bool]] = {}
        for question, right in zip(self.questions, self.correct, strict=True):
            levels.setdefault(question.level or "unknown", []).append(right)
        return {
            "accuracy": self.accuracy,
            "interval": wilson_interval(sum(self.correct), len(self.correct)),
            "chance": float(np.mean([1 / len(question.choices) for question in self.questions])),
            "questions": len(self.questions),
            "levels": {
                level: {"accuracy": float(np.mean(outcomes)), "questions": len(outcomes)}
                for level, outcomes in sorted(levels.items())
            },
        }


def select_answers(
    questions: Sequence[Question], rank: Rank, neighbourhoods: Neighbourhoods
) -> AnswerSelection:
    """Select the answer with the best chain.

    Raises:
        EvaluationError: If no question has several answers, or rankings have no chains.
    """
    several = _with_choices(questions)
    variants = [
        replace(question, answer=answer, gold={}) for question in several for answer in question.choices
    ]
    values = []
    for ranked in rank(variants):
        if ranked.chain is None:
            raise EvaluationError("expected rankings by chains, found premises scored one by one")
        values.append(chain_value(ranked.question, ranked.chain, neighbourhoods))
    return AnswerSelection(several, _split(values, several))


def select_nearest(questions: Sequence[Question], neighbourhoods: Neighbourhoods) -> AnswerSelection:
    """Select the answer that, with the question, is most similar to a premise: a baseline without chains.

    Raises:
        EvaluationError: If no question has several answers.
    """
    several = _with_choices(questions)
    texts = [replace(question, answer=answer).text for question in several for answer in question.choices]
    values = [float(neighbourhoods.similarities([text])[0].max()) for text in texts]
    return AnswerSelection(several, _split(values, several))


def comparison_json(selection: AnswerSelection, baseline: AnswerSelection) -> dict[str, Any]:
    """Return the figures of a selection beside those of a baseline, with McNemar's test."""
    return {
        **selection.to_json(),
        "nearest premise": baseline.to_json(),
        "test": asdict(selection.compare(baseline)),
    }


def _with_choices(questions: Sequence[Question]) -> tuple[Question, ...]:
    several = tuple(question for question in questions if len(question.choices) > 1)
    if not several:
        raise EvaluationError("expected multiple-choice questions, found none with several answers")
    return several


def _split(values: Sequence[float], questions: Sequence[Question]) -> tuple[tuple[float, ...], ...]:
    groups, start = [], 0
    for question in questions:
        groups.append(tuple(values[start : start + len(question.choices)]))
        start += len(question.choices)
    return tuple(groups)
