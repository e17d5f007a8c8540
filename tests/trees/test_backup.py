"""Backup and restore between databases of both kinds; damaged, altered and foreign files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from entail.data.records import Corpus, Premise
from entail.errors import DamagedDatabaseError, DatabaseError, DataError, EntailError, FormatError
from entail.progress import Progress
from entail.registry.models import promote
from entail.registry.pointers import list_moves
from entail.trees.log.acts import Accept, Create, Evidence, Finish, GivenNode, Reject, ShownCandidate
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT
from entail.trees.store import backup as backup_module
from entail.trees.store.archive import write_archive
from entail.trees.store.authors import Authors
from entail.trees.store.backup import backup, restore
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.health import examine
from tests.trees.conftest import damage

ICE = Premise("ice is cold", "u1")
EVIDENCE = Evidence(
    retriever="tfidf", revision="r", corpus_version=2, query="snow", shown=(ShownCandidate(ICE.key, 1, 0.1),)
)


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
    trees = [*log.trees(), *log.trees(archived=True)]
    corpora = store.corpora()
    return {
        "trees": trees,
        "histories": [log.history(tree.id) for tree in trees],
        "evidence": [log.evidence(tree.id) for tree in trees],
        "corpora": corpora,
        "versions": [store.corpus(c.id, version=v + 1) for c in corpora for v in range(c.version)],
        "changes": [store.changes(corpus.id) for corpus in corpora],
        "authors": Authors(database).names(),
        "here": Authors(database).list_presences(within_seconds=1e6),
    }


@pytest.fixture
def filled(database_url: str) -> str:
    database = open_database(database_url)
    fill(database)
    database.close()
    return database_url


def read(url: str) -> dict[str, Any]:
    database = open_database(url)
    try:
        assert examine(database).problems == ()
        return content(database)
    finally:
        database.close()


@pytest.fixture
def saved(tmp_path: Path, sqlite: Database) -> Path:
    """Give a backup of a small database."""
    fill(sqlite)
    return backup(tmp_path / "saved.zip", url=f"sqlite:///{sqlite.file}").file


def new_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'new' / 'x.db'}"


# --- there and back ---


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such names")
def test_what_a_backup_writes_a_restore_takes(own_data_folder: Path, tmp_path: Path) -> None:
    names = ("run 12:30.txt", "a\\b.txt", "ä b", ".hidden")
    folder = own_data_folder / "models" / "mine"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(name, encoding="utf-8")
    open_database().close()
    backup(tmp_path / "b.zip")
    shutil.rmtree(own_data_folder)
    restore(tmp_path / "b.zip")
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {n: n for n in names}


def test_models_that_are_being_written_or_replaced_do_not_hinder_a_backup(
    own_data_folder: Path, tmp_path: Path
) -> None:
    models = own_data_folder / "models"
    for name in ("old/x", "whole/x", ".staged/x", "x.training/checkpoint.safetensors"):
        (models / name).parent.mkdir(parents=True)
        (models / name).write_text(name, encoding="utf-8")
    database = open_database()
    fill(database)
    database.close()

    def replace_a_model(progress: Progress) -> None:
        if (models / ".staged").exists():
            shutil.rmtree(models / "old")
            (models / ".staged").rename(models / "new")

    backup(tmp_path / "b.zip", progress=replace_a_model)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        carried = {name for name in archive.namelist() if name.startswith("models/")}
    assert "models/whole/x" in carried <= {"models/whole/x", "models/new/x"}


def test_active_models_are_carried(own_data_folder: Path, tmp_path: Path) -> None:
    promote("minilm", by="Ann", anyway=True)
    moved = list_moves()
    open_database().close()
    backup(tmp_path / "b.zip")
    shutil.rmtree(own_data_folder)
    restore(tmp_path / "b.zip")
    assert list_moves() == moved
    promote("aeenc-minilm", by="Bob", anyway=True)
    replaced = restore(tmp_path / "b.zip", replace=True)
    assert list_moves() == moved
    assert replaced.before is not None
    restore(replaced.before, replace=True)
    assert [move.by for move in list_moves()] == ["Bob", "Ann"]


def test_all_of_it_comes_back(
    filled: str, blank_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_module, "_BATCH", 2)
    done = backup(tmp_path / "b.zip", url=filled)
    assert done.size == (tmp_path / "b.zip").stat().st_size
    assert done.rows["events"] == 6
    seen: list[Progress] = []
    back = restore(tmp_path / "b.zip", url=blank_url, progress=seen.append)
    assert seen[-1].done == seen[-1].total > 20
    assert back.rows == done.rows
    assert (back.before, back.damaged) == (None, None)
    assert read(blank_url) == read(filled)


def test_settings_name_the_database_and_models_are_carried_without_vectors(
    own_data_folder: Path, tmp_path: Path
) -> None:
    for name in ("models/mine/adapter.safetensors", "models/mine/deep/card.md", "vectors/r/x/vectors.npy"):
        path = own_data_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * 100_000)
    database = open_database()
    fill(database)
    before = content(database)
    database.close()
    assert backup(tmp_path / "b.zip").models == 2
    shutil.rmtree(own_data_folder)
    assert restore(tmp_path / "b.zip").models == 2
    database = open_database()
    assert content(database) == before
    database.close()
    folder = own_data_folder / "models" / "mine"
    files = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
    assert sorted(files) == ["adapter.safetensors", "deep/card.md"]
    assert (folder / files[-1]).read_bytes() == f"models/mine/{files[-1]}".encode() * 100_000
    assert not (own_data_folder / "vectors").exists()


def test_there_must_be_something_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="nothing to back up"):
        backup(tmp_path / "b.zip")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_overwritten(saved: Path, tmp_path: Path) -> None:
    before = saved.read_bytes()
    url = f"sqlite:///{tmp_path / 'trees.db'}"
    with pytest.raises(DataError, match=r"--overwrite"):
        backup(saved, url=url)
    assert saved.read_bytes() == before
    backup(saved, url=url, overwrite=True)
    restore(saved, url=new_url(tmp_path))


def test_a_backup_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> Any:
        yield "tables/trees.jsonl", [b"{}\n"]
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left on device"):
        write_archive(tmp_path / "b.zip", parts(), revision="0001")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="choose another place"):
        write_archive(tmp_path / "file" / "b.zip", [], revision="0001")


# --- a database that is not empty ---


def test_what_is_there_is_not_overwritten(filled: str, saved: Path, own_data_folder: Path) -> None:
    before = read(filled)
    with pytest.raises(DatabaseError, match="not empty; say --replace"):
        restore(saved, url=filled)
    rewrite(saved, table(lambda rows: rows.pop(), "premises"))
    with pytest.raises(FormatError, match="nothing was restored"):
        restore(saved, url=filled, replace=True)
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
    assert old.before is not None
    assert old.before.name.startswith("before-restore-")
    assert [p.name for p in own_data_folder.iterdir() if p.is_dir()] == ["models"]
    restore(old.before, url=filled, replace=True)
    assert read(filled) == later
    assert model.read_text() == "new"


@pytest.mark.parametrize("how", ["no database", "damaged pages"])
def test_a_damaged_database_is_moved_aside(saved: Path, tmp_path: Path, how: str) -> None:
    expected = read(f"sqlite:///{tmp_path / 'trees.db'}")
    url, path = new_url(tmp_path), tmp_path / "new" / "x.db"
    database = open_database(url)
    fill(database)
    database.close()
    data = damage(path)
    if how == "no database":
        path.write_bytes(data := b"x" * 100 + data[100:])
        with pytest.raises(DamagedDatabaseError, match="--replace"):
            restore(saved, url=url)
    done = restore(saved, url=url, replace=True)
    assert done.damaged is not None
    assert done.damaged.read_bytes()[:100] == data[:100]
    assert read(url) == expected


# --- files that must not be believed ---


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


def refused(file: Path, url: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        restore(file, url=url)
    assert file.name in str(error.value)
    database = open_database(url)
    assert set(examine(database).rows.values()) == {0}, "nothing was restored"
    database.close()


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.999])
def test_a_backup_that_is_cut_off(saved: Path, tmp_path: Path, keep: float) -> None:
    data = saved.read_bytes()
    saved.write_bytes(data[: int(len(data) * keep)])
    refused(saved, new_url(tmp_path), "no backup of entail, or it is cut off")


def test_a_backup_with_a_flipped_bit(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        at = archive.getinfo("tables/events.jsonl").header_offset + 80
    data = bytearray(saved.read_bytes())
    data[at] ^= 0x10
    saved.write_bytes(data)
    refused(saved, new_url(tmp_path), "is not what was written|cut off")


def test_something_else_altogether(tmp_path: Path) -> None:
    file = tmp_path / "saved.zip"
    file.write_text("hello")
    refused(file, new_url(tmp_path), "no backup of entail")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("hello.txt", "hello")
    refused(file, new_url(tmp_path), "manifest is missing or broken")
    with pytest.raises(DataError, match="No such file"):
        restore(tmp_path / "nothing.zip", url=new_url(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts, manifest: manifest.update(format_version=2), "is of format 2 .* update entail"),
        (lambda parts, manifest: manifest.update(format="holiday pictures"), "found 'holiday pictures'"),
        (lambda parts, manifest: manifest.update(parts=["x"]), "manifest is missing or broken"),
        (lambda parts, manifest: parts.update({"tables/authors.jsonl": b"{}\n"}), "is not what was written"),
        (lambda parts, manifest: parts.pop("tables/events.jsonl"), "does not fit what is in it"),
        (lambda parts, manifest: parts.update({"more.txt": b"x"}), "does not fit what is in it"),
    ],
)
def test_a_manifest_that_does_not_fit(saved: Path, tmp_path: Path, change: Any, message: str) -> None:
    rewrite(saved, change, seal=False)
    refused(saved, new_url(tmp_path), message)


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "models/../../evil",
        "/etc/evil",
        "models/a/../evil",
        *(["models/a\\..\\evil", "models/C:evil"] if os.name == "nt" else []),
        "models",
        "vectors/x",
    ],
)
def test_a_part_cannot_leave_its_place(saved: Path, tmp_path: Path, name: str) -> None:
    rewrite(saved, lambda parts, manifest: parts.update({name: b"evil"}))
    before = sorted(tmp_path.rglob("*"))
    refused(saved, new_url(tmp_path), "no part called")
    assert {p.name for p in set(tmp_path.rglob("*")) - set(before)} <= {"new", "x.db", "x.db-wal", "x.db-shm"}


def table(change: Callable[[list[dict[str, Any]]], object], name: str) -> Any:
    """Return a change to the rows of a table."""

    def rows(parts: dict[str, bytes], manifest: dict[str, Any]) -> None:
        found = [json.loads(line) for line in parts[f"tables/{name}.jsonl"].splitlines()]
        change(found)
        parts[f"tables/{name}.jsonl"] = "".join(json.dumps(row) + "\n" for row in found).encode()

    return rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (table(lambda rows: rows.append([]), "trees"), "tables/trees.jsonl, line 3: expected a JSON object"),
        (lambda parts, manifest: parts.update({"tables/other.jsonl": b""}), "expected the tables"),
        (table(lambda rows: rows[0].update(height=3), "trees"), "do not fit the table trees"),
        (table(lambda rows: rows[0].update(at="yesterday"), "events"), "do not fit the table events"),
        (table(lambda rows: rows[0].update(author="Nobody"), "events"), "do not fit the table events"),
        (table(lambda rows: rows[0].pop("author"), "events"), "do not fit the table events"),
        (table(lambda rows: rows.pop(), "premises"), "content is damaged"),
    ],
)
def test_rows_that_do_not_fit(saved: Path, tmp_path: Path, change: Any, message: str) -> None:
    rewrite(saved, change)
    refused(saved, new_url(tmp_path), message)


def test_a_backup_of_a_newer_version(saved: Path, tmp_path: Path) -> None:
    rewrite(saved, lambda parts, manifest: manifest.update(revision="9999"))
    with pytest.raises(DatabaseError, match="revision 9999, newer than this version"):
        restore(saved, url=new_url(tmp_path))


# --- older backups ---


def test_a_backup_of_an_older_version(saved: Path, blank_url: str, next_version: Callable[[], Path]) -> None:
    next_version()
    restore(saved, url=blank_url)
    database = open_database(blank_url)
    with database.reading() as connection:
        notes = connection.execute(sa.text("SELECT note FROM trees ORDER BY note")).scalars().all()
    assert notes == ["from before: h", "from before: put away"]
    assert examine(database).problems == ()


def test_models_that_cannot_be_written_are_not_blamed_on_the_backup(saved: Path, tmp_path: Path) -> None:
    rewrite(saved, lambda parts, manifest: parts.update({"models/x": b"file", "models/x/y": b"and folder"}))
    with pytest.raises(DataError, match="nothing was restored: the models cannot be written"):
        restore(saved, url=new_url(tmp_path))
    assert read(new_url(tmp_path))["trees"] == []


Break = Callable[[pytest.MonkeyPatch, Path], None]


def _no_way_out(patch: pytest.MonkeyPatch, models: Path) -> None:
    """Let the old models refuse to be renamed."""
    _refuse(patch, lambda path, target: path == models)


def _no_way_in(patch: pytest.MonkeyPatch, models: Path) -> None:
    """Let the new models refuse to be renamed, once the old ones are out of the way."""
    _refuse(patch, lambda path, target: path.name.startswith(".models-") and target == models)


def _no_commit(patch: pytest.MonkeyPatch, models: Path) -> None:
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


def _refuse(patch: pytest.MonkeyPatch, when: Callable[[Path, Path], bool]) -> None:
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if when(path, target):
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    patch.setattr(Path, "rename", refuse)


def prepare_replacement(saved: Path, url: str, models: Path | None) -> None:
    """Give a backup a new model, a database a tree, and the folder an old model."""
    rewrite(saved, lambda parts, manifest: parts.update({"models/x/config.json": b"new"}))
    database = open_database(url)
    TreeLog(database).create(Create(hypothesis="made before"), author="Ann")
    database.close()
    if models is not None:
        (models / "x").mkdir(parents=True)
        (models / "x" / "config.json").write_text("old")


@pytest.mark.parametrize(
    ("break_it", "message", "old_models"),
    [
        (_no_way_out, "nothing was restored: the models cannot be put into", True),
        (_no_way_in, "nothing was restored: the models cannot be put into", False),
        (_no_way_in, "nothing was restored: the models cannot be put into", True),
        (_no_commit, "disk is full", True),
    ],
)
def test_whatever_fails_the_database_and_the_models_are_as_they_were(
    saved: Path, own_data_folder: Path, tmp_path: Path, break_it: Break, message: str, old_models: bool
) -> None:
    url, models = new_url(tmp_path), own_data_folder / "models"
    prepare_replacement(saved, url, models if old_models else None)
    before = read(url)
    with pytest.MonkeyPatch.context() as patch:
        break_it(patch, models)
        with pytest.raises(EntailError, match=message):
            restore(saved, url=url, replace=True)
    assert read(url) == before
    assert [path.read_text() for path in models.rglob("*.json")] == ["old"] * old_models
    assert [path.name for path in own_data_folder.glob("*models*")] == ["models"] * old_models
    restore(saved, url=url, replace=True)
    assert len(read(url)["trees"]) == 2
    assert (models / "x" / "config.json").read_text() == "new"
    assert [path.name for path in own_data_folder.glob("*models*")] == ["models"]


def test_models_that_cannot_even_be_put_back_are_named(
    saved: Path, own_data_folder: Path, tmp_path: Path
) -> None:
    rewrite(saved, lambda parts, manifest: parts.update({"models/x": b"new"}))
    models = own_data_folder / "models"
    models.mkdir(parents=True)
    (models / "x").write_text("old")
    with pytest.MonkeyPatch.context() as patch:
        _refuse(patch, lambda path, target: target == models)
        with pytest.raises(DataError, match=r"whole in .*models.before-restore-.*rename that folder") as told:
            restore(saved, url=new_url(tmp_path), replace=True)
        assert "cannot be put into" in str(told.value)
        (kept,) = own_data_folder.glob("models.before-restore-*")
        assert (kept / "x").read_text() == "old"
        with pytest.raises(DataError, match="whole in"):
            open_database(new_url(tmp_path))
    assert read(new_url(tmp_path))["trees"] == []
    assert (models / "x").read_text() == "old"


KILLS = {
    "before the journal": "restoration.write_text = die",
    "before the first rename": "Path.rename = die",
    "before the last rename": "Path.rename = lambda path, to: die() if is_new(path) else rename(path, to)",
    "before the commit": "Path.rename = lambda path, to: (rename(path, to), is_new(path) and die())",
    "after the commit": "restoration.FolderSwap.finish = die",
    "before the table goes": "restoration.forget = die",
    "before the old models go": "restoration.shutil.rmtree = die",
}


@pytest.mark.parametrize("old_models", [False, True])
@pytest.mark.parametrize("kill", KILLS)
def test_a_restore_that_is_killed_leaves_the_old_state_or_the_new_one(
    saved: Path, own_data_folder: Path, tmp_path: Path, kill: str, old_models: bool
) -> None:
    url, models = new_url(tmp_path), own_data_folder / "models"
    prepare_replacement(saved, url, models if old_models else None)
    code = f"""
import os, signal
from pathlib import Path
from entail.trees.store import backup, restoration
rename = Path.rename
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
def is_new(path):
    return path.name.startswith(".models-")
{KILLS[kill]}
backup.restore(Path({str(saved)!r}), url={url!r}, replace=True)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    database = open_database(url)
    hypotheses = {tree.hypothesis for tree in TreeLog(database).trees()}
    assert examine(database).problems == ()
    database.close()
    is_old = hypotheses == {"made before"}
    assert is_old == (kill not in ("after the commit", "before the table goes", "before the old models go"))
    found = [path.read_text() for path in models.rglob("*.json")]
    assert found == (["old"] * old_models if is_old else ["new"])
    assert not (own_data_folder / "restore.json").exists()
    assert restore(saved, url=url, replace=True).models == 1
