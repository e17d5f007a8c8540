"""Many questions answered into a file that is gone on with; how right the answers are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entail.answering.measures import exact_match, f1, rouge_l
from entail.answering.records import Answer, Answerer, Asked
from entail.data.passages.files import Passage, Question
from entail.data.reading import shorten
from entail.data.writing import append, begin_file
from entail.errors import DataError, SettingsError
from entail.progress import Meter, ProgressCallback
from entail.statistics.classification import wilson_interval

BLOCK = 64
"""Questions whose passages are in memory at once."""

Find = Callable[[Sequence[str]], Sequence[tuple[Passage, ...]]]
"""Questions -> the passages of each, the best first."""


@dataclass(frozen=True)
class AnswerFigures:
    """Measures of answers, over the questions whose answer is known.

    Attributes:
        questions: That were answered.
        judged: Those of them whose answer is known.
        exact: How many are an exact match.
        f1: The mean F1 of words; None where none is judged.
        rouge_l: The mean ROUGE-L; None where none is judged.
        cut: Questions for which something was too long to be read whole.
        without_passages: Questions for which nothing was found, or that ask nothing.
    """

    questions: int
    judged: int
    exact: int
    f1: float | None
    rouge_l: float | None
    cut: int
    without_passages: int

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares; of exact match with Wilson's 95 % interval."""
        interval = wilson_interval(self.exact, self.judged) if self.judged else None
        return {
            "questions": self.questions,
            "with_answer": self.judged,
            "exact_match": self.exact / self.judged if self.judged else None,
            "interval": list(interval) if interval else None,
            "f1": self.f1,
            "rouge_l": self.rouge_l,
            "cut": self.cut,
            "without_passages": self.without_passages,
        }


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
    """Answer questions; with a file, each answer is a line of it before the next questions are read.

    Args:
        questions: No two with the same id.
        answerer: A reader or a generator.
        find: Brings the passages of questions.
        out: File for the answers, a JSON object a line; None writes none.
        settings: What they depend on beside the answerer and the questions: passages, retriever.
        resume: Whether to go on with a file that is there; else it is written anew.
        progress: Told how far it is.

    Returns:
        The answers, in the order of the questions, and how many of them were in the file before.

    Raises:
        DataError: If the file cannot be written, or holds something else.
        SettingsError: If it is of other settings or other questions, or two questions have the same id.
    """
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        again = next(one for one in ids if ids.count(one) > 1)
        raise SettingsError(f"expected questions with ids of their own, found {again!r} twice")
    known: dict[str, Answer] = {}
    if out is not None:
        told = {**(settings or {}), **answerer.settings, "model": answerer.revision}
        if begin_file(out, told, resume=resume, what="answers"):
            known = _kept(out)
            _require_same_questions(known, questions, out)
    before = sum(id_ in known for id_ in ids)
    left = [question for question in questions if question.id not in known]
    meter = Meter(len(left), f"answering by {answerer.name}", unit="questions", report=progress)
    for at in range(0, len(left), BLOCK):
        some = left[at : at + BLOCK]
        passages = find([question.text for question in some])
        asked = [Asked(one.id, one.text, texts) for one, texts in zip(some, passages, strict=True)]
        for answer in answerer.answer(asked):
            if out is not None:
                append(out, json.dumps(answer.to_json(), ensure_ascii=False) + "\n", what="answers")
            known[answer.id] = answer
            meter.add(1)
    return [known[id_] for id_ in ids], before


def answer_figures(answers: Sequence[Answer], questions: Sequence[Question]) -> AnswerFigures:
    """Measure answers against those that the questions come with; see `entail.answering.measures`.

    Args:
        answers: In the order of the questions.
        questions: Those without an answer are not judged.
    """
    judged = [(given.text, one.answers) for given, one in zip(answers, questions, strict=True) if one.answers]
    count = len(judged)
    return AnswerFigures(
        questions=len(answers),
        judged=count,
        exact=sum(exact_match(*pair) == 1 for pair in judged),
        f1=sum(f1(*pair) for pair in judged) / count if count else None,
        rouge_l=sum(rouge_l(*pair) for pair in judged) / count if count else None,
        cut=sum(one.cut for one in answers),
        without_passages=sum(not one.read for one in answers),
    )


def _kept(file: Path) -> dict[str, Answer]:
    """Cut off a line that is not whole, and return the answers of those that are."""
    found: dict[str, Answer] = {}
    whole = 0
    with file.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            if not line.endswith(b"\n"):
                break
            try:
                answer = Answer.read_json(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{file.name}, line {number}: expected an answer as JSON, found something else; give "
                    "another file, or begin anew (--no-resume)"
                ) from error
            found[answer.id] = answer
            whole += len(line)
    with file.open("r+b") as opened:
        opened.truncate(whole)
    return found


def _require_same_questions(known: Mapping[str, Answer], questions: Sequence[Question], file: Path) -> None:
    """Check that answers are to these questions; a file may hold more of them, or fewer."""
    for one in questions:
        if one.id in known and known[one.id].question != one.text:
            raise SettingsError(
                f"{file.name} holds the answer to another question of the id {one.id!r} "
                f"({shorten(known[one.id].question)!r}); give another file, or begin anew (--no-resume)"
            )
