"""Names, each entered once, and who is where."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from entail.errors import ActError, UnknownTreeError
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store import schema
from entail.trees.store.authors import Authors
from entail.trees.store.database import Database


@pytest.fixture
def authors(database: Database) -> Authors:
    return Authors(database)


def test_a_name_is_entered_once(authors: Authors) -> None:
    assert authors.enter("  Ada   Lovelace ") == "Ada Lovelace"
    assert authors.enter("ada lovelace") == "Ada Lovelace"
    assert authors.enter("Żaneta Straße") == "Żaneta Straße"
    assert authors.enter("ŻANETA STRASSE") == "Żaneta Straße"
    assert authors.enter("bob") == "bob"
    assert authors.names() == ["Ada Lovelace", "bob", "Żaneta Straße"]


def test_names_that_are_fine(authors: Authors) -> None:
    for name in ("x", "x" * 60, "李小龍", "O'Brien-Smith, Jr.", "<b>Ann</b>", "../Ann", "می‌خواهم"):
        assert authors.enter(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (" \t\n ", "1 to 60 characters, found 0"),
        ("x" * 61, "1 to 60 characters, found 61"),
        ("Ann\x1b[31m", r"invisible character U\+001B"),
        ("Ann\ud800", r"U\+D800"),
    ],
)
def test_names_that_cannot_be_used(sqlite: Database, name: str, message: str) -> None:
    with pytest.raises(ActError, match=message):
        Authors(sqlite).enter(name)
    assert Authors(sqlite).names() == []


def test_who_is_where(authors: Authors, database: Database) -> None:
    one, two = TreeLog(database).create_all([Create(hypothesis=h) for h in "ab"], author="Ann")
    authors.record_presence(one, "Ann", "n1")
    authors.record_presence(two, "ann", "n1")
    authors.record_presence(one, "Bob", "n7")
    authors.record_presence(one, "Ann", "n2")
    here = authors.list_presences()
    assert [(p.tree_id, p.author, p.node) for p in here] == [
        (one, "Ann", "n2"),
        (one, "Bob", "n7"),
        (two, "Ann", "n1"),
    ]
    assert all(p.at.utcoffset() == timedelta(0) for p in here)
    for unknown in ("00000000", "\ud800"):
        with pytest.raises(UnknownTreeError, match="no tree"):
            authors.record_presence(unknown, "Ann", "n1")


def test_who_has_gone_is_not_here(authors: Authors, database: Database) -> None:
    tree = TreeLog(database).create(Create(hypothesis="h"), author="Ann")
    authors.record_presence(tree, "Ann", "n1")
    with database.writing() as connection:
        old = datetime.now(UTC) - timedelta(seconds=90)
        connection.execute(sa.update(schema.presence).values(at=old))
    assert authors.list_presences() == []
    assert len(authors.list_presences(within_seconds=120)) == 1
