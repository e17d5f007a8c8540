"""Passages and questions from parsed JSON: SQuAD, DPR, NQ-open and BEIR; errors name the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from entail.data.reading import shorten
from entail.data.stored import validate
from entail.data.text import premise_key
from entail.errors import FormatError


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that may answer a question; its id is that of the file or its `premise_key`."""

    id: str
    text: str
    title: str = ""

    @property
    def whole(self) -> str:
        """Title and text, as encoded and searched."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question, alternative answers, and ids of passages that answer it and of similar ones that do not.

    The id is that in the file, else its number, from 1. A DPR file without hard negatives gives its others.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    hard_negatives: tuple[str, ...] = ()


_Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


def _as_list(value: object) -> object:
    return [] if value is None else [value] if isinstance(value, str) else value


class _Row(BaseModel):
    """Base of rows: numbers become texts, other fields are left out."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Context(_Row):
    """Passage of a row, or an answer of SQuAD."""

    text: _Text = Field("", validation_alias=AliasChoices("text", "contents"))
    title: _Text = ""
    isgold: Any = None
    id: str | None = Field(None, validation_alias=AliasChoices("_id", "id", "passage_id", "psg_id", "docid"))

    def passage(self) -> Passage:
        return Passage(self.id or premise_key(self.text), self.text, self.title)


_Contexts = Annotated[list[_Context], BeforeValidator(_as_list)]


class _WithContexts(_Row):
    positive_ctxs: _Contexts = []
    hard_negative_ctxs: _Contexts = []
    negative_ctxs: _Contexts = []
    ctxs: _Contexts = []


class _Question(_WithContexts):
    id: str | None = Field(None, validation_alias=AliasChoices("_id", "id", "qid"))
    text: str = Field(validation_alias=AliasChoices("question", "query", "text"))
    answers: Annotated[list[str], BeforeValidator(_as_list)] = Field(
        [], validation_alias=AliasChoices("answers", "answer")
    )


class _SquadQuestion(_Row):
    question: str
    id: str | None = None
    answers: _Contexts = []


class _Paragraph(_Row):
    context: str
    qas: Annotated[list[_SquadQuestion], BeforeValidator(_as_list)] = []


class _Article(_Row):
    title: _Text = ""
    paragraphs: Annotated[list[_Paragraph], BeforeValidator(_as_list)] = []


class _Squad(_Row):
    data: list[_Article]


def squad_paragraphs(value: object, source: str) -> Iterator[tuple[str, Passage, list[Question]]]:
    """Yield place, passage and questions of every paragraph of a SQuAD file, or raise `FormatError`."""
    numbers = count(1)
    for article in validate(_Squad, value, source=source).data:
        for at, paragraph in enumerate(article.paragraphs, start=1):
            passage = Passage(premise_key(paragraph.context), paragraph.context)
            questions = []
            for number, row in zip(numbers, paragraph.qas, strict=False):
                answers = tuple(dict.fromkeys(answer.text for answer in row.answers))
                question_id = str(number) if row.id is None else row.id
                questions.append(Question(question_id, row.question.strip(), answers, (passage.id,)))
            yield f"{article.title}, paragraph {at}", passage, questions


def passages_of(row: Mapping[str, Any], source: str) -> Iterator[Passage]:
    """Yield the passages of a row: its own, or those of a question of DPR or NQ-open; or `FormatError`."""
    if row.keys() & _WithContexts.model_fields.keys():
        listed = validate(_WithContexts, row, source=source)
        for name in _WithContexts.model_fields:
            yield from (context.passage() for context in getattr(listed, name))
    elif "text" in row or "contents" in row:
        yield validate(_Context, row, source=source).passage()
    else:
        names = shorten(", ".join(row) or "no field")
        message = f"expected a passage with text, or a question with passages, found {names}"
        raise FormatError(message, source=source)


def question_of(row: Mapping[str, Any], number: int, source: str) -> Question:
    """Return the question of a row of DPR, NQ-open or BEIR, with ids of its passages; or `FormatError`."""
    question = validate(_Question, row, source=source)
    positive = [*question.positive_ctxs, *(context for context in question.ctxs if context.isgold)]
    return Question(
        str(number) if question.id is None else question.id,
        question.text.strip(),
        tuple(question.answers),
        _ids(positive),
        _ids(question.hard_negative_ctxs or question.negative_ctxs),
    )


def _ids(contexts: list[_Context]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(context.passage().id for context in contexts))
