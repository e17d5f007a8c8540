"""Rows of tables: one reader of JSONL, CSV, TSV and Parquet, chosen by content."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, starmap
from statistics import fmean
from typing import Any, TypeVar

from entail.data.reading import (
    DAMAGED,
    MAX_BYTES,
    Source,
    open_binary,
    parse_object,
    read_text,
    shorten,
    source_name,
    text_lines,
)
from entail.errors import FormatError

T = TypeVar("T")

Row = Mapping[str, Any]
Lines = Iterator[tuple[int, list[str] | FormatError]]

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "premise": ("premise", "sentence1", "sentence_a"),
    "hypothesis": ("hypothesis", "sentence2", "sentence_b"),
}
"""Column names of the two sentences of a pair, in lower case."""

MAX_PROBLEMS = 20
"""Limit of unreadable rows that are described; all are counted."""

SAMPLE_ROWS = 20
"""Rows by which columns of texts are told from others."""

TAB = "\t"
_RAW = ({"sentence1_binary_parse"}, {"sentence_a", "sentence_b"})
"""Columns of the official .txt files of SNLI, MultiNLI and SICK, in which no cell is quoted."""
_PARQUET = b"PAR1"
SEPARATOR = re.compile(r"\A\s*\"?sep=(.)\"?\s*?(?:\n|\Z)", re.IGNORECASE)
"""First line by which Excel is told the delimiter."""
_OPEN = re.compile(r'(?:^|\t)[^\S\t]*"(?:[^"\t]|"")*\Z')
"""Last cell of a line, where its quotation mark is not closed."""
_LONGEST_CELL = 1000
"""Lines that a cell of a TSV file may have."""
_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')


@dataclass(frozen=True)
class Table:
    """Rows of a file by number, or what is wrong with them, to be iterated once.

    Repeated columns are numbered; rows of JSONL may have further ones. A Parquet file of the Hub names its
    numeric labels.
    """

    columns: tuple[str, ...]
    rows: Iterator[tuple[int, Row | FormatError]]
    unit: str = "line"
    label_names: tuple[str, ...] = ()

    def readable(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows.

        Raises:
            FormatError: At the first one that cannot be read.
        """
        for number, row in self.rows:
            if isinstance(row, FormatError):
                raise row
            yield number, row


def read_rows(
    source: Source, *, name: str | None = None, max_bytes: int = MAX_BYTES, delimiter: str | None = None
) -> Table:
    """Return the rows of a file; the delimiter of a table is by default the most frequent in its header.

    Raises:
        FormatError: If the file cannot be read or is empty.
    """
    file_name = source_name(source, name)
    if _is_parquet(source):
        return _read_parquet(source, file_name)
    return rows_of(read_text(source, name=file_name, max_bytes=max_bytes), file_name, delimiter=delimiter)


def rows_of(text: str | Iterable[str], file_name: str, *, delimiter: str | None = None) -> Table:
    """Return the rows of a text, or of lines with their ends; see `read_rows`."""
    whole = iter(io.StringIO(text, newline="\n") if isinstance(text, str) else text)
    start = list(islice(whole, 1))
    if start and (match := SEPARATOR.match(start[0])):
        start, delimiter = ["\n"], match[1]  # lines keep their numbers
    while not "".join(start).strip() and (line := next(whole, None)) is not None:
        start.append(line)
    first, content = first_line("".join(start)), chain(start, whole)
    if first.lstrip().startswith("{"):
        return _read_jsonl(content, file_name)
    names = {cell.lower() for cell in split_cells(first)}
    if any(columns <= names for columns in _RAW):
        lines: Lines = ((number, line.split(TAB)) for number, line in text_lines(content))
    else:
        lines = _cells(content, delimiter or guess_delimiter(first), file_name)
    header = next(lines, (0, None))[1]
    if header is None:
        raise FormatError("expected a table with a header, found an empty file", source=file_name)
    if isinstance(header, FormatError):
        raise header
    counts: Counter[str] = Counter()
    columns = []
    for name in map(str.strip, header):
        counts[name] += 1
        columns.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return Table(tuple(columns), _with_names(lines, columns, file_name))


def first_line(text: str) -> str:
    """Return the first line that is not blank, empty if there is none."""
    return next((line for _, line in text_lines(text)), "")


def guess_delimiter(header: str) -> str:
    r"""Return the most frequent of comma, semicolon, tab and bar; of one column, a control character.

    Spreadsheets that delimit by semicolon leave commas of a single column without quotation marks.

    >>> guess_delimiter("id;text, as written;note"), guess_delimiter("text")
    (';', '\x1f')
    """
    delimiter = max(",;\t|", key=header.count)
    return delimiter if delimiter in header else "\x1f"


def _cells(content: Iterable[str], delimiter: str, file_name: str) -> Lines:
    """Yield (line number, cells) of the rows that are not blank; a quoted cell may span lines."""
    if delimiter == TAB:
        yield from _tab_cells(content)
        return
    # The default limit of a field is 128 KB; it is global, so the same for every file.
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(content, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines = f"; lines {number} to {reader.line_num} are lost" if reader.line_num > number else ""
            message = (
                'expected CSV, with quotation marks in a text written as "He said ""no""", found a cell that '
                f"cannot be read ({error}{lines})"
            )
            yield number, FormatError(message, source=file_name, line=number)
        else:
            if any(map(str.strip, cells)):
                yield number, cells


def _tab_cells(content: Iterable[str]) -> Lines:
    """Yield (line number, cells) of TSV.

    A quotation mark that opens the last cell of a line makes it go on in the next lines, if these close it
    and the row gets no more cells than the header. Any other mark is a character.
    """
    lines = text_lines(content)
    ahead = deque(islice(lines, 1))
    width = ahead[0][1].count(TAB) if ahead else 0
    while ahead:
        number, row = ahead.popleft()
        longer, is_open = row, _OPEN.search(row)
        ahead.extend(islice(lines, _LONGEST_CELL - len(ahead) if is_open else not ahead))
        for count, (_, line) in enumerate(ahead if is_open else (), start=1):
            longer += f"\n{line}"
            if longer.count(TAB) > width:
                break
            if not _OPEN.search(longer):
                row, ahead = longer, deque(islice(ahead, count, None))
                break
        ahead.extend(islice(lines, not ahead))
        yield number, split_cells(row)


def split_cells(line: str) -> list[str]:
    r"""Return the cells of a TSV line; a stray quotation mark is a character like any other.

    >>> split_cells('"so-called ""blue"" ice"\t"Go')
    ['so-called "blue" ice', '"Go']
    """
    quoted = (_QUOTED.fullmatch(cell) for cell in line.split(TAB))
    return [
        match[1].replace('""', '"') if match else cell
        for match, cell in zip(quoted, line.split(TAB), strict=True)
    ]


def _with_names(
    lines: Lines, columns: Sequence[str], file_name: str
) -> Iterator[tuple[int, Row | FormatError]]:
    for number, cells in lines:
        if isinstance(cells, FormatError):
            yield number, cells
        elif any(map(str.strip, cells[len(columns) :])):
            message = (
                f"expected as many cells as the header has, {len(columns)}, found {len(cells)}; put a text "
                'with the delimiter between "double quotes"'
            )
            yield number, FormatError(message, source=file_name, line=number)
        else:  # official rows may end before the columns of single annotators
            yield number, dict(zip(columns, cells, strict=False))


def named_columns(names: Iterable[str], usual: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return part -> the column that has one of its usual names, in any case.

    >>> named_columns(["pair_ID", "sentence_A", "sentence_B"], SENTENCES)
    {'premise': 'sentence_A', 'hypothesis': 'sentence_B'}
    """
    by_case = {name.strip().lower(): name for name in reversed(list(names))}
    return {
        part: next(by_case[name] for name in aliases if name in by_case)
        for part, aliases in usual.items()
        if by_case.keys() & set(aliases)
    }


def sample_texts(columns: Iterable[str], rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return column -> its texts in the first `SAMPLE_ROWS` rows; a row of JSONL may have further columns."""
    sample = list(islice(rows, SAMPLE_ROWS))
    return {
        column: tuple(row[column] for row in sample if isinstance(row.get(column), str))
        for column in dict.fromkeys(chain(columns, *sample))
    }


def longest_columns(sample: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns of a sample by the mean length of their texts, the longest first.

    A name counts as a text, as it is one in a table without a header.

    >>> longest_columns({"Nr": ["1", "2"], "Fakt": ["ice is cold", "fire is hot"], "Quelle": ["WT", "WT"]})
    ['Fakt', 'Quelle', 'Nr']
    """
    return sorted(sample, key=lambda column: -fmean(map(len, [column, *sample[column]])))


def sentence(row: Row, column: str, *, source: str | None = None, line: int | None = None) -> str:
    """Return the text in a column.

    Raises:
        FormatError: If there is none.
    """
    value = row.get(column)
    if not isinstance(value, str):
        snippet = "nothing" if value is None else shorten(repr(value))
        raise FormatError(f"expected text in {column!r}, found {snippet}", source=source, line=line)
    return value


def parse_rows(table: Table, parse: Callable[[Row], T], file_name: str) -> tuple[list[T], int, list[str]]:
    """Return the parsed rows, the number of unreadable ones, and a message for each of the first of these."""
    parsed: list[T] = []
    problems: list[str] = []
    unreadable = 0
    for number, row in table.rows:
        try:
            if isinstance(row, FormatError):
                raise row
            parsed.append(parse(row))
        except FormatError as error:
            unreadable += 1
            if len(problems) < MAX_PROBLEMS:
                problems.append(
                    str(error) if error.source else f"{file_name}, {table.unit} {number}: {error}"
                )
    return parsed, unreadable, problems


def _is_parquet(source: Source) -> bool:
    with open_binary(source) as stream, contextlib.suppress(*DAMAGED):
        return stream.read(len(_PARQUET)) == _PARQUET
    return False


def _read_jsonl(content: Iterable[str], file_name: str) -> Table:
    """Read one object a line; the columns are those of the first readable one."""

    def parse(number: int, line: str) -> tuple[int, Row | FormatError]:
        try:
            return number, parse_object(line, source=file_name, line=number)
        except FormatError as error:
            return number, error

    rows = starmap(parse, text_lines(content))
    before: list[tuple[int, Row | FormatError]] = []
    for number, row in rows:
        before.append((number, row))
        if not isinstance(row, FormatError):
            return Table(tuple(row), chain(before, rows))
    raise before[0][1]  # type: ignore[misc]  # a `FormatError`, as are all


def _read_parquet(source: Source, file_name: str) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    def damaged(error: Exception) -> FormatError:
        return FormatError(f"expected a whole Parquet file, found a damaged one ({error})", source=file_name)

    def rows() -> Iterator[tuple[int, Row | FormatError]]:
        try:
            yield from enumerate((row for batch in file.iter_batches() for row in batch.to_pylist()), start=1)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise damaged(error) from error

    try:
        file = parquet.ParquetFile(
            pa.BufferReader(source) if isinstance(source, bytes) else os.fspath(source)
        )
        schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise damaged(error) from error
    try:  # what `datasets` wrote about the column `label`
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        names = tuple(map(str, features["label"]["names"]))
    except (KeyError, TypeError, ValueError, RecursionError):
        names = ()
    return Table(tuple(schema.names), rows(), "row", names)
