"""Answers to many questions: passages found, questions answered and measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.answering.generator import FusionGenerator, Generator
from entail.answering.loading import load_model
from entail.answering.measures import exact_match, f1, rouge_l
from entail.answering.reader import Reader
from entail.answering.records import Answer, Answerer, PassageQuestion
from entail.data.passages.files import Passage, Question
from entail.evaluation.passages.retrieval import PassageSearch
from entail.evaluation.passages.store import PassageStore
from entail.progress import Meter, ProgressCallback
from entail.statistics.classification import wilson_interval

BLOCK = 64
"""Questions whose passages are in memory together."""

Find = Callable[[Sequence[str]], Sequence[tuple[Passage, ...]]]
"""Questions -> the passages of each, best first."""


def load_answerer(
    name: str | Path,
    *,
    answer_tokens: int | None = None,
    batch_size: int | None = None,
    fusion: bool = False,
    device: str | None = None,
) -> Answerer:
    """Load a reader or a generator, as its configuration says; see `load_model`, `Reader` and `Generator`.

    With `fusion` a sequence-to-sequence model reads passages one by one, see `FusionGenerator`.

    Raises:
        EncoderError: If it cannot be found or loaded safely, or has no head for either.
        SettingsError: If the device is not available, or a model cannot fuse or has no room for a prompt.
    """
    loaded = load_model(name, device=device)
    if loaded.kind == "reader" and not fusion:
        return Reader(loaded, answer_tokens=answer_tokens or 30, batch_size=batch_size or 32)
    kind = FusionGenerator if fusion else Generator
    return kind(loaded, answer_tokens=answer_tokens or 64, batch_size=batch_size or 8)


@dataclass(frozen=True)
class Finder:
    """Search of a store, by `search_passages`, for the k best passages of questions."""

    store: PassageStore
    search: PassageSearch
    k: int

    def __call__(self, questions: Sequence[str]) -> list[tuple[Passage, ...]]:
        """Return the passages of each question, best first; fewer where no more were found."""
        rows = self.search(questions, self.k).tolist()
        return [tuple(self.store[at] for at in row if at >= 0) for row in rows]


def answer_questions(
    questions: Sequence[Question],
    answerer: Answerer,
    find: Find,
    *,
    progress: ProgressCallback | None = None,
) -> list[Answer]:
    """Find passages for questions, and answer them, in order."""
    answers: list[Answer] = []
    meter = Meter(len(questions), f"answering by {answerer.name}", unit="questions", report=progress)
    for start in range(0, len(questions), BLOCK):
        batch = questions[start : start + BLOCK]
        pairs = zip(batch, find([question.text for question in batch]), strict=True)
        for answer in answerer.answer([PassageQuestion(q.id, q.text, passages) for q, passages in pairs]):
            answers.append(answer)
            meter.add(1)
    return answers


def answer_figures(answers: Sequence[Answer], questions: Sequence[Question]) -> dict[str, Any]:
    """Measure answers, in the order of the questions, against the accepted ones.

    `exact_match`, with Wilson's 95 % `interval`, `f1` and `rouge_l` are means over the questions
    `with_answer`, None where there is none; `cut` counts truncated inputs.
    """
    judged = [
        (answer.text, question.answers)
        for answer, question in zip(answers, questions, strict=True)
        if question.answers
    ]
    measures = {"exact_match": exact_match, "f1": f1, "rouge_l": rouge_l}
    sums = {name: sum(measure(*pair) for pair in judged) for name, measure in measures.items()}
    count = len(judged)
    return {
        "questions": len(answers),
        "with_answer": count,
        "interval": wilson_interval(round(sums["exact_match"]), count),
        **{name: total / count if count else None for name, total in sums.items()},
        "cut": sum(answer.cut for answer in answers),
        "without_passages": sum(not answer.read for answer in answers),
    }
