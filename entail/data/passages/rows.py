"""Passages and questions from parsed JSON rows and SQuAD articles; errors name the field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from entail.data.reading import shorten
from entail.data.text import premise_key
from entail.errors import FormatError

CONTEXTS = ("positive_ctxs", "hard_negative_ctxs", "negative_ctxs", "ctxs")
"""Fields of a question that hold passages."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that may answer a question.

    Attributes:
        id: Id in the file, else the text's `premise_key`.
        text: Without HTML.
        title: Title of its page; empty if it is not searched.
    """

    id: str
    text: str
    title: str = ""

    @property
    def whole(self) -> str:
        """Title and text, as encoded and searched."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its answers and passages.

    Attributes:
        id: Id in the file, else its number, from 1.
        text: The question.
        answers: Alternative answers.
        gold: Ids of the passages that answer it.
        hard_negatives: Ids of similar passages that do not; if a DPR file has none, its other negatives, as
            in DPR.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    hard_negatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Location of a value, for errors.

    Attributes:
        source: Name of the file.
        line: First line of the row; None in a SQuAD file.
        path: Path from the row to the value, such as `qas[0].id`.
    """

    source: str
    line: int | None = None
    path: str = ""

    def at(self, name: str | int) -> Place:
        """Return the location of a field, or of a list element, from 0."""
        step = f"[{name}]" if isinstance(name, int) else f".{name}" if self.path else name
        return Place(self.source, self.line, self.path + step)

    def wrong(self, expected: str, found: object) -> FormatError:
        """Return the error of an unexpected value."""
        shown = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=repr)
        return FormatError(
            f"expected {expected}, found {shorten(shown)}; correct it, or remove the row",
            source=self.source,
            line=self.line,
            field=self.path or None,
        )


def squad_paragraphs(value: object, source: str) -> Iterator[tuple[Mapping[str, Any], str, Place]]:
    """Yield the paragraphs of a SQuAD file: each with its place in words, and for errors.

    Raises:
        FormatError: With the field, where it is no SQuAD JSON.
    """
    top = Place(source)
    articles = value.get("data") if isinstance(value, dict) else None
    if not isinstance(articles, list):
        raise FormatError('expected SQuAD JSON, an object with a list "data"', source=source)
    for article, at in _objects(articles, top.at("data"), "an article, an object with paragraphs"):
        paragraphs = _list(article, "paragraphs", at, "a list of paragraphs")
        named = at.at("paragraphs")
        for number, (paragraph, place) in enumerate(
            _objects(paragraphs, named, "a paragraph, an object with a context"), start=1
        ):
            if not isinstance(paragraph.get("context"), str):
                raise place.at("context").wrong("text", paragraph.get("context", "none"))
            yield paragraph, f"{article.get('title')}, paragraph {number}", place


def squad_questions(paragraph: Mapping[str, Any], place: Place, numbers: Iterator[int]) -> Iterator[Question]:
    """Yield the questions of a paragraph of SQuAD, of which it is the gold passage.

    Args:
        paragraph: As `squad_paragraphs` gives it.
        place: Of it.
        numbers: Counts the questions of the file: one without an id is called by its number.

    Raises:
        FormatError: With the field that is wrong.
    """
    gold = (premise_key(str(paragraph["context"])),)
    asked = _list(paragraph, "qas", place, "a list of questions")
    for row, at in _objects(asked, place.at("qas"), "an object with a question"):
        number, known = next(numbers), row.get("id")
        if not isinstance(row.get("question"), str):
            raise at.at("question").wrong("text", row.get("question", "none"))
        answers = [
            _text(one, "text", inner)
            for one, inner in _objects(
                _list(row, "answers", at, "a list of answers"), at.at("answers"), "an answer with text"
            )
        ]
        yield Question(
            str(number) if known is None else str(known),
            row["question"].strip(),
            tuple(dict.fromkeys(answers)),
            gold,
        )


def passages_of(row: Mapping[str, Any], place: Place) -> Iterator[Passage]:
    """Yield the passages of a row: its own, or those that a question of DPR or NQ-open comes with.

    Raises:
        FormatError: With the field that is wrong.
    """
    if not any(name in row for name in CONTEXTS):
        if "text" not in row and "contents" not in row:
            found = ", ".join(row) or "no field"
            raise place.wrong("a passage with text, or a question with passages", found)
        yield _passage(row, place)
    for name in CONTEXTS:
        for context, at in _contexts(row, name, place):
            yield _passage(context, at)


def question_of(row: Mapping[str, Any], number: str, place: Place) -> Question:
    """Return the question of a row, with the ids of the passages it comes with.

    Args:
        row: Of DPR, NQ-open or BEIR.
        number: What it is called where it has no id.
        place: Of it.

    Raises:
        FormatError: With the field that is wrong.
    """
    text = next((row[name] for name in ("question", "query", "text") if isinstance(row.get(name), str)), None)
    if text is None:
        found = shorten(", ".join(row))
        raise FormatError(
            f"expected a question, found only the fields {found}", source=place.source, line=place.line
        )
    name = "answers" if "answers" in row else "answer"
    given = row.get(name)
    if not isinstance(given, list):
        given = [given] if isinstance(given, str) else _list(row, name, place, "a text or a list of texts")
    for answer in given:
        if not isinstance(answer, str | int | float | Decimal):
            raise place.at(name).wrong("a text or a list of texts", given)
    positive = list(_contexts(row, "positive_ctxs", place))
    positive += [one for one in _contexts(row, "ctxs", place) if one[0].get("isgold")]
    negative = list(_contexts(row, "hard_negative_ctxs", place)) or _contexts(row, "negative_ctxs", place)
    known = next((row[name] for name in ("_id", "id", "qid") if row.get(name) is not None), number)
    return Question(
        str(known),
        text.strip(),
        tuple(map(str, given)),
        tuple(dict.fromkeys(_passage(*one).id for one in positive)),
        tuple(dict.fromkeys(_passage(*one).id for one in negative)),
    )


def _passage(row: Mapping[str, Any], place: Place) -> Passage:
    text = _text(row, "text" if "text" in row else "contents", place)
    known = next(
        (
            row[name]
            for name in ("_id", "id", "passage_id", "psg_id", "docid")
            if row.get(name) or row.get(name) == 0
        ),
        None,
    )
    return Passage(str(known) if known is not None else premise_key(text), text, _text(row, "title", place))


def _contexts(row: Mapping[str, Any], name: str, place: Place) -> Iterator[tuple[Mapping[str, Any], Place]]:
    return _objects(_list(row, name, place, "a list of passages"), place.at(name), "a passage with text")


def _list(row: Mapping[str, Any], name: str, place: Place, expected: str) -> list[Any]:
    """Return a field that is a list, or nothing."""
    value = row.get(name)
    if value is not None and not isinstance(value, list):
        raise place.at(name).wrong(expected, value)
    return value or []


def _objects(values: list[Any], place: Place, expected: str) -> Iterator[tuple[Mapping[str, Any], Place]]:
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise place.at(number).wrong(expected, json.dumps(value, ensure_ascii=False))
        yield value, place.at(number)


def _text(row: Mapping[str, Any], name: str, place: Place) -> str:
    """Return a field that is a text or a number; empty where it is absent."""
    value = row.get(name)
    if isinstance(value, list | dict):
        raise place.at(name).wrong("text", value)
    return "" if value is None else str(value)
