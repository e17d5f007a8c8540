"""Ratings of answers by a generator: correctness from 1 to 5, relevancy 0 or 1 (Dai et al. 2024, Table 4).

The prompts are ours: the paper prints none. A rating is the first number of the range that the model writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from entail.answering.records import Answer
from entail.data.passages.files import Question

CORRECTNESS = (
    "Rate how correct the answer to the question is, judged by the reference answers: 1 is wrong, 5 is fully "
    "correct. Reply with the number alone.\n\nQuestion: {question}\nReference answers: {references}\n"
    "Answer: {answer}\nRating:"
)
RELEVANCY = (
    "Does the answer address the question, whether or not it is correct? Reply 1 for yes and 0 for no, with "
    "the number alone.\n\nQuestion: {question}\nAnswer: {answer}\nReply:"
)

Write = Callable[[Sequence[str]], Sequence[str]]
"""Prompts -> the texts that a model writes after them."""


@dataclass(frozen=True)
class Ratings:
    """Ratings of answers, in order; None where the model wrote no number of the range.

    Attributes:
        correctness: From 1 to 5; of the answers to questions with a known answer.
        relevancy: 0 or 1; of all answers.
    """

    correctness: tuple[int | None, ...]
    relevancy: tuple[int | None, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the means over the numbers, and how many answers got none."""
        return {
            **{name: _mean(getattr(self, name)) for name in ("correctness", "relevancy")},
            "unrated": {
                name: sum(rating is None for rating in getattr(self, name))
                for name in ("correctness", "relevancy")
            },
        }


def rate_answers(answers: Sequence[Answer], questions: Sequence[Question], write: Write) -> Ratings:
    """Ask a model for the ratings of answers, in the order of the questions.

    An empty answer is not put to the model: it is wrong, and addresses nothing.
    """
    pairs = list(zip(answers, questions, strict=True))
    reference_pairs = [(answer, question) for answer, question in pairs if question.answers]
    correctness = _ask(reference_pairs, CORRECTNESS, write, lowest=1, highest=5)
    return Ratings(correctness, _ask(pairs, RELEVANCY, write, lowest=0, highest=1))


def _ask(
    pairs: Sequence[tuple[Answer, Question]], template: str, write: Write, *, lowest: int, highest: int
) -> tuple[int | None, ...]:
    prompts = [
        template.format(question=question.text, references="; ".join(question.answers), answer=answer.text)
        for answer, question in pairs
        if answer.text
    ]
    texts = iter(write(prompts) if prompts else ())
    return tuple(_number(next(texts), lowest, highest) if answer.text else lowest for answer, _ in pairs)


def _number(text: str, lowest: int, highest: int) -> int | None:
    match = re.search(rf"(?<![\d.])[{lowest}-{highest}](?!\d|\.\d)", text)
    return int(match[0]) if match else None


def _mean(ratings: Sequence[int | None]) -> float | None:
    numbers = [rating for rating in ratings if rating is not None]
    return sum(numbers) / len(numbers) if numbers else None
