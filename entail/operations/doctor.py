"""Diagnosis of an installation: versions, caches, database, problems; licences of what is installed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from entail.data.reading import size_of
from entail.encoders.catalogue import catalogue
from entail.errors import DatabaseError
from entail.operations.cleaning import restore_leftovers
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


UNKNOWN = "unknown"

_LONGEST = 60
_CLASSIFIER = "License :: OSI Approved :: "
_TERMS = re.compile(
    r"(?<!L)GPL|(?<!Lesser )General Public|SSPL|BUSL|-NC\b|non-?commercial|proprietary|NVIDIA", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings as JSON values; a problem is a line with its remedy."""

    versions: Mapping[str, str]
    device: Mapping[str, Any]
    data: Mapping[str, Any]
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
    device = {"asked": settings.device, "gpus": len(list_gpus())}
    data = _data(settings)
    database, wrong = _database(settings, progress)
    return Diagnosis(
        versions=versions(),
        device=device,
        data=data,
        database=database,
        problems=(*_package_problems(), *_device_problems(device), *_data_problems(settings, data), *wrong),
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


def _device_problems(device: Mapping[str, Any]) -> Iterator[str]:
    name, gpus = str(device["asked"]), int(device["gpus"])
    kind, _, number = name.partition(":")
    if kind == "cuda" and gpus <= (int(number[:9]) if number.isdecimal() else 0):
        count = f"{gpus or 'no'} GPU{'s' if gpus > 1 else ''}"
        yield f"ENTAIL_DEVICE asks for {name!r}, but the driver shows {count}; set it to auto or cpu"


def _data(settings: Settings) -> dict[str, Any]:
    folder = existing_parent(settings.data_dir)
    return {
        "folder": str(settings.data_dir),
        "free_bytes": shutil.disk_usage(folder).free,
        "vectors_bytes": size_of(settings.vectors_dir),
        "models_bytes": size_of(settings.data_dir / "models"),
    }


def _data_problems(settings: Settings, data: Mapping[str, Any]) -> Iterator[str]:
    folder = existing_parent(settings.data_dir)
    if not folder.is_dir() or not _writable(folder):
        yield f"{folder} is not writable; make it so, or set ENTAIL_DATA_DIR to a writable folder"
    if data["free_bytes"] < LITTLE_SPACE:
        yield f"the disk of {folder} has only {data['free_bytes'] // 2**20} MiB of free space; free some"
    for item in restore_leftovers(settings):
        yield f"{item.path} is left of a backup or restore ({item.what}); `entail clean {item.id}` removes it"


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


@dataclass(frozen=True, slots=True)
class Licence:
    """Licence of one component, by its own statement; `look` where it is unknown or may set terms."""

    kind: Literal["package", "encoder", "corpus", "sample"]
    name: str
    version: str
    licence: str
    look: bool

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def package_licences() -> list[Licence]:
    """Return the licences of all installed packages, by name; pyvis includes vis-network."""
    licences: dict[str, Licence] = {}
    for package in metadata.distributions():
        about: Mapping[str, Any] = package.metadata.json
        words = about.get("license_expression"), about.get("classifier", ()), about.get("license", "")
        if name := about.get("name"):
            licences.setdefault(name.lower(), _of("package", name, package.version, _licence(*words)))
    return [licences[name] for name in sorted(licences)]


def encoder_licences() -> list[Licence]:
    """Return the licences of available encoders, from their cards."""
    return [
        _of("encoder", entry.name, (entry.revision or "").rpartition("@")[2], entry.licence or UNKNOWN)
        for entry in catalogue()
    ]


def data_licences(corpora: Iterable[tuple[str, int, str]]) -> list[Licence]:
    """Return the licences of the packaged sample and of corpora (name, version, licence).

    >>> [found.licence for found in data_licences([("ours", 3, "")])]
    ['Apache-2.0; facts CC BY-SA 4.0 (WorldTree)', 'unknown']
    """
    terms = "Apache-2.0; facts CC BY-SA 4.0 (WorldTree)"
    own = (_of("corpus", name, str(version), licence or UNKNOWN) for name, version, licence in corpora)
    return [Licence("sample", "EntailmentBank sample, packaged", "", terms, False), *own]


def _of(kind: Literal["package", "encoder", "corpus"], name: str, version: str, licence: str) -> Licence:
    return Licence(kind, name, version, licence, licence == UNKNOWN or bool(_TERMS.search(licence)))


def _licence(expression: str | None, classifiers: Iterable[str], text: str) -> str:
    """Return the most specific licence statement of a package on one short line.

    >>> _licence(None, ["License :: OSI Approved :: BSD License"], "")
    'BSD License'
    """
    named = [kind.removeprefix(_CLASSIFIER) for kind in classifiers if kind.startswith(_CLASSIFIER)]
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    first = lines[0] if lines and lines[0].upper() != "UNKNOWN" else ""
    # A name in the free field is more exact than its class; a whole licence there is not.
    name = first if len(lines) == 1 and len(first) <= _LONGEST else ""
    licence = expression or name or ", ".join(named) or first or UNKNOWN
    return licence if len(licence) <= _LONGEST else licence[: _LONGEST - 1].rstrip() + "…"
