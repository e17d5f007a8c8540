"""Pairs of sentences in a table of whatever columns: rows as those of NLI files are read, without labels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from entail.data.nli.tables import MAX_PROBLEMS, SENTENCES, Row, Table, named_columns, read_rows, sentence
from entail.data.reading import MAX_BYTES, Source, shorten, source_name
from entail.errors import FormatError

MAX_COLUMNS = 1_000
"""JSONL may name new ones in every row, and each row of a table has all of them."""

_FIRST_AND_SECOND = {"premise": ("first",), "hypothesis": ("second",)}


@dataclass(frozen=True)
class PairTable:
    """Pairs of sentences in a table of whatever columns.

    Attributes:
        header: Names of the columns, as the file has them.
        rows: Their values, as many a row as there are columns.
        columns: Positions of the first and the second sentence.
        named: Whether the names of these two columns say so; else the table has just two.
        unreadable: Rows left out because they are not what the header says.
        problems: The first of these in words, each with file and line.
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
        """The second ones."""
        return [row[self.columns[1]] for row in self.rows]


def read_pairs(
    source: Source, *, most: int, name: str | None = None, encoding: str | None = None
) -> PairTable:
    r"""Read pairs from a file of any format that `entail.data.nli.pairs` names, gzipped or not.

    Columns of sentences are known by the names that NLI files give them, or as first and second; where they
    have none of these names, only a table of just two columns is taken.

    >>> read_pairs(b"id;hypothesis;premise\n7;An animal moves.;A dog runs.\n", most=10).first
    ['A dog runs.']

    Args:
        source: Path, or the bytes of an upload.
        most: Pairs that are taken at most.
        name: Name for messages, the path without one.
        encoding: See `read_text`.

    Raises:
        FormatError: If the file cannot be read, does not say where its sentences are, or has no pair, or
            more than `most`.
    """
    shown = source_name(source, name)
    table = read_rows(source, name=name, encoding=encoding, max_bytes=MAX_BYTES, parses=True)
    premise, hypothesis, named = _sentences(table.columns, shown)
    found: list[Row] = []
    problems: list[str] = []
    unreadable = 0
    for place, row in table.rows:
        try:
            if isinstance(row, FormatError):
                raise row
            sentence(row, premise), sentence(row, hypothesis)
        except FormatError as error:
            unreadable += 1
            if len(problems) < MAX_PROBLEMS:
                problems.append(str(error) if error.source else f"{shown}, {place}: {error}")
            continue
        found.append(row)
        if len(found) > most:
            raise FormatError(f"expected at most {most:,} pairs, found more; split the file", source=shown)
    if not found:
        why = f"rows that cannot be read, the first: {problems[0]}" if problems else "no rows"
        raise FormatError(f"expected at least one pair of sentences, found {why}", source=shown)
    names = _names(table, found, shown)
    return PairTable(
        header=table.header or names,
        rows=tuple(tuple(_text(row.get(column)) for column in names) for row in found),
        columns=(names.index(premise), names.index(hypothesis)),
        named=named,
        unreadable=unreadable,
        problems=tuple(problems),
    )


def _sentences(names: Sequence[str], shown: str) -> tuple[str, str, bool]:
    """Return the columns of the first and the second sentence, and whether both are known by their names."""
    found = named_columns(names, SENTENCES)
    if len(found) < 2:
        found = named_columns(names, _FIRST_AND_SECOND) or found
    if len(found) == 2:
        return found["premise"], found["hypothesis"], True
    if len(names) == 2:
        one, other = names
        swapped = found.get("premise") == other or found.get("hypothesis") == one
        return (other, one, False) if swapped else (one, other, False)
    usual = ", ".join(" and ".join(pair) for pair in zip(*SENTENCES.values(), strict=True))
    raise FormatError(
        f"expected two columns of sentences called {usual} or first and second, found "
        f"{shorten(', '.join(map(repr, names)), 300) or 'none'}; name the two so, or leave no others",
        source=shown,
    )


def _names(table: Table, rows: Iterable[Row], shown: str) -> tuple[str, ...]:
    """Return all columns; of JSONL a later row may have more of them than the first."""
    names = dict.fromkeys(table.columns)
    for row in rows:
        names.update(dict.fromkeys(row))
        if len(names) > MAX_COLUMNS:
            raise FormatError(f"expected at most {MAX_COLUMNS:,} columns, found more", source=shown)
    return tuple(names)


def _text(value: object) -> str:
    """Return what a cell says; values that are no text stand as JSON writes them."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
