"""The jobs of an installation: submit, list, watch, cancel, resume, delete."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from entail.data.writing import write_text
from entail.errors import DataError, JobError, UnknownJobError
from entail.jobs.child import staging
from entail.jobs.events import EventFile, Told, read_events
from entail.jobs.fields import config_of, values_of
from entail.jobs.folder import JobFolder
from entail.jobs.given import absolute, forget, keep
from entail.jobs.method import method
from entail.jobs.queue import JobQueue
from entail.jobs.record import OPEN, Job, JobSpec, State, Status
from entail.jobs.worker import Worker, ensure_worker, workers
from entail.settings import Settings, is_demo, load_settings, refuse_in_demo
from entail.trees.learning import check_name

_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_TIMEOUT = 20.0
_TENDS = 10.0


class Jobs:
    """All jobs of an installation; one object serves all sessions of a process.

    Args:
        settings: Default: the environment's.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        self.folder = self.settings.jobs_dir.absolute()
        self._known: dict[str, JobFolder] = {}
        self._events: dict[str, EventFile] = {}
        self._tended = float("-inf")

    @cached_property
    def queue(self) -> JobQueue:
        """What workers take jobs from.

        Raises:
            JobError: If it cannot be opened.
        """
        return JobQueue(self.folder, self.settings.queue_url)

    def submit(
        self,
        method_name: str,
        config: object,
        source: object,
        *,
        name: str,
        by: str,
        device: str | None = None,
        about: str | None = None,
    ) -> Job:
        """Queue a training, and see to it that a worker is there.

        Args:
            method_name: One of `methods()`.
            config: The method's configuration, or values for it by name.
            source: What it reads, likewise; files must be there.
            name: The encoder to be, a folder under `models/`.
            by: Who asks.
            device: Where to train; None: the worker's setting.
            about: What it learns from, in words; default: the source's own.

        Raises:
            JobError: If there is no such method, a file is missing, or it cannot be written or queued.
            SettingsError: If a value is not of its type.
            TrainingError: If the name will not do, is taken, or settings do not go together.
        """
        refuse_in_demo("a training cannot be started")
        how = method(method_name)
        config = config_of(how.config, config) if isinstance(config, Mapping) else config
        source = config_of(how.source, source) if isinstance(source, Mapping) else source
        for given, wanted in ((config, how.config), (source, how.source)):
            if not isinstance(given, wanted):
                raise JobError(f"{how.name}: expected a {wanted.__name__}, found a {type(given).__name__}")
        now = datetime.now(UTC)
        spec = JobSpec(
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            method=how.name,
            config=values_of(config),
            source=absolute(source),
            about=about or str(source),
            name=name,
            by=by,
            at=now,
            device=device,
        )
        with self._alone():
            for other in self.jobs():
                if other.open and other.name.lower() == name.lower():
                    raise JobError(
                        f"job {other.id}, which is {other.state}, makes an encoder called {other.name!r}; "
                        "take another name"
                    )
            check_name(name, self.names_taken())
            self._create(spec, Status(state="queued", since=now, queued=now))
        self._queue(spec.id)
        return self.job(spec.id)

    def jobs(self) -> list[Job]:
        """Return all jobs, the newest first; one that cannot be read is left out (see `unreadable`)."""
        return self._looked()[0]

    def unreadable(self) -> dict[str, str]:
        """Return the ids of jobs that cannot be read -> why; they can be deleted."""
        return self._looked()[1]

    def job(self, job_id: str) -> Job:
        """Return a job as it is now.

        Raises:
            UnknownJobError: If there is none of this id; the beginning of an id that fits one will do.
            JobError: If it cannot be read.
        """
        folder = self.place(job_id)
        found = folder.look()
        if found.state != "queued":
            return found
        ahead = [
            job for job in self.queued() if (job.status.queued, job.id) < (found.status.queued, found.id)
        ]
        return replace(found, place=len(ahead) + 1)

    def queued(self) -> list[Job]:
        """Return the jobs that wait, the next one first."""
        waiting = [job for job in self._looked()[0] if job.state == "queued"]
        return sorted(waiting, key=lambda job: (job.status.queued, job.id))

    def cancel(self, job_id: str, *, by: str) -> Job:
        """End a job; one that runs writes a checkpoint first, and is `cancelling` until it has.

        One that is not open stays as it is.

        Raises:
            UnknownJobError: If there is none of this id.
            JobError: If that cannot be written.
        """
        refuse_in_demo("a training cannot be cancelled")
        folder = self.place(job_id)
        folder.look()
        now = datetime.now(UTC)
        try:
            with folder.changing() as status:
                if status.state in ("queued", "running"):
                    write_text(folder.path / "cancel.json", json.dumps({"by": by, "at": now.isoformat()}))
                if status.state == "queued":
                    folder.write_status(
                        replace(
                            status,
                            state="cancelled",
                            since=now,
                            ending="cancelled",
                            what="it was cancelled before it began",
                            todo="resume it to queue it again, or delete it",
                        )
                    )
        except DataError as error:
            raise JobError(f"job {job_id} cannot be cancelled: {error}") from error
        return self.job(folder.path.name)

    def resume(self, job_id: str) -> Job:
        """Queue a job again that ended without being done: it goes on from its last checkpoint.

        Raises:
            UnknownJobError: If there is none of this id.
            JobError: If it is open or done, or it cannot be queued.
            TrainingError: If its name is taken by now.
        """
        refuse_in_demo("a training cannot be resumed")
        folder = self.place(job_id)
        found = folder.look()
        with self._alone():
            # Its own encoder may be there: it was killed after all was done, and before it could say so.
            taken = self.names_taken() - ({found.name} if (folder.path / "placed.json").exists() else set())
            if found.resumable:
                check_name(found.name, taken)
            try:
                with folder.changing() as status:
                    if status.state not in ("cancelled", "failed", "interrupted"):
                        raise JobError(
                            f"job {found.id} is {found.state}: expected one that was cancelled, failed, or "
                            "was interrupted"
                        )
                    (folder.path / "cancel.json").unlink(missing_ok=True)
                    now = datetime.now(UTC)
                    spent = found.seconds
                    folder.write_status(
                        Status(state="queued", since=now, queued=now, attempt=status.attempt, seconds=spent)
                    )
            except DataError as error:
                raise JobError(f"job {found.id} cannot be resumed: {error}") from error
        self._queue(found.id)
        return self.job(found.id)

    def delete(self, job_id: str) -> None:
        """Remove a job with its checkpoints, log and events; an encoder that came of it stays.

        Raises:
            UnknownJobError: If there is none of this id.
            JobError: If it is queued or runs, or cannot be removed.
        """
        refuse_in_demo("a training cannot be deleted")
        folder = self.place(job_id)
        try:
            state: State = folder.look().state
        except JobError:
            state = "failed"
        if state in OPEN:
            raise JobError(f"job {folder.path.name} is {state}; cancel it first")
        gone = self.folder / f".deleted-{folder.path.name}"
        try:
            folder.path.rename(gone)
        except OSError as error:
            raise JobError(f"job {folder.path.name} cannot be deleted: {error}") from error
        self._known.pop(folder.path.name, None)
        self._events.pop(folder.path.name, None)
        shutil.rmtree(gone, ignore_errors=True)
        shutil.rmtree(staging(self.settings.models_dir, folder.path.name), ignore_errors=True)
        read = [str(value) for job in self.jobs() for value in job.spec.source.values()]
        forget(self.folder / "given", read)

    def note(self, job_id: str) -> None:
        """Remember that somebody has taken note of how a job ended.

        Raises:
            UnknownJobError: If there is none of this id.
            JobError: If that cannot be written.
        """
        refuse_in_demo("what others are to see cannot be put away")
        try:
            (self.place(job_id).path / "noted").touch()
        except OSError as error:
            raise JobError(f"it cannot be remembered: {error}") from error

    def keep_file(self, name: str, content: bytes) -> Path:
        """Keep a file that a training is to read, as long as a job does; see `entail.jobs.given`.

        Raises:
            JobError: If it cannot be written.
        """
        refuse_in_demo("a training cannot be started")
        return keep(self.folder / "given", name, content)

    def events(self, job_id: str, *, after: int = 0) -> Told:
        """Return what a training told, after the offset of an earlier answer; see `entail.jobs.events`."""
        return read_events(self.place(job_id).events, after=after)

    def told(self, job_id: str) -> list[Mapping[str, Any]]:
        """Return what a training told, up to now, for whoever looks every second; see `EventFile.events`."""
        return self._event_file(job_id).events()

    def points(self, job_id: str, *, most: int = 500) -> list[dict[str, Any]]:
        """Return the same in long form for charts, at most so many steps; see `entail.jobs.events.points`."""
        return self._event_file(job_id).points(most=most)

    def log_tail(self, job_id: str, *, lines: int = 100) -> str:
        """Return the last lines of a job's log, of its last 64 KiB."""
        return self.place(job_id).log_tail(lines=lines)

    def log_after(self, job_id: str, offset: int) -> tuple[str, int]:
        """Return what came into a job's log after an offset, and where to go on."""
        return self.place(job_id).log_after(offset)

    def disk(self, job_id: str) -> int:
        """Return how many bytes a job takes, checkpoints and all."""
        return self.place(job_id).size()

    def workers(self) -> list[Worker]:
        """Return the workers of all machines, those that are gone too."""
        return workers(self.folder)

    def ensure_worker(self) -> bool:
        """Start a worker on this machine unless there is one, or the settings forbid; return whether it was.

        Raises:
            JobError: If it cannot be started.
        """
        return self.settings.starts_worker and not is_demo() and ensure_worker(self.folder)

    def tend(self) -> bool:
        """Start a worker where jobs queue and none is there, as one was killed; return whether it was.

        Cheap enough for whoever looks every second: it starts one in ten seconds at most.

        Raises:
            JobError: If it cannot be started.
        """
        if time.monotonic() - self._tended < _TENDS or not self.queued():
            return False
        self._tended = time.monotonic()
        return self.ensure_worker()

    def mend(self) -> None:
        """Put jobs that queue into the queue again that are not in it: it may be another one, or lost.

        Raises:
            JobError: If the queue cannot be read or written.
        """
        waiting = set(self.queue.waiting())
        for job in self.queued():
            if job.id not in waiting:
                self.queue.put(job.id)

    def names_taken(self) -> set[str]:
        """Return the names that stand for something, or will: encoders, folders of `models/`, open jobs."""
        from entail.encoders.catalogue import catalogue

        models = self.settings.models_dir
        folders = {folder.name for folder in models.iterdir()} if models.is_dir() else set()
        return (
            folders
            | {entry.name for entry in catalogue()}
            | {job.name for job in self._looked()[0] if job.open}
        )

    def place(self, job_id: str) -> JobFolder:
        """Return a job's folder, by its id or the beginning of it.

        Raises:
            UnknownJobError: If there is none, or more than one.
        """
        if _ID.fullmatch(job_id) and (self.folder / job_id).is_dir():
            return self._known.setdefault(job_id, JobFolder(self.folder / job_id))
        fitting = [known for known in self._ids() if job_id and known.startswith(job_id)]
        if len(fitting) == 1:
            return self.place(fitting[0])
        found = f"{len(fitting)} begin so" if fitting else "`entail jobs list` shows those there are"
        raise UnknownJobError(f"no job has the id {job_id!r}; {found}")

    def _event_file(self, job_id: str) -> EventFile:
        file = self.place(job_id).events
        return self._events.setdefault(file.parent.name, EventFile(file))

    def _ids(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted((f.name for f in self.folder.iterdir() if _ID.fullmatch(f.name)), reverse=True)

    def _looked(self) -> tuple[list[Job], dict[str, str]]:
        found: list[Job] = []
        unreadable: dict[str, str] = {}
        for job_id in self._ids():
            try:
                found.append(self.place(job_id).look())
            except UnknownJobError:
                continue  # deleted meanwhile
            except JobError as error:
                if (self.folder / job_id).is_dir():
                    unreadable[job_id] = str(error)
        order = sorted(
            (job for job in found if job.state == "queued"), key=lambda job: (job.status.queued, job.id)
        )
        places = {job.id: place for place, job in enumerate(order, start=1)}
        found.sort(key=lambda job: (job.spec.at, job.id), reverse=True)  # an id tells seconds, no less
        return [replace(job, place=places.get(job.id)) for job in found], unreadable

    def _create(self, spec: JobSpec, status: Status) -> None:
        """Make a job's folder, whole or not at all."""
        unfinished = self.folder / f".new-{spec.id}"
        try:
            unfinished.mkdir(parents=True)
            write_text(unfinished / "spec.json", json.dumps(spec.to_json(), indent=1, ensure_ascii=False))
            write_text(unfinished / "status.json", json.dumps(status.to_json(), ensure_ascii=False))
            unfinished.rename(self.folder / spec.id)
        except (OSError, DataError) as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise JobError(f"the job cannot be written: {error}") from error

    def _queue(self, job_id: str) -> None:
        self.queue.put(job_id)
        self.ensure_worker()

    def _alone(self) -> Any:  # noqa: ANN401 - a context manager of filelock's
        from filelock import FileLock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JobError(f"jobs cannot be written into {self.folder}: {error}") from error
        return FileLock(self.folder / "submit.lock", timeout=_TIMEOUT)
