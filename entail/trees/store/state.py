"""State of jobs, workers and active models: all SQL on their tables.

Machines share nothing else. What jobs and pointers mean is said in `entail.jobs` and `entail.registry`; here
they are texts of JSON and the columns by which they are found. Each change is one statement, whose `WHERE`
says what it was decided on: it changes nothing where another machine was first.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

import sqlalchemy as sa

from entail.data.private import make_folder
from entail.errors import DatabaseError
from entail.settings import is_demo, load_settings
from entail.trees.store import schema
from entail.trees.store.database import Database, open_database, sqlite_file

_jobs, _events, _workers, _moves = schema.SINCE_0007


@dataclass(frozen=True)
class JobRow:
    """Row of a job, records as JSON.

    Attributes:
        name: Name of its model in small letters: open jobs have different ones.
        queued: Time of the last enqueueing.
        home: Data folder whose machines may run it; None for all.
        machine: Machine that has the lease of the present attempt.
        silence: Seconds since the last heartbeat of the lease.
        result: Result of a training whose model may not be published yet.
        placed: Place of the published model.
        inputs: Its files as artifacts: path where it was submitted -> name.
        checkpoint: Name of the newest checkpoint that all machines can read.
    """

    id: str
    name: str
    open: bool
    state: str
    queued: datetime
    spec: str
    status: str
    home: str | None = None
    attempt: int = 0
    machine: str | None = None
    cancel: str | None = None
    progress: str | None = None
    outcome: str | None = None
    result: str | None = None
    placed: str | None = None
    inputs: str | None = None
    checkpoint: str | None = None
    silence: float = float("inf")


_STORED = tuple(field.name for field in fields(JobRow))[:-1]


class State:
    """Rows of jobs, workers and active models in the database of a URL, which stays open once it is used.

    Methods raise `DatabaseError` if the database does not answer. Nothing is read from a file that is not
    there, and none is made.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self._database: Database | None = None
        self._inode: int | None = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction."""
        with self._open().writing() as connection:
            yield connection

    def _open(self) -> Database:
        """Return the database; it is opened again after its file was replaced."""
        with self._lock:
            if self._database is not None and _inode_of(self._url) != self._inode:
                self._database.close()
                self._database = None
            if self._database is None:
                self._database = open_database(self._url)
                self._inode = _inode_of(self._url)
            return self._database

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None

    def jobs(self) -> list[JobRow]:
        """Return all jobs."""
        return self._job_rows(sa.true())

    def job(self, job_id: str) -> JobRow | None:
        """Return a job, None if there is none."""
        return next(iter(self._job_rows(_jobs.c.id == job_id)), None)

    def job_ids(self, prefix: str = "") -> list[str]:
        """Return the ids that begin so."""
        query = sa.select(_jobs.c.id).where(_jobs.c.id.startswith(prefix, autoescape=True))
        return [job_id for (job_id,) in self._fetch(lambda _: query)]

    def queued_ids(self, home: str) -> list[str]:
        """Return the queued jobs that the machines of a data folder may run, the next one first."""
        may_run = sa.or_(_jobs.c.home.is_(None), _jobs.c.home == home)
        query = sa.select(_jobs.c.id).where(_jobs.c.state == "queued", may_run)
        return [job_id for (job_id,) in self._fetch(lambda _: query.order_by(_jobs.c.queued, _jobs.c.id))]

    def add_job(self, row: JobRow, events: Sequence[str] = ()) -> bool:
        """Add a job, with events of an earlier version; return False if its id or open name is taken."""
        with self.writing() as connection:
            values = {name: getattr(row, name) for name in _STORED}
            try:
                with connection.begin_nested():
                    connection.execute(sa.insert(_jobs).values(**values))
            except sa.exc.IntegrityError:
                return False
            _add_events(connection, row.id, events)
            return True

    def change_job(self, row: JobRow, *, beats: bool = False, **values: Any) -> bool:
        """Change a job if its status is still that of a row; False if it is not, or an open name is taken.

        With `beats`, its machine gets the lease of the attempt.
        """
        as_read = sa.and_(_jobs.c.id == row.id, _jobs.c.status == row.status, _jobs.c.attempt == row.attempt)
        try:
            return self._update(as_read, values, beats=beats)
        except DatabaseError as error:
            if isinstance(error.__cause__, sa.exc.IntegrityError):
                return False
            raise

    def write_attempt(self, job_id: str, attempt: int, **values: Any) -> bool:
        """Change a job under the lease of an attempt; False if that has ended, or was lost."""
        return self._update(_lease(job_id, attempt), values)

    def beat(self, job_id: str, attempt: int) -> bool:
        """Renew the lease of an attempt; False if it was lost."""
        return self._update(_lease(job_id, attempt), {}, beats=True)

    def add_events(self, job_id: str, attempt: int, contents: Sequence[str]) -> None:
        """Append events under the lease of an attempt; those of a lost one are dropped."""
        with self.writing() as connection:
            # The row is locked, so that numbers follow each other.
            lease = sa.update(_jobs).where(_lease(job_id, attempt)).values(attempt=attempt)
            if connection.execute(lease).rowcount:
                _add_events(connection, job_id, contents)

    def events(self, job_id: str, *, after: int = 0, most: int = 10_000) -> list[tuple[int, str]]:
        """Return number and content of the events of a job after one of them."""
        newer = (_events.c.job_id == job_id, _events.c.number > after)
        query = sa.select(_events.c.number, _events.c.content).where(*newer)
        return [(n, text) for n, text in self._fetch(lambda _: query.order_by(_events.c.number).limit(most))]

    def delete_job(self, job_id: str) -> None:
        """Remove a job with its events."""
        with self.writing() as connection:
            connection.execute(sa.delete(_events).where(_events.c.job_id == job_id))
            connection.execute(sa.delete(_jobs).where(_jobs.c.id == job_id))

    def write_worker(self, machine: str, content: str) -> None:
        """Write the heartbeat of a machine's worker."""
        with self.writing() as connection:
            values = {"content": content, "beat": _now(connection)}
            row = sa.update(_workers).where(_workers.c.machine == machine).values(**values)
            if not connection.execute(row).rowcount:
                connection.execute(sa.insert(_workers).values(machine=machine, **values))

    def delete_worker(self, machine: str) -> None:
        """Remove the worker of a machine."""
        with self.writing() as connection:
            connection.execute(sa.delete(_workers).where(_workers.c.machine == machine))

    def workers(self) -> list[tuple[str, str, float]]:
        """Return machine, content and seconds since the last heartbeat of all workers."""
        columns = (_workers.c.machine, _workers.c.content)
        rows = self._fetch(lambda connection: sa.select(*columns, _now(connection) - _workers.c.beat))
        return sorted((machine, content, silence) for machine, content, silence in rows)

    def moves(self) -> list[str]:
        """Return the moves of pointers to active models in their order."""
        query = sa.select(_moves.c.content).order_by(_moves.c.number)
        return [content for (content,) in self._fetch(lambda _: query)]

    def _fetch(self, query: Callable[[sa.Connection], sa.Select[Any]]) -> Sequence[Any]:
        file = sqlite_file(self._url)
        if file is not None and not file.exists():
            return []
        with self._open().reading() as connection:
            return connection.execute(query(connection)).all()

    def _job_rows(self, condition: sa.ColumnElement[bool]) -> list[JobRow]:
        def query(connection: sa.Connection) -> sa.Select[Any]:
            silence = sa.func.coalesce(_now(connection) - _jobs.c.beat, 1e9).label("silence")
            return sa.select(*(_jobs.c[name] for name in _STORED), silence).where(condition)

        return [JobRow(*row) for row in self._fetch(query)]

    def _update(
        self, condition: sa.ColumnElement[bool], values: Mapping[str, Any], *, beats: bool = False
    ) -> bool:
        with self.writing() as connection:
            values = {**values, "beat": _now(connection)} if beats else values
            return connection.execute(sa.update(_jobs).where(condition).values(**values)).rowcount == 1


def read_moves(connection: sa.Connection) -> list[str]:
    """Return the moves of pointers in a transaction."""
    return list(connection.scalars(sa.select(_moves.c.content).order_by(_moves.c.number)))


def lock_moves(connection: sa.Connection) -> None:
    """Keep others from moving a pointer until the end of the transaction; they can read."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE active_models IN SHARE ROW EXCLUSIVE MODE")


def add_moves(connection: sa.Connection, contents: Mapping[int, str]) -> None:
    """Append moves by their numbers."""
    rows = [{"number": number, "content": content} for number, content in contents.items()]
    if rows:
        connection.execute(sa.insert(_moves), rows)


def adopt_jobs(connection: sa.Connection, folder: Path) -> None:
    """Give restored jobs of other folders to this one, unless some are its own; forget the workers."""
    connection.execute(sa.delete(_workers))
    homes = set(connection.scalars(sa.select(_jobs.c.home).where(_jobs.c.home.is_not(None))))
    if homes and (home := home_of(folder)) not in homes:
        connection.execute(sa.update(_jobs).where(_jobs.c.home.is_not(None)).values(home=home))


def _lease(job_id: str, attempt: int) -> sa.ColumnElement[bool]:
    return sa.and_(_jobs.c.id == job_id, _jobs.c.attempt == attempt, _jobs.c.state == "running")


def _add_events(connection: sa.Connection, job_id: str, contents: Sequence[str]) -> None:
    last = sa.select(sa.func.max(_events.c.number)).where(_events.c.job_id == job_id)
    first = (connection.scalar(last) or 0) + 1
    rows = [{"job_id": job_id, "number": n, "content": text} for n, text in enumerate(contents, start=first)]
    if rows:
        connection.execute(sa.insert(_events), rows)


def _now(connection: sa.Connection) -> sa.ColumnElement[float]:
    """Return the seconds since 1970: by the clock of the server, which all machines share."""
    if connection.dialect.name == "postgresql":
        return sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Float)
    return sa.literal(time.time(), sa.Float)


def home_of(folder: Path) -> str:
    """Return the id of a folder of jobs, which machines that share it have in common; make one."""
    file = folder / "home"
    with contextlib.suppress(OSError):
        if not file.exists() and not is_demo():
            make_folder(folder)
            unfinished = file.with_name(f".home-{secrets.token_hex(8)}")
            unfinished.write_text(secrets.token_hex(8), encoding="ascii")
            with contextlib.suppress(FileExistsError):
                os.link(unfinished, file)
            unfinished.unlink()
        return file.read_text(encoding="ascii")[:16]
    return ""


def _inode_of(url: str) -> int | None:
    file = sqlite_file(url)
    return file.stat().st_ino if file is not None and file.exists() else None


_states = WeakSet[State]()


@lru_cache(maxsize=8)
def _state_of(url: str) -> State:
    _states.add(state := State(url))
    return state


def open_state(url: str | None = None) -> State:
    """Return the state in a database, that of the settings by default; it stays open."""
    return _state_of(url or load_settings().database_url)


def _close_states() -> None:
    for state in list(_states):
        state.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_states)  # no connection can be shared with a forked process
