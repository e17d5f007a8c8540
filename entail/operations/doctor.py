"""Diagnosis of an installation: versions, caches, database, problems."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from entail.errors import DatabaseError
from entail.operations.cleaning import restore_leftovers, vector_leftovers
from entail.operations.storage import existing_parent
from entail.progress import ProgressCallback
from entail.results import versions
from entail.runtime.machine import list_gpus
from entail.settings import Settings, load_settings
from entail.trees.installation.health import examine
from entail.trees.store.database import open_database, parse_url, shown_url, sqlite_file

NEEDED = ("sentence-transformers", "torch", "scikit-learn", "streamlit", "SQLAlchemy", "alembic")
"""Required packages; one FAISS is required in addition."""

LITTLE_SPACE = 500 * 2**20
"""Bytes of free disk space below which a problem is reported."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings as JSON values; a problem is a line with its remedy."""

    versions: Mapping[str, str]
    device: str
    database: Mapping[str, Any]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def diagnose(*, progress: ProgressCallback | None = None) -> Diagnosis:
    """Examine the installation without changing it or loading torch.

    Raises:
        SettingsError: If an environment variable has an invalid value.
    """
    settings = load_settings()
    database, wrong = _database(settings, progress)
    return Diagnosis(
        versions=versions(),
        device=settings.device,
        database=database,
        problems=(
            *_package_problems(),
            *_device_problems(settings.device),
            *_data_problems(settings),
            *wrong,
        ),
    )


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _package_problems() -> Iterator[str]:
    missing = [package for package in NEEDED if not _installed(package)]
    if missing:
        yield f"not installed: {', '.join(missing)}; run `make app`, or pip install -r requirements.txt"
    both = [package for package in ("faiss-cpu", "faiss-gpu") if _installed(package)]
    if len(both) != 1:
        installation = "both faiss-cpu and faiss-gpu, which overwrite each other" if both else "no FAISS"
        yield f"expected one FAISS, found {installation}; make a new environment from requirements.txt"


def _device_problems(name: str) -> Iterator[str]:
    gpus = len(list_gpus())
    kind, _, number = name.partition(":")
    if kind == "cuda" and gpus <= (int(number[:9]) if number.isdecimal() else 0):
        count = f"{gpus or 'no'} GPU{'s' if gpus > 1 else ''}"
        yield f"ENTAIL_DEVICE asks for {name!r}, but the driver shows {count}; set it to auto or cpu"


def _data_problems(settings: Settings) -> Iterator[str]:
    folder = existing_parent(settings.data_dir)
    free = shutil.disk_usage(folder).free
    if not folder.is_dir() or not _writable(folder):
        yield f"{folder} is not writable; make it so, or set ENTAIL_DATA_DIR to a writable folder"
    if free < LITTLE_SPACE:
        yield f"the disk of {folder} has only {free // 2**20} MiB of free space; free some"
    for item in restore_leftovers(settings):
        yield f"{item.path} is left of a backup or restore ({item.what}); `entail clean {item.id}` removes it"
    for item in vector_leftovers(settings):
        yield f"vectors in {item.path} are ignored: {item.what}; `entail clean {item.id}` removes them"


def _database(
    settings: Settings, progress: ProgressCallback | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    about: dict[str, Any] = {"url": None}
    try:
        about["url"] = shown_url(parse_url(settings.database_url))
        path = sqlite_file(settings.database_url)
        if path is not None and not path.exists():
            return {**about, "state": "missing; the first start creates it"}, ()
        with contextlib.closing(open_database(settings.database_url, read_only=True)) as database:
            health = examine(database, progress=progress)
    except DatabaseError as error:
        return {**about, "state": "unusable"}, (str(error),)
    problems = list(health.problems)
    if path is not None and not (_writable(path) and _writable(path.parent)):
        problems.append(f"{path} is read-only, so nothing is saved; make it and its folder writable")
    about |= {"state": "not well" if problems else "well", "revision": health.revision}
    return {**about, "bytes": health.size, "rows": dict(health.rows)}, tuple(problems)


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
