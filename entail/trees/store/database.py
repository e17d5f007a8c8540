"""Connections to the database, SQLite or PostgreSQL: URLs, timeouts, migration, errors with a remedy."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from entail.data.private import create_private, make_folder, make_private
from entail.data.stored import parse_as
from entail.errors import DamagedDatabaseError, DatabaseError, LockedDatabaseError
from entail.masking import MASK, is_credential, mask_secrets
from entail.settings import is_demo, load_settings
from entail.trees.store.migrations import migrate, schema_revision
from entail.trees.store.restoration import is_interrupted, recover
from entail.trees.store.schema import REVISION

GLANCE = 0.2
"""Seconds that an optional write, such as presence, waits for a lock."""

WAIT = 30.0
"""Seconds that other writes wait: twenty who write all the time wait for half of it."""

_LONGEST_SLEEP = 0.03
_CONNECT_TIMEOUT = 10.0

_WRITING = "entail_writing"  # option of a connection: the seconds that its writer waits


@dataclass(frozen=True, repr=False)
class Database:
    """Opened database, safe to share between threads; `url` is without its password."""

    engine: sa.Engine
    url: str
    read_only: bool = False
    wait_seconds: float = WAIT
    _shared: threading.local = field(default_factory=threading.local, compare=False)

    @property
    def file(self) -> Path | None:
        """The SQLite file, None on a server."""
        return _path_of(self.engine.url) if self.engine.dialect.name == "sqlite" else None

    @property
    def remedy(self) -> str:
        """What to do if it is read-only."""
        return "this is a demo" if is_demo() else "make the file and its folder writable, then restart"

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection with one consistent snapshot; raise `DatabaseError` if there is no answer."""
        if (shared := getattr(self._shared, "connection", None)) is not None:
            with translate_errors(self.url):
                yield shared
            return
        sqlite = self.engine.dialect.name == "sqlite"
        options: dict[str, Any] = {} if sqlite else {"isolation_level": "REPEATABLE READ"}
        with translate_errors(self.url), self.engine.connect().execution_options(**options) as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every `reading` of this thread inside the block share one transaction, and so one state."""
        with self.reading() as self._shared.connection:
            try:
                yield
            finally:
                self._shared.connection = None

    @contextmanager
    def writing(self, *, wait_seconds: float | None = None) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, committed to disk at the end or rolled back on an error.

        Readers never wait. A writer waits for others for `wait_seconds`, by default those of the database,
        after which `LockedDatabaseError` is raised.
        """
        if self.read_only:
            raise DatabaseError(f"nothing was saved: the database {self.url} can only be read; {self.remedy}")
        wait = self.wait_seconds if wait_seconds is None else wait_seconds
        with (
            translate_errors(self.url),
            self.engine.connect().execution_options(**{_WRITING: wait}) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def parse_url(url: str) -> URL:
    """Return the URL with the supported driver; `DatabaseError` if it is not of SQLite or PostgreSQL."""
    hint = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME; check ENTAIL_DATABASE_URL"
    try:
        parsed = make_url(re.sub(r"^postgres(?=:|\+)", "postgresql", url))
        backend = parsed.get_backend_name()
    except (sa.exc.SQLAlchemyError, ValueError):
        # Their messages quote the URL, which may have a password.
        raise DatabaseError(f"this is no database URL: {hint}") from None
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise DatabaseError(f"a database of the kind {backend!r} is not supported: {hint}")
    if not parsed.database or parsed.database == ":memory:":
        raise DatabaseError(f"a database in memory would lose everything: {hint}")
    return parsed.set(drivername="sqlite")


def shown_url(url: URL) -> str:
    """Return a URL without its password and other credentials, for messages."""
    secret = {name: MASK for name in url.query if is_credential(name)}
    return url.update_query_dict(secret).render_as_string(hide_password=True)


def sqlite_file(url: str | None = None) -> Path | None:
    """Return the SQLite file of a URL, of the settings by default; None for a server."""
    parsed = parse_url(url if url is not None else load_settings().database_url)
    return _path_of(parsed) if parsed.get_backend_name() == "sqlite" else None


def _path_of(url: URL) -> Path:
    name = url.database or ""
    return Path(unquote(name.removeprefix("file:")) if "uri" in url.query else name).absolute()


def open_database(
    url: str | None = None,
    *,
    wait_seconds: float = WAIT,
    read_only: bool = False,
    scratch: bool = False,
) -> Database:
    """Open a database (by default the settings'); create it if it is missing, and migrate it.

    `wait_seconds` is the longest wait for a server, or for a lock. With
    `read_only`, nothing is made, migrated or locked; a file that this user cannot write is opened so, and in
    a demo any database that is not `scratch`.

    Raises:
        LockedDatabaseError: If a migration is needed while another process writes.
        DatabaseError: If it cannot be opened, or was written by a newer version.
        DamagedDatabaseError: If the file is damaged or not a database.
    """
    parsed = parse_url(url if url is not None else load_settings().database_url)
    display_url = shown_url(parsed)
    if is_demo() and not (read_only or scratch):
        return open_database(url, wait_seconds=wait_seconds, read_only=True)
    with translate_errors(display_url):
        if parsed.get_backend_name() == "sqlite":
            return _open_sqlite(parsed, display_url, wait_seconds, read_only=read_only)
        engine = _engine(
            parsed,
            connect_args={"connect_timeout": max(2, round(min(wait_seconds, _CONNECT_TIMEOUT)))},
            isolation_level="READ COMMITTED",  # so that a writer who waited for a row reads what is new
            pool_pre_ping=True,
            pool_size=15,  # connections beyond the pool are opened for each transaction
            max_overflow=0,
        )
        sa.event.listen(engine, "begin", _limit_wait)
        database = Database(engine, display_url, read_only=read_only, wait_seconds=wait_seconds)
        return _ensure_tables(database)


def _engine(url: URL, **options: Any) -> sa.Engine:
    dumps = partial(json.dumps, allow_nan=False)
    return sa.create_engine(
        url, hide_parameters=True, json_serializer=dumps, json_deserializer=_load_json, **options
    )


def _load_json(text: str | bytes) -> Any:
    with suppress(ValueError):  # None if it is damaged: the rest of its row can be read
        return parse_as(object, text)


def _limit_wait(connection: sa.Connection) -> None:
    wait: float | None = connection.get_execution_options().get(_WRITING)
    if wait is not None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(1000 * wait))}")


def _open_sqlite(url: URL, display_url: str, wait_seconds: float, *, read_only: bool) -> Database:
    path = _path_of(url)
    if path.is_dir():
        raise DatabaseError(f"{path} is a folder; the database is a file: check ENTAIL_DATABASE_URL")
    if not (read_only or "uri" in url.query):
        try:
            make_folder(path.parent)
        except OSError as error:
            raise DatabaseError(
                f"the folder {path.parent} for the database cannot be made ({error.strerror}); "
                "set ENTAIL_DATA_DIR to a folder that this user may write"
            ) from error
        # SQLite gives new files next to it the same rights.
        create_private(path)
        for end in ("-wal", "-shm"):
            make_private(path.with_name(path.name + end))
        effective = os.access in os.supports_effective_ids
        if all(os.access(own, os.W_OK, effective_ids=effective) for own in (path, path.parent)):
            database = Database(_sqlite_engine(url, wait_seconds), display_url, wait_seconds=wait_seconds)
            try:
                with database.engine.connect() as connection:
                    _execute_when_free(connection, "PRAGMA journal_mode = WAL", wait_seconds)
            except BaseException:
                database.close()
                raise
            return _ensure_tables(database)
    # A database in WAL mode needs a -shm file. Where the folder does not let SQLite make one, the file may be
    # read as it is (`immutable`), unless a WAL is left that has to be read with it.
    wal, read = path.with_name(path.name + "-wal"), {"mode": "ro", "uri": "true"}
    uri = URL.create("sqlite", database=f"file:{quote(path.as_posix())}", query=read)
    try:
        database = Database(_sqlite_engine(uri, wait_seconds), display_url, read_only=True)
        return _ensure_tables(database)
    except sa.exc.OperationalError:
        if wal.exists() and wal.stat().st_size:
            raise
    uri = uri.update_query_dict({"immutable": "1"})
    database = Database(_sqlite_engine(uri, wait_seconds), display_url, read_only=True)
    return _ensure_tables(database)


def _sqlite_engine(url: URL, wait_seconds: float) -> sa.Engine:
    engine = _engine(url, connect_args={"timeout": wait_seconds})

    @sa.event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where `_begin` says
        # A damaged text would make its whole table unreadable.
        connection.text_factory = methodcaller("decode", "utf-8", "backslashreplace")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        wait: float | None = connection.get_execution_options().get(_WRITING)
        if wait is None:
            connection.exec_driver_sql("BEGIN")
        else:
            _execute_when_free(connection, "BEGIN IMMEDIATE", wait)

    return engine


def _execute_when_free(connection: sa.Connection, statement: str, wait_seconds: float) -> None:
    """Execute a statement that needs a lock as soon as no other process has it.

    SQLite's own timeout does not count for some statements. For the others it sleeps longer each time, so
    that the first of many writers starve; here those who wait longest look most often.
    """
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    (timeout,) = raw.execute("PRAGMA busy_timeout").fetchone()
    raw.execute("PRAGMA busy_timeout = 0")
    begun = time.monotonic()
    try:
        while True:
            try:
                raw.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or (waited := time.monotonic() - begun) >= wait_seconds:
                    raise
            time.sleep(_LONGEST_SLEEP / (1 + 4 * waited))
    finally:
        raw.execute(f"PRAGMA busy_timeout = {timeout}")


def _ensure_tables(database: Database) -> Database:
    """Return the database, migrated to the tables of this version; close it on an error."""
    try:
        with database.engine.connect() as connection:
            revision = schema_revision(connection)
        if revision != REVISION and database.read_only:
            raise DatabaseError(
                f"the tables of {database.url} are of revision {revision or 'none'}, expected {REVISION}, "
                "and it can only be read here; start entail with write access to migrate it"
            )
        if revision != REVISION:
            with database.writing() as connection:
                migrate(connection)
        if not database.read_only and is_interrupted():
            # A restore that is under way holds the lock.
            with suppress(LockedDatabaseError), database.writing(wait_seconds=GLANCE) as connection:
                recover(connection)
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn an error of a driver into a `DatabaseError` with its cause and its remedy."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise _explain(error, url) from error
    except UnicodeEncodeError as error:
        raise DatabaseError(
            f"nothing was saved: invalid Unicode (unpaired surrogate) in {error.object!r}"
        ) from error


def _explain(error: Exception, url: str) -> DatabaseError:
    original = getattr(error, "orig", None) or error
    reason = mask_secrets(" ".join(str(original).split()))
    if isinstance(original, sqlite3.Error):
        for sign, (kind, meaning) in _SQLITE_ERRORS.items():
            if sign in reason.lower():
                return kind(f"the database {url} {meaning} (SQLite says: {reason})")
    elif getattr(original, "sqlstate", None) == "55P03":  # lock_not_available, after `lock_timeout`
        return LockedDatabaseError(f"the database {url} {_LOCKED}")
    elif isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.TimeoutError):
        return DatabaseError(
            f"the database server at {url} does not answer: see that it runs and its disk has room, that "
            f"ENTAIL_DATABASE_URL is right, and that this user may connect ({reason[:300]})"
        )
    return DatabaseError(f"the database {url} could not answer ({reason[:300]}); see `entail doctor`")


_LOCKED = (
    "is locked by another process, which is writing and did not finish in time; nothing was saved, nothing "
    "was lost: try again in a moment, or close that process"
)
_DAMAGED = (
    "is damaged or not a database; bring back a backup with `entail restore FILE --replace`, which keeps "
    "the damaged file"
)
_SQLITE_ERRORS: dict[str, tuple[type[DatabaseError], str]] = {
    "readonly": (DatabaseError, "can only be read; make the file and its folder writable, then restart"),
    "locked": (LockedDatabaseError, _LOCKED),
    "not a database": (DamagedDatabaseError, _DAMAGED),
    "malformed": (DamagedDatabaseError, _DAMAGED),
    "disk i/o": (DatabaseError, "could not be read or written: see that the disk works and has room"),
    "full": (
        DatabaseError,
        "could not be written: the disk is full; make room and try again, nothing was lost",
    ),
    "unable to open": (
        DatabaseError,
        "cannot be opened: see that this user may read and write it and its folder",
    ),
}
"""Sign in a message of SQLite -> error class and meaning."""
