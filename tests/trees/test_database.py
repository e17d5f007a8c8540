"""Databases opened, locked, damaged, read-only and migrated."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.errors import DamagedDatabaseError, DatabaseError, LockedDatabaseError
from entail.trees.installation.health import examine
from entail.trees.log.acts import Create, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store import schema
from entail.trees.store.authors import Authors
from entail.trees.store.database import open_database, sqlite_file
from tests.attack.forks import Fork
from tests.trees.conftest import at_once, damage, fill_database


def test_a_new_database_is_made_where_the_settings_say_and_syncs_each_commit(own_data_folder: Path) -> None:
    database = open_database()
    assert database.file == sqlite_file() == own_data_folder / "entail.db"
    assert (database.file.exists(), database.read_only) == (True, False)
    names = ("journal_mode", "synchronous", "foreign_keys")
    with database.reading() as connection:
        assert [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names] == ["wal", 2, 1]


def test_four_who_open_a_new_database_at_once(blank_url: str) -> None:
    opened = at_once(lambda _number: open_database(blank_url), range(4))
    assert [database.read_only for database in opened] == [False] * 4


def test_a_new_database_waits_for_another_process_that_writes(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")  # in a journal that is no WAL yet: SQLite refuses, and does not wait
        timer = threading.Timer(0.2, other.execute, ["ROLLBACK"])
        timer.start()
        with closing(open_database(f"sqlite:///{file}")) as opened:
            assert not opened.read_only
        timer.join()


@pytest.mark.parametrize(
    "url", ["", "/where/x.db", "postgresql://h:port/x", "mysql://h/x", "sqlite://", "sqlite:///:memory:"]
)
def test_urls_that_cannot_be_used(url: str) -> None:
    with pytest.raises(DatabaseError) as refused:
        open_database(url)
    assert "ENTAIL_DATABASE_URL" in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["postgresql://ann:geheim@127.0.0.1:1/trees", "postgresql://127.0.0.1:1/trees?user=ann&password=geheim"],
)
def test_a_password_is_never_shown(url: str) -> None:
    with pytest.raises(DatabaseError, match="does not answer") as refused:
        open_database(url, wait_seconds=1)
    assert "geheim" not in str(refused.value)


def test_a_file_that_is_no_database_or_damaged(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(DamagedDatabaseError):
        open_database(f"sqlite:///{tmp_path / 'text.db'}")
    assert (tmp_path / "text.db").read_text().startswith("not a database"), "it is left as it was"
    tree = fill_database(f"sqlite:///{tmp_path / 'x.db'}")
    damage(tmp_path / "x.db")
    with pytest.raises(DamagedDatabaseError):
        TreeLog(open_database(f"sqlite:///{tmp_path / 'x.db'}")).history(tree)
    for path in (tmp_path, tmp_path / "text.db" / "x.db"):  # a folder, and a file in the way of one
        with pytest.raises(DatabaseError):
            open_database(f"sqlite:///{path}")


def test_a_locked_database_can_be_read_and_written_later(tmp_path: Path) -> None:
    fill_database(url := f"sqlite:///{tmp_path / 'x.db'}")
    database = open_database(url, wait_seconds=0.1)
    authors, log = Authors(database), TreeLog(database)
    tree = log.trees()[0].id
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedDatabaseError):
            log.act(tree, Write(node="n1", text="a"), author="Ann", base=1)
        assert log.history(tree).seq == 1, "reading goes on"
        authors.record_presence(tree, "Ann", "n1")
        assert authors.list_presences() == []
        assert authors.enter(" Bob ") == "Bob"
        writer.execute("ROLLBACK")
    assert authors.names() == ["Ann"], "presence and a new name are given up"
    assert log.act(tree, Write(node="n1", text="a"), author="Bob", base=1).seq == 2
    assert authors.names() == ["Ann", "Bob"]


def write_acts(url: str, author: str, count: int) -> None:
    with closing(open_database(url)) as database:
        for number in range(count):
            TreeLog(database).create(Create(hypothesis=f"{number} by {author}"), author=author)


def test_of_twenty_writers_all_wait_and_none_is_refused(tmp_path: Path) -> None:
    url, count = f"sqlite:///{tmp_path / 'x.db'}", 25
    open_database(url).close()
    authors = [f"author {number}" for number in range(20)]
    processes = [Fork(lambda _, name=name: write_acts(url, name, count)) for name in authors[:10]]
    at_once(lambda name: write_acts(url, name, count), authors[10:])
    assert [process.join()[1] for process in processes] == [0] * len(processes)
    with closing(open_database(url)) as database:
        acts = Counter(tree.created_by for tree in TreeLog(database).trees())
    assert acts == dict.fromkeys(authors, count)


@pytest.mark.postgres
def test_a_server_that_is_locked_says_so(new_postgres_url: Callable[[], str]) -> None:
    # The limit on statements is for the day when this fails: it would wait for ever.
    url = f"{new_postgres_url()}&options=-c%20statement_timeout%3D5000"
    database = open_database(url, wait_seconds=0.2)
    log = TreeLog(database)
    tree = log.create(Create(hypothesis="h"), author="Ann")
    with database.writing() as other:
        other.execute(sa.select(schema.trees).with_for_update()).all()
        with pytest.raises(LockedDatabaseError):
            log.act(tree, Write(node="n1", text="a"), author="Ann", base=1)
        assert log.history(tree).seq == 1
    assert log.act(tree, Write(node="n1", text="a"), author="Ann", base=1).seq == 2


@pytest.mark.parametrize(("file", "around"), [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)])
def test_a_database_that_can_only_be_read(powerless: Any, file: int, around: int) -> None:
    folder, somebody = powerless
    url = f"sqlite:///{folder / 'x.db'}"
    tree = fill_database(url)
    (folder / "x.db").chmod(file)
    folder.chmod(around)
    with somebody():
        database = open_database(url)
        assert database.read_only
        log = TreeLog(database)
        assert log.history(tree).tree.root.text == "h"
        with pytest.raises(DatabaseError, match=r"nothing was saved: .* can only be read"):
            log.act(tree, Write(node="n1", text="a"), author="Ann", base=1)
        authors = Authors(database)
        assert (authors.enter("ann"), authors.enter(" Bob ")) == ("Ann", "Bob")
        authors.record_presence(tree, "Ann", "n1")
        assert authors.list_presences() == []


def test_a_place_that_can_neither_be_read_nor_written(powerless: Any) -> None:
    folder, somebody = powerless
    fill_database(f"sqlite:///{folder / 'x.db'}")
    (folder / "x.db").chmod(0o000)
    folder.chmod(0o555)
    for name in ("x.db", "y.db", "deeper/x.db"):
        with somebody(), pytest.raises(DatabaseError):
            open_database(f"sqlite:///{folder / name}")


def test_opening_for_reading_makes_and_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with pytest.raises(DatabaseError, match="cannot be opened"):
        open_database(url, read_only=True)
    assert not (tmp_path / "x.db").exists()
    tree = fill_database(url)
    log = TreeLog(open_database(url, read_only=True))
    assert log.history(tree).seq == 1
    with pytest.raises(DatabaseError, match="can only be read"):
        log.undo(tree, author="Ann")


def test_what_was_not_yet_checkpointed_is_read_from_the_wal(tmp_path: Path) -> None:
    """A copy of the files of a running database is what a power cut leaves behind."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    running = open_database(url)
    log = TreeLog(running)
    tree = log.create(Create(hypothesis="h"), author="Ann")
    for i in range(20):
        log.act(tree, Write(node="n1", text=f"{i}"), author="Ann", base=1)
    (tmp_path / "after").mkdir()
    for end in ("", "-wal"):
        (tmp_path / "after" / f"x.db{end}").write_bytes((tmp_path / f"x.db{end}").read_bytes())
    wal = tmp_path / "after" / "x.db-wal"
    wal.write_bytes(wal.read_bytes()[:-100])  # the last act was half written
    running.close()
    after = open_database(f"sqlite:///{tmp_path / 'after' / 'x.db'}")
    assert TreeLog(after).history(tree).seq == 20
    assert examine(after).problems == ()
