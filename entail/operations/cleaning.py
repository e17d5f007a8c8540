"""What can be removed because it can be made again: its size, what removing it costs, and doing so.

Never among it: the database, corpora, encoders (active, former or any other), the pointers to them, backups,
the settings and results of jobs. A thing is looked at again, under its owner's lock, at the moment it goes;
what came into use meanwhile stays.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from entail.encoders.catalogue import catalogue
from entail.errors import DataError, EntailError, SettingsError
from entail.index.vectors import remove_entry
from entail.jobs.child import staging
from entail.jobs.folder import JobFolder
from entail.jobs.jobs import Jobs
from entail.jobs.record import OPEN
from entail.operations.logs import logs
from entail.operations.storage import size_of
from entail.settings import Settings, refuse_in_demo
from entail.trees.corpora import CorpusStore

Kind = Literal["vectors", "checkpoints", "leftovers", "logs"]

KINDS: Mapping[Kind, str] = {
    "vectors": "vectors of premises, cached for search",
    "checkpoints": "checkpoints of jobs that have ended",
    "leftovers": "what was left half done, or of deleted jobs",
    "logs": "logs of the app, the workers and the command line",
}
"""What can be removed, by kind."""

RESTS = 3600.0
"""Seconds for which something half done is left alone: somebody may be at it."""

NOTHING = "nothing"

_log = logging.getLogger(__name__)
_JOB_ID = re.compile(r"\.(?:deleted|new|job)-(\d{8}-\d{6}-[0-9a-f]{6})")


@dataclass(frozen=True, slots=True)
class Removable:
    """Something that can be made again.

    Attributes:
        id: Kind and name, the same as long as it is there.
        kind: What kind of thing it is.
        what: What it is, in words.
        size: Its bytes.
        cost: What removing it costs, in words.
        wanted: Whether somebody is likely to need it again soon.
        path: Where it is.
    """

    id: str
    kind: Kind
    what: str
    size: int
    cost: str
    wanted: bool
    path: Path

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without where it is."""
        return {name: value for name, value in asdict(self).items() if name != "path"}


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What came of it.

    Attributes:
        removed: What is gone.
        kept: Id -> why it stayed.
    """

    removed: tuple[Removable, ...]
    kept: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes that were given back."""
        return sum(thing.size for thing in self.removed)


def removable(jobs: Jobs | None = None, *, corpora: CorpusStore | None = None) -> list[Removable]:
    """Return what can be removed, the largest of each kind first; nothing is changed.

    Args:
        jobs: The installation's jobs.
        corpora: Its corpora, for vectors to be told by name; without them by their number alone.
    """
    jobs = jobs or Jobs()
    found = [
        *_vectors(jobs.settings, corpora),
        *_checkpoints(jobs),
        *_leftovers(jobs),
        *_logs(jobs.settings),
    ]
    order = list(KINDS)
    return sorted(found, key=lambda thing: (order.index(thing.kind), -thing.size, thing.id))


def chosen(there: Sequence[Removable], what: Collection[str], *, wanted: bool = False) -> list[Removable]:
    """Return those of some things that are meant by kinds or ids.

    Args:
        there: What can be removed.
        what: Kinds, or ids of single things.
        wanted: By its kind take also what somebody is likely to need again soon.

    Raises:
        SettingsError: If one of them means nothing that is there.
    """
    unknown = [name for name in what if name not in KINDS and name not in {thing.id for thing in there}]
    if unknown:
        raise SettingsError(
            f"expected one of {', '.join(KINDS)}, or an id as `entail clean --dry-run` lists them, found "
            f"{', '.join(map(repr, unknown))}"
        )
    return [t for t in there if t.id in what or (t.kind in what and (wanted or not t.wanted))]


def clean(ids: Collection[str], *, jobs: Jobs | None = None, corpora: CorpusStore | None = None) -> Cleaned:
    """Remove things by their ids; what is not there any more, or in use now, stays and is told.

    Raises:
        DemoError: In a demo.
        SettingsError: If an id names no kind of thing that can be removed.
    """
    refuse_in_demo("nothing can be cleaned up")
    for name in ids:
        if name.partition("/")[0] not in KINDS:
            raise SettingsError(f"expected one of {', '.join(KINDS)} before a slash, found {name!r}")
    jobs = jobs or Jobs()
    there = {thing.id: thing for thing in removable(jobs, corpora=corpora)}
    removed: list[Removable] = []
    kept = {name: "it is not there any more, or came into use" for name in ids if name not in there}
    for thing in (there[name] for name in ids if name in there):
        try:
            _remove(thing, jobs)
        except (OSError, EntailError) as error:
            kept[thing.id] = str(error)
        else:
            _log.info("removed %s: %s", thing.id, thing.what)
            removed.append(thing)
    return Cleaned(tuple(removed), kept)


def _remove(thing: Removable, jobs: Jobs) -> None:
    roots = (jobs.settings.data_dir, jobs.settings.models_dir)
    inside = any(thing.path.absolute().is_relative_to(root.absolute()) for root in roots)
    if thing.path.is_symlink() or not inside:
        raise DataError(f"{thing.path} leads out of the data folder, so it stays")
    match thing.kind:
        case "vectors":
            remove_entry(thing.path)
        case "checkpoints":
            _remove_checkpoints(jobs.place(thing.path.parent.name))
        case "logs":
            thing.path.write_bytes(b"")  # whoever writes it goes on at its end
        case "leftovers" if thing.path.is_dir():
            shutil.rmtree(thing.path)
        case "leftovers":
            thing.path.unlink()


def _remove_checkpoints(job: JobFolder) -> None:
    with job.changing() as status:
        if status.state in OPEN:
            raise DataError(f"job {job.path.name} is {status.state}: it needs its checkpoint")
        # Out of the way in one move: who resumes it finds a checkpoint, or none.
        gone = job.path / ".checkpoints-removed"
        shutil.rmtree(gone, ignore_errors=True)
        job.checkpoints.rename(gone)
        shutil.rmtree(gone)


def _vectors(settings: Settings, corpora: CorpusStore | None) -> Iterator[Removable]:
    encoders: dict[str, list[str]] = {}
    for entry in catalogue():
        tower = entry.base if entry.towers == "single" and entry.base is not None else entry
        encoders.setdefault(str(tower.revision), []).append(entry.name)
    names = {} if corpora is None else _corpus_names(corpora)
    for place in sorted(settings.vectors_dir.glob("*/*")):
        if place.name.startswith(".") or not place.is_dir() or place.is_symlink():
            continue
        try:
            told = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
            revision, count = str(told["revision"]), int(told["count"])
        except (OSError, ValueError, KeyError, TypeError):
            revision, count = "", 0
        users, corpus = encoders.get(revision, []), names.get(place.name)
        of = f"{count:,} premises" + (f" of {corpus!r}" if corpus else "")
        wanted = bool(users) and (corpus is not None or corpora is None)
        yield Removable(
            id=f"vectors/{place.parent.name}/{place.name}",
            kind="vectors",
            what=f"{of} by {', '.join(users) or revision or 'an unknown encoder'}"
            + ("" if corpus or corpora is None else ", of a version that is past, or a corpus that is gone"),
            size=size_of(place),
            cost=f"who searches them next waits until {count:,} premises are encoded again"
            if wanted
            else NOTHING + ": nobody searches them any more",
            wanted=wanted,
            path=place,
        )


def _corpus_names(corpora: CorpusStore) -> dict[str, str]:
    return {corpora.corpus(info.id, version=info.version).hash: info.name for info in corpora.corpora()}


def _checkpoints(jobs: Jobs) -> Iterator[Removable]:
    for job in jobs.jobs():
        place = jobs.place(job.id).checkpoints
        if job.open or not place.is_dir():
            continue
        yield Removable(
            id=f"checkpoints/{job.id}",
            kind="checkpoints",
            what=f"of {job.name}, {job.state} ({job.id})",
            size=size_of(place),
            cost=f"resuming it starts anew: {_minutes(job.seconds)} of training are lost"
            if job.resumable
            else NOTHING,
            wanted=job.resumable,
            path=place,
        )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds >= 90 else f"{seconds:,.0f} seconds"


def _leftovers(jobs: Jobs) -> Iterator[Removable]:
    models = jobs.settings.models_dir
    open_jobs = {job.id for job in jobs.jobs() if job.open}
    known = {staging(models, job_id) for job_id in open_jobs}
    places = [*jobs.folder.glob(".deleted-*"), *jobs.folder.glob(".new-*"), *models.glob(".job-*")]
    removed = list(jobs.folder.glob("[0-9]*/.checkpoints-removed"))
    unfinished = [p for p in jobs.settings.vectors_dir.glob("*/.*") if p.name != ".locks"]
    for place in [p for p in places if _JOB_ID.fullmatch(p.name) and p not in known] + removed + unfinished:
        try:
            rests = time.time() - place.lstat().st_mtime > RESTS
        except OSError:
            continue
        if rests:
            name = place.relative_to(models if place.parent == models else jobs.settings.data_dir).as_posix()
            what = "of a deleted job" if place.name.startswith(".deleted-") else "left half done"
            yield Removable(f"leftovers/{name}", "leftovers", what, size_of(place), NOTHING, False, place)


def _logs(settings: Settings) -> Iterator[Removable]:
    for log in logs(settings):
        for file in (log.file, log.file.with_name(f"{log.file.name}.before")):
            if size := size_of(file):
                yield Removable(
                    id=f"logs/{file.name}",
                    kind="logs",
                    what=f"of {log.what}",
                    size=size,
                    cost="what it says cannot be looked up any more",
                    wanted=False,
                    path=file,
                )
