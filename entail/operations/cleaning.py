"""Removal of files that can be regenerated: their size and the cost of removing them.

The database, corpora, models, the registry of active models, backups, and settings and results of jobs are
never listed; models that a restore replaced are, as `wanted`. Each item is checked again under its owner's
lock before removal; one in use stays.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from entail.data.reading import size_of
from entail.encoders.catalogue import catalogue
from entail.errors import DataError, EntailError, SettingsError
from entail.index.store import describe_store, remove_store
from entail.jobs.handle import JobHandle, staging_folder
from entail.jobs.jobs import Jobs
from entail.jobs.record import OPEN
from entail.operations.logs import logs
from entail.operations.vectors import list_damaged, parts_of
from entail.settings import Settings, refuse_in_demo
from entail.trees.store.restoration import JOURNAL

Kind = Literal["vectors", "checkpoints", "leftovers", "logs"]

KINDS: tuple[Kind, ...] = get_args(Kind)

MIN_AGE = 3600.0
"""Minimum age of an incomplete file in seconds: a process may still write a younger one."""

NOTHING = "nothing"

_log = logging.getLogger(__name__)
_JOB_ID = re.compile(r"\.(?:deleted|new|job)-(\d{8}-\d{6}-[0-9a-f]{6})")


@dataclass(frozen=True, slots=True)
class Removable:
    """Item that can be regenerated, with its size in bytes and the cost of removing it.

    `id` is stable while it exists; `wanted` tells whether it is likely to be needed again soon.
    """

    id: str
    kind: Kind
    what: str
    size: int
    cost: str
    wanted: bool
    path: Path

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict without the path."""
        return {name: value for name, value in asdict(self).items() if name != "path"}


@dataclass(frozen=True, slots=True)
class CleaningResult:
    """Result of a removal: removed items, and id -> reason why an item stayed."""

    removed: tuple[Removable, ...]
    kept: Mapping[str, str]

    @property
    def size(self) -> int:
        """Freed bytes."""
        return sum(item.size for item in self.removed)


def list_removable(jobs: Jobs | None = None) -> list[Removable]:
    """Return the removable items, the largest of each kind first."""
    jobs = jobs or Jobs()
    kinds = (_vectors(jobs.settings), _checkpoints(jobs), _leftovers(jobs), _logs(jobs.settings))
    return [item for kind in kinds for item in sorted(kind, key=lambda item: (-item.size, item.id))]


def select_removable(
    items: Sequence[Removable], names: Collection[str], *, include_needed: bool = False
) -> list[Removable]:
    """Select items by kind or id; by kind without items that are likely needed soon, unless `include_needed`.

    Raises:
        SettingsError: If a name matches no kind and no item.
    """
    if unknown := set(names) - {*KINDS, *(item.id for item in items)}:
        raise SettingsError(
            f"expected one of {', '.join(KINDS)}, or an id as `entail clean --dry-run` lists them, found "
            f"{', '.join(map(repr, sorted(unknown)))}"
        )
    return [
        item
        for item in items
        if item.id in names or (item.kind in names and (include_needed or not item.wanted))
    ]


def clean(ids: Collection[str], *, jobs: Jobs | None = None) -> CleaningResult:
    """Remove items by id; missing items and items in use are reported in `kept`.

    Raises:
        DemoError: In a demo.
        SettingsError: If an id begins with no known kind.
    """
    refuse_in_demo("nothing can be cleaned up")
    if unknown := next((name for name in ids if name.partition("/")[0] not in KINDS), None):
        raise SettingsError(f"expected one of {', '.join(KINDS)} before a slash, found {unknown!r}")
    jobs = jobs or Jobs()
    items = {item.id: item for item in list_removable(jobs)}
    removed: list[Removable] = []
    reasons = {name: "missing or in use" for name in ids if name not in items}
    for item in (items[name] for name in ids if name in items):
        try:
            _remove(item, jobs)
        except (OSError, EntailError) as error:
            reasons[item.id] = str(error)
        else:
            _log.info("removed %s: %s", item.id, item.what)
            removed.append(item)
    return CleaningResult(tuple(removed), reasons)


def _remove(item: Removable, jobs: Jobs) -> None:
    roots = (jobs.settings.data_dir, jobs.settings.models_dir)
    inside = any(item.path.absolute().is_relative_to(root.absolute()) for root in roots)
    if item.path.is_symlink() or not inside:
        raise DataError(f"{item.path} is outside the data folder")
    match item.kind:
        case "vectors":
            remove_store(item.path)
        case "checkpoints":
            _remove_checkpoints(jobs.handle(item.path.parent.name))
        case "logs":
            item.path.write_bytes(b"")  # its writers append
        case "leftovers" if item.path.is_dir():
            shutil.rmtree(item.path)
        case "leftovers" if item.path.suffix == ".json":
            for path in parts_of(item.path):
                path.unlink(missing_ok=True)
        case "leftovers":
            item.path.unlink()


def _remove_checkpoints(job: JobHandle) -> None:
    with job.locked() as status:
        if status.state in OPEN:
            raise DataError(f"job {job.id} is {status.state} and needs its checkpoint")
        # Renamed first: a resumed job finds a whole checkpoint or none.
        gone = job.path / ".checkpoints-removed"
        shutil.rmtree(gone, ignore_errors=True)
        job.checkpoints.rename(gone)
        shutil.rmtree(gone)


def _vectors(settings: Settings) -> Iterator[Removable]:
    encoders: dict[str, list[str]] = {}
    for entry in catalogue():
        encoders.setdefault(str(entry.premise_revision), []).append(entry.name)
    for folder in sorted(settings.vectors_dir.glob("[!.]*")):
        if not folder.is_dir() or folder.is_symlink() or not size_of(folder):
            continue
        revision, count = describe_store(folder)
        users = encoders.get(revision, [])
        title = f"{count:,} premises by {', '.join(users) or revision or 'an unknown encoder'}"
        cost = f"the next searches encode {count:,} premises again" if users else NOTHING
        yield _removable("vectors", folder.name, folder, title, cost, bool(users))


def _checkpoints(jobs: Jobs) -> Iterator[Removable]:
    for job in jobs.jobs():
        folder = jobs.handle(job.id).checkpoints
        if not job.open and folder.is_dir():
            lost = f"a resumed job starts over: {job.seconds / 60:,.1f} minutes of training are lost"
            title, cost = f"of {job.name}, {job.state} ({job.id})", lost if job.resumable else NOTHING
            yield _removable("checkpoints", job.id, folder, title, cost, job.resumable)


def _leftovers(jobs: Jobs) -> Iterator[Removable]:
    models = jobs.settings.models_dir
    in_use = {staging_folder(models, job.id) for job in jobs.jobs() if job.open}
    paths = [*jobs.folder.glob(".deleted-*"), *jobs.folder.glob(".new-*"), *models.glob(".job-*")]
    paths = [path for path in paths if _JOB_ID.fullmatch(path.name) and path not in in_use]
    paths += models.glob(".pulled-*")
    paths += jobs.folder.glob("[0-9]*/.checkpoints-removed")
    vectors = jobs.settings.vectors_dir
    paths += (path for path in vectors.glob("*/.*") if path.name != ".locks")
    paths += vectors.glob("*/ivf/.*")
    for path in filter(_is_old, paths):
        name = path.relative_to(models if path.parent == models else jobs.settings.data_dir).as_posix()
        title = "of a deleted job" if path.name.startswith(".deleted-") else "incomplete"
        yield _removable("leftovers", name, path, title)
    yield from vector_leftovers(jobs.settings)
    yield from restore_leftovers(jobs.settings)


def vector_leftovers(settings: Settings) -> Iterator[Removable]:
    """Yield damaged and incomplete files of the vector cache, which is not read from them."""
    for manifest, reason in list_damaged(settings.vectors_dir):
        parts = parts_of(manifest)
        if manifest.exists() or all(map(_is_old, parts)):
            name, size = manifest.relative_to(settings.data_dir).as_posix(), size_of(*parts)
            yield Removable(f"leftovers/{name}", "leftovers", reason, size, NOTHING, False, manifest)


def restore_leftovers(settings: Settings) -> Iterator[Removable]:
    """Yield what killed backups and restores left in the data folder, and models that a restore replaced."""
    folder = settings.data_dir
    patterns = ("models.before-restore-*", ".models-*", ".*.partial", "backups/.*.partial")
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        if (folder / JOURNAL).exists() or not _is_old(path):
            continue
        if path.name.startswith("models."):
            cost = "they exist nowhere else, unless a backup has them"
            yield _removable("leftovers", path.name, path, "models that a restore replaced", cost, True)
        else:
            yield _removable("leftovers", path.name, path, "incomplete")


def _logs(settings: Settings) -> Iterator[Removable]:
    for log in logs(settings):
        for file in (log.file, log.file.with_name(f"{log.file.name}.before")):
            if size_of(file):
                yield _removable("logs", file.name, file, f"of {log.what}", "its messages are lost")


def _removable(
    kind: Kind, name: str, path: Path, title: str, cost: str = NOTHING, wanted: bool = False
) -> Removable:
    return Removable(f"{kind}/{name}", kind, title, size_of(path), cost, wanted, path)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > MIN_AGE
    except OSError:
        return False
