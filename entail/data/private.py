"""Files and folders that only their owner can read, on POSIX systems."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a folder for its owner only, and the missing ones above it; an existing one stays as it is.

    Raises:
        OSError: If it cannot be made.
    """
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def create_private(file: Path) -> None:
    """Create an empty file for its owner only; restrict an existing one, without opening it.

    Errors are left to the writer, who opens the file afterwards.
    """
    with contextlib.suppress(OSError):
        file.touch(mode=0o600, exist_ok=False)
    make_private(file)


def make_private(file: Path) -> None:
    """Restrict a regular file of this user to its owner; any other one stays as it is."""
    with contextlib.suppress(OSError):
        status = file.stat()
        if os.name == "posix" and stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            file.chmod(status.st_mode & 0o600)
