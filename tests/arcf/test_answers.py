"""Answers selected by the value of their chains."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from entail.arcf.chains.answers import (
    AnswerSelection,
    chain_value,
    comparison_json,
    select_answers,
    select_nearest,
)
from entail.arcf.chains.chain import Chain, ChainStep
from entail.arcf.chains.neighbourhoods import Neighbourhoods
from entail.arcf.chains.ranking import Ranked
from entail.data.worldtree.questions import Question
from entail.data.worldtree.tables import Fact, FactTables
from entail.errors import EvaluationError

NONE = np.empty(0, dtype=np.int64)


def chain(*steps: tuple[float, float]) -> Chain:
    """Return a chain whose steps chose the second of two candidates, of (score, stop score)."""
    chain_steps = [
        ChainStep((7, number), (-9.0, score), bare, number, ()) for number, (score, bare) in enumerate(steps)
    ]
    facts = tuple(range(len(steps)))
    return Chain(facts, (*chain_steps, ChainStep((7,), (-9.0,), 5.0, None, ())), "bare prefix", {7: -9.0})


def question(name: str, answer: str, *choices: str, level: str = "Easy") -> Question:
    return Question(name, name, answer, {"u0": "CENTRAL"}, level=level, choices=choices)


QUESTIONS = [
    question("ice", "melts", "melts", "burns"),
    question("wood", "burns", "melts", "burns", "sings", level="Challenge"),
    question("no choices", "x"),
]


FACTS = FactTables((Fact("u0", "ice melts", "T"), Fact("u1", "wood burns", "T")))
NEAR = Neighbourhoods(FACTS, k=1)


def test_a_chain_is_worth_the_similarity_of_its_premises() -> None:
    variant = question("wood", "burns", "burns", "melts")
    assert chain_value(variant, chain((3.0, 1.0), (1.0, 1.5)), NEAR) == pytest.approx(0.5)
    assert chain_value(variant, chain(), NEAR) == -math.inf


def test_the_answer_with_the_best_chain_is_selected() -> None:
    calls = []

    def rank(variants: Sequence[Question]) -> Iterator[Ranked]:
        for variant in variants:
            calls.append((variant.text, variant.gold))
            yield Ranked(variant, NONE, replace(chain((1.0, 0.0)), facts=(1,)))  # wood burns

    selection = select_answers(QUESTIONS, rank, NEAR)
    assert [text for text, _ in calls] == ["ice melts", "ice burns", "wood melts", "wood burns", "wood sings"]
    assert not any(gold for _, gold in calls)  # the explanation of the correct answer is no help
    assert selection.selected == ("burns", "burns")
    assert (selection.correct, selection.accuracy) == ((False, True), 0.5)
    figures = selection.to_json()
    assert figures["chance"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert figures["levels"] == {
        "Challenge": {"accuracy": 1.0, "questions": 1},
        "Easy": {"accuracy": 0.0, "questions": 1},
    }


def test_the_nearest_premise_is_the_baseline() -> None:
    nearest = select_nearest(QUESTIONS, NEAR)
    assert nearest.selected == ("melts", "burns")
    worse = AnswerSelection(nearest.questions, ((0.0, 1.0), (0.0, 1.0, 0.0)))
    figures = comparison_json(worse, nearest)
    assert (figures["accuracy"], figures["nearest premise"]["accuracy"]) == (0.5, 1.0)


def test_questions_without_choices_and_rankings_without_chains_are_refused() -> None:
    with pytest.raises(EvaluationError, match="several answers"):
        select_answers(QUESTIONS[2:], lambda variants: iter(()), NEAR)
    with pytest.raises(EvaluationError, match="by chains"):
        select_answers(QUESTIONS, lambda variants: (Ranked(variant, NONE) for variant in variants), NEAR)
