"""Logs made by hand, and databases of both kinds."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.trees.log.acts import AnyAct, Create, Event
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import History, replay
from entail.trees.log.tree import Tree
from entail.trees.store import database as database_module
from entail.trees.store import migrations, schema
from entail.trees.store.database import Database, open_database, parse_url
from tests.support.machine import free_port

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def event(seq: int, act: Any, author: str = "Ann") -> Event:
    """Return an event of a log."""
    return Event(seq=seq, author=author, at=START, act=act)


def state(tree: Tree) -> tuple[Any, ...]:
    """Return all of a tree but the seq of its last event, orders included."""
    return [*tree.nodes.items()], [*tree.judgements.items()], [*tree.finished.items()], dict(tree.source)


class Story:
    """Tells a log act by act: `story.ann(Write(...))`; keeps the history so far."""

    def __init__(self, hypothesis: str = "snow melts in spring", **create: Any) -> None:
        self.history: History = replay([event(1, Create(hypothesis=hypothesis, **create))])

    def tell(self, author: str, act: Any, *, base: int | None = None) -> str:
        """Do an act as the log would, and return the id a node made by it has."""
        self.history.check_current(act, base=self.history.seq if base is None else base)
        return self._append(author, act)

    def _append(self, author: str, act: AnyAct) -> str:
        self.history = self.history.extend([event(self.history.seq + 1, act, author)])
        return f"n{self.history.seq}"

    def ann(self, act: AnyAct, *, base: int | None = None) -> str:
        return self.tell("Ann", act, base=base)

    def bob(self, act: AnyAct, *, base: int | None = None) -> str:
        return self.tell("Bob", act, base=base)

    def undo(self, author: str = "Ann") -> None:
        self._append(author, self.history.plan_undo(author))

    def redo(self, author: str = "Ann") -> None:
        self._append(author, self.history.plan_redo(author))

    @property
    def tree(self) -> Tree:
        """The tree so far."""
        return self.history.tree

    @property
    def outline(self) -> list[str]:
        """The tree depth first: two spaces a level, then the sentence."""
        return ["  " * len(self.tree.ancestors(node.id)) + node.text for node in self.tree.walk("n1")]


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def tell() -> Callable[..., Story]:
    return Story


# --- databases ---


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the user's data."""
    folder = tmp_path / "data"
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(folder))
    monkeypatch.delenv("ENTAIL_DATABASE_URL", raising=False)
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Run a PostgreSQL server of our own and give its URL, without the name of a database."""
    debian = [str(folder) for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    path = os.pathsep.join([*debian, os.environ.get("PATH", "")])
    programs = [shutil.which(name, path=path) for name in ("initdb", "pg_ctl")]
    if None in programs:
        pytest.skip("PostgreSQL is not installed here (no initdb, no pg_ctl)")
    initdb, pg_ctl = map(str, programs)
    folder, account = Path(tempfile.mkdtemp(prefix="entail-postgres-")), {}
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as which it refuses to run
        user = next(entry for entry in pwd.getpwall() if entry.pw_name in ("postgres", "nobody"))
        account = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
    port = free_port()

    def run(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **account)

    data = str(folder / "data")
    run(initdb, "-D", data, "-U", "entail", "--auth=trust", "-E", "UTF8", "--no-sync", "--locale=C")
    options = f"-F -k {folder} -p {port} -c listen_addresses=127.0.0.1"
    run(pg_ctl, "-D", data, "-w", "-t", "120", "-l", str(folder / "log"), "-o", options, "start")
    yield f"postgresql://entail:secret@127.0.0.1:{port}"
    run(pg_ctl, "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def _engine(url: str, **options: Any) -> sa.Engine:
    return sa.create_engine(parse_url(url), poolclass=sa.NullPool, **options)


@pytest.fixture(scope="session")
def new_postgres_url(postgres_server: str) -> Callable[[], str]:
    """Give a function that makes an empty PostgreSQL database and returns its URL."""

    def make() -> str:
        name = f"test_{secrets.token_hex(6)}"
        with _engine(f"{postgres_server}/postgres", isolation_level="AUTOCOMMIT").connect() as connection:
            connection.execute(sa.DDL(f"CREATE DATABASE {name}"))
        return f"{postgres_server}/{name}"

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


def at_once(work: Callable[[Any], object], values: Sequence[Any]) -> list[Any]:
    """Call a function for each value, all at the same moment in threads of their own."""
    start = threading.Barrier(len(values))

    def call(value: Any) -> object:
        start.wait()
        return work(value)

    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(call, values))


def damage(path: Path) -> bytes:
    """Overwrite the start of every page of a database but the first; return the content."""
    content = bytearray(path.read_bytes())
    for page in range(4096, len(content), 4096):
        content[page : page + 200] = b"\xff" * 200
    path.write_bytes(content)
    return bytes(content)


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Give a function that makes this the next version of entail, and returns its new migration."""

    def go() -> Path:
        folder = tmp_path / "migrations"
        shutil.copytree(migrations.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        revision = f"{int(schema.REVISION) + 1:04}"
        script = folder / "versions" / f"r{revision}_more.py"
        script.write_text(
            "import sqlalchemy as sa\nfrom alembic import op\n"
            f"revision, down_revision = '{revision}', '{schema.REVISION}'\n"
            "def upgrade():\n"
            "    op.add_column('trees', sa.Column('note', sa.Text))\n"
            "    op.execute(\"UPDATE trees SET note = 'from before: ' || hypothesis\")\n"
        )
        monkeypatch.setattr(migrations, "MIGRATIONS", folder)
        monkeypatch.setattr(database_module, "REVISION", revision)
        return script

    return go


@pytest.fixture
def database(database_url: str) -> Database:
    """Give an empty database of either kind."""
    return open_database(database_url)


@pytest.fixture
def sqlite(sqlite_with_tables: Path, tmp_path: Path) -> Database:
    """Give an empty SQLite database."""
    shutil.copy(sqlite_with_tables, tmp_path / "trees.db")
    return open_database(f"sqlite:///{tmp_path / 'trees.db'}")


@pytest.fixture
def powerless() -> Iterator[tuple[Path, Callable[[], Any]]]:
    """Give a folder, and a context in which the rights of files count, also where the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="entail-rights-"))
    folder.chmod(0o755)

    @contextmanager
    def somebody() -> Iterator[None]:
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)

    yield folder, somebody
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(folder)


def fill_database(url: str) -> str:
    """Make a database with one tree and return the tree's id."""
    with closing(open_database(url)) as database:
        return TreeLog(database).create(Create(hypothesis="h"), author="Ann")
