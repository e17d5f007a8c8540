"""Connections to the state of jobs, workers and active models, one for each database and process."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Lock

import sqlalchemy as sa

from entail.errors import DatabaseError
from entail.settings import load_settings
from entail.trees.store.database import Database, open_database, sqlite_file
from entail.trees.store.state import VERSION, State, make_tables, version_of


class DatabaseState(State):
    """State in the database of a URL, which is opened at the first use and stays open."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self._database: Database | None = None
        self._inode: int | None = None
        self._has_tables = False

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction; the tables are made first where there are none."""
        if not self._can_read():
            self._make_tables()
        database = self._open()
        with database.writing(wait_seconds=database.wait_seconds) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection | None]:
        """Yield a connection, None without tables."""
        if not self._can_read():
            yield None
            return
        with self._open().reading() as connection:
            yield connection

    def _can_read(self) -> bool:
        """Return whether there are tables; raise `DatabaseError` if a newer version made them."""
        file = sqlite_file(self._url)
        if file is not None and not file.exists():
            return False
        database = self._open()
        if not self._has_tables:
            with database.reading() as connection:
                version = version_of(connection)
            if version > VERSION:
                raise DatabaseError(
                    f"the jobs in {database.url} are of version {version}, newer than this version of entail "
                    f"knows ({VERSION}); update entail (nothing was changed)"
                )
            self._has_tables = version > 0
        return self._has_tables

    def _open(self) -> Database:
        """Return the database; it is opened again after its file was replaced."""
        file = sqlite_file(self._url)
        with self._lock:
            inode = file.stat().st_ino if file is not None and file.exists() else None
            if self._database is not None and inode != self._inode:
                self._database.close()
                self._database = None
            if self._database is None:
                self._database = open_database(self._url, migrates=False)
                self._inode, self._has_tables = file.stat().st_ino if file is not None else None, False
            return self._database

    def _make_tables(self) -> None:
        with (
            closing(open_database(self._url)) as database,  # makes those of trees
            database.writing(wait_seconds=database.wait_seconds) as connection,
        ):
            make_tables(connection)
        self._has_tables = False

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None


_MOST = 8
_states: OrderedDict[str, DatabaseState] = OrderedDict()
_states_lock = Lock()


def open_state(url: str | None = None) -> State:
    """Return the state in a database, that of the settings by default; it stays open."""
    url = url or load_settings().database_url
    with _states_lock:
        state = _states.pop(url) if url in _states else DatabaseState(url)
        _states[url] = state
        for old in list(_states)[:-_MOST]:
            _states.pop(old).close()
        return state


def _close_states() -> None:
    for state in list(_states.values()):
        state.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_states)  # no connection can be shared with a forked process
