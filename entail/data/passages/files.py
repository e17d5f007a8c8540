"""Readers of passages and questions of retrieval data sets.

`read_passages` and `read_questions` detect the format from the content:

===========  =======================================================================================
squad        SQuAD JSON: paragraphs are the passages, each the gold passage of its questions
dpr          official DPR JSON (an array): questions with positive and negative passages
dpr tsv      `psgs_w100.tsv`: id, text, title; and questions each with a list of answers
nq-open      JSONL with `question` and `answer`; with a gold passage where `ctxs` has one
ms marco     `collection.tsv`, `queries.tsv`; judgements by `read_qrels`
table        CSV or TSV with a header; names of columns as in `PASSAGE_PARTS` or `QUESTION_PARTS`
beir         folder of `corpus.jsonl`, `queries.jsonl`, and `qrels/*.tsv` or, as MTEB has it, `.jsonl`
text         one passage or question a line
===========  =======================================================================================

All but SQuAD and CSV are streamed: 21 million passages are never in memory. A row that does not fit is an
error; columns that are left out are those of `unread_columns`.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from entail.data.passages.qrels import QREL_FILES, read_qrels
from entail.data.passages.stream import json_array, json_lines, lines, read_head
from entail.data.reading import parse_json, read_text, shorten
from entail.data.stored import validate
from entail.data.tables import TAB, guess_delimiter, named_columns, read_rows, split_cells
from entail.data.text import premise_key
from entail.errors import FormatError

QUESTION_PARTS = {
    "id": ("_id", "id", "qid", "query_id", "query-id", "question_id"),
    "question": ("question", "query", "questions", "text"),
    "answer": ("answers", "answer"),
}
PASSAGE_PARTS = {
    "id": ("_id", "id", "docno", "pid", "passage_id", "psg_id", "doc_id", "docid", "corpus_id", "corpus-id"),
    "text": ("text", "passage", "contents"),
    "title": ("title",),
}
"""Part -> its usual names of columns, in any case, and of fields of JSON; the first that is there counts."""

Format = Literal["squad", "dpr", "jsonl", "text", "beir"]

_HEAD = 1 << 16
_MAX_BYTES = 2_000_000_000
_NAMES = {name for parts in (QUESTION_PARTS, PASSAGE_PARTS) for names in parts.values() for name in names}
_BY_LINE = (TAB, guess_delimiter(""))
"""Delimiters of tables whose rows are lines: tab, and that of a single column."""
_SEP = re.compile(r'\s*"?sep=."?\s*', re.IGNORECASE)
_ARRAY = re.compile(r"\barray\((\[.*?\])(?:,\s*dtype=\w+)?\)", re.DOTALL)
"""Array of NumPy as `repr` writes it."""
_PYTHON_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
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
    A question that its passage does not answer, as SQuAD 2.0 has them, has no gold passage. `ignored` is the
    id of a passage that is not retrieved: in BEIR, whose rows have an `_id`, that of the question itself.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    hard_negatives: tuple[str, ...] = ()
    ignored: str = ""


def read_passages(*files: str | os.PathLike[str]) -> Iterator[Passage]:
    """Yield the passages of files and BEIR folders that are not empty, each id once.

    Raises:
        FormatError: With file and line, if a file is malformed, or if an id has two texts; the passages
            before it were yielded.
    """
    texts: dict[int, int] = {}  # hashes: 3 GB of 21 million
    for path in map(Path, files):
        for passage in _passages(path):
            if not passage.whole.strip():
                continue
            id_hash, text_hash = hash(passage.id), hash(passage.text)
            if id_hash not in texts:
                texts[id_hash] = text_hash
                yield passage
            elif texts[id_hash] != text_hash and passage.id != premise_key(passage.text):
                raise FormatError(
                    f"expected one text for each id, found {shorten(passage.id)!r} for a second one, "
                    f"{shorten(passage.text, 60)!r}; search such pools one at a time, or number them apart",
                    source=str(path),
                )


def read_questions(file: str | os.PathLike[str], *, split: str = "test") -> Iterator[Question]:
    """Yield the questions of a file, or of a BEIR folder those judged in `qrels/<split>.tsv` or `.jsonl`.

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
    elif (table := _table(path, QUESTION_PARTS, "question")) is None:
        yield from _question_lines(path)
    else:
        for number, cells in enumerate(table, start=1):
            if cells["question"]:
                answers = _answers(cells.get("answer", ""))
                yield Question(cells.get("id") or str(number), cells["question"], answers)


def unread_columns(file: str | os.PathLike[str], *, questions: bool = False) -> tuple[str, ...]:
    """Return the columns of a table of passages or questions that are left out; of JSON by its first row."""
    path, parts = Path(file), QUESTION_PARTS if questions else PASSAGE_PARTS
    kind = _format(path)
    if kind == "beir":
        path, kind = _find_beir(path, "queries.jsonl" if questions else "corpus.jsonl"), "jsonl"
    names: list[str] = []
    if kind == "text":
        names, _ = _header(path)
    elif kind != "squad":
        names = list(next(_rows(path, kind), (0, "", {}))[2])
    columns = named_columns(names, parts)
    if kind == "text" and ("question" if questions else "text") not in columns:
        return ()  # the first line is no header
    read = {"", *columns.values()}
    if contexts := _WithContexts.model_fields.keys() & names:
        read |= contexts | set(named_columns(names, QUESTION_PARTS).values())
    return tuple(name for name in names if name not in read)


def beir_splits(folder: Path) -> list[str]:
    """Return the names of a BEIR folder's files of judgements."""
    return sorted({path.stem for path in (folder / "qrels").glob("*") if path.suffix in QREL_FILES})


def _format(path: Path) -> Format:
    if os.path.isdir(path):  # noqa: PTH112 - False for a name that is too long, where `Path` raises
        return "beir"
    head = read_head(path, _HEAD)
    first = head.split("\n", 1)[0]
    if head.startswith("PK\x03\x04"):
        raise FormatError("expected text, found an Excel file or an archive; save as CSV", source=str(path))
    if head.startswith("<"):
        raise FormatError("expected JSON, a table or lines, found XML or HTML", source=str(path), line=1)
    if not head.startswith("{"):
        return "dpr" if head.startswith("[") else "text"
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):  # an object goes on: over further lines, or beyond the head
        return "squad" if first.strip() == "{" or _SQUAD.search(head) else "jsonl"
    is_squad = isinstance(row, dict) and "data" in row and not {"question", "query", "text"} & row.keys()
    return "squad" if is_squad else "jsonl"


def _passages(path: Path) -> Iterator[Passage]:
    kind = _format(path)
    if kind == "beir":
        path, kind = _find_beir(path, "corpus.jsonl"), "jsonl"
    if kind == "squad":
        yield from (passage for passage, _ in _squad(path))
    elif kind != "text":
        for _, location, row in _rows(path, kind):
            yield from passages_of(row, f"{path}, {location}")
    else:
        for cells in _table(path, PASSAGE_PARTS, "text") or _passage_lines(path):
            text = cells["text"]  # a line's number is no id: those of two files would be the same
            yield Passage(cells.get("id") or premise_key(text), text, cells.get("title", ""))


def _rows(path: Path, kind: Format) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield number, place and object of every row."""
    unit, rows = ("element", json_array(path)) if kind == "dpr" else ("line", json_lines(path))
    return ((number, f"{unit} {number}", row) for number, row in rows)


def _header(path: Path) -> tuple[list[str], str]:
    """Return the cells of the first line, and their delimiter."""
    _, line = next(_table_lines(path), (0, ""))
    delimiter = guess_delimiter(line)
    cells = split_cells(line) if delimiter in _BY_LINE else [n.strip('" ') for n in line.split(delimiter)]
    return [cell.strip() for cell in cells], delimiter


def _table(path: Path, parts: Mapping[str, tuple[str, ...]], needed: str) -> Iterator[dict[str, str]] | None:
    """Return the cells of the columns of usual names; None without a header.

    A TSV and a single column are streamed; a row of a CSV may span lines.
    """
    names, delimiter = _header(path)
    columns = named_columns(names, parts)
    if needed not in columns:
        is_header = len(names) > 1 and not any(re.search(r"\s", name) for name in names)
        is_csv = path.name.lower().removesuffix(".gz").endswith(".csv")
        is_csv = is_csv and delimiter not in _BY_LINE and TAB not in "".join(names)  # as DPR's has
        if is_csv or (is_header and _NAMES & {name.lower() for name in names}):
            raise FormatError(
                f"expected a column named {' or '.join(parts[needed])}, found {shorten(', '.join(names))}; "
                "name it so in the first line, or call a file of lines .txt",
                source=str(path),
                line=1,
            )
        return None
    if delimiter in _BY_LINE:
        rows = _rows_by_line(path, names)
    else:
        table = read_rows(path, max_bytes=_MAX_BYTES)
        columns, rows = named_columns(table.columns, parts), (row for _, row in table.readable())
    return ({part: str(row.get(column, "")).strip() for part, column in columns.items()} for row in rows)


def _table_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, nor Excel's first line that tells the delimiter."""
    return ((number, line) for number, line in lines(path) if line.strip() and not _SEP.fullmatch(line))


def _rows_by_line(path: Path, names: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows after the header, each of as many cells; those of a row over two lines are fewer."""
    for number, line in islice(_table_lines(path), 1, None):
        cells = split_cells(line)
        if len(cells) < len(names) or any(cells[len(names) :]):
            message = f"expected as many cells as the header has, {len(names)}, found {len(cells)}"
            raise FormatError(message, source=str(path), line=number)
        yield dict(zip(names, cells, strict=False))


def _passage_lines(path: Path) -> Iterator[dict[str, str]]:
    """Read a passage a line, where the first line has tabs after its id and perhaps before a title.

    Rows of anything else, such as the words of CoNLL-U, have more tabs.
    """
    is_tsv = TAB in read_head(path, _HEAD).split("\n", 1)[0]
    for number, line in lines(path):
        cells = line.split(TAB) if is_tsv else ["", line]
        if len(cells) > 1 and not any(cells[3:]) and (is_tsv or line.strip().count(TAB) < 2):
            title = cells[2].strip().strip('"') if len(cells) > 2 else ""
            yield {"id": cells[0].strip(), "text": cells[1], "title": title}
        elif line.strip():
            raise FormatError(
                f"expected an id, a tab, a text and perhaps a title, or a header, found {shorten(line)!r}",
                source=str(path),
                line=number,
            )


def _question_lines(path: Path) -> Iterator[Question]:
    """Read a question a line, perhaps after its id, or before its answer or a list of answers.

    As DPR writes questions and answers, cells may be quoted; MS MARCO's are not.
    """
    for number, line in lines(path):
        if not line.strip():
            continue
        first, *cells = [cell.strip() for cell in line.split(TAB)]
        text, *answers = [cell.strip() for cell in split_cells(line)]
        if any(cells[1:]):
            raise FormatError(
                f"expected a question, perhaps with an id before it or answers after it, or a header, found "
                f"{shorten(line)!r}",
                source=str(path),
                line=number,
            )
        if not cells:
            yield Question(str(number), text)
        elif " " in first or (answers[0][:1] + answers[0][-1:] == "[]" and not first.isdigit()):
            yield Question(str(number), text, _answers(answers[0]))
        else:
            yield Question(first, cells[0])


def _answers(text: str) -> tuple[str, ...]:
    """Return the answers of a cell: one, or a list as Python, NumPy, pandas or `datasets` write it."""
    if text[:1] not in ("[", "{", "("):
        return (text,) if text else ()
    plain = _ARRAY.sub(r"\1", text)
    value: Any = None
    for parse in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = parse(plain)
            break
    if isinstance(value, dict) and "text" in value:  # SQuAD in a table
        value = value["text"]
    elif not isinstance(value, list | tuple):
        return (text,)
    elif len(strings := [match[0] for match in _PYTHON_STRING.finditer(plain)]) > len(value):
        value = map(ast.literal_eval, strings)  # NumPy writes no commas, so Python has joined the texts
    return tuple(
        str(answer) for answer in ([value] if isinstance(value, str) else value) if answer is not None
    )


def _squad(path: Path) -> Iterator[tuple[Passage, list[Question]]]:
    text = read_text(path, max_bytes=_MAX_BYTES)
    return squad_paragraphs(parse_json(text, source=str(path)), str(path))


def _beir_questions(folder: Path, split: str) -> Iterator[Question]:
    judgements = [folder / "qrels" / f"{split}{suffix}" for suffix in QREL_FILES]
    qrels = next((path for path in judgements if path.is_file()), None)
    if qrels is None:
        splits = ", ".join(beir_splits(folder)) or "none"
        raise FormatError(f"expected judgements {split}.tsv in qrels, found {splits}", source=str(folder))
    gold = read_qrels(qrels)
    file = _find_beir(folder, "queries.jsonl")
    absent = set(gold)
    for line, row in json_lines(file):
        query = question_of(row, line, f"{file}, line {line}")
        if query.id in gold:
            absent.discard(query.id)
            yield replace(query, gold=gold[query.id], ignored=query.id)
    if absent:
        raise FormatError(
            f"expected a query for every judged id of {qrels.name}, found none for {len(absent):,}, such as "
            f"{shorten(min(absent))!r}",
            source=str(file),
        )


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

    text: _Text = Field("", validation_alias=AliasChoices(*PASSAGE_PARTS["text"]))
    title: _Text = ""
    isgold: Any = None
    id: str | None = Field(None, validation_alias=AliasChoices(*PASSAGE_PARTS["id"]))

    def passage(self) -> Passage:
        return Passage(self.id or premise_key(self.text), self.text, self.title)


_Contexts = Annotated[list[_Context], BeforeValidator(_as_list)]


class _WithContexts(_Row):
    positive_ctxs: _Contexts = []
    hard_negative_ctxs: _Contexts = []
    negative_ctxs: _Contexts = []
    ctxs: _Contexts = []


class _Question(_WithContexts):
    id: str | None = Field(None, validation_alias=AliasChoices(*QUESTION_PARTS["id"]))
    text: str = Field(validation_alias=AliasChoices(*QUESTION_PARTS["question"]))
    answers: Annotated[list[str], BeforeValidator(_as_list)] = Field(
        [], validation_alias=AliasChoices(*QUESTION_PARTS["answer"])
    )


class _SquadQuestion(_Row):
    question: str
    id: str | None = None
    answers: _Contexts = []
    is_impossible: bool = False

    def is_unanswered(self) -> bool:
        """Return whether its passage does not answer it: by its mark, or as the official scorer tells it."""
        return self.is_impossible or ("answers" in self.model_fields_set and not self.answers)


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
                gold = () if row.is_unanswered() else (passage.id,)
                questions.append(Question(question_id, row.question.strip(), answers, gold))
            yield passage, questions


def _in_lower_case(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose fields have the usual names, which are in lower case."""
    return row if all(map(str.islower, row)) else {**{name.lower(): row[name] for name in row}, **row}


def passages_of(row: Mapping[str, Any], source: str) -> Iterator[Passage]:
    """Yield the passages of a row: its own, or those of a question of DPR or NQ-open; or `FormatError`."""
    row = _in_lower_case(row)
    if row.keys() & _WithContexts.model_fields.keys():
        listed = validate(_WithContexts, row, source=source)
        for name in _WithContexts.model_fields:
            yield from (context.passage() for context in getattr(listed, name))
    elif row.keys() & set(PASSAGE_PARTS["text"]):
        yield validate(_Context, row, source=source).passage()
    else:
        names = shorten(", ".join(row) or "no field")
        message = f"expected a passage with text, or a question with passages, found {names}"
        raise FormatError(message, source=source)


def question_of(row: Mapping[str, Any], number: int, source: str) -> Question:
    """Return the question of a row of DPR, NQ-open or BEIR, with ids of its passages; or `FormatError`."""
    row = _in_lower_case(row)
    question = validate(_Question, row, source=source)
    positive = [*question.positive_ctxs, *(context for context in question.ctxs if context.isgold)]
    return Question(
        str(number) if question.id is None else question.id,
        question.text.strip(),
        tuple(question.answers),
        _ids(positive),
        _ids(question.hard_negative_ctxs or question.negative_ctxs),
        question.id or "" if "_id" in row else "",
    )


def _ids(contexts: list[_Context]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(context.passage().id for context in contexts))
