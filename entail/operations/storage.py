"""What an installation keeps on the disk, by what it is, and the room that is left."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from entail.errors import DatabaseError
from entail.operations.backups import backups
from entail.settings import Settings, load_settings
from entail.trees.database import sqlite_file


@dataclass(frozen=True, slots=True)
class Kept:
    """One kind of thing on the disk.

    Attributes:
        what: What it is.
        where: Where, from the data folder where it lies in there.
        size: Its bytes.
        again: Whether it can be made again; what cannot is never offered for removal.
    """

    what: str
    where: str
    size: int
    again: bool


@dataclass(frozen=True, slots=True)
class Room:
    """The disk of the data folder.

    Attributes:
        folder: The data folder.
        total: Bytes of its disk.
        free: What of them is left to this user.
        kept: What lies there.
    """

    folder: str
    total: int
    free: int
    kept: tuple[Kept, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return asdict(self)


def look_at_room(settings: Settings | None = None) -> Room:
    """Measure what the installation keeps; a database on a server is not among it."""
    settings = settings or load_settings()
    folder = settings.data_dir
    disk = shutil.disk_usage(next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists()))
    return Room(str(folder), disk.total, disk.free, tuple(_kept(settings)))


def size_of(*paths: Path) -> int:
    """Return the bytes of files and folders, without what links lead to and what goes meanwhile."""
    return sum(_sizes(paths))


def in_words(size: int) -> str:
    """Return a number of bytes as a person reads it.

    >>> in_words(3), in_words(5_300_000), in_words(3 * 2**30)
    ('3 B', '5.1 MiB', '3.0 GiB')
    """
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} B"


def hub_cache() -> Path:
    """Return where the Hub's client keeps what it fetched, for this and other programs of the user."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub")


def _kept(settings: Settings) -> Iterator[Kept]:
    data, jobs = settings.data_dir, settings.jobs_dir

    def kept(what: str, where: Path, *paths: Path, again: bool = False) -> Kept:
        inside = where.is_relative_to(data)
        shown = where.relative_to(data).as_posix() if inside else str(where)
        return Kept(what, shown, size_of(*(paths or (where,))), again)

    database = None
    with contextlib.suppress(DatabaseError):  # a URL that is none is the doctor's affair
        database = sqlite_file(settings.database_url)
    if database is not None:
        beside = [database.with_name(database.name + end) for end in ("", "-wal", "-shm")]
        yield kept("database: trees, corpora, authors", database, *beside)
    yield kept("encoders", settings.models_dir)
    if settings.models_dir != data / "models":
        yield kept("encoders in the data folder", data / "models")
    yield kept("backups", data / "backups", *backups(settings))
    yield kept("vectors of premises", settings.vectors_dir, again=True)
    checkpoints = list(jobs.glob("[0-9]*/checkpoints"))
    yield kept("checkpoints of jobs", jobs / "*" / "checkpoints", *checkpoints, again=True)
    yield kept(
        "jobs without them: settings, data, curves, logs",
        jobs,
        *(p for p in _inside(jobs) if p not in checkpoints),
    )
    yield kept("logs of app and command line", data / "log", again=True)
    yield Kept("fetched from the Hub, also by other programs", str(hub_cache()), size_of(hub_cache()), True)


def _inside(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder, and what is in its folders."""
    for path in folder.iterdir() if folder.is_dir() else ():
        yield from path.iterdir() if path.is_dir() and not path.is_symlink() else (path,)


def _sizes(paths: Iterable[Path]) -> Iterator[int]:
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                yield from _sizes(path.iterdir())
            else:
                yield path.lstat().st_size
        except OSError:
            continue
