"""Connections to the database, SQLite or PostgreSQL, with their lock timeouts."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from entail.errors import DatabaseError, LockedDatabaseError
from entail.settings import is_demo, load_settings
from entail.trees.store.failures import explained
from entail.trees.store.schema import REVISION

MIGRATIONS = Path(__file__).parent / "migrations"
"""Folder of the Alembic migrations."""

ACT_WAIT = 3.0
"""Seconds that an act waits for a lock before it fails."""

GLANCE = 0.2
"""Seconds that optional writes, such as presence, wait for a lock."""

UNWRITABLE = "make the file and its folder writable for this user, then restart"
"""Remedy for a read-only file."""

_WRITING = "entail_writing"  # the option of a connection that says for how many seconds its writer waits
_MIGRATION_LOCK = 0x656E7461696C  # "entail", as PostgreSQL's advisory lock number


@dataclass
class _Queue:
    """When somebody last waited for a writer in vain, by the monotonic clock."""

    gave_up: float = -math.inf


@dataclass(frozen=True, repr=False)
class Database:
    """An opened database, safe to share between threads.

    Attributes:
        engine: SQLAlchemy's engine.
        url: Where it is, without a password.
        read_only: Whether the file can be read but not written; every act is then refused.
        wait_seconds: How long who must write waits for a lock.
        remedy: What is said to do where it can only be read.
    """

    engine: sa.Engine
    url: str
    read_only: bool = False
    wait_seconds: float = 10.0
    remedy: str = UNWRITABLE
    _queue: _Queue = field(default_factory=_Queue, compare=False)

    def __repr__(self) -> str:
        return f"Database({self.url!r}{', read_only=True' if self.read_only else ''})"

    @property
    def file(self) -> Path | None:
        """The SQLite file, None on a server."""
        return _path(self.engine.url) if self.engine.dialect.name == "sqlite" else None

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection with one consistent snapshot.

        Raises:
            DatabaseError: If the database cannot answer.
        """
        options: dict[str, Any] = (
            {} if self.engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        )
        with explained(self.url), self.engine.connect().execution_options(**options) as connection:
            yield connection

    @contextmanager
    def writing(self, *, wait_seconds: float | None = None) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, committed to disk at the end or rolled back on an error.

        Readers never wait. A writer waits for another for `ACT_WAIT` seconds; right after somebody did so in
        vain only for a glance, so that ten keys pressed in a row do not wait ten times.

        Args:
            wait_seconds: How long to wait instead.

        Raises:
            LockedDatabaseError: If another write holds the lock for that long.
            DatabaseError: If the database cannot be written.
        """
        if self.read_only:
            raise DatabaseError(f"nothing was saved: the database {self.url} can only be read; {self.remedy}")
        wait = wait_seconds
        if wait is None:
            hopeless = time.monotonic() - self._queue.gave_up < ACT_WAIT
            wait = min(GLANCE if hopeless else ACT_WAIT, self.wait_seconds)
        try:
            with (
                explained(self.url),
                self.engine.connect().execution_options(**{_WRITING: wait}) as connection,
                connection.begin(),
            ):
                yield connection
        except LockedDatabaseError:
            if wait > GLANCE:
                self._queue.gave_up = time.monotonic()
            raise

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(
    url: str | None = None, *, wait_seconds: float = 10.0, read_only: bool = False, scratch: bool = False
) -> Database:
    """Open a database; create it if it is missing, and migrate it to this version.

    A file that this user cannot write is opened for reading, see `Database.read_only`; any is in a demo.

    Args:
        url: `sqlite:///file`, `postgresql://user:password@host/name`; by default the settings'.
        wait_seconds: How long to wait for a server, or for another process's lock when tables have to be
            made; acts are less patient, see `Database.writing`.
        read_only: Open for reading only; nothing is made, migrated or locked.
        scratch: It is one that goes again, and may be written in a demo, too.

    Raises:
        LockedDatabaseError: If a migration is needed while another process writes.
        DatabaseError: If it cannot be opened, or was written by a newer version.
        DamagedDatabaseError: If the file is damaged or not a database.
    """
    parsed = parse_url(url if url is not None else load_settings().database_url)
    shown = shown_url(parsed)
    if is_demo() and not (read_only or scratch):
        return replace(
            open_database(url, wait_seconds=wait_seconds, read_only=True),
            remedy="this is a demo, which changes nothing of its team's (ENTAIL_DEMO)",
        )
    with explained(shown):
        if parsed.get_backend_name() == "sqlite":
            return _open_sqlite(parsed, shown, wait_seconds, read_only=read_only)
        engine = _engine(
            parsed,
            connect_args={"connect_timeout": max(2, round(wait_seconds))},
            isolation_level="READ COMMITTED",  # so that a writer who waited for a row reads what is new
            pool_pre_ping=True,
        )
        sa.event.listen(engine, "begin", _limit_wait)
        database = Database(engine, shown, read_only=read_only, wait_seconds=wait_seconds)
        try:
            _bring_up(database)
        except BaseException:
            engine.dispose()
            raise
        return database


def parse_url(url: str) -> URL:
    """Return the URL with the supported driver.

    Raises:
        DatabaseError: If it is not the URL of an SQLite file or a PostgreSQL server.

    >>> parse_url("postgres://ann@localhost/trees").drivername
    'postgresql+psycopg'
    """
    wanted = "expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME; check ENTAIL_DATABASE_URL"
    try:
        parsed = make_url(re.sub(r"^postgres(?=:|\+)", "postgresql", url))
        backend = parsed.get_backend_name()
    except (sa.exc.SQLAlchemyError, ValueError) as error:
        raise DatabaseError(f"this is no database URL: {wanted}") from error
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise DatabaseError(f"a database of the kind {backend!r} is not supported: {wanted}")
    if not parsed.database or parsed.database == ":memory:":
        raise DatabaseError(f"a database in memory would lose everything: {wanted}")
    return parsed.set(drivername="sqlite")


def shown_url(url: URL) -> str:
    """Return a URL without its password, for messages."""
    secret = {name: "***" for name in url.query if "password" in name}
    return url.update_query_dict(secret).render_as_string(hide_password=True)


def sqlite_file(url: str | None = None) -> Path | None:
    """Return the SQLite file of a URL, of the settings by default; None for a server."""
    parsed = parse_url(url if url is not None else load_settings().database_url)
    return _path(parsed) if parsed.get_backend_name() == "sqlite" else None


def _path(url: URL) -> Path:
    name = url.database or ""
    return Path(unquote(name.removeprefix("file:")) if "uri" in url.query else name).absolute()


def _engine(url: URL, **options: Any) -> sa.Engine:  # noqa: ANN401 - passed on
    return sa.create_engine(
        url, hide_parameters=True, json_serializer=partial(json.dumps, allow_nan=False), **options
    )


def _open_sqlite(url: URL, shown: str, wait_seconds: float, *, read_only: bool) -> Database:
    path = _path(url)
    if path.is_dir():
        raise DatabaseError(f"{path} is a folder; the database is a file: check ENTAIL_DATABASE_URL")
    if read_only or "uri" in url.query:
        return _open_sqlite_for_reading(path, shown, wait_seconds)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(
            f"the folder {path.parent} for the database cannot be made ({error.strerror}); "
            "set ENTAIL_DATA_DIR to a folder that this user may write"
        ) from error
    database = Database(_sqlite_engine(url, wait_seconds), shown, wait_seconds=wait_seconds)
    try:
        if _writable(database):
            _bring_up(database)
            return database
    except BaseException:
        database.close()
        raise
    database.close()
    return _open_sqlite_for_reading(path, shown, wait_seconds)


def _open_sqlite_for_reading(path: Path, shown: str, wait_seconds: float) -> Database:
    # A database in WAL mode needs its -shm file beside it. Where the folder does not let SQLite make one, the
    # file may be read as it is (`immutable`), unless a WAL is left that has to be read with it.
    wal = path.with_name(path.name + "-wal")
    modes = [{"mode": "ro"}]
    if not wal.exists() or wal.stat().st_size == 0:
        modes.append({"mode": "ro", "immutable": "1"})
    for mode in modes:
        uri = URL.create("sqlite", database=f"file:{quote(path.as_posix())}", query={**mode, "uri": "true"})
        database = Database(_sqlite_engine(uri, wait_seconds), shown, read_only=True)
        try:
            _bring_up(database)
        except sa.exc.OperationalError:
            database.close()
            if mode is modes[-1]:
                raise
        except BaseException:
            database.close()
            raise
        else:
            return database
    raise AssertionError("unreachable")


def _sqlite_engine(url: URL, wait_seconds: float) -> sa.Engine:
    engine = _engine(url, connect_args={"timeout": wait_seconds})

    @sa.event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions begin where `_begin` says
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        wait: float | None = connection.get_execution_options().get(_WRITING)
        _set_wait(connection.connection.driver_connection, wait_seconds if wait is None else wait)
        connection.exec_driver_sql("BEGIN" if wait is None else "BEGIN IMMEDIATE")

    return engine


def _set_wait(connection: object, seconds: float) -> None:
    assert isinstance(connection, sqlite3.Connection)
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")


def _limit_wait(connection: sa.Connection) -> None:
    """Let a transaction that writes to PostgreSQL wait for a lock no longer than its option says."""
    wait: float | None = connection.get_execution_options().get(_WRITING)
    if wait is not None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(1000 * wait))}")


def _writable(database: Database) -> bool:
    """Return whether the file can be written, even if it is locked now; a damaged one raises."""
    try:
        with database.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.execute("PRAGMA journal_mode = WAL")
            _set_wait(raw, GLANCE)
            try:
                raw.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return database.file is not None and os.access(database.file, os.W_OK)
            raw.execute(
                "PRAGMA user_version = 0"
            )  # BEGIN alone is content with a file that cannot be written
            raw.execute("ROLLBACK")
    except (sqlite3.OperationalError, sa.exc.OperationalError) as error:
        reason = str(error)
        if "readonly" in reason or ("unable to open" in reason and _exists(database)):
            return False
        raise
    return True


def _exists(database: Database) -> bool:
    return database.file is not None and database.file.exists()


def _bring_up(database: Database) -> None:
    with database.engine.connect() as connection:
        revision = schema_revision(connection)
    if revision == REVISION:
        return
    if database.read_only:
        raise DatabaseError(
            f"the tables of {database.url} are of revision {revision or 'none'}, expected {REVISION}, and it "
            "can only be read here; who may write it brings them up to date by starting entail"
        )
    with database.writing(wait_seconds=database.wait_seconds) as connection:
        migrate(connection)


def schema_revision(connection: sa.Connection) -> str | None:
    """Return the revision of the tables, None if there are none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    version = sa.table("alembic_version", sa.column("version_num"))
    found: str | None = connection.scalar(sa.select(version.c.version_num))
    return found


def migrate(connection: sa.Connection, revision: str = "head") -> None:
    """Migrate the tables to a revision, in the caller's transaction, for which other processes wait.

    Raises:
        DatabaseError: If the tables are of a newer version of entail, or are not entail's.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")  # another's migration takes what it takes
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
    found = schema_revision(connection)
    for wanted in (found, revision):
        if wanted not in {None, "head", *known}:
            raise DatabaseError(
                f"these tables are of revision {wanted}, newer than this version of entail knows "
                f"({REVISION}); update entail (nothing was changed)"
            )
    others = set(sa.inspect(connection).get_table_names()) & {"trees", "events", "premises"}
    if found is None and others:
        raise DatabaseError(
            f"the database has tables that entail did not make ({', '.join(sorted(others))}); give entail a "
            "database of its own"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
