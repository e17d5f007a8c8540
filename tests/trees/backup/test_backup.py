"""Backups of databases of both kinds, restored into empty and full ones."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from entail.errors import DamagedDatabaseError, DatabaseError, DataError, FormatError
from entail.progress import Progress
from entail.registry.models import promote
from entail.registry.pointers import list_moves
from entail.trees.installation import backup as backup_module
from entail.trees.installation.archive import write_archive
from entail.trees.installation.backup import backup, restore
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import open_database
from tests.trees.backup.conftest import content, fill, new_url, read, rewrite, table
from tests.trees.conftest import damage


def test_models_that_are_being_written_or_replaced_do_not_hinder_a_backup(
    own_data_folder: Path, tmp_path: Path
) -> None:
    models = own_data_folder / "models"
    for name in ("old/x", "whole/x", ".staged/x", "x.training/checkpoint.safetensors"):
        (models / name).parent.mkdir(parents=True)
        (models / name).write_text(name, encoding="utf-8")
    fill(open_database())

    def replace_a_model(progress: Progress) -> None:
        if (models / ".staged").exists():
            shutil.rmtree(models / "old")
            (models / ".staged").rename(models / "new")

    backup(tmp_path / "b.zip", progress=replace_a_model)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        carried = {name for name in archive.namelist() if name.startswith("models/")}
    assert "models/whole/x" in carried <= {"models/whole/x", "models/new/x"}


def test_all_of_it_comes_back(
    filled: str, blank_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup_module, "_BATCH", 2)
    done = backup(tmp_path / "b.zip", url=filled)
    assert done.size == (tmp_path / "b.zip").stat().st_size
    assert done.rows["events"] == 6
    reports: list[Progress] = []
    back = restore(tmp_path / "b.zip", url=blank_url, progress=reports.append)
    assert reports[-1].done == reports[-1].total > 20
    assert back.rows == done.rows
    assert (back.before, back.damaged) == (None, None)
    assert read(blank_url) == read(filled)


def test_models_and_the_active_ones_are_carried_without_vectors(
    own_data_folder: Path, tmp_path: Path
) -> None:
    folder = own_data_folder / "models" / "mine"
    for name in ("models/mine/adapter.safetensors", "models/mine/deep/a:b ä.md", "vectors/r/x/vectors.npy"):
        path = own_data_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * 100_000)
    promote("minilm", by="Ann", anyway=True)
    moved = list_moves()
    open_database().close()
    assert backup(tmp_path / "b.zip").models == 3
    shutil.rmtree(own_data_folder)
    assert restore(tmp_path / "b.zip").models == 3
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert files == ["adapter.safetensors", "deep/a:b ä.md"]
    assert (folder / files[-1]).read_bytes() == f"models/mine/{files[-1]}".encode() * 100_000
    assert not (own_data_folder / "vectors").exists()
    assert list_moves() == moved
    promote("aeenc-minilm", by="Bob", anyway=True)
    replaced = restore(tmp_path / "b.zip", replace=True)
    assert list_moves() == moved
    assert replaced.before is not None
    restore(replaced.before, replace=True)
    assert [move.by for move in list_moves()] == ["Bob", "Ann"]


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
    assert old.before is not None
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
    assert done.damaged is not None
    assert done.damaged.read_bytes()[:100] == data[:100]
    assert read(url) == expected
