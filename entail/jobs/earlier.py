"""Jobs of earlier versions, each a folder of JSON files: read into the database once, by their first reader.

The files stay as they are. `spec.json` is then called `imported.json`, so that they are not read again.
"""

from __future__ import annotations

import contextlib
import json
import platform
import time
from pathlib import Path
from typing import Any

from entail.data.reading import open_regular
from entail.data.stored import read_json
from entail.errors import EntailError, JobError
from entail.jobs.events import parse_events
from entail.jobs.handle import SILENCE, columns_of
from entail.jobs.locks import is_locked, machine_of
from entail.jobs.record import JobSpec, Status
from entail.trees.store.state import JobRow, State, home_of

_REMEDY = "delete the job"
_MOST = 2**28
_OPTIONAL = ("cancel", "progress", "outcome", "result")


def import_folders(folder: Path, state: State) -> dict[str, str]:
    """Read the jobs of a folder into the database; return id -> reason of those that cannot be read.

    A job that a worker of an earlier version trains counts as one of them until it has ended.
    """
    unreadable: dict[str, str] = {}
    for file in sorted(folder.glob("[0-9]*-[0-9]*-*/spec.json")):
        try:
            _import(file.parent, state)
        except EntailError as error:
            unreadable[file.parent.name] = str(error)
    return unreadable


def _import(job: Path, state: State) -> None:
    spec = read_json(job / "spec.json", JobSpec, error=JobError, remedy=_REMEDY)
    status = read_json(job / "status.json", Status, error=JobError, remedy=_REMEDY)
    if spec is None or status is None:
        raise JobError(f"{job.name}/status.json: expected the state of a job, found no file; {_REMEDY}")
    if status.state == "running" and _is_alive(job, status):
        raise JobError("a worker of an earlier version trains it; it is read when it has ended")
    texts: dict[str, Any] = {name: _text(job / f"{name}.json") for name in _OPTIONAL}
    with contextlib.suppress(TypeError, ValueError):
        at = json.loads(_text(job / "placed.json") or "")
        texts["placed"] = json.dumps({"machine": machine_of(job.parent), "at": at})
    row = JobRow(
        id=job.name,
        name=spec.name.lower(),
        spec=json.dumps(spec.to_json()),
        home=home_of(job.parent),
        **columns_of(status),
        **texts,
    )
    events = [json.dumps(event) for event in parse_events((_text(job / "events.jsonl") or "").splitlines())]
    if not state.add_job(row, events) and state.job(job.name) is None:
        raise JobError(f"an open job trains a model called {spec.name!r} already; {_REMEDY}")
    (job / "spec.json").rename(job / "imported.json")


def _text(file: Path) -> str | None:
    with contextlib.suppress(OSError), open_regular(file) as opened:
        return opened.read(_MOST).decode(errors="replace")
    return None


def _is_alive(job: Path, status: Status) -> bool:
    if status.host == platform.node():
        return is_locked(job / "lock")
    with contextlib.suppress(OSError):
        return time.time() - (job / "beat").stat().st_mtime < SILENCE
    return False
