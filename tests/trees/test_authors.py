"""Names, each entered once, and who is where."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from entail.errors import ActError, UnknownTreeError
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store import schema
from entail.trees.store.authors import Authors, clean_name
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


@pytest.mark.parametrize(
    "name", ["x", "x" * 60, "李小龍", "O'Brien-Smith, Jr.", "<b>Ann</b>", "../Ann", "می‌خواهم"]
)
def test_names_that_are_fine(authors: Authors, name: str) -> None:
    assert authors.enter(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "1 to 60 characters, found 0"),
        (" \t\n ", "1 to 60 characters, found 0"),
        ("x" * 61, "1 to 60 characters, found 61"),
        ("Ann\0", r"invisible character U\+0000"),
        ("Ann\x1b[31m", r"U\+001B"),
        ("Ann\u202eeve", r"U\+202E"),
        ("Ann\ud800", r"U\+D800"),
    ],
)
def test_names_that_cannot_be_used(authors: Authors, name: str, message: str) -> None:
    with pytest.raises(ActError, match=message):
        authors.enter(name)
    assert authors.names() == []


def test_line_breaks_in_a_name_are_spaces() -> None:
    assert clean_name("Ada\nLovelace") == "Ada Lovelace"


def test_who_is_where(authors: Authors, database: Database) -> None:
    one, two = TreeLog(database).create_all([Create(hypothesis=h) for h in "ab"], author="Ann")
    authors.seen(one, "Ann", "n1")
    authors.seen(two, "ann", "n1")
    authors.seen(one, "Bob", "n7")
    authors.seen(one, "Ann", "n2")
    here = authors.here()
    assert [(p.tree_id, p.author, p.node) for p in here] == [
        (one, "Ann", "n2"),
        (one, "Bob", "n7"),
        (two, "Ann", "n1"),
    ]
    assert all(p.at.utcoffset() == timedelta(0) for p in here)


def test_who_has_gone_is_not_here(authors: Authors, database: Database) -> None:
    tree = TreeLog(database).create(Create(hypothesis="h"), author="Ann")
    authors.seen(tree, "Ann", "n1")
    with database.writing() as connection:
        old = datetime.now(UTC) - timedelta(seconds=90)
        connection.execute(sa.update(schema.presence).values(at=old))
    assert authors.here() == []
    assert len(authors.here(within_seconds=120)) == 1


def test_nobody_is_on_a_tree_that_is_not_there(authors: Authors) -> None:
    for tree in ("00000000", "\ud800"):
        with pytest.raises(UnknownTreeError, match="no tree"):
            authors.seen(tree, "Ann", "n1")
