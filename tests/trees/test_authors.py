"""Authors: names entered once, identities from claims, and presence on trees."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus
from entail.errors import ActError, UnknownTreeError
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store import database as database_module
from entail.trees.store import schema
from entail.trees.store.authors import Authors, Identity, identity_of
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.migrations import migrate, schema_revision


@pytest.fixture
def authors(database: Database) -> Authors:
    return Authors(database)


def test_a_name_is_entered_once_also_if_it_looks_the_same(authors: Authors) -> None:
    unseen = "\ufe0f\u034f\u3164\u115f\u1160\uffa0\u2800\u200d\u180b\U000e0100"
    names = ["Ada Lovelace", "bob", f"Cid {unseen} \u2764{unseen}", "Żaneta Straße"]
    for name in (*names[:0:-1], "  Ada   Lovelace "):
        authors.enter(name)
    for name in (" \t\n ", "x" * 61, "Ann\x1b[31m", "Ann\ud800", unseen):
        with pytest.raises(ActError):
            authors.enter(name)
    for name in (f"{unseen}Cid \u2764", f"C{unseen}id \u2764"):
        assert authors.enter(name) == names[2]
    assert [authors.enter(name) for name in ("ada lovelace", "BOB", "cid \u2764", "ŻANETA STRASSE")] == names
    assert authors.names() == names
    assert authors.typed_before(ada(name="CID \u2764")) == names[2]
    assert authors.sign_in(ada(name="CID \u2764")) == "CID \u2764 (2)"


def test_who_is_where(authors: Authors, database: Database) -> None:
    first, second = TreeLog(database).create_all([Create(hypothesis=h) for h in "ab"], author="Ann")
    authors.record_presence(first, "Ann", "n1")
    authors.record_presence(second, "ann", "n1")
    authors.record_presence(first, "Bob", "n7")
    authors.record_presence(first, "Ann", "n2")
    presences = authors.list_presences()
    assert [(p.tree_id, p.author, p.node) for p in presences] == [
        (first, "Ann", "n2"),
        (first, "Bob", "n7"),
        (second, "Ann", "n1"),
    ]
    assert all(p.at.utcoffset() == timedelta(0) for p in presences)
    for unknown in ("00000000", "\ud800"):
        with pytest.raises(UnknownTreeError):
            authors.record_presence(unknown, "Ann", "n1")
    with database.writing() as connection:
        connection.execute(sa.update(schema.presence).values(at=datetime.now(UTC) - timedelta(seconds=90)))
    assert authors.list_presences() == []


ISSUER = "https://id.example"


def ada(subject: str = "1", name: str = "Ada") -> Identity:
    return Identity(ISSUER, subject, name)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": " Ada  Lovelace "}, "Ada Lovelace"),
        ({"name": "", "given_name": "Ada", "family_name": "King"}, "Ada King"),
        ({"preferred_username": "ada@uni.example"}, "ada"),
        ({"name": 3, "nickname": "ady"}, "ady"),
        ({"email": "A.King@uni.example"}, "A.King"),
        ({"email": "a.king@uni.example", "email_verified": False}, "author 7"),
        ({}, "author 7"),
        ({"name": "A\x07d\u202ea"}, "Ada"),
        ({"name": "\u3164 \u2800", "nickname": "ady"}, "ady"),
        ({"name": "x" * 80}, "x" * 60),
    ],
)
def test_the_name_is_the_first_usable_one(claims: dict[str, Any], name: str) -> None:
    identity = identity_of({"iss": ISSUER, "sub": "7", **claims})
    address = claims.get("email", "").lower() if claims.get("email_verified") is not False else ""
    assert (identity.name, identity.email) == (name, address or None)


@pytest.mark.parametrize("claims", [{"iss": ISSUER}, {"sub": "7"}, {"iss": "", "sub": "7"}])
def test_an_identity_needs_issuer_and_subject(claims: dict[str, Any]) -> None:
    with pytest.raises(ActError):
        identity_of({**claims, "name": "Ada"})


def test_two_people_of_one_name_are_two_authors(authors: Authors) -> None:
    first, second = authors.sign_in(ada("1")), authors.sign_in(ada("2"))
    other_provider = authors.sign_in(Identity("https://other.example", "1", "ADA"))
    assert (first, second, other_provider) == ("Ada", "Ada (2)", "ADA (3)")
    assert authors.sign_in(ada("2")) == "Ada (2)"
    assert authors.names() == ["Ada", "Ada (2)", "ADA (3)"]


def test_a_typed_name_is_nobodys_until_they_say_it_is_theirs(authors: Authors) -> None:
    for name in ("Ada", "Bob"):
        authors.enter(name)
    assert authors.typed_before(ada()) == "Ada"
    assert authors.sign_in(ada(name="ada"), adopt=True) == "Ada"
    assert authors.typed_before(ada()) is None
    assert authors.typed_before(ada("2")) is None
    assert authors.sign_in(ada("2"), adopt=True) == "Ada (2)"
    assert authors.sign_in(Identity(ISSUER, "3", "Bob")) == "Bob (2)"


def test_a_rename_keeps_the_trees_and_shows_the_new_name(database: Database) -> None:
    authors, log = Authors(database), TreeLog(database)
    name = authors.sign_in(ada("1", "Ada Byron"))
    tree = log.create(Create(hypothesis="h"), author=name)
    again = authors.sign_in(ada("1", "Ada Lovelace"))
    assert again == name == "Ada Byron"
    assert authors.display_names() == {"Ada Byron": "Ada Lovelace"}
    assert log.act(tree, Write(node="n1", text="t"), author=again, base=1).events[-1].author == "Ada Byron"
    assert log.undo(tree, author=again).seq == 3
    # Nobody else can be called by the new name now, nor by the old.
    assert authors.sign_in(ada("2", "Ada Lovelace")) == "Ada Lovelace (2)"
    assert authors.sign_in(ada("3", "Ada Byron")) == "Ada Byron (2)"
    reading = Authors(Database(database.engine, database.url, read_only=True))
    assert reading.sign_in(ada("1", "Countess")) == "Ada Byron"
    assert reading.sign_in(ada("9", "Zoe")) == "Zoe"
    assert (len(reading.names()), reading.display_names()["Ada Byron"]) == (3, "Ada Lovelace")
    authors.sign_in(ada("1", "Ada Byron"))
    assert authors.display_names()["Ada Byron"] == "Ada Byron"


def test_each_act_says_whether_its_author_had_signed_in(database: Database) -> None:
    authors, log, store = Authors(database), TreeLog(database), CorpusStore(database)
    name = authors.sign_in(ada())
    tree = log.create(Create(hypothesis="h"), author="Ada")
    log.act(tree, Write(node="n1", text="one"), author=name, base=1)
    log.undo(tree, author="Ada")
    assert [event.verified for event in TreeLog(database).history(tree).events] == [False, True, False]
    corpus = store.add_corpus(Corpus.of("facts", ["a"]), author=name)
    store.add(corpus.id, ["b"], author="Ada")
    assert [change.verified for change in store.changes(corpus.id)] == [False, True]
    for author, verified in ((name, True), ("Ada", False)):
        authors.record_presence(tree, author, "n1")
        assert [presence.verified for presence in authors.list_presences()] == [verified]


def test_a_database_of_the_first_version_keeps_everything(
    blank_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "_ensure_tables", lambda database, **_: database)
    with closing(open_database(blank_url)) as old, old.writing() as connection:
        migrate(connection, "0001")
        name = {"name": "Ada", "folded": "ada", "entered_at": "2026-01-02 03:04:05"}
        connection.execute(sa.text("INSERT INTO authors VALUES (:name, :folded, :entered_at)"), name)
    monkeypatch.undo()
    database = open_database(blank_url)
    with database.reading() as connection:
        assert schema_revision(connection) == schema.REVISION
    assert Authors(database).sign_in(ada(), adopt=True) == "Ada"
    tree = TreeLog(database).create(Create(hypothesis="h"), author="ADA")
    assert [event.author for event in TreeLog(database).history(tree).events] == ["Ada"]
