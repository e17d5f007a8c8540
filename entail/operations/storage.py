"""Disk use of an installation by kind, free space, and backups made while others work."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entail.data.private import make_private
from entail.data.reading import size_of
from entail.errors import DatabaseError
from entail.progress import ProgressCallback
from entail.settings import Settings, load_settings, refuse_in_demo
from entail.trees.installation.backup import Backup, backup
from entail.trees.store.database import sqlite_file


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Disk use of one kind of file; `again` tells whether it can be regenerated, and so be removed."""

    what: str
    where: str
    size: int
    again: bool


@dataclass(frozen=True, slots=True)
class Storage:
    """Disk use of an installation: its data folder, bytes of its disk and free ones, and use by kind."""

    folder: str
    total: int
    free: int
    kept: tuple[DiskUse, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def measure_storage() -> Storage:
    """Measure the disk use of the installation, without a database on a server."""
    settings = load_settings()
    disk = shutil.disk_usage(existing_parent(settings.data_dir))
    return Storage(str(settings.data_dir), disk.total, disk.free, tuple(_disk_use(settings)))


def existing_parent(folder: Path) -> Path:
    """Return the folder, or its closest existing parent."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def in_words(size: int) -> str:
    """Return a number of bytes with a unit.

    >>> in_words(3), in_words(5_300_000), in_words(3 * 2**30)
    ('3 B', '5.1 MiB', '3.0 GiB')
    """
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} B"


def hub_cache() -> Path:
    """Return the download cache of the Hub's client, which other programs share."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub")


def _disk_use(settings: Settings) -> Iterator[DiskUse]:
    data, jobs = settings.data_dir, settings.jobs_dir

    def use(title: str, location: Path, *paths: Path, again: bool = False) -> DiskUse:
        name = location.relative_to(data).as_posix() if location.is_relative_to(data) else str(location)
        return DiskUse(title, name, size_of(*(paths or (location,))), again)

    database = None
    with contextlib.suppress(DatabaseError):  # the doctor reports an invalid URL
        database = sqlite_file(settings.database_url)
    if database is not None:
        files = [database.with_name(database.name + end) for end in ("", "-wal", "-shm")]
        yield use("database: trees, corpora, authors", database, *files)
    yield use("encoders", settings.models_dir)
    if settings.models_dir != data / "models":
        yield use("encoders in the data folder", data / "models")
    yield use("backups", data / "backups", *backups(settings))
    yield use("vectors of premises", settings.vectors_dir, again=True)
    folders = list(jobs.glob("[0-9]*/checkpoints"))
    yield (checkpoints := use("checkpoints of jobs", jobs / "*" / "checkpoints", *folders, again=True))
    rest = use("jobs without them: settings, data, curves, logs", jobs)
    yield replace(rest, size=rest.size - checkpoints.size)
    yield use("logs of app and command line", data / "log", again=True)
    yield use("downloads from the Hub, shared with other programs", hub_cache(), again=True)


def back_up(*, progress: ProgressCallback | None = None) -> Backup:
    """Write a consistent backup of database and models into the data folder; see `entail.trees.store.backup`.

    Raises:
        EntailError: In a demo, or if the database cannot be read or the backup not be written.
    """
    refuse_in_demo("no backup can be made")
    for file in backups():  # of earlier versions, too
        make_private(file)
    name = f"entail-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.zip"
    return backup(load_settings().data_dir / "backups" / name, progress=progress)


def backups(settings: Settings | None = None) -> list[Path]:
    """Return the backups in the data folder, the newest first: made by hand, or before a restore."""
    folder = (settings or load_settings()).data_dir
    archives = [*(folder / "backups").glob("*.zip"), *folder.glob("before-restore-*.zip")]
    return sorted(archives, key=lambda file: (file.stat().st_mtime, file.name), reverse=True)
