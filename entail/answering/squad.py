"""SQuAD files as questions with answers marked in their passage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from entail.data.reading import parse_json, read_text
from entail.data.stored import validate
from entail.errors import FormatError

_MAX_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class MarkedQuestion:
    """A question with a passage, and answers by their first character in it."""

    question: str
    passage: str
    answers: tuple[tuple[int, str], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Accepted answers."""
        return tuple(text for _, text in self.answers)


class _Answer(BaseModel):
    text: str
    answer_start: int = 0


class _Question(BaseModel):
    question: str
    answers: list[_Answer] = []
    is_impossible: bool = False


class _Paragraph(BaseModel):
    context: str
    qas: list[_Question]


class _Article(BaseModel):
    paragraphs: list[_Paragraph]


class _Squad(BaseModel):
    data: list[_Article]


def read_marked(file: Path) -> Iterator[MarkedQuestion]:
    """Yield the questions of a SQuAD file, without answers where none is in the passage or it is impossible.

    An answer that does not stand at its place is looked for at the nearest one.

    Raises:
        FormatError: If the file is no SQuAD JSON.
    """
    source = str(file)
    content: Any = parse_json(read_text(file, max_bytes=_MAX_BYTES), source=source)
    if not isinstance(content, dict) or "data" not in content:
        raise FormatError("expected SQuAD JSON, an object with 'data', found another file", source=source)
    for article in validate(_Squad, content, source=source).data:
        for paragraph in article.paragraphs:
            for row in paragraph.qas:
                marks = () if row.is_impossible else tuple(_marks(paragraph.context, row.answers))
                yield MarkedQuestion(row.question.strip(), paragraph.context, marks)


def _marks(passage: str, answers: list[_Answer]) -> Iterator[tuple[int, str]]:
    for answer in answers:
        text, at = answer.text.strip(), answer.answer_start
        if not passage.startswith(text, at):
            starts = [match.start() for match in re.finditer(re.escape(text), passage)]
            at = min(starts, key=lambda start: abs(start - answer.answer_start), default=-1)
        if text and at >= 0:
            yield at, text
