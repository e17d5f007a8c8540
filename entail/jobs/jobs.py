"""Jobs of an installation: submit, list, watch, cancel, resume, delete."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from entail.data.artifacts import open_artifacts
from entail.data.private import create_private, make_folder
from entail.data.reading import log_tail, size_of
from entail.data.stored import parse_as
from entail.data.writing import write_bytes
from entail.errors import DataError, EntailError, JobError, UnknownJobError
from entail.jobs.earlier import import_folders
from entail.jobs.handle import SILENCE, JobHandle, columns_of
from entail.jobs.locks import is_locked, lock_file, machine_of
from entail.jobs.record import RESUMABLE, TODO, Job, JobSpec, Status, Worker
from entail.progress import ProgressCallback
from entail.settings import Settings, is_demo, load_settings, refuse_in_demo
from entail.training.fields import config_of, values_of
from entail.training.method import Method, method
from entail.trees.review.decisions import check_name, read_source
from entail.trees.store.authors import is_signed_in
from entail.trees.store.state import JobRow, State, home_of, open_state

_INPUTS = "given"
_START_EVERY = 10.0

IDLE = 60.0
"""Seconds without work after which a worker ends that was started on demand."""

MAX_AGE = 86400.0
"""Seconds for which an uploaded file is stored that no job reads: its job may be about to start."""


class Jobs:
    """All jobs of an installation; one object serves all sessions of a process.

    A job is named by its id, or by a beginning of the id that no other job has. Methods raise
    `UnknownJobError` if there is no such job, `JobError` if it cannot be read or changed, and `DemoError` if
    they would change something in a demo. All raise `DatabaseError` if the database does not answer.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        self.folder = self.settings.jobs_dir.absolute()
        self._handles: dict[str, JobHandle] = {}
        self._unimported: dict[str, str] | None = None
        self._last_start = float("-inf")

    @property
    def state(self) -> State:
        """Rows of the installation; jobs of earlier versions are read into them first."""
        state = open_state(self.settings.database_url)
        if self._unimported is None or self._unimported:
            self._unimported = {} if is_demo() else import_folders(self.folder, state)
        return state

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
        progress: ProgressCallback | None = None,
    ) -> Job:
        """Queue a training after its data were read once, and start a worker if there is none.

        Args:
            method_name: One of `methods()`.
            config: Configuration of the method, or values by name.
            source: Data to train on, or values by name; its files must exist.
            name: Name of the model to train, a folder under `models/`.
            by: Author of the job.
            device: Device to train on; None: the worker's setting.
            about: Description of the data for people; default: that of the source.
            progress: Progress of reading the data.

        Raises:
            JobError: If there is no such method, a file is missing, or the job cannot be written.
            EntailError: If the data cannot be read or hold nothing to train on, see `check_data`.
            SettingsError: If a value has another type.
            TrainingError: If the name is malformed or taken, or settings exclude each other.
        """
        refuse_in_demo("a training cannot be started")
        trainer = method(method_name)
        config = config_of(trainer.config, config) if isinstance(config, Mapping) else config
        source = config_of(trainer.source, source) if isinstance(source, Mapping) else source
        now = datetime.now(UTC)
        spec = JobSpec(
            id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            method=trainer.name,
            config=values_of(config),
            source=absolute(source),
            about=about or str(source),
            name=name,
            by=by,
            at=now,
            device=device,
            signed_in=is_signed_in(by),
        )
        check_data(trainer, config, source, progress=progress, viewer=spec.viewer)
        self._require_free(name)
        check_name(name, self.names_taken())
        self._create(spec, Status(state="queued", since=now, queued=now))
        self.start_worker()
        return self.job(spec.id)

    def jobs(self) -> list[Job]:
        """Return the readable jobs, newest first."""
        return self._load()[0]

    def unreadable(self) -> dict[str, str]:
        """Return the ids of unreadable jobs -> the reason; they can be deleted."""
        return self._load()[1]

    def job(self, job_id: str) -> Job:
        """Return a job as it is now."""
        job = self.handle(job_id).load()
        if job.state != "queued":
            return job
        return next((queued for queued in self.queued() if queued.id == job.id), job)

    def queued(self) -> list[Job]:
        """Return the queued jobs, the next one first."""
        jobs = [job for job in self.jobs() if job.state == "queued"]
        return sorted(jobs, key=lambda job: job.queue_position or 0)

    def cancel(self, job_id: str, *, by: str) -> Job:
        """Cancel a job; a running one is `cancelling` until it has written a checkpoint.

        A job that is neither queued nor running stays as it is.
        """
        refuse_in_demo("a training cannot be cancelled")
        handle = self.handle(job_id)
        handle.load()
        now = datetime.now(UTC)

        def cancelled(status: Status) -> Status | None:
            if status.state == "running":
                return status
            if status.state != "queued":
                return None
            return replace(
                status,
                state="cancelled",
                since=now,
                ending="cancelled",
                what="it was cancelled before it started",
                todo=TODO["cancelled"],
            )

        handle.change(cancelled, cancel=json.dumps({"by": by, "at": now.isoformat()}))
        return self.job(handle.id)

    def resume(self, job_id: str) -> Job:
        """Queue a job again that was cancelled, failed or interrupted, to continue from its checkpoint."""
        refuse_in_demo("a training cannot be resumed")
        handle = self.handle(job_id)
        job = handle.load()
        trainer = method(job.spec.method)
        try:
            trainer.make_config(job.spec.config)
            trainer.make_source(job.spec.source)
        except EntailError as error:
            raise JobError(
                f"job {job.id} cannot be resumed: {error}; submit it again with settings of this version"
            ) from error
        if job.resumable:
            # Its own model may be there: it was killed after the training, before it wrote its outcome.
            own = {job.name} if handle.row.placed else set()
            check_name(job.name, self.names_taken() - own)

        def queued(status: Status) -> Status:
            if status.state not in RESUMABLE:
                raise JobError(
                    f"job {job.id} is {status.state}: expected a cancelled, failed or interrupted one"
                )
            now = datetime.now(UTC)
            return Status("queued", now, now, attempt=status.attempt, seconds=job.seconds)

        handle.change(queued, cancel=None)
        self.start_worker()
        return self.job(job.id)

    def delete(self, job_id: str) -> None:
        """Remove a job with its checkpoints, log and events; the model it trained stays."""
        refuse_in_demo("a training cannot be deleted")
        handle = self.handle(job_id)
        try:
            job = handle.load()
        except JobError:
            job = None
        if job is not None and job.open:
            raise JobError(f"job {job.id} is {job.state}; cancel it first")
        handle.remove()
        self._handles.pop(handle.id, None)
        self._prune_inputs()

    def keep_file(self, name: str, content: bytes) -> Path:
        """Store a file for a training, as long as a job reads it."""
        refuse_in_demo("a training cannot be started")
        self._prune_inputs()
        return store(self.folder / _INPUTS, name, content)

    def list_events(self, job_id: str) -> list[Mapping[str, Any]]:
        """Return the events of a training without replayed ones, cheaply for repeated calls."""
        return self.handle(job_id).reader.events()

    def log_tail(self, job_id: str, *, lines: int = 100) -> str:
        """Return the last lines of a job's log, of its last 64 KiB, secrets masked."""
        handle = self.handle(job_id)
        handle.pull_log()
        return log_tail(handle.log, lines=lines)

    def disk(self, job_id: str) -> int:
        """Return the size of a job on the disk of this machine in bytes, with checkpoints."""
        return size_of(self.handle(job_id).path)

    def workers(self) -> list[Worker]:
        """Return the workers of all machines, dead ones too."""
        workers = []
        for machine, content, silence in self.state.workers():
            with contextlib.suppress(ValueError):
                is_here = machine == machine_of(self.folder)
                alive = is_locked(lock_file(self.folder)) if is_here else silence < SILENCE
                workers.append(replace(parse_as(Worker, content), alive=alive))
        return workers

    def ensure_worker(self) -> bool:
        """Start a worker if jobs wait and this machine has none; return whether it was started.

        Tries once in ten seconds at most, so that pages may call it at every refresh.
        """
        is_recent = time.monotonic() - self._last_start < _START_EVERY
        if is_recent or is_demo() or not self.state.queued_ids(home_of(self.folder)):
            return False
        self._last_start = time.monotonic()
        return self.start_worker()

    def start_worker(self) -> bool:
        """Start a worker on this machine, unless there is one or the settings forbid it; return whether."""
        return self.settings.starts_worker and not is_demo() and ensure_worker(self.folder)

    def names_taken(self) -> set[str]:
        """Return the names of encoders, of folders in `models/`, and of models that open jobs train."""
        from entail.encoders.catalogue import catalogue

        folders = {
            path.name for folder in self.settings.model_dirs if folder.is_dir() for path in folder.iterdir()
        }
        # Models of other machines' jobs may not be here.
        is_shared = self.settings.artifacts is not None
        elsewhere = {job.name for job in self.jobs() if job.open or (is_shared and job.state == "done")}
        return folders | {entry.name for entry in catalogue()} | elsewhere

    def handle(self, job_id: str) -> JobHandle:
        """Return access to a job, by its id or the beginning of it."""
        if (handle := self._handles.get(job_id)) is not None:
            return handle
        ids = [*self.state.job_ids(job_id), *(self._unimported or {})] if job_id else []
        fitting = [full_id for full_id in ids if full_id.startswith(job_id)]
        if len(fitting) == 1 or job_id in fitting:
            full_id = job_id if job_id in fitting else fitting[0]
            return self._handle(full_id)
        hint = f"{len(fitting)} ids begin so" if fitting else "`entail jobs list` shows all jobs"
        raise UnknownJobError(f"no job has the id {job_id!r}; {hint}")

    def _handle(self, job_id: str) -> JobHandle:
        if (handle := self._handles.get(job_id)) is None:
            handle = self._handles.setdefault(job_id, JobHandle(job_id, self.settings))
        return handle

    def _load(self) -> tuple[list[Job], dict[str, str]]:
        """Return the readable jobs, newest first, and id -> reason of the others."""
        jobs: list[Job] = []
        unreadable: dict[str, str] = {}
        for row in self.state.jobs():
            try:
                jobs.append(self._handle(row.id).load(row))
            except UnknownJobError:  # it was deleted meanwhile
                continue
            except JobError as error:
                unreadable[row.id] = str(error)
        left = (self._unimported or {}).items()
        unreadable |= {job_id: reason for job_id, reason in left if (self.folder / job_id).exists()}
        queued = sorted((job.status.queued, job.id) for job in jobs if job.state == "queued")
        positions = {job_id: position for position, (_, job_id) in enumerate(queued, start=1)}
        jobs = [replace(job, queue_position=positions.get(job.id)) for job in jobs]
        # Ids of one second are in random order.
        return sorted(jobs, key=lambda job: (job.spec.at, job.spec.id), reverse=True), unreadable

    def _create(self, spec: JobSpec, status: Status) -> None:
        store, inputs = open_artifacts(self.settings), dict[str, str]()
        try:
            if store is not None:
                for number, path in enumerate(_paths_of(spec.source)):
                    inputs[path] = f"jobs/{spec.id}/inputs/{number}.tar"
                    store.push([Path(path)], inputs[path])
            row = JobRow(
                id=spec.id,
                name=spec.name.lower(),
                spec=json.dumps(spec.to_json()),
                home=None if store is not None else home_of(self.folder),
                inputs=json.dumps(inputs),
                **columns_of(status),
            )
            if not self.state.add_job(row):
                self._require_free(spec.name)
                raise JobError("another process submitted such a job at the same moment; try again")
        except BaseException:
            if store is not None:
                store.remove(f"jobs/{spec.id}")
            raise

    def _require_free(self, name: str) -> None:
        for job in self.jobs():
            if job.open and job.name.lower() == name.lower():
                raise JobError(
                    f"job {job.id}, which is {job.state}, trains a model called {job.name!r}; take another "
                    "name"
                )

    def _prune_inputs(self) -> None:
        prune(self.folder / _INPUTS, [path for job in self.jobs() for path in _texts_of(job.spec.source)])


def _texts_of(source: Mapping[str, Any]) -> list[str]:
    return [
        str(text) for value in source.values() for text in (value if isinstance(value, list) else [value])
    ]


def _paths_of(source: Mapping[str, Any]) -> list[str]:
    """Return the files and folders that a source names."""
    paths = map(Path, dict.fromkeys(_texts_of(source)))
    return [str(path) for path in paths if path.is_absolute() and path.exists()]


def store(folder: Path, name: str, content: bytes) -> Path:
    """Store an uploaded file and return its path; the same name and content give the same path.

    Raises:
        JobError: If it cannot be written.
    """
    file = folder / hashlib.sha256(content).hexdigest()[:16] / (PurePath(name).name or "file")
    try:
        if file.is_file() and file.stat().st_size == len(content):
            os.utime(file)
            return file
        make_folder(file.parent)
        write_bytes(file, content)
    except (OSError, DataError) as error:
        raise JobError(f"{name} cannot be stored for the training: {error}") from error
    return file


def prune(folder: Path, used: Collection[str]) -> None:
    """Remove stored files that are not among the `used` paths and older than `MAX_AGE`."""
    paths = {Path(path) for path in used}
    for file in folder.glob("*/*"):
        with contextlib.suppress(OSError):
            if file not in paths and time.time() - file.stat().st_mtime > MAX_AGE:
                file.unlink()
                file.parent.rmdir()


def check_data(
    trainer: Method,
    config: Any,
    source: Any,
    *,
    progress: ProgressCallback | None = None,
    viewer: str | None = None,
) -> None:
    """Check that a training can read its data, by its own reader; data sets of the Hub are left unread.

    Raises:
        EntailError: If a file cannot be read; with its name and line.
        JobError: If nothing is left to train on.
    """
    fields = (value if isinstance(value, tuple) else (value,) for value in vars(source).values())
    if any(isinstance(path, Path) and _is_elsewhere(source, path) for path in chain(*fields)):
        return
    data = read_source(source, progress=progress, viewer=viewer)
    if trainer.preview is None:
        return
    preview = trainer.preview(data, config)
    name, count = next(iter(preview.counts.items()))
    if not count:
        left_out = "; ".join(f"left out: {number:,} {reason}" for reason, number in preview.left_out.items())
        raise JobError(f"{source}: expected {name} to train on, found none{left_out and f' ({left_out})'}")


def absolute(source: object) -> dict[str, Any]:
    """Return a source as JSON values with absolute paths: a worker runs in another folder.

    Names of data sets to download (`is_elsewhere` of the source) stay as they are.

    Raises:
        JobError: If a file does not exist.
    """
    values = values_of(source)

    def absolute_path(name: str, path: Path) -> str:
        if _is_elsewhere(source, path):
            return str(path)
        if not path.exists():
            raise JobError(f"{name}: expected a file, found none at {path}")
        return str(path.absolute())

    for name in values:
        value = getattr(source, name)
        if isinstance(value, Path):
            values[name] = absolute_path(name, value)
        elif isinstance(value, tuple):
            values[name] = [absolute_path(name, path) for path in value]
    return values


def _is_elsewhere(source: object, path: Path) -> bool:
    method = getattr(source, "is_elsewhere", None)
    return method is not None and bool(method(path))


def ensure_worker(folder: Path, *, idle: float = IDLE) -> bool:
    """Start a worker in a session of its own, unless this machine has one; return whether it was started.

    Raises:
        JobError: If it cannot be started.
    """
    if is_locked(lock_file(folder)):
        return False
    try:
        make_folder(folder)
        create_private(folder / "worker.log")
        with (folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "entail", "worker", "--idle", str(idle)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": python_path()},
                start_new_session=True,
            )
    except OSError as error:
        raise JobError(f"no worker could be started: {error}; start one with `entail worker`") from error
    # Unless something waits for it, it would stay as a zombie as long as this process lives.
    threading.Thread(target=process.wait, name=f"wait for worker {process.pid}", daemon=True).start()
    return True


def python_path() -> str:
    """Return a PYTHONPATH by which another process finds this package."""
    return os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
