"""A restore that fails or is killed leaves the old state or the new one."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from entail.errors import EntailError
from entail.trees.installation import backup as backup_module
from entail.trees.installation.backup import restore
from entail.trees.installation.health import examine
from entail.trees.log.acts import Create
from entail.trees.log.event_log import TreeLog
from entail.trees.store.database import Database, open_database
from tests.trees.backup.conftest import new_url, read, rewrite

Break = Callable[[pytest.MonkeyPatch, Path], None]


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
    TreeLog(open_database(url)).create(Create(hypothesis="made before"), author="Ann")
    if models is not None:
        (models / "x").mkdir(parents=True)
        (models / "x" / "config.json").write_text("old")


def no_way_out(patch: pytest.MonkeyPatch, models: Path) -> None:
    _refuse(patch, lambda path, target: path == models)


def no_way_in(patch: pytest.MonkeyPatch, models: Path) -> None:
    _refuse(patch, lambda path, target: path.name.startswith(".models-") and target == models)


@pytest.mark.parametrize(
    ("break_it", "old_models"),
    [(no_way_out, True), (no_way_in, False), (no_way_in, True), (_no_commit, True)],
)
def test_whatever_fails_the_database_and_the_models_are_as_they_were(
    saved: Path, own_data_folder: Path, tmp_path: Path, break_it: Break, old_models: bool
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
from entail.trees.installation import backup
from entail.trees.store import restoration
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
    contents = [path.read_text() for path in models.rglob("*.json")]
    assert contents == (["old"] * old_models if is_old else ["new"])
    assert not (own_data_folder / "restore.json").exists()
    assert restore(saved, url=url, replace=True).models == 1
