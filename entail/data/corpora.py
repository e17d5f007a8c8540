"""Reader of premise corpora: plain text, CSV, TSV, JSONL, JSON, EntailmentBank, WorldTree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Literal

from entail.data.entailment_bank.trees import parse_trees
from entail.data.reading import (
    MAX_BYTES,
    Source,
    optional,
    parse_json,
    parse_jsonl,
    read_text,
    require,
    shorten,
    source_name,
)
from entail.data.records import Corpus, Premise
from entail.data.tables import (
    TAB,
    Row,
    first_line,
    guess_delimiter,
    longest_columns,
    read_cells,
    sample_texts,
    with_header,
)
from entail.errors import CorpusError, FormatError
from entail.settings import load_settings

CorpusFormat = Literal["text", "csv", "tsv", "jsonl", "json", "entailment_bank"]

TEXT_COLUMNS = ("text", "sentence", "premise", "fact")
"""Column names of the text of a premise, in any case."""

ID_COLUMNS = ("source_id", "id", "uid", "uuid")
"""Column names of the optional id of a premise, in any case."""

_SUFFIXES: dict[str, CorpusFormat] = {
    ".txt": "text",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
_PLACEHOLDER = "DUMMY"
_UNSAFE = re.compile(r"[^\w .()+,&'-]")


@dataclass(frozen=True)
class CorpusReading:
    """A corpus in the order of its file, and counts of the entries left out: `repeats` by folded text."""

    corpus: Corpus
    format: CorpusFormat
    repeats: int = 0
    empty: int = 0
    too_long: int = 0

    @property
    def read(self) -> int:
        """Entries in the file."""
        return len(self.corpus) + self.repeats + self.empty + self.too_long

    def __str__(self) -> str:
        skipped = {"repeated": self.repeats, "empty": self.empty, "too long": self.too_long}
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items() if count)
        counts = f"imported {len(self.corpus):,} of {self.read:,} premise{'s' if self.read != 1 else ''}"
        return f"{counts} ({left_out})" if left_out else counts


def read_corpus(
    source: Source,
    *,
    name: str | None = None,
    column: str | int | None = None,
    encoding: str | None = None,
    skip_too_long: bool = False,
    max_premise_chars: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> CorpusReading:
    r"""Read a corpus of premises; the suffix or else the content tells the format.

    ==================  ================================================================================
    text                one premise a line; a table if its first line is the header of one
    csv, tsv            a header; the text in `column`, or in one of `TEXT_COLUMNS`; no header if `column`
                        is a number
    jsonl               one object a line, the text in such a field
    json                an object of id -> text (`worldtree_corpus_sentences_extended.json`), or a list of
                        texts or of objects
    entailment_bank     JSONL of trees: all sentences of all contexts, used by the proof or not
    ==================  ================================================================================

    Each may be gzipped. Texts are kept raw: HTML is plain text. Ids are taken from one of `ID_COLUMNS`.

    >>> str(read_corpus(b"ice is cold\nice  is cold\n\nfire is hot", name="facts.txt"))
    'imported 2 of 4 premises (1 repeated, 1 empty)'

    Args:
        source: Path, or the bytes of an upload.
        name: File name of an upload, or a name for the corpus; made safe by `corpus_name`.
        column: Column or field of the text; in a table without a header its number, from 1.
        encoding: See `read_text`.
        skip_too_long: Count premises over the limit instead of refusing the file.
        max_premise_chars: The limit, by default that of the settings.
        max_bytes: See `read_text`.

    Raises:
        FormatError: With line and field, if the file is malformed.
        CorpusError: If a premise is too long, or there is none at all.
        ProofError: If a row of an EntailmentBank file has an unsound proof.
    """
    limit = max_premise_chars or load_settings().max_premise_chars
    file_name = source_name(source, name if isinstance(source, bytes) else None)
    text = read_text(source, name=file_name, encoding=encoding, max_bytes=max_bytes)
    kind = _format(text, [name or "", file_name], column)
    distinct: dict[str, Premise] = {}
    entries = empty = too_long = 0
    for location, premise in _entries(text, kind, column, file_name):
        entries += 1
        if not premise.text.strip() or (kind == "json" and premise.text == _PLACEHOLDER):
            empty += 1
        elif len(premise.text) <= limit:
            distinct.setdefault(premise.key, premise)
        elif skip_too_long:
            too_long += 1
        else:
            raise CorpusError(
                f"{file_name}, {location}: expected a premise of at most {limit:,} characters, "
                f"found {len(premise.text):,}; split it, skip what is too long, "
                "or raise ENTAIL_MAX_PREMISE_CHARS"
            )
    if not distinct:
        longer = f", {too_long:,} of them longer than {limit:,} characters" if too_long else ""
        raise CorpusError(
            f"{file_name}: expected at least one premise, found none in {entries:,} entries{longer}"
        )
    return CorpusReading(
        Corpus(corpus_name(name or file_name), tuple(distinct.values())),
        kind,
        repeats=entries - len(distinct) - empty - too_long,
        empty=empty,
        too_long=too_long,
    )


def sample_columns(
    source: Source, *, name: str | None = None, encoding: str | None = None
) -> dict[str, tuple[str, ...]]:
    r"""Return column -> its texts in the first rows of a table or of JSONL, to choose `column` by; else none.

    >>> sample_columns(b"nr,note\n1,ice is cold", name="facts.csv")
    {'nr': ('1',), 'note': ('ice is cold',)}

    Raises:
        FormatError: If the file cannot be read.
    """
    file_name = source_name(source, name)
    text = read_text(source, name=file_name, encoding=encoding)
    kind = _format(text, [file_name], None)
    first = first_line(text)
    if kind not in ("csv", "tsv", "jsonl") or not first:
        return {}
    columns: tuple[str, ...] = ()
    if kind == "jsonl":
        rows: Iterator[Row] = (row for _, row in parse_jsonl(text, source=file_name))
    else:
        delimiter = TAB if kind == "tsv" else guess_delimiter(first)
        table = with_header(read_cells(text, delimiter, file_name), file_name)
        columns = table.columns
        rows = (row for _, row in table.rows if not isinstance(row, FormatError))
    return sample_texts(columns, rows)


def text_column(columns: Iterable[str]) -> str | None:
    """Return the column that has one of `TEXT_COLUMNS` as its name, in any case."""
    return _pick(columns, None, TEXT_COLUMNS)


def likely_text_column(sample: Mapping[str, Sequence[str]]) -> str:
    """Return the text column by its name, or else the one with the longest texts."""
    return text_column(sample) or longest_columns(sample)[0]


def corpus_name(file_name: str) -> str:
    r"""Return a safe name for a corpus from a file's: no folders, no suffix, no control characters.

    >>> corpus_name("../../etc/My facts v1.2.csv.gz"), corpus_name("C:\\..\\")
    ('My facts v1.2', 'corpus')
    """
    last = re.split(r"[/\\]", file_name.strip().rstrip("/\\"))[-1]
    stem = PurePosixPath(unicodedata.normalize("NFC", last) or "corpus")
    for suffixes in ((".gz",), tuple(_SUFFIXES)):
        if stem.suffix.lower() in suffixes:
            stem = stem.with_suffix("")
    safe = _UNSAFE.sub("_", " ".join(stem.name.split())).strip("._ ")
    return safe[:80].rstrip() or "corpus"


def _format(text: str, names: Sequence[str], column: str | int | None) -> CorpusFormat:
    """Detect the format by the first name with a known suffix; JSON of any kind by its content."""
    suffixes = (PurePosixPath(name.lower().removesuffix(".gz")).suffix for name in names)
    kind = next((_SUFFIXES[suffix] for suffix in suffixes if suffix in _SUFFIXES), None)
    first = first_line(text).strip()
    if kind in (None, "jsonl", "json") and first.startswith(("{", "[")):
        kind = _json_format(text, first, str(column) if column else None, lines=kind == "jsonl") or kind
    if kind in (None, "text"):
        delimiter = guess_delimiter(first)
        cells = [cell.strip().strip('"').lower() for cell in first.split(delimiter)]
        candidates = [column.lower()] if isinstance(column, str) else TEXT_COLUMNS
        is_table = isinstance(column, int) or not set(cells).isdisjoint(candidates)
        # Excel's "Unicode text" is a table called .txt; a single word may be a premise there.
        is_table = is_table and (kind is None or column is not None or len(cells) > 1)
        kind = ("tsv" if delimiter == TAB else "csv") if is_table else "text"
    return kind


def _json_format(text: str, first: str, column: str | None, *, lines: bool) -> CorpusFormat | None:
    """Tell one JSON value from a line each (`lines`: the name says so); None for what is no JSON."""
    try:
        row = parse_json(first)
    except FormatError:
        # One value over many lines, or a mistake that its reader names.
        return "json" if text.rstrip().endswith(("}", "]")) and not lines else None
    if not isinstance(row, dict):
        return "jsonl" if lines else "json"
    if column is None and "hypothesis" in row and ("context" in row or "meta" in row):
        return "entailment_bank"
    several = text.strip() != first
    return "jsonl" if lines or several or _pick(row, column, TEXT_COLUMNS) else "json"


def _entries(
    text: str, kind: CorpusFormat, column: str | int | None, file_name: str
) -> Iterator[tuple[str, Premise]]:
    """Yield (place for messages, premise) of every entry, empty ones too."""
    if isinstance(column, int):
        if kind not in ("csv", "tsv"):
            raise FormatError(f"expected a table for a column by number, found {kind}", source=file_name)
        yield from _cells(
            text, TAB if kind == "tsv" else guess_delimiter(first_line(text)), column, file_name
        )
    elif kind == "text":
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
            yield f"line {number}", Premise(line)
    elif kind in ("csv", "tsv"):
        yield from _table(
            text, TAB if kind == "tsv" else guess_delimiter(first_line(text)), column, file_name
        )
    elif kind == "jsonl":
        yield from _objects(list(parse_jsonl(text, source=file_name)), column, file_name)
    elif kind == "entailment_bank":
        for number, tree in enumerate(parse_trees(text, source=file_name), start=1):
            for name, sentence in tree.sentences.items():
                yield f"row {number}, {name}", Premise(sentence)
    else:
        yield from _json(parse_json(text, source=file_name), column, file_name)


def _json(value: Any, column: str | None, file_name: str) -> Iterator[tuple[str, Premise]]:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        yield from _objects(list(enumerate(value, start=1)), column, file_name, unit="entry")
        return
    if not isinstance(value, list | dict):
        snippet = shorten(repr(value))
        raise FormatError(f"expected an object of id -> text or a list, found {snippet}", source=file_name)
    entries = value.items() if isinstance(value, dict) else enumerate(value, start=1)
    for key, item in entries:
        location = f"entry {key!r}"
        if not isinstance(item, str):
            raise FormatError(
                f"expected text, found {shorten(repr(item))}", source=f"{file_name}, {location}"
            )
        yield location, Premise(item, key if isinstance(key, str) else None)


def _objects(
    rows: Sequence[tuple[int, dict[str, Any]]], column: str | None, file_name: str, *, unit: str = "line"
) -> Iterator[tuple[str, Premise]]:
    if not rows:
        return
    text_field, id_field = _fields(chain.from_iterable(row for _, row in rows), column, "field", file_name)
    for number, row in rows:
        line = number if unit == "line" else None
        location = file_name if line else f"{file_name}, {unit} {number}"
        text = optional(row, text_field, str, source=location, line=line)
        if text is None:
            require(row, text_field, str, source=location, line=line)
        uid = row.get(id_field) if id_field else None
        yield f"{unit} {number}", Premise(text or "", str(uid) if isinstance(uid, str | int) else None)


def _table(text: str, delimiter: str, column: str | None, file_name: str) -> Iterator[tuple[str, Premise]]:
    if not text.strip():
        return
    table = with_header(read_cells(text, delimiter, file_name), file_name)
    text_column, id_column = _fields(table.columns, column, "column", file_name)
    for location, row in table.rows:
        if isinstance(row, FormatError):
            raise row
        if text_column not in row:
            message = f"expected as many cells as the header has, {len(table.columns)}, found {len(row)}"
            raise FormatError(message, source=file_name, line=int(location.removeprefix("line ")))
        yield location, Premise(row[text_column], (row.get(id_column) or None) if id_column else None)


def _cells(text: str, delimiter: str, column: int, file_name: str) -> Iterator[tuple[str, Premise]]:
    """Yield a column, from 1, of a table without a header."""
    for number, cells in read_cells(text, delimiter, file_name):
        if isinstance(cells, FormatError):
            raise cells
        if not 0 < column <= len(cells):
            message = f"expected at least {column} cells, found {len(cells)}; choose another column"
            raise FormatError(message, source=file_name, line=number)
        yield f"line {number}", Premise(cells[column - 1])


def _fields(names: Iterable[str], column: str | None, noun: str, file_name: str) -> tuple[str, str | None]:
    """Return the names of the text and of the optional id, both exact or else in any case."""
    names = list(dict.fromkeys(names))
    text = _pick(names, column, TEXT_COLUMNS)
    if text is None:
        usual = f"{', '.join(TEXT_COLUMNS[:-1])} or {TEXT_COLUMNS[-1]}"
        name_list = shorten(", ".join(map(repr, names)), 300)
        raise FormatError(
            f"expected a {noun} named {usual if column is None else repr(column)}, found {name_list}; choose "
            "the one that holds the texts",
            source=file_name,
            line=1 if noun == "column" else None,
        )
    return text, _pick(names, None, [name for name in ID_COLUMNS if name != text.lower()])


def _pick(names: Iterable[str], column: str | None, usual: Sequence[str]) -> str | None:
    """Return the name of `column`, or the first usual one without it; exact, or else in any case."""
    names = list(names)
    if column in names:
        return column
    by_case = {name.strip().lower(): name for name in reversed(names)}
    if column is not None:
        return by_case.get(column.strip().lower())
    return next((by_case[name] for name in usual if name in by_case), None)
