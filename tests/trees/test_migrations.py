"""Databases of older and newer versions."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.data.text import premise_key
from entail.errors import DatabaseError
from entail.trees.installation.backup import restore
from entail.trees.installation.health import examine
from entail.trees.log.acts import Create, Evidence, GivenNode, Reject, ShownCandidate, Write
from entail.trees.log.event_log import TreeLog
from entail.trees.store import database as database_module
from entail.trees.store import migrations, schema
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.migrations import MIGRATIONS, schema_revision
from entail.trees.store.schema import REVISION
from entail.trees.store.search import INDEX
from entail.trees.store.state import JobRow, State
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
    options = {"include_name": lambda name, *_: not (name or "").startswith(INDEX)}
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
    database.close()
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == REVISION


def test_an_older_database_is_migrated_or_if_that_fails_left(
    blank_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, folder, revision = fill_database(blank_url), tmp_path / "migrations", f"{int(REVISION) + 1:04}"
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(migrations, "MIGRATIONS", folder)
    monkeypatch.setattr(database_module, "REVISION", revision)
    script = folder / "versions" / f"r{revision}_more.py"
    text = (
        "import sqlalchemy as sa\nfrom alembic import op\n"
        f"revision, down_revision = '{revision}', '{REVISION}'\n"
        "def upgrade():\n    for table in ('trees', 'events'):\n"
        "        op.add_column(table, sa.Column('note', sa.Text))\n"
    )
    script.write_text(text.replace("events", "no_such"))
    with pytest.raises(DatabaseError):
        open_database(blank_url)
    script.write_text(text)
    database = open_database(blank_url)
    with database.reading() as connection:
        assert schema_revision(connection) == revision
        assert "note" in {column["name"] for column in sa.inspect(connection).get_columns("trees")}
    assert TreeLog(database).history(tree).seq == 1


TEAM_TABLES = (
    *("versions", "comments", "choices", "moves", "copies", "pieces"),
    *("hypotheses", "members", "guidelines", "projects"),
)
"""Tables that the migrations after that of jobs make, those first that refer to others."""


def forget_teams(connection: sa.Connection, revision: str) -> None:
    """Let the tables be those of a revision before teams, so far as those are concerned."""
    for table in TEAM_TABLES:
        connection.execute(sa.text(f"DROP TABLE {table}"))
    connection.execute(sa.text("ALTER TABLE authors DROP COLUMN email"))
    connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'"))


def test_jobs_that_had_tables_of_another_version_stay(blank_url: str) -> None:
    row = JobRow(
        "20260101-000000-abcdef", "mine", True, "queued", datetime(2026, 1, 1, tzinfo=UTC), "{}", "{}"
    )
    assert State(blank_url).add_job(row, ["begin"])
    with closing(open_database(blank_url)) as database, database.writing() as connection:
        forget_teams(connection, "0006")
        connection.execute(sa.text("CREATE TABLE state_version (version INTEGER PRIMARY KEY)"))
    state = State(blank_url)
    assert [job.id for job in state.jobs()] == [row.id]
    assert state.events(row.id) == [(1, "begin")]
    assert not state.add_job(replace(row, id="other")), "names of open jobs are unique"
    with closing(open_database(blank_url)) as database, database.reading() as connection:
        assert not sa.inspect(connection).has_table("state_version")


COMPOSED, DECOMPOSED = "caf\xe9s", "cafe\u0301s"


def old_key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def decompose(
    database: Database, premises: Mapping[int, tuple[str, int, int | None]], corpus_id: str
) -> None:
    """Make a corpus as version 0.1 stored it: position -> text, versions of addition and retirement."""
    with database.writing() as connection:
        for position, (text, added, retired) in premises.items():
            values = {"text": text, "key": old_key(text), "added": added, "retired": retired}
            at = (schema.premises.c.corpus_id == corpus_id) & (schema.premises.c.position == position)
            connection.execute(sa.update(schema.premises).where(at).values(**values))
        live = sum(retired is None for _, _, retired in premises.values())
        connection.execute(sa.update(schema.corpora).values(count=live))
        connection.execute(sa.text("DROP INDEX ix_premises_corpus_id_retired_position"))
        connection.execute(sa.text(f"DROP INDEX IF EXISTS {INDEX}"))
        forget_teams(connection, "0004")


@pytest.mark.parametrize(
    ("premises", "expected"),
    [
        ({0: ("ice", 1, None), 1: (DECOMPOSED, 1, None)}, [0, 1]),
        ({0: ("ice", 1, None), 1: (DECOMPOSED, 1, None), 2: (COMPOSED, 1, None)}, [0, 1]),
        ({0: ("ice", 1, None), 1: (COMPOSED, 1, None), 2: (DECOMPOSED, 2, None)}, [0, 1]),
        ({0: ("ice", 1, None), 1: (COMPOSED, 1, 2), 2: (DECOMPOSED, 1, None)}, [0, 2]),
        ({0: ("ice", 1, None), 1: (COMPOSED, 1, 2), 2: (DECOMPOSED, 2, None)}, [0, 2]),
        ({0: ("ice", 1, None), 1: (DECOMPOSED, 1, 2), 2: (COMPOSED, 1, None)}, [0, 2]),
        ({0: ("ice", 1, None), 1: (DECOMPOSED, 1, 2), 2: (COMPOSED, 2, None)}, [0, 2]),
    ],
)
def test_keys_of_decomposed_texts_are_rewritten(
    database_url: str, premises: dict[int, tuple[str, int, int | None]], expected: list[int]
) -> None:
    with closing(open_database(database_url)) as database:
        store = CorpusStore(database)
        info = store.add_corpus(Corpus.of("facts", map(str, premises)), author="Ann")
        store.archive(info.id, author="Ann")  # version 2
        before = [
            [at for at, (_, added, gone) in premises.items() if added <= n and (gone or 9) > n]
            for n in (1, 2)
        ]
        decompose(database, premises, info.id)
    with closing(open_database(database_url)) as database:
        store, texts = CorpusStore(database), {at: text for at, (text, _, _) in premises.items()}
        corpus = store.corpus(info.id)
        assert list(corpus.texts) == [texts[at] for at in expected]
        assert list(corpus.keys) == [premise_key(texts[at]) for at in expected]
        for number, positions in enumerate(before, start=1):
            version = store.corpus(info.id, version=number)
            assert list(version.texts) == [texts[at] for at in positions], (
                "older versions hold what they held"
            )
            assert len(set(version.keys)) == len(version)
        assert store.info(info.id).count == len(expected)
        assert examine(database).problems == ()
        store.correct(info.id, premise_key(DECOMPOSED), "tea", author="Ann")


def test_keys_in_events_are_rewritten(database_url: str) -> None:
    candidates = (ShownCandidate(old_key(DECOMPOSED), 1, 0.5), ShownCandidate(premise_key("ice"), 2, 0.1))
    evidence = Evidence(retriever="r", revision="1", corpus_version=1, query="h", shown=candidates)
    node = GivenNode(DECOMPOSED, -1, "sent1", premise_key(DECOMPOSED))
    with closing(open_database(database_url)) as database:
        log = TreeLog(database)
        tree = log.create(Create(hypothesis="h", nodes=(node, GivenNode("i", -1))), author="Ann")
        log.act(
            tree, Reject(node="n1.2", premise=Premise(DECOMPOSED)), author="Ann", base=1, evidence=evidence
        )
        with database.writing() as connection:
            payload = sa.select(sa.cast(schema.events.c.payload, sa.Text)).where(schema.events.c.seq == 1)
            text = (connection.scalar(payload) or "").replace(premise_key(DECOMPOSED), old_key(DECOMPOSED))
            row = sa.update(schema.events).where(schema.events.c.seq == 1)
            connection.execute(row.values(payload=json.loads(text)))
        decompose(database, {}, "")
    with closing(open_database(database_url)) as database:
        log = TreeLog(database)
        assert examine(database).problems == ()
        key = premise_key(COMPOSED)
        assert [candidate.key for candidate in log.evidence(tree)[2].shown] == [key, premise_key("ice")]
        nodes = log.history(tree).tree.nodes
        assert [node.key for node in nodes.values()] == [None, key, None]
        assert ("n1.2", key) in log.history(tree).tree.judgements


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
