"""Folder through which the processes of one data folder add up their metrics."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from entail.settings import load_settings

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of the folder, as `prometheus_client` reads it when it is imported."""


def share_metrics() -> None:
    """Set the folder, and remove from it what ended processes left.

    Call it before `prometheus_client` is imported. Without a writable folder a process counts for itself.
    """
    with contextlib.suppress(OSError):
        digest = hashlib.sha256(str(load_settings().data_dir).encode()).hexdigest()[:12]
        folder = Path(os.environ.get(FOLDER) or Path(tempfile.gettempdir()) / f"entail-metrics-{digest}")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            return  # another user made it, who could read and change the figures
        os.environ[FOLDER] = str(folder)
        drop_ended("*.db", own=True)
        atexit.register(_leave, folder)


def drop_ended(pattern: str, *, own: bool = False) -> None:
    """Remove files of ended processes from the folder, and with `own` those of this one."""
    import psutil

    for file in Path(os.environ[FOLDER]).glob(pattern):
        number = file.stem.rpartition("_")[2]
        is_own = own and number == str(os.getpid())
        if is_own or (number.isdigit() and not psutil.pid_exists(int(number))):
            file.unlink(missing_ok=True)


def _leave(folder: Path) -> None:
    """Remove the files of this process and of its ended workers, and the folder after the last process."""
    with contextlib.suppress(OSError):
        drop_ended("*.db", own=True)
        folder.rmdir()
