"""Files that a job reads. Uploaded ones are stored by their content, so that none changes or disappears."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection
from pathlib import Path, PurePath
from typing import Any

from entail.data.private import make_folder
from entail.data.writing import write_bytes
from entail.errors import DataError, JobError
from entail.training.fields import values_of

MAX_AGE = 86400.0
"""Seconds for which a file is stored that no job reads: its job may be about to start."""


def store(folder: Path, name: str, content: bytes) -> Path:
    """Store a file and return its path; the same name and content give the same path.

    Raises:
        JobError: If it cannot be written.
    """
    file = folder / hashlib.sha256(content).hexdigest()[:16] / (PurePath(name).name or "file")
    try:
        if file.is_file() and file.stat().st_size == len(content):
            os.utime(file)
            return file
        make_folder(file.parent)
        write_bytes(file, content)
    except (OSError, DataError) as error:
        raise JobError(f"{name} cannot be stored for the training: {error}") from error
    return file


def prune(folder: Path, used: Collection[str]) -> None:
    """Remove stored files that are not among the `used` paths and older than `MAX_AGE`."""
    paths = {Path(path) for path in used}
    for file in folder.glob("*/*"):
        with contextlib.suppress(OSError):
            if file not in paths and time.time() - file.stat().st_mtime > MAX_AGE:
                file.unlink()
                file.parent.rmdir()


def absolute(source: object) -> dict[str, Any]:
    """Return a source as JSON values with absolute paths: a worker runs in another folder.

    Names of data sets to download (`is_elsewhere` of the source) stay as they are.

    Raises:
        JobError: If a file does not exist.
    """
    values = values_of(source)
    is_elsewhere = getattr(source, "is_elsewhere", lambda path: False)

    def absolute_path(name: str, path: Path) -> str:
        if is_elsewhere(path):
            return str(path)
        if not path.exists():
            raise JobError(f"{name}: expected a file, found none at {path}")
        return str(path.absolute())

    for name in values:
        value = getattr(source, name)
        if isinstance(value, Path):
            values[name] = absolute_path(name, value)
        elif isinstance(value, tuple):
            values[name] = [absolute_path(name, path) for path in value]
    return values
