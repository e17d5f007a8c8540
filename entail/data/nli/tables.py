"""Rows of NLI files: one small reader a format (JSONL, CSV, TSV, Parquet), chosen by file."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entail.data.reading import Source, parse_json, read_text, shorten, source_name
from entail.errors import FormatError

NliFormat = Literal["jsonl", "official_text", "sick", "table", "parquet"]

Row = Mapping[str, Any]

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "premise": ("premise", "sentence1", "sentence_a"),
    "hypothesis": ("hypothesis", "sentence2", "sentence_b"),
}
"""Column names of the two sentences, in lower case."""

MAX_PROBLEMS = 20
"""Rows that cannot be read are all counted, and as many named."""

_LONGEST_CELL = 2**31 - 1
"""Maximal field size of csv; the limit is global, so it is the same for every file."""

_TAB = "\t"
_PARSES = "sentence1_binary_parse"
"""A column that the official .txt files have, and nothing that a spreadsheet saved."""

_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes:
        format: What the file is.
        columns: What its rows have, by its header or its first row.
        rows: (place for messages, row or what is wrong with it), to be gone through once.
        label_names: What the file itself says that its numbers mean as labels; empty where it does not.
        header: The names as they stand in a header, repeated ones too; `columns` numbers these.
    """

    format: NliFormat
    columns: tuple[str, ...]
    rows: Iterable[tuple[str, Row | FormatError]]
    label_names: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


def read_rows(
    source: Source,
    *,
    name: str | None,
    encoding: str | None,
    max_bytes: int,
    parses: bool = False,
    delimiter: str | None = None,
) -> Table:
    """Return the rows of a file by the reader of its format, which its content tells.

    Args:
        source: Path, or the bytes of an upload.
        name: Name for messages, the path without one.
        encoding: See `read_text`.
        max_bytes: See `read_text`.
        parses: Take of Parquet the columns of parses, too: half the file, and no evaluation reads them.
        delimiter: Between the cells of a table; default: what stands most often in its header.

    Raises:
        FormatError: If the file cannot be read or is empty.
    """
    shown = source_name(source, name)
    if _is_parquet(source):
        return read_parquet(source, name=shown, parses=parses)
    text = read_text(source, name=shown, encoding=encoding, max_bytes=max_bytes)
    first = next((line for line in text.split("\n", 100) if line.strip()), "")
    if not first:
        raise _nothing(shown)
    if first.lstrip().startswith("{"):
        return _jsonl(text, shown)
    names = {cell.strip().strip('"').lower() for cell in first.split(_TAB)}
    if {"sentence_a", "sentence_b"} <= names:
        return _unquoted(text, shown, "sick")
    if _PARSES in names:
        return _unquoted(text, shown, "official_text")
    return _quoted(text, first, shown, delimiter)


def named_columns(names: Iterable[str], usual: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return part -> the column that has one of its usual names, whatever the case.

    >>> named_columns(["pair_ID", "sentence_A", "sentence_B"], SENTENCES)
    {'premise': 'sentence_A', 'hypothesis': 'sentence_B'}
    """
    by_case = {name.strip().lower(): name for name in reversed(list(names))}
    found = {
        part: next((by_case[name] for name in some if name in by_case), None) for part, some in usual.items()
    }
    return {part: name for part, name in found.items() if name is not None}


def sentence(row: Row, column: str) -> str:
    """Return the text in a column.

    Raises:
        FormatError: If nothing is there, or no text.
    """
    value = row.get(column)
    if not isinstance(value, str):
        found = "nothing" if value is None else shorten(repr(value))
        raise FormatError(f"expected text in {column!r}, found {found}")
    return value


def _nothing(shown: str) -> FormatError:
    return FormatError("expected pairs of sentences, found an empty file", source=shown)


def _is_parquet(source: Source) -> bool:
    if isinstance(source, bytes):
        return source.startswith(_PARQUET)
    try:
        with Path(source).open("rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except (OSError, ValueError):  # `read_text` says what is wrong
        return False


def _jsonl(text: str, shown: str) -> Table:
    """Take one object a line; the columns are those of the first that can be read."""
    rows = _objects(text, shown)
    before: list[tuple[str, Row | FormatError]] = []
    columns: tuple[str, ...] = ()
    for place, row in rows:
        before.append((place, row))
        if not isinstance(row, FormatError):
            columns = tuple(row)
            break
    if not columns and before and isinstance(before[0][1], FormatError):
        raise before[0][1]
    return Table("jsonl", columns, _chained(before, rows))


def _objects(text: str, shown: str) -> Iterator[tuple[str, Row | FormatError]]:
    # str.splitlines would also cut at U+2028, which JSON allows inside a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row: Row | FormatError
        try:
            row = parse_json(line, source=shown, line=number)
            if not isinstance(row, dict):
                row = FormatError(
                    f"expected one JSON object, found {shorten(line)}", source=shown, line=number
                )
        except FormatError as error:
            row = error
        yield f"line {number}", row


def _unquoted(text: str, shown: str, kind: NliFormat) -> Table:
    """Take what stands between tabs, a quotation mark like any other character."""
    lines = ((number, line.split(_TAB)) for number, line in _lines(text))
    return _with_header(lines, shown, kind)


def _quoted(text: str, first: str, shown: str, delimiter: str | None) -> Table:
    """Take cells as spreadsheets write them; between tabs no cell has more than one line.

    So a quotation mark that is never closed costs one line of a TSV; in a CSV, where cells may have several
    lines, it costs the rest of the file, which is then said.
    """
    delimiter = delimiter or max(",;\t|", key=first.count)
    csv.field_size_limit(_LONGEST_CELL)
    if delimiter != _TAB:
        return _with_header(_records(text, delimiter, shown), shown, "table")
    width = len(next(csv.reader([first], delimiter=_TAB)))
    lines = ((number, _cells(line, width, shown, number)) for number, line in _lines(text))
    return _with_header(lines, shown, "table")


def _cells(line: str, width: int, shown: str, number: int) -> list[str] | FormatError:
    try:
        cells = next(csv.reader([line], delimiter=_TAB, strict=True))
    except csv.Error as error:
        return _not_quoted(str(error), shown, number)
    if len(cells) < width and any(_TAB in cell for cell in cells):
        # Two marks that belong to no cell, as in `"Go, he said.<tab>So he said."`, made one of several.
        return _not_quoted(f"with it the line has {len(cells)} cells, the header {width}", shown, number)
    return cells


def _records(text: str, delimiter: str, shown: str) -> Iterator[tuple[int, list[str] | FormatError]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines = f"; lines {number} to {reader.line_num} are lost" if reader.line_num > number else ""
            yield number, _not_quoted(f"{error}{lines}", shown, number)
        else:
            if any(cell.strip() for cell in cells):
                yield number, cells


def _not_quoted(why: str, shown: str, number: int) -> FormatError:
    return FormatError(
        'expected a text with quotation marks to be written as "He said ""no""", found a cell that '
        f"cannot be read ({why})",
        source=shown,
        line=number,
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _with_header(lines: Iterable[tuple[int, list[str] | FormatError]], shown: str, kind: NliFormat) -> Table:
    lines = iter(lines)
    _, header = next(lines, (0, None))
    if header is None:  # every cell is empty
        raise _nothing(shown)
    if isinstance(header, FormatError):
        raise header
    columns = _distinct(cell.strip() for cell in header)
    return Table(kind, columns, _rows(lines, columns, shown), header=tuple(header))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Number the names that stand there again, so that no column of a row hides another."""
    seen: Counter[str] = Counter()
    found: dict[str, None] = {}
    for name in names:
        distinct = name
        while distinct in found:
            seen[name] += 1
            distinct = f"{name} ({seen[name] + 1})"
        found[distinct] = None
    return tuple(found)


def _rows(
    lines: Iterable[tuple[int, list[str] | FormatError]], columns: Sequence[str], shown: str
) -> Iterator[tuple[str, Row | FormatError]]:
    for number, cells in lines:
        place = f"line {number}"
        if isinstance(cells, FormatError):
            yield place, cells
        elif any(cell.strip() for cell in cells[len(columns) :]):
            yield (
                place,
                FormatError(
                    f"expected as many cells as the header has, {len(columns)}, found {len(cells)}",
                    source=shown,
                    line=number,
                ),
            )
        else:
            # Official rows may end before the columns of single annotators.
            yield place, dict(zip(columns, cells, strict=False))


def _chained(
    before: Sequence[tuple[str, Row | FormatError]], rows: Iterator[tuple[str, Row | FormatError]]
) -> Iterator[tuple[str, Row | FormatError]]:
    yield from before
    yield from rows


def read_parquet(source: Source, *, name: str, parses: bool = False) -> Table:
    """Return the rows of a Parquet file; a data set's own names of its labels come with it.

    Args:
        source: Path, or the bytes of an upload.
        name: Name for messages.
        parses: See `entail.data.nli.tables.read_rows`.

    Raises:
        FormatError: If the file is damaged, now or as its rows are gone through.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(
            pa.BufferReader(source) if isinstance(source, bytes) else os.fspath(source)
        )
        schema = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error, name) from error
    columns = tuple(column for column in schema.names if parses or not column.endswith("_parse"))
    return Table(
        "parquet", columns, _rows_nli_parquet(file, columns, name), _label_names(schema.metadata or {})
    )


def _rows_nli_parquet(
    file: Any,  # noqa: ANN401 - pyarrow has no types
    columns: tuple[str, ...],
    name: str,
) -> Iterator[tuple[str, Row | FormatError]]:
    import pyarrow as pa

    number = 0
    try:
        for batch in file.iter_batches(columns=list(columns)):
            for row in batch.to_pylist():
                number += 1
                yield f"row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged(error, name) from error


def _label_names(metadata: dict[bytes, bytes]) -> tuple[str, ...]:
    """Return what `datasets` wrote of the numbers in the column `label`."""
    try:
        names = json.loads(metadata[b"huggingface"])["info"]["features"]["label"]["names"]
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _damaged(error: Exception, name: str) -> FormatError:
    return FormatError(f"expected a whole Parquet file, found a damaged one ({error})", source=name)
