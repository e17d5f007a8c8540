"""Search for premises by words, in the database: FTS5 in SQLite, `tsvector` in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

import sqlalchemy as sa

from entail.data.text import fold
from entail.trees.store import schema

TEXT, ID, ALL = "premise", "id", "all columns"
"""Columns of premises to search: their texts, their ids in the file, all."""

INDEX = "premise_words"
"""Name of SQLite's table of words (its own tables begin so), and of PostgreSQL's index."""

_BLOCK = 10_000
_ROWS = 31  # bits of the number of a row for the position; 32 more tell the corpus
_WORD = re.compile(r"[^\W_]+")
_POSTGRES = "to_tsvector('simple', text)"


def create_index(connection: sa.Connection) -> None:
    """Make the index of words and fill it; without FTS5, texts are searched without one."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"CREATE INDEX IF NOT EXISTS {INDEX} ON premises USING gin ({_POSTGRES})")
        return
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {INDEX}")
    options = set(connection.exec_driver_sql("PRAGMA compile_options").scalars())
    if "ENABLE_FTS5" in options:
        # Without content: the texts are not stored twice, and rows are never deleted.
        connection.exec_driver_sql(f"CREATE VIRTUAL TABLE {INDEX} USING fts5(text, content='')")
        premises = schema.premises.c
        rows = connection.execute(sa.select(premises.corpus_id, premises.position, premises.text))
        while block := [(_row(*row[:2]), row.text) for row in islice(rows, _BLOCK)]:
            _insert(connection, block)


def add_words(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the texts of new rows of premises to the index."""
    if connection.dialect.name == "sqlite" and has_index(connection):
        _insert(connection, [(_row(row["corpus_id"], row["position"]), row["text"]) for row in rows])


def has_index(connection: sa.Connection) -> bool:
    """Return whether words are looked up in an index."""
    return connection.dialect.name != "sqlite" or sa.inspect(connection).has_table(INDEX)


def matches(connection: sa.Connection, corpus_id: str, words: str, column: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column, or with `ALL` any, has each word or its beginning.

    Words of texts are looked up in the index, in SQLite those with letters of two cases, in PostgreSQL those
    of ASCII; elsewhere any part of a word counts.
    """
    terms = fold(words).lower().split()
    stems = _WORD.findall(" ".join(terms))
    is_sqlite = connection.dialect.name == "sqlite"
    is_simple = all(stem.isascii() or (is_sqlite and stem.upper() != stem) for stem in stems)
    if not (stems and column == TEXT and is_simple and has_index(connection)):
        cells = sa.func.json_each if is_sqlite else sa.func.json_each_text
        conditions = ([_has(column, form, cells) for form in _forms(term)] for term in terms)
        return sa.and_(sa.true(), *(sa.or_(*forms) for forms in conditions))
    if not is_sqlite:
        stem_query = sa.func.to_tsquery("simple", " & ".join(f"{stem}:*" for stem in stems))
        return sa.literal_column(_POSTGRES).op("@@")(stem_query)
    first = _row(corpus_id, 0)
    condition = f"{INDEX} MATCH :query AND rowid BETWEEN :first AND :last"
    rows = sa.text(f"SELECT rowid - :first FROM {INDEX} WHERE {condition}")
    query = " ".join(f'"{stem}"*' for stem in stems)
    rows = rows.bindparams(first=first, last=_row(corpus_id, (1 << _ROWS) - 1), query=query)
    return schema.premises.c.position.in_(rows.columns(position=sa.Integer))


def _has(column: str, form: str, cells: Callable[..., Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column, or any, has a part of a text."""
    premises = schema.premises.c
    own = {TEXT: premises.text, ID: premises.source_id}
    if column in own:
        return own[column].icontains(form, autoescape=True)
    cell = cells(premises.extra).table_valued(sa.column("key", sa.Text), sa.column("value", sa.Text)).c
    has_form = cell.value.icontains(form, autoescape=True)
    if column != ALL:
        return sa.exists().where(has_form, cell.key == column)
    return sa.or_(*(_has(name, form, cells) for name in own), sa.exists().where(has_form))


def _forms(term: str) -> set[str]:
    """Return a term in the cases that SQLite, which folds ASCII only, does not know as one."""
    return {term} if term.isascii() else {term, term.capitalize(), term.upper()}


def _row(corpus_id: str, position: int) -> int:
    return crc32(corpus_id.encode()) << _ROWS | position


def _insert(connection: sa.Connection, rows: Sequence[tuple[int, str]]) -> None:
    connection.exec_driver_sql(f"INSERT INTO {INDEX} (rowid, text) VALUES (?, ?)", list(rows))
