"""Readers of passages and questions of retrieval data sets.

`read_passages` and `read_questions` detect the format from the content:

===========  =======================================================================================
squad        SQuAD JSON: paragraphs are the passages, each the gold passage of its questions
dpr          official DPR JSON (an array): questions with positive and negative passages
dpr tsv      `psgs_w100.tsv`: id, text, title; and questions each with a list of answers
nq-open      JSONL with `question` and `answer`; with a gold passage where `ctxs` has one
ms marco     `collection.tsv`, `queries.tsv`; judgements by `read_qrels`
table        CSV or TSV with a header: `text` or `passage`, perhaps `id` and `title`; or one of
             `QUESTION_COLUMNS`, perhaps `id` and `answer`
beir         folder of `corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`
text         one passage or question a line
===========  =======================================================================================

All but SQuAD and CSV are streamed: 21 million passages are never in memory.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from entail.data.passages.stream import json_array, json_lines, lines, read_head
from entail.data.reading import parse_json, read_text, shorten
from entail.data.stored import validate
from entail.data.tables import TAB, Row, guess_delimiter, named_columns, read_rows, split_cells
from entail.data.text import premise_key
from entail.errors import FormatError

QUESTION_COLUMNS = ("question", "query", "questions")
ANSWER_COLUMNS = ("answer", "answers")
"""Column names of questions and of their answers, in any case."""

Format = Literal["squad", "dpr", "jsonl", "text", "beir"]

_HEAD = 1 << 16
_MAX_BYTES = 2_000_000_000
_QUESTION_PARTS = {"id": ("id", "qid", "_id"), "question": QUESTION_COLUMNS, "answer": ANSWER_COLUMNS}
_PASSAGE_PARTS = {
    "id": ("id", "_id", "pid", "docid", "passage_id", "psg_id"),
    "text": ("text", "passage", "contents"),
    "title": ("title",),
}
_SQUAD = re.compile(r'"(?:data|paragraphs)"\s*:\s*\[')


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


def read_passages(file: str | os.PathLike[str]) -> Iterator[Passage]:
    """Yield the passages of a file or BEIR folder that are not empty; those of a JSON file once each.

    Raises:
        FormatError: With file and line, if the file is malformed; the passages before it were yielded.
    """
    path = Path(file)
    kind = _format(path)
    if kind == "beir":
        path, kind = _find_beir(path, "corpus.jsonl"), "jsonl"
    passages = _text_passages(path) if kind == "text" else _json_passages(path, kind)
    yield from (passage for passage in passages if passage.text.strip())


def read_questions(file: str | os.PathLike[str], *, split: str = "test") -> Iterator[Question]:
    """Yield the questions of a file, or of a BEIR folder those judged in `qrels/<split>.tsv`.

    Raises:
        FormatError: With file and line, if the file is malformed.
    """
    path = Path(file)
    kind = _format(path)
    if kind == "beir":
        yield from _beir_questions(path, split)
    elif kind == "squad":
        for _, questions in _squad(path):
            yield from questions
    elif kind != "text":
        for number, location, row in _rows(path, kind):
            yield question_of(row, number, f"{path}, {location}")
    elif (table := _table(path, _QUESTION_PARTS, "question")) is None:
        yield from _question_lines(path)
    else:
        for number, cells in enumerate(table, start=1):
            if cells["question"]:
                answers = _answers(cells.get("answer", ""))
                yield Question(cells.get("id") or str(number), cells["question"], answers)


def read_qrels(file: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Yield (question id, passage id) of every judgement above 0, as TREC, MS MARCO and BEIR write them.

    Raises:
        FormatError: With the line, unless it has three or four columns and the last is a number.
    """
    for number, line in lines(file):
        parts = line.split()
        if not parts or (number == 1 and parts[-1].lower() in {"score", "rel", "relevance"}):
            continue
        try:
            grade = float(parts[-1])  # some write 1.0
        except ValueError:
            grade = math.nan
        if len(parts) not in (3, 4) or not math.isfinite(grade):
            raise FormatError(
                "expected question id, passage id and a number (or with a 0 between, as TREC writes it), "
                f"found {shorten(line)!r}",
                source=str(file),
                line=number,
            )
        if grade > 0:
            yield parts[0], parts[-2]


def _format(path: Path) -> Format:
    if os.path.isdir(path):  # noqa: PTH112 - False for a name that is too long, where `Path` raises
        return "beir"
    head = read_head(path, _HEAD)
    first = head.split("\n", 1)[0]
    if not head.startswith("{"):
        return "dpr" if head.startswith("[") else "text"
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):  # an object goes on: over further lines, or beyond the head
        return "squad" if first.strip() == "{" or _SQUAD.search(head) else "jsonl"
    is_squad = isinstance(row, dict) and "data" in row and not {"question", "query", "text"} & row.keys()
    return "squad" if is_squad else "jsonl"


def _text_passages(path: Path) -> Iterator[Passage]:
    for cells in _table(path, _PASSAGE_PARTS, "text") or _passage_lines(path):
        text = cells["text"]  # a line's number is no id: those of two files would be the same
        yield Passage(cells.get("id") or premise_key(text), text, cells.get("title", ""))


def _json_passages(path: Path, kind: Format) -> Iterator[Passage]:
    if kind == "squad":
        passages: Iterable[Passage] = (passage for passage, _ in _squad(path))
    else:
        rows = _rows(path, kind)
        passages = chain.from_iterable(passages_of(row, f"{path}, {location}") for _, location, row in rows)
    hashes: set[int] = set()  # ids of a training file's passages are many
    for passage in passages:
        if hash(passage.id) not in hashes:
            hashes.add(hash(passage.id))
            yield passage


def _rows(path: Path, kind: Format) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield number, place and object of every row."""
    unit, rows = ("element", json_array(path)) if kind == "dpr" else ("line", json_lines(path))
    return ((number, f"{unit} {number}", row) for number, row in rows)


def _table(path: Path, parts: Mapping[str, tuple[str, ...]], needed: str) -> Iterator[dict[str, str]] | None:
    """Return the cells of the columns of usual names; None without a header of several columns.

    A TSV is streamed; a row of a CSV may span lines.
    """
    header = read_head(path, _HEAD).split("\n", 1)[0].rstrip("\r")
    delimiter = guess_delimiter(header)
    names = (
        split_cells(header) if delimiter == TAB else [n.strip().strip('"') for n in header.split(delimiter)]
    )
    columns = named_columns(names, parts)
    if len(names) < 2 or needed not in columns:
        return None
    rows: Iterator[Row]
    if delimiter == TAB:
        rows = (
            dict(zip(names, split_cells(line), strict=False))
            for number, line in lines(path)
            if number > 1 and line.strip()
        )
    else:
        table = read_rows(path, max_bytes=_MAX_BYTES)
        columns, rows = named_columns(table.columns, parts), (row for _, row in table.readable())
    return ({part: str(row.get(column, "")).strip() for part, column in columns.items()} for row in rows)


def _passage_lines(path: Path) -> Iterator[dict[str, str]]:
    """Read a passage a line, where the first line has tabs after its id and perhaps before a title."""
    is_tsv = TAB in read_head(path, _HEAD).split("\n", 1)[0]
    for number, line in lines(path):
        cells = line.split(TAB) if is_tsv else ["", line]
        if len(cells) > 1:
            title = cells[2].strip().strip('"') if len(cells) > 2 else ""
            yield {"id": cells[0].strip(), "text": cells[1], "title": title}
        elif line.strip():
            message = f"expected an id, a tab and a text, found {shorten(line)!r}"
            raise FormatError(message, source=str(path), line=number)


def _question_lines(path: Path) -> Iterator[Question]:
    """Read a question a line, perhaps after its id, or before its answer or a list of answers."""
    headed = False
    for number, line in lines(path):
        first, *cells = [part.strip() for part in (split_cells(line) if headed else line.split(TAB))]
        if not line.strip():
            continue
        if number == 1 and line.strip().strip('"').lower() in QUESTION_COLUMNS:
            headed = True
        elif not cells:
            yield Question(str(number), first)
        elif " " in first or (cells[-1][:1] + cells[-1][-1:] == "[]" and not first.isdigit()):
            yield Question(str(number), first, _answers(cells[-1]))
        else:
            yield Question(first, cells[0])


def _answers(text: str) -> tuple[str, ...]:
    """Return the answers of a cell, which may be a list in Python's form."""
    if text.startswith("["):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            value = None
        if isinstance(value, list):
            return tuple(map(str, value))
    return (text,) if text else ()


def _squad(path: Path) -> Iterator[tuple[Passage, list[Question]]]:
    text = read_text(path, max_bytes=_MAX_BYTES)
    return squad_paragraphs(parse_json(text, source=str(path)), str(path))


def _beir_questions(folder: Path, split: str) -> Iterator[Question]:
    qrels = folder / "qrels" / f"{split}.tsv"
    if not qrels.is_file():
        splits = ", ".join(sorted(path.stem for path in qrels.parent.glob("*.tsv"))) or "none"
        raise FormatError(f"expected judgements {split}.tsv in qrels, found {splits}", source=str(folder))
    gold: dict[str, list[str]] = {}
    for question, passage in read_qrels(qrels):
        gold.setdefault(question, []).append(passage)
    file = _find_beir(folder, "queries.jsonl")
    for line, row in json_lines(file):
        query = question_of(row, line, f"{file}, line {line}")
        if query.id in gold:
            yield Question(query.id, query.text, query.answers, tuple(gold[query.id]))


def _find_beir(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise FormatError(f"expected a BEIR folder with {name}, found none", source=str(folder))


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


def squad_paragraphs(value: object, source: str) -> Iterator[tuple[Passage, list[Question]]]:
    """Yield passage and questions of every paragraph of a SQuAD file, or raise `FormatError`."""
    numbers = count(1)
    for article in validate(_Squad, value, source=source).data:
        for paragraph in article.paragraphs:
            passage = Passage(premise_key(paragraph.context), paragraph.context)
            questions = []
            for number, row in zip(numbers, paragraph.qas, strict=False):
                answers = tuple(dict.fromkeys(answer.text for answer in row.answers))
                question_id = str(number) if row.id is None else row.id
                questions.append(Question(question_id, row.question.strip(), answers, (passage.id,)))
            yield passage, questions


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
