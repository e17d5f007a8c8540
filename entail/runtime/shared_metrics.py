"""Folder through which the processes of one data folder add up their metrics."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from entail.settings import load_settings

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of the folder, as `prometheus_client` reads it when it is imported."""


def share_metrics() -> None:
    """Set the folder, and remove from it what ended processes left.

    Call it before `prometheus_client` is imported. Without a writable folder a process counts for itself.
    """
    import platformdirs
    import psutil

    with contextlib.suppress(OSError):
        digest = hashlib.sha256(str(load_settings().data_dir).encode()).hexdigest()[:8]
        default = platformdirs.user_runtime_path("entail") / f"metrics-{digest}"
        folder = Path(os.environ.get(FOLDER) or default)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in folder.glob("*.db"):
            number = file.stem.rpartition("_")[2]
            if number == str(os.getpid()) or (number.isdigit() and not psutil.pid_exists(int(number))):
                file.unlink(missing_ok=True)
        os.environ[FOLDER] = str(folder)
