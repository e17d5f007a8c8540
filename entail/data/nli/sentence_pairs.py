"""Pairs of sentences in a table of any columns, without labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from entail.data.reading import Source, shorten, source_name
from entail.data.tables import (
    SAMPLE_ROWS,
    SENTENCES,
    Row,
    longest_columns,
    named_columns,
    parse_rows,
    read_rows,
    sample_texts,
    sentence,
)
from entail.errors import FormatError

MAX_COLUMNS = 1_000
"""Limit of columns, of which every row has all."""

_FIRST_AND_SECOND = {"premise": ("first",), "hypothesis": ("second",)}


@dataclass(frozen=True)
class PairTable:
    """Pairs of sentences in a table of any columns.

    Attributes:
        header: Names of the columns; those of JSONL are the ones of the first rows.
        rows: Values, one a column.
        columns: Positions of the first and the second sentence.
        named: Whether these two columns are known by their names, not by the length of their texts.
        unreadable: Rows left out because they do not fit the header.
        problems: Messages for the first of these, each with file and line.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[int, int]
    named: bool = True
    unreadable: int = 0
    problems: tuple[str, ...] = ()

    @property
    def first(self) -> list[str]:
        """The first sentence of every row."""
        return [row[self.columns[0]] for row in self.rows]

    @property
    def second(self) -> list[str]:
        """The second sentence of every row."""
        return [row[self.columns[1]] for row in self.rows]


def read_pairs(source: Source, *, most: int, name: str | None = None) -> PairTable:
    r"""Read pairs from a file of any format that `entail.data.nli.pairs` names, gzipped or not.

    Columns of sentences are known by the names that NLI files give them, or as first and second; where they
    have none of these names, they are those with the longest texts.

    >>> read_pairs(b"id;hypothesis;premise\n7;An animal moves.;A dog runs.\n", most=10).first
    ['A dog runs.']

    Args:
        source: Path, or the bytes of an upload.
        most: Limit of pairs.
        name: Name for messages, the path without one.

    Raises:
        FormatError: If the file cannot be read, or has no pair, more than `most`, fewer than two columns, or
            more than `MAX_COLUMNS`.
    """
    file_name = source_name(source, name)
    table = read_rows(source, name=name)
    before = list(islice(table.rows, SAMPLE_ROWS))
    sample = sample_texts(table.columns, (row for _, row in before if not isinstance(row, FormatError)))
    premise, hypothesis, named = _sentences(sample, file_name)
    order = list(sample)
    if len(order) > MAX_COLUMNS:
        raise FormatError(f"expected at most {MAX_COLUMNS:,} columns, found more", source=file_name)

    def parse(row: Row) -> tuple[str, ...]:
        sentence(row, premise), sentence(row, hypothesis)
        return tuple(_text(row.get(column)) for column in order)

    table = replace(table, rows=chain(before, table.rows))
    rows, unreadable, problems = parse_rows(table, parse, file_name)
    if len(rows) > most:
        raise FormatError(f"expected at most {most:,} pairs, found more; split the file", source=file_name)
    if not rows:
        why = f"rows that cannot be read, the first: {problems[0]}" if problems else "no rows"
        raise FormatError(f"expected at least one pair of sentences, found {why}", source=file_name)
    return PairTable(
        header=tuple(order),
        rows=tuple(rows),
        columns=(order.index(premise), order.index(hypothesis)),
        named=named,
        unreadable=unreadable,
        problems=tuple(problems),
    )


def _sentences(sample: Mapping[str, Sequence[str]], file_name: str) -> tuple[str, str, bool]:
    """Return the columns of the first and the second sentence, and whether both are known by their names."""
    columns = named_columns(sample, SENTENCES)
    if len(columns) < 2:
        columns = named_columns(sample, _FIRST_AND_SECOND) or columns
    if len(columns) == 2:
        return columns["premise"], columns["hypothesis"], True
    if len(sample) < 2:
        names = ", ".join(map(repr, sample)) or "none"
        raise FormatError(f"expected two columns of sentences, found {shorten(names, 300)}", source=file_name)
    missing = [part for part in SENTENCES if part not in columns]
    unnamed = [column for column in longest_columns(sample) if column not in columns.values()]
    columns |= zip(missing, sorted(unnamed[: len(missing)], key=list(sample).index), strict=True)
    return columns["premise"], columns["hypothesis"], False


def _text(value: object) -> str:
    """Return the text of a cell; values that are no text become JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
