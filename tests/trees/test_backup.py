"""Backups of databases of both kinds, restored into empty and full ones, damaged, interrupted and killed."""

import dataclasses
import json
import os
import shutil
import signal
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.errors import DamagedDatabaseError, DatabaseError, DataError, EntailError, FormatError
from entail.progress import Progress
from entail.registry import pointers
from entail.registry.models import promote
from entail.registry.pointers import list_moves
from entail.trees.installation import backup as backup_module
from entail.trees.installation.archive import write_archive
from entail.trees.installation.backup import backup, restore
from entail.trees.installation.health import examine
from entail.trees.log.acts import Accept, Create, Finish, GivenNode, Reject
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store import restoration, schema
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.state import JobRow, State, add_moves
from tests.attack.forks import Fork
from tests.trees.conftest import EVIDENCE, ICE, damage
from tests.trees.test_migrations import TEAM_TABLES


def fill(database: Database) -> None:
    """Put something into every column of every table."""
    store, log = CorpusStore(database), TreeLog(database)
    corpus = store.add_corpus(Corpus.of("facts — “raw”", [ICE, "fire is hot"]), author="Ann", licence="CC0")
    store.add(corpus.id, ["snow\tis  ice", "🌳 <b>"], author="Bob")
    store.correct(corpus.id, ICE.key, "ice is very cold", author="Ann")
    nodes = (GivenNode("a", -1, "int1"), GivenNode("b", 0, "sent1"), GivenNode("c", None))
    tree = log.create(
        Create(hypothesis="h", nodes=nodes, source={"id": "row", "n": [1, 2.5, None, {"π": True}]}),
        author="Ann",
        corpus_id=corpus.id,
        example=True,
    )
    log.act(tree, Accept(node=ROOT, premise=ICE), author="Bob", base=1, evidence=EVIDENCE)
    log.act(tree, Reject(node=ROOT, premise=Premise("fire is hot")), author="Bob", base=2)
    log.act(tree, Finish(node="n1.1", premises=(ICE,)), author="Cleo", base=3)
    log.undo(tree, author="Cleo")
    Authors(database).record_presence(tree, "Cleo", "n1.1")
    log.archive(log.create(Create(hypothesis="put away"), author="Dan"), author="Ann")


def content(database: Database) -> dict[str, Any]:
    """Return all that can be read from a database."""
    store, log = CorpusStore(database), TreeLog(database)
    with database.reading() as connection:
        presences = [tuple(row) for row in connection.execute(sa.select(schema.presence))]
    trees, corpora = log.trees(archived=None), store.corpora()
    return {
        "trees": trees,
        "histories": [log.history(tree.id) for tree in trees],
        "evidence": [log.evidence(tree.id) for tree in trees],
        "corpora": corpora,
        "versions": [store.corpus(c.id, version=v + 1) for c in corpora for v in range(c.version)],
        "words": [store.find_premises(corpus.id, "ic", limit=9) for corpus in corpora],
        "changes": [store.changes(corpus.id) for corpus in corpora],
        "authors": Authors(database).names(),
        "here": presences,
    }


@pytest.fixture
def filled(database: Database, database_url: str) -> str:
    fill(database)
    database.close()
    return database_url


def read(url: str) -> dict[str, Any]:
    with closing(open_database(url)) as database:
        assert examine(database).problems == ()
        return content(database)


@pytest.fixture
def saved(tmp_path: Path, sqlite: Database) -> Path:
    """Give a backup of a small database."""
    fill(sqlite)
    return backup(tmp_path / "saved.zip", url=f"sqlite:///{sqlite.file}").file


def new_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'new' / 'x.db'}"


def rewrite(
    file: Path, change: Callable[[dict[str, bytes], dict[str, Any]], object], *, seal: bool = True
) -> None:
    """Change the parts and the manifest of a backup; with `seal`, make the digests fit again."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts.pop("manifest.json"))
    change(parts, manifest)
    if seal:
        manifest["parts"] = {
            name: {"size": len(data), "lines": data.count(b"\n"), "sha256": sha256(data).hexdigest()}
            for name, data in parts.items()
        }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))


def table(change: Callable[[list[dict[str, Any]]], object], name: str) -> Any:
    """Return a change to the rows of a table."""

    def rows(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
        records = [json.loads(line) for line in parts[f"tables/{name}.jsonl"].splitlines()]
        change(records)
        parts[f"tables/{name}.jsonl"] = "".join(json.dumps(row) + "\n" for row in records).encode()

    return rows


def test_models_and_the_active_ones_are_carried_without_vectors(
    own_data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointers, "FRESH", 0.0)
    folder = own_data_folder / "models" / "mine"
    for name in ("models/mine/adapter.safetensors", "models/mine/deep/a:b ä.md", "vectors/r/x/vectors.npy"):
        path = own_data_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * 100_000)
    for name in (".staged/x", "x.training/checkpoint.safetensors"):  # which are being written
        (own_data_folder / "models" / name).parent.mkdir()
        (own_data_folder / "models" / name).touch()
    promote("minilm", by="Ann", anyway=True)
    moved = list_moves()
    open_database().close()
    assert backup(tmp_path / "b.zip").models == 2
    shutil.rmtree(own_data_folder)
    assert restore(tmp_path / "b.zip").models == 2
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert files == ["adapter.safetensors", "deep/a:b ä.md"]
    assert (folder / files[-1]).read_bytes() == f"models/mine/{files[-1]}".encode() * 100_000
    assert not (own_data_folder / "vectors").exists()
    assert list_moves() == moved


JOB = JobRow("20260101-000000-abcdef", "mine", True, "running", datetime.now(UTC), "{}", "{}", attempt=1)


def with_jobs(url: str) -> dict[str, Any]:
    """Give a database a job with events, and a move of the active models; return what it has of them."""
    state = State(url)
    state.add_job(JOB, ["begin", "step"])
    with state.writing() as connection:
        add_moves(connection, {1: "move"})
    state.write_worker("m", "worker")
    return jobs_of(url)


def jobs_of(url: str) -> dict[str, Any]:
    state = State(url)
    rows = [dataclasses.replace(row, silence=0.0) for row in state.jobs()]
    return {"jobs": rows, "events": state.events(JOB.id), "moves": state.moves()}


def test_all_of_it_comes_back(
    filled: str, blank_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_module, "_BATCH", 2)
    jobs = with_jobs(filled)
    done = backup(tmp_path / "b.zip", url=filled)
    assert done.size == (tmp_path / "b.zip").stat().st_size
    assert (done.rows["events"], done.rows["job_events"]) == (6, 2)
    open_database(blank_url).close()
    State(blank_url).write_worker("alive", "worker")
    reports: list[Progress] = []
    back = restore(tmp_path / "b.zip", url=blank_url, progress=reports.append)
    assert reports[-1].done == reports[-1].total > 20
    assert back.rows == done.rows
    assert (back.before, back.damaged) == (None, None)
    assert read(blank_url) == read(filled)
    assert (jobs_of(blank_url), State(blank_url).workers()) == (jobs, [])
    State(blank_url).delete_job(JOB.id)
    restore(tmp_path / "b.zip", url=blank_url, replace=True)
    assert jobs_of(blank_url) == jobs


def test_jobs_stay_where_the_backup_is_of_a_version_without_them(
    saved: Path, blank_url: str, tmp_path: Path
) -> None:
    open_database(blank_url).close()
    before = with_jobs(blank_url)

    def earlier(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
        manifest["revision"] = "0006"
        for table in (*(table.name for table in schema.SINCE_0007), *TEAM_TABLES):
            del parts[f"tables/{table}.jsonl"]
        authors = parts["tables/authors.jsonl"]
        parts["tables/authors.jsonl"] = authors.replace(b', "email": null', b"")

    rewrite(saved, earlier)
    restore(saved, url=blank_url, replace=True)
    assert jobs_of(blank_url) == before
    moves = {"format": 1, "moves": []}
    rewrite(saved, lambda parts, _: parts.update({"models/active.json": json.dumps(moves).encode()}))
    restore(saved, url=blank_url, replace=True)
    assert jobs_of(blank_url) == before | {"moves": []}, "its file of moves replaces them"


def test_a_backup_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> Any:
        yield "tables/trees.jsonl", [b"{}\n"]
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError):
        write_archive(tmp_path / "b.zip", parts(), revision="0001")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for file in (tmp_path / "file" / "b.zip", tmp_path / "file"):  # which is there
        with pytest.raises(DataError):
            write_archive(file, [], revision="0001")
    write_archive(tmp_path / "file", [], revision="0001", overwrite=True)


def test_what_is_there_is_not_overwritten(filled: str, saved: Path, own_data_folder: Path) -> None:
    before = read(filled)
    rewrite(saved, table(lambda rows: rows.pop(), "premises"))
    for replace, error in ((False, DatabaseError), (True, FormatError)):
        with pytest.raises(error):
            restore(saved, url=filled, replace=replace)
    assert read(filled) == before
    (own_data_folder / "models").mkdir(parents=True, exist_ok=True)
    (own_data_folder / "models" / "x").touch()
    with pytest.raises(DatabaseError, match="not empty; say --replace"):
        restore(saved, url=new_url(saved.parent))


def test_what_is_replaced_is_kept_in_a_backup(filled: str, tmp_path: Path, own_data_folder: Path) -> None:
    model = own_data_folder / "models" / "mine" / "x"
    model.parent.mkdir(parents=True)
    model.write_text("old")
    backup(tmp_path / "old.zip", url=filled)
    model.write_text("new")
    database = open_database(filled)
    TreeLog(database).create(Create(hypothesis="made later"), author="Ann")
    later = content(database)
    old = restore(tmp_path / "old.zip", url=filled, replace=True)
    assert "made later" not in [tree.hypothesis for tree in content(database)["trees"]], "seen while open"
    database.close()
    assert model.read_text() == "old"
    assert old.before.name.startswith("before-restore-")
    assert [p.name for p in own_data_folder.iterdir() if p.is_dir()] == ["models"]
    restore(old.before, url=filled, replace=True)
    assert read(filled) == later
    assert model.read_text() == "new"


@pytest.mark.parametrize("can_be_opened", [False, True])
def test_a_damaged_database_is_moved_aside(saved: Path, tmp_path: Path, can_be_opened: bool) -> None:
    expected = read(f"sqlite:///{tmp_path / 'trees.db'}")
    url, path = new_url(tmp_path), tmp_path / "new" / "x.db"
    fill(database := open_database(url))
    database.close()
    data = damage(path)
    if not can_be_opened:
        path.write_bytes(data := b"x" * 100 + data[100:])
        with pytest.raises(DamagedDatabaseError):
            restore(saved, url=url)
    done = restore(saved, url=url, replace=True)
    assert done.damaged.read_bytes()[:100] == data[:100]
    assert read(url) == expected


def part(name: str, content: bytes = b"evil") -> Any:
    """Return a change that adds a part, or replaces it."""
    return lambda parts, manifest: parts.update({name: content})


def about(**fields: Any) -> Any:
    """Return a change of the manifest."""
    return lambda parts, manifest: manifest.update(fields)


@pytest.mark.parametrize(
    ("change", "seal"),
    [
        (about(format_version=2), False),
        (about(format="holiday pictures"), False),
        (about(parts=["x"]), False),
        (part("tables/authors.jsonl", b"{}\n"), False),
        (lambda parts, manifest: parts.pop("tables/events.jsonl"), False),
        (part("more.txt"), False),
        *((part(name), True) for name in ("../evil", "models/../../evil", "/etc/evil", "models/a/../evil")),
        *((part(name), True) for name in ("models", "vectors/x")),
        (part("tables/other.jsonl", b""), True),
        (table(lambda rows: rows.append([]), "trees"), True),
        (table(lambda rows: rows[0].update(height=3), "trees"), True),
        (table(lambda rows: rows[0].update(at="yesterday"), "events"), True),
        (table(lambda rows: rows[0].update(author="Nobody"), "events"), True),
        (table(lambda rows: rows[0].pop("author"), "events"), True),
        (table(lambda rows: rows.pop(), "premises"), True),
        (about(revision="9999"), True),
    ],
)
def test_nothing_is_restored_from_a_file_that_does_not_fit(
    saved: Path, tmp_path: Path, change: Any, seal: bool
) -> None:
    rewrite(saved, change, seal=seal)
    before = set(tmp_path.rglob("*"))
    with pytest.raises((FormatError, DatabaseError)):
        restore(saved, url=new_url(tmp_path))
    assert {p.name for p in set(tmp_path.rglob("*")) - before} <= {"new", "x.db", "x.db-wal", "x.db-shm"}
    assert set(examine(open_database(new_url(tmp_path))).rows.values()) == {0}


def no_commit(patch: pytest.MonkeyPatch, models: Path) -> None:
    """Let the database refuse to be committed, once the models are in place."""
    opened = backup_module.open_database

    def fail(_connection: sa.Connection) -> None:
        if (models / "x" / "config.json").read_text() == "new":
            raise sqlite3.OperationalError("database or disk is full")

    def open_and_break(url: str | None = None) -> Database:
        database = opened(url)
        sa.event.listen(database.engine, "commit", fail)
        return database

    patch.setattr(backup_module, "open_database", open_and_break)


def no_rename(patch: pytest.MonkeyPatch, models: Path, *, staged: bool) -> None:
    """Refuse to move the old models out of the way, or those that are staged into their place."""
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if (path.name.startswith(".models-") and target == models) if staged else path == models:
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    patch.setattr(Path, "rename", refuse)


def prepare_replacement(saved: Path, url: str, models: Path | None) -> None:
    """Give a backup a new model, a database a tree, and the folder an old model."""
    rewrite(saved, lambda parts, manifest: parts.update({"models/x/config.json": b"new"}))
    with closing(open_database(url)) as database:
        TreeLog(database).create(Create(hypothesis="made before"), author="Ann")
    if models is not None:
        (models / "x").mkdir(parents=True)
        (models / "x" / "config.json").write_text("old")


@pytest.mark.parametrize(
    ("break_it", "old_models"),
    [
        (partial(no_rename, staged=False), True),
        (partial(no_rename, staged=True), False),
        (partial(no_rename, staged=True), True),
        (no_commit, True),
    ],
)
def test_whatever_fails_the_database_and_the_models_are_as_they_were(
    saved: Path, own_data_folder: Path, tmp_path: Path, break_it: Callable[..., None], old_models: bool
) -> None:
    url, models = new_url(tmp_path), own_data_folder / "models"
    prepare_replacement(saved, url, models if old_models else None)
    before = read(url)
    with pytest.MonkeyPatch.context() as patch:
        break_it(patch, models)
        with pytest.raises(EntailError):
            restore(saved, url=url, replace=True)
    assert read(url) == before
    assert [path.read_text() for path in models.rglob("*.json")] == ["old"] * old_models
    assert [path.name for path in own_data_folder.glob("*models*")] == ["models"] * old_models
    restore(saved, url=url, replace=True)
    assert len(read(url)["trees"]) == 2
    assert (models / "x" / "config.json").read_text() == "new"
    assert [path.name for path in own_data_folder.glob("*models*")] == ["models"]


RENAME = Path.rename


def die(*_arguments: object, **_options: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_before_the_last(path: Path, to: Path) -> None:
    die() if path.name.startswith(".models-") else RENAME(path, to)


def die_after_the_last(path: Path, to: Path) -> None:
    RENAME(path, to)
    if path.name.startswith(".models-"):
        die()


KILLS: dict[str, tuple[object, str, Callable[..., None]]] = {
    "before the journal": (restoration, "write_text", die),
    "before the first rename": (Path, "rename", die),
    "before the last rename": (Path, "rename", die_before_the_last),
    "before the commit": (Path, "rename", die_after_the_last),
    "after the commit": (restoration.FolderSwap, "finish", die),
    "before the table goes": (restoration, "forget", die),
    "before the old models go": (shutil, "rmtree", die),
}
"""Moment of the kill -> owner and name of what kills in its place."""


@pytest.mark.parametrize("old_models", [False, True])
@pytest.mark.parametrize("kill", KILLS)
def test_a_restore_that_is_killed_leaves_the_old_state_or_the_new_one(
    saved: Path, own_data_folder: Path, tmp_path: Path, kill: str, old_models: bool
) -> None:
    url, models = new_url(tmp_path), own_data_folder / "models"
    prepare_replacement(saved, url, models if old_models else None)

    def restore_until_killed(_report: object) -> None:
        setattr(*KILLS[kill])
        restore(saved, url=url, replace=True)

    assert Fork(restore_until_killed).join()[1] == -signal.SIGKILL
    database = open_database(url)
    hypotheses = {tree.hypothesis for tree in TreeLog(database).trees()}
    assert examine(database).problems == ()
    database.close()
    is_old = hypotheses == {"made before"}
    assert is_old == (kill not in ("after the commit", "before the table goes", "before the old models go"))
    contents = [path.read_text() for path in models.rglob("*.json")]
    assert contents == (["old"] * old_models if is_old else ["new"])
    assert not (own_data_folder / "restore.json").exists()
    assert restore(saved, url=url, replace=True).models == 1
