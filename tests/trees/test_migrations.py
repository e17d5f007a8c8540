"""Databases of older and newer versions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.errors import DatabaseError
from entail.trees.installation.backup import restore
from entail.trees.log.acts import Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store import schema
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import (
    open_database,
)
from entail.trees.store.migrations import MIGRATIONS, schema_revision
from entail.trees.store.schema import REVISION
from tests.trees.conftest import fill_database


@pytest.mark.parametrize("revision", ["9999", "0000"], ids=["newer", "old and only read"])
def test_a_database_of_another_version_is_refused(blank_url: str, revision: str) -> None:
    database = open_database(blank_url)
    with database.writing() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'"))
    with pytest.raises(DatabaseError, match=f"revision {revision}"):
        open_database(blank_url, read_only=revision == "0000")


def test_migrations_make_the_tables_of_the_schema(blank_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    database = open_database(blank_url)
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
    database.close()
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == REVISION


def test_an_older_database_is_migrated_or_if_that_fails_left(
    blank_url: str, next_version: Callable[[], Path]
) -> None:
    tree = fill_database(blank_url)
    script = next_version()
    script.write_text(script.read_text() + "    op.add_column('no_such', sa.Column('note', sa.Text))\n")
    with pytest.raises(DatabaseError):
        open_database(blank_url)
    script.write_text(script.read_text().replace("'no_such'", "'events'"))
    database = open_database(blank_url)
    with database.reading() as connection:
        assert schema_revision(connection) == "0005"
        assert "note" in {column["name"] for column in sa.inspect(connection).get_columns("trees")}
    assert TreeLog(database).history(tree).seq == 1


# --- version 0.1 ---

FIXTURES = Path(__file__).parent.parent / "fixtures" / "version_0_1"
EXPECTED: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["database", "backup"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ENTAIL_DATA_DIR", str(tmp_path))
    url = f"sqlite:///{tmp_path / 'team.db'}"
    if request.param == "database":
        shutil.copy(FIXTURES / "team.sqlite", tmp_path / "team.db")
    else:
        restore(FIXTURES / "backup.zip", url=url)
    return url


def test_trees_corpora_and_authors_are_there_and_work_goes_on(url: str) -> None:
    database = open_database(url)
    log, tree, seq = TreeLog(database), EXPECTED["tree"], EXPECTED["seq"]
    nodes = {name: [node.text, list(node.children)] for name, node in log.history(tree).tree.nodes.items()}
    assert (log.history(tree).seq, nodes) == (seq, EXPECTED["nodes"])
    assert sorted(Authors(database).names()) == EXPECTED["authors"]
    store = CorpusStore(database)
    versions = [len(store.corpus(EXPECTED["corpus"], version=version)) for version in (1, 2, 3, 4)]
    assert versions == [4, 5, 5, 4]
    assert [candidate.rank for candidate in log.evidence(tree)[2].shown] == [1, 2]
    log.act(tree, Write(node="n1", text="ice is a solid"), author="Ann", base=seq)
    assert log.undo(tree, author="Bob").seq == seq + 2
