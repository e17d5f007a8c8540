"""The files that a job reads; those given by hand are kept by their content, so that none changes or goes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Collection
from pathlib import Path, PurePath
from typing import Any

from entail.data.writing import write_bytes
from entail.errors import DataError, JobError
from entail.jobs.fields import values_of

LASTS = 86400.0
"""Seconds that a file is kept which no job reads: somebody may be about to start one."""


def keep(folder: Path, name: str, content: bytes) -> Path:
    """Keep a file, and return where; the same name and content give the same place.

    Raises:
        JobError: If it cannot be written.
    """
    place = folder / hashlib.sha256(content).hexdigest()[:16] / (PurePath(name).name or "file")
    try:
        if place.is_file() and place.stat().st_size == len(content):
            os.utime(place)
            return place
        place.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(place, content)
    except (OSError, DataError) as error:
        raise JobError(f"{name} cannot be kept for the training: {error}") from error
    return place


def absolute(source: object) -> dict[str, Any]:
    """Return a source as values of JSON's types, files by absolute paths: a worker stands elsewhere.

    A source whose `is_elsewhere` says so of a path has there the name of something that is fetched, which
    stays as it is.

    Raises:
        JobError: If a file is not there.
    """
    values = values_of(source)
    is_elsewhere = getattr(source, "is_elsewhere", lambda given: False)
    for name in values:
        given = getattr(source, name)
        if isinstance(given, Path):
            if is_elsewhere(given):
                continue
            if not given.exists():
                raise JobError(f"{name}: expected a file, found none at {given}")
            values[name] = str(given.absolute())
    return values


def forget(folder: Path, wanted: Collection[str]) -> None:
    """Remove files that no job reads, but for the newest (`LASTS`).

    Args:
        folder: Where they are kept.
        wanted: Paths of those that jobs read.
    """
    needed = {Path(path) for path in wanted}
    for place in folder.glob("*/*"):
        with contextlib.suppress(OSError):
            if place not in needed and time.time() - place.stat().st_mtime > LASTS:
                place.unlink()
    for holder in folder.glob("*"):
        with contextlib.suppress(OSError):
            if not any(holder.iterdir()):
                shutil.rmtree(holder)
