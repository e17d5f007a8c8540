"""Answers to many questions: passages found, answers written into a resumable file, and measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.answering.fusion import FusionGenerator
from entail.answering.generator import Generator
from entail.answering.loading import load_model
from entail.answering.measures import exact_match, f1, rouge_l
from entail.answering.reader import Reader
from entail.answering.records import Answer, Answerer, PassageQuestion
from entail.data.passages.files import Passage, Question
from entail.data.reading import shorten
from entail.data.stored import parse_as
from entail.data.writing import append, begin_file
from entail.errors import DataError, SettingsError
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
    out: Path | None = None,
    settings: Mapping[str, str] | None = None,
    resume: bool = True,
    progress: ProgressCallback | None = None,
) -> tuple[list[Answer], int]:
    """Answer questions, and append each answer to a file.

    Args:
        questions: Questions with distinct ids.
        answerer: Reader or generator.
        find: Finds the passages of questions.
        out: File of answers, a JSON object per line; None writes none.
        settings: Further settings that the answers depend on: passages, retriever.
        resume: Whether to resume an existing file; else it is replaced.
        progress: Called with the progress.

    Returns:
        The answers, in the order of the questions, and the number of those that were in the file before.

    Raises:
        DataError: If the file cannot be written, or holds something else.
        SettingsError: If it has other settings or questions, or two questions have the same id.
    """
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        again = next(id_ for id_ in ids if ids.count(id_) > 1)
        raise SettingsError(f"expected questions with ids of their own, found {again!r} twice")
    answers: dict[str, Answer] = {}
    if out is not None:
        settings = {**(settings or {}), **answerer.settings, "model": answerer.revision}
        if begin_file(out, settings, resume=resume, contents="answers"):
            answers = _read_answers(out)
            _require_same_questions(answers, questions, out)
    before = sum(id_ in answers for id_ in ids)
    left = [question for question in questions if question.id not in answers]
    meter = Meter(len(left), f"answering by {answerer.name}", unit="questions", report=progress)
    for at in range(0, len(left), BLOCK):
        batch = left[at : at + BLOCK]
        passages = find([question.text for question in batch])
        inputs = [
            PassageQuestion(question.id, question.text, own)
            for question, own in zip(batch, passages, strict=True)
        ]
        for answer in answerer.answer(inputs):
            if out is not None:
                append(out, json.dumps(answer.to_json(), ensure_ascii=False) + "\n", contents="answers")
            answers[answer.id] = answer
            meter.add(1)
    return [answers[id_] for id_ in ids], before


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


def _read_answers(file: Path) -> dict[str, Answer]:
    """Return the answers of a file, and truncate it behind its last complete line."""
    answers: dict[str, Answer] = {}
    whole = 0
    with file.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            if not line.endswith(b"\n"):
                break
            try:
                answer = parse_as(Answer, line)
            except ValueError as error:
                raise DataError(
                    f"{file.name}, line {number}: expected an answer as JSON, found something else; give "
                    "another file, or start over (--no-resume)"
                ) from error
            answers[answer.id] = answer
            whole += len(line)
    with file.open("r+b") as opened:
        opened.truncate(whole)
    return answers


def _require_same_questions(answers: Mapping[str, Answer], questions: Sequence[Question], file: Path) -> None:
    """Check that known answers are to these questions."""
    for question in questions:
        if question.id in answers and answers[question.id].question != question.text:
            raise SettingsError(
                f"{file.name} holds the answer to another question of the id {question.id!r} "
                f"({shorten(answers[question.id].question)!r}); give another file, or start over "
                "(--no-resume)"
            )
