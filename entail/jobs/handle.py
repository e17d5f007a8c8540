"""One job: its row in the database, which every machine reads, and its folder on this machine.

==================  ===================================================================================
`log.txt`           output of the training and its libraries
`checkpoints/`      checkpoints; removed when the job is done
`decisions.json`    data that the training read, where they may change meanwhile
`lock`              locked while a worker, or the training process, works on the job here
`checkpoint`        name of the artifact that `checkpoints/` was last equal to
==================  ===================================================================================

Each change of the status is one statement on the status that it was decided on, and an attempt writes under
its lease only: readers see one of the states and nothing in between. With `ENTAIL_ARTIFACTS`, checkpoints and
logs are also artifacts, so that another machine resumes the job.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from entail.data.artifacts import Artifacts, open_artifacts
from entail.data.private import make_folder
from entail.data.stored import T, parse_as
from entail.data.writing import write_text
from entail.errors import DatabaseError, DataError, JobError, UnknownJobError
from entail.jobs.events import EventLog
from entail.jobs.locks import acquire, is_locked, machine_of
from entail.jobs.record import OPEN, Ending, Job, JobSpec, Outcome, Status, make_outcome
from entail.progress import Progress
from entail.settings import Settings, is_demo
from entail.trees.store.state import JobRow, State, open_state

BEAT = 2.0
"""Seconds between two heartbeats."""

SILENCE = 60.0
"""Seconds without a heartbeat after which a lease of another machine counts as lost."""

_REMEDY = "delete the job"


class JobHandle:
    """Access to one job; `attempt` is the one whose lease this process has.

    A specification or status that cannot be read is a `JobError`; other records are then None.
    """

    def __init__(self, job_id: str, settings: Settings, *, attempt: int = 0) -> None:
        self.id = job_id
        self.settings = settings
        self.attempt = attempt
        self.folder = settings.jobs_dir.absolute()
        self.path = self.folder / job_id
        self.checkpoints = self.path / "checkpoints"
        self.log = self.path / "log.txt"
        self.lock = self.path / "lock"
        self.reader = EventLog(lambda after: self.state.events(job_id, after=after))

    @property
    def state(self) -> State:
        """Rows of the installation."""
        return open_state(self.settings.database_url)

    @property
    def artifacts(self) -> Artifacts | None:
        """Store of artifacts, None without one."""
        return open_artifacts(self.settings)

    @property
    def row(self) -> JobRow:
        """The job's row as it is now."""
        row = self.state.job(self.id)
        if row is None:
            raise UnknownJobError(f"no job has the id {self.id!r}; `entail jobs list` shows all jobs")
        return row

    @property
    def spec(self) -> JobSpec:
        """Specification of the job."""
        return _parse(self.id, "specification", JobSpec, self.row.spec)

    @property
    def status(self) -> Status:
        """Last written status."""
        return _parse(self.id, "status", Status, self.row.status)

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the last attempt that wrote one."""
        return _parse_optional(Outcome, self.row.outcome)

    @property
    def cancel_request(self) -> Mapping[str, Any] | None:
        """Request to cancel, None if there is none."""
        return _parse_optional(dict[str, Any], self.row.cancel)

    def load(self, row: JobRow | None = None) -> Job:
        """Return the job as it is now, or as in a row; an attempt whose lease was lost is settled first."""
        row = row or self.row
        spec = _parse(self.id, "specification", JobSpec, row.spec)
        status = _parse(self.id, "status", Status, row.status)
        if status.state == "running" and not is_demo() and not self._is_alive(row):
            with contextlib.suppress(DatabaseError):  # it may only be read here
                status = self._settle()
        state = status.state
        request = _parse_optional(dict[str, Any], row.cancel) if state in ("running", "cancelled") else None
        done = _parse_optional(Outcome, row.outcome) if state == "done" else None
        return Job(
            spec=spec,
            state="cancelling" if state == "running" and request else state,
            status=status,
            progress=_parse_optional(Progress, row.progress) if state == "running" else None,
            cancelled_by=str(request.get("by")) if request else None,
            result=done.result if done else None,
            evaluation=done.evaluation if done else None,
        )

    def claim(self, started: Callable[[Status], Status]) -> Status | None:
        """Take the lease of the next attempt at a queued job; None if it is not queued any more."""
        row = self.row
        status = _parse(self.id, "status", Status, row.status)
        if status.state != "queued":
            return None
        status = started(status)
        values = columns_of(status) | {"cancel": None, "progress": None, "machine": machine_of(self.folder)}
        if not self.state.change_job(row, beats=True, **values):
            return None
        self.attempt = status.attempt
        return status

    def change(self, decide: Callable[[Status], Status | None], **columns: Any) -> Status:
        """Change the status, and columns with it, unless the decision is None; return the status.

        The decision is made again where another process changed the job meanwhile.
        """
        for _ in range(100):
            row = self.row
            status = _parse(self.id, "status", Status, row.status)
            if (decided := decide(status)) is None:
                return status
            if self.state.change_job(row, **columns_of(decided), **columns):
                return decided
            if self.row.status == row.status:
                raise JobError(f"an open job trains a model called {row.name!r}; take another name")
            time.sleep(0.01)
        raise JobError(f"other processes go on changing job {self.id}; try again")

    @contextlib.contextmanager
    def locked(self) -> Iterator[Status]:
        """Give the status, and keep workers of this machine from the job meanwhile."""
        lock = acquire(self.lock)
        try:
            if lock is None:
                raise JobError(f"job {self.id} runs; try again when it has ended")
            yield self.status
        finally:
            if lock is not None:
                os.close(lock)

    def beat(self) -> bool:
        """Renew the lease; False if it was lost."""
        return self.state.beat(self.id, self.attempt)

    def write_attempt(self, **columns: Any) -> None:
        """Write columns as JSON under the lease; raise `JobError` if it was lost."""
        values = {name: json.dumps(value) for name, value in columns.items()}
        if not self.state.write_attempt(self.id, self.attempt, **values):
            raise JobError("another machine has the job now: this one was not heard of for too long")

    def add_events(self, contents: Sequence[str]) -> None:
        """Append events of the attempt."""
        self.state.add_events(self.id, self.attempt, contents)

    def finish(self, outcome: Outcome) -> Status:
        """Make an outcome the status of the job, if it still runs that attempt; return the status."""
        silence = self.row.silence

        def ended(status: Status) -> Status | None:
            if status.state != "running" or status.attempt != outcome.attempt:
                return None
            now = datetime.now(UTC)
            heard = max(now - timedelta(seconds=min(silence, 1e8)), status.started or status.since)
            return replace(
                status,
                state=outcome.state,
                since=now,
                ended=min(now, heard) if outcome.ending == "lost_worker" else now,
                ending=outcome.ending,
                what=outcome.what,
                todo=outcome.todo,
            )

        status = self.change(ended)
        if status.state == "done":
            shutil.rmtree(self.checkpoints, ignore_errors=True)
            self._remove_artifacts(keep=self._log_name)
        return status

    def pull_log(self) -> None:
        """Replace the log of this machine by that of another one that worked last."""
        if (store := self.artifacts) is None:
            return
        with contextlib.suppress(DataError, UnknownJobError):
            if self.row.machine != machine_of(self.folder):
                store.pull(self._log_name, self.path)

    def source_values(self) -> dict[str, Any]:
        """Return the values of the source; files of another machine are read from their artifacts."""
        row = self.row
        inputs = _parse_optional(dict[str, str], row.inputs) or {}
        local_paths: dict[str, str] = {}
        for path, name in inputs.items():
            copy = self.path / "inputs" / name.rpartition("/")[2].removesuffix(".tar") / Path(path).name
            store = None if Path(path).exists() or copy.exists() else self.artifacts
            if store is not None:
                store.pull(name, copy.parent)
            local_paths[path] = path if Path(path).exists() else str(copy)

        def local(value: Any) -> Any:
            return local_paths.get(value, value) if isinstance(value, str) else value

        source = _parse(self.id, "specification", JobSpec, row.spec).source
        return {
            name: [*map(local, value)] if isinstance(value, list) else local(value)
            for name, value in source.items()
        }

    def push_checkpoint(self) -> None:
        """Make the checkpoints of this machine readable by all, and remove older ones."""
        store = self.artifacts
        parts = [path for path in (self.checkpoints, self.path / "decisions.json") if path.exists()]
        if store is None or not parts:
            return
        name = f"jobs/{self.id}/checkpoint-{self.attempt}-{time.time_ns()}.tar"
        store.push(parts, name)
        if not self.state.write_attempt(self.id, self.attempt, checkpoint=name):
            store.remove(name)
            return
        write_text(self.path / "checkpoint", name)
        self._remove_artifacts(keep=(name, self._log_name))
        self.push_log()

    def pull_checkpoint(self) -> None:
        """Replace the checkpoints of this machine by those of another one that worked later."""
        store, name = self.artifacts, self.row.checkpoint
        mark = self.path / "checkpoint"
        if store is None or name is None or (mark.exists() and mark.read_text("utf-8") == name):
            return
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        store.pull(name, self.path)
        write_text(mark, name)

    def push_log(self) -> None:
        """Make the log readable by all machines."""
        if self.log.exists() and (store := self.artifacts) is not None:
            with contextlib.suppress(DataError):
                store.push([self.log], self._log_name)

    def remove(self) -> None:
        """Remove row, folder and artifacts."""
        self.state.delete_job(self.id)
        gone = self.folder / f".deleted-{self.id}"
        try:
            if self.path.exists():
                self.path.rename(gone)
        except OSError as error:
            raise JobError(f"job {self.id} cannot be deleted: {error}") from error
        shutil.rmtree(gone, ignore_errors=True)
        shutil.rmtree(staging_folder(self.settings.models_dir, self.id), ignore_errors=True)
        if (store := self.artifacts) is not None:
            store.remove(f"jobs/{self.id}")

    def make_folder(self) -> None:
        """Make the folder on this machine."""
        try:
            make_folder(self.path)
        except OSError as error:
            raise JobError(f"the job cannot be written: {error}") from error

    @property
    def _log_name(self) -> str:
        return f"jobs/{self.id}/log.tar"

    def _remove_artifacts(self, *, keep: Sequence[str] | str) -> None:
        if (store := self.artifacts) is not None:
            with contextlib.suppress(DataError):
                for name in store.names(f"jobs/{self.id}"):
                    if name not in keep:
                        store.remove(name)

    def _is_alive(self, row: JobRow) -> bool:
        if row.machine == machine_of(self.folder):
            return is_locked(self.lock)
        return row.silence < SILENCE

    def _settle(self) -> Status:
        """Write how an attempt ended whose lease was lost; return the status."""
        row = self.row
        status = _parse(self.id, "status", Status, row.status)
        if status.state != "running" or self._is_alive(row):
            return status
        outcome = _parse_optional(Outcome, row.outcome)
        # The process only saw that the worker was gone; a worker that is stopped writes that itself.
        if outcome is None or outcome.attempt != status.attempt or outcome.ending == "stopped_worker":
            worker = f"the worker on {status.host}" if status.host else "the worker"
            lost = f"{worker} disappeared: it was killed, or the machine restarted"
            ending: Ending = "cancelled" if row.cancel else "lost_worker"
            outcome = make_outcome(status.attempt, ending, None if row.cancel else lost)
        return self.finish(outcome)


def columns_of(status: Status) -> dict[str, Any]:
    """Return the columns of a row that say what a status says."""
    return {
        "status": json.dumps(status.to_json()),
        "state": status.state,
        "open": status.state in OPEN,
        "queued": status.queued,
        "attempt": status.attempt,
    }


def staging_folder(models: Path, job_id: str) -> Path:
    """Return the folder in which a job writes its model; catalogues skip names that begin with a dot."""
    return models / f".job-{job_id}"


@lru_cache(maxsize=2048)
def _parsed(kind: type[Any], text: str) -> Any:
    return parse_as(kind, text)


def _parse(job_id: str, name: str, kind: type[T], text: str) -> T:
    try:
        content: T = _parsed(kind, text)  # type: ignore[arg-type]  # types are hashable
    except ValueError as error:
        raise JobError(f"job {job_id}: its {name} cannot be read ({error}); {_REMEDY}") from error
    return content


def _parse_optional(kind: type[T], text: str | None) -> T | None:
    with contextlib.suppress(ValueError):
        if text is not None:
            content: T = _parsed(kind, text)  # type: ignore[arg-type]  # types are hashable
            return content
    return None
