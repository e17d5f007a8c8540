"""Copies of everything in the data folder, made while others work on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from entail.progress import ProgressCallback
from entail.settings import Settings, load_settings, refuse_in_demo
from entail.trees.backup import Backup, backup

FOLDER = "backups"
"""Folder of the data folder that they are in."""


def back_up(settings: Settings | None = None, *, progress: ProgressCallback | None = None) -> Backup:
    """Write a backup of one moment of database and models in the data folder into that folder.

    It is what `entail backup FILE` writes, and `entail restore FILE` brings back.

    Raises:
        DemoError: In a demo.
        DataError: If it cannot be written.
        DatabaseError: If the database cannot be read.
    """
    refuse_in_demo("no backup can be made")
    settings = settings or load_settings()
    name = f"entail-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.zip"
    return backup(settings.data_dir / FOLDER / name, progress=progress)


def backups(settings: Settings | None = None) -> list[Path]:
    """Return the backups in the data folder, the newest first: made by hand, or before a restore."""
    folder = (settings or load_settings()).data_dir
    found = [*(folder / FOLDER).glob("*.zip"), *folder.glob("before-restore-*.zip")]
    return sorted(found, key=lambda file: (file.stat().st_mtime, file.name), reverse=True)
