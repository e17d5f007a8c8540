"""One job's folder: what stands in it, how it is read, and how its state changes.

==================  ===================================================================================
`spec.json`         what was asked for; never changes
`status.json`       how it stands, as it was written last
`cancel.json`       the wish that it end, and whose
`outcome.json`      how the last attempt ended, told by the process that trained
`progress.json`     how far the present piece of work is
`events.jsonl`      what the training told, see `entail.jobs.events`
`log.txt`           what else it and its libraries said
`checkpoints/`      to go on from; gone when it is done
`lock`              held as long as a worker, or the process that trains, is at it
`noted`             there once somebody has taken note of the end
`beat`              touched while a worker is at it, for machines that cannot see the lock
`change.lock`       held for a moment by whoever changes the state
==================  ===================================================================================

Each file is written whole or not at all, and every change of state is made under a lock from the state that
it was decided on; so whoever looks, at any moment, sees one of the states and nothing between them.
"""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entail.data.writing import write_text
from entail.errors import DataError, JobError
from entail.jobs.endings import ended
from entail.jobs.holding import held, take
from entail.jobs.record import Job, JobSpec, Outcome, R, Status, plain, record_of
from entail.progress import Progress
from entail.settings import is_demo

BEAT = 2.0
"""Seconds between two signs of life."""

SILENT = 60.0
"""Seconds without one after which a worker on another machine counts as lost."""

CHANGE_TIMEOUT = 20.0
_TAIL = 1 << 16


class JobFolder:
    """The files of one job; what is read is remembered until the file changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: dict[str, tuple[tuple[int, int, int], Any]] = {}
        self._spec: JobSpec | None = None

    @property
    def checkpoints(self) -> Path:
        """Where the training can go on from."""
        return self.path / "checkpoints"

    @property
    def events(self) -> Path:
        """What the training told."""
        return self.path / "events.jsonl"

    @property
    def log(self) -> Path:
        """What else it said."""
        return self.path / "log.txt"

    @property
    def spec(self) -> JobSpec:
        """What was asked for.

        Raises:
            JobError: If it cannot be read.
        """
        if self._spec is None:
            self._spec = self._record(JobSpec, "spec.json")
        return self._spec

    @property
    def status(self) -> Status:
        """How it stands, as it was written last.

        Raises:
            JobError: If it cannot be read.
        """
        return self._record(Status, "status.json")

    @property
    def outcome(self) -> Outcome | None:
        """How the last attempt ended, as far as it told."""
        try:
            return self._record(Outcome, "outcome.json")
        except JobError:
            return None

    @property
    def progress(self) -> Progress | None:
        """How far the present piece of work is, as far as it told."""
        told = self._json("progress.json")
        try:
            return Progress(**told) if isinstance(told, dict) else None
        except TypeError:
            return None

    def tell(self, progress: Progress) -> None:
        """Tell how far the present piece of work is; a full disk keeps nobody from going on."""
        with contextlib.suppress(DataError):
            write_text(self.path / "progress.json", json.dumps(asdict(progress)))

    def look(self) -> Job:
        """Return the job as it is now; what ended without anybody noticing is noticed here.

        Raises:
            JobError: If it cannot be read.
        """
        spec, status = self.spec, self.status
        if status.state == "running" and not is_demo() and not self.alive(status):
            status = self._settled()
        state = status.state
        wish = self.wish() if state in ("running", "cancelled") else None
        done = self.outcome if state == "done" else None
        return Job(
            spec=spec,
            state="cancelling" if state == "running" and wish else state,
            status=status,
            progress=self.progress if state == "running" else None,
            cancelled_by=str(wish.get("by")) if wish else None,
            result=done.result if done else None,
            evaluation=done.evaluation if done else None,
            noted=status.ended is not None and (self.path / "noted").exists(),
        )

    def size(self) -> int:
        """Return how many bytes all of its files take; those that vanish meanwhile take none."""
        found = 0
        with contextlib.suppress(OSError):
            for file in self.path.rglob("*"):
                found += file.stat().st_size if file.is_file() else 0
        return found

    def log_tail(self, *, lines: int) -> str:
        """Return the last lines of the log, of its last 64 KiB."""
        size = self.log.stat().st_size if self.log.exists() else 0
        text, _ = self.log_after(max(0, size - _TAIL))
        return "\n".join(text.splitlines()[-lines:])

    def log_after(self, offset: int) -> tuple[str, int]:
        """Return what came into the log after an offset, and where to go on."""
        try:
            with self.log.open("rb") as log:
                log.seek(offset)
                content = log.read()
        except OSError:
            return "", offset
        return content.decode(errors="replace"), offset + len(content)

    def alive(self, status: Status) -> bool:
        """Say whether a worker, or the process that trains, is at it."""
        if status.host == platform.node():
            return held(self.path / "lock")
        try:
            return time.time() - (self.path / "beat").stat().st_mtime < SILENT
        except OSError:
            return False

    def hold(self) -> int | None:
        """Take the job for oneself; return the lock to hand down and close, None if somebody has it."""
        return take(self.path / "lock")

    def beat(self) -> None:
        """Give a sign of life."""
        with contextlib.suppress(OSError):
            (self.path / "beat").touch()

    def wish(self) -> dict[str, Any] | None:
        """Return the wish that it end, None if nobody has it."""
        told = self._json("cancel.json")
        return told if isinstance(told, dict) else None

    @contextlib.contextmanager
    def changing(self) -> Iterator[Status]:
        """Give the state, and keep everybody else from changing it meanwhile.

        Raises:
            JobError: If it cannot be read, or somebody else does not let go of it.
        """
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.path / "change.lock", timeout=CHANGE_TIMEOUT):
                yield self.status
        except Timeout as error:
            raise JobError(f"job {self.path.name} is being changed by another process; try again") from error
        except OSError as error:
            raise JobError(f"job {self.path.name} cannot be changed: {error}") from error

    def write_status(self, status: Status) -> None:
        """Write how it stands; only under `changing`.

        Raises:
            DataError: If it cannot be written.
        """
        write_text(self.path / "status.json", json.dumps(status.to_json(), ensure_ascii=False))

    def write_outcome(self, outcome: Outcome) -> None:
        """Write how an attempt ended.

        Raises:
            DataError: If it cannot be written.
        """
        write_text(self.path / "outcome.json", json.dumps(plain(outcome), ensure_ascii=False))

    def finish(self, outcome: Outcome) -> Status:
        """Make an outcome the state of the job, if it is still at that attempt; return the state."""
        with self.changing() as status:
            if status.state != "running" or status.attempt != outcome.attempt:
                return status
            status = self._with(status, outcome)
            # On a full disk whoever looks next finds it out again.
            with contextlib.suppress(DataError):
                self.write_status(status)
        if status.state == "done":
            shutil.rmtree(self.checkpoints, ignore_errors=True)
        return status

    def _settled(self) -> Status:
        """Return how it ended that nobody is at any more, and write that down."""
        with self.changing() as status:
            if status.state != "running" or self.alive(status):
                return status
        told = self.outcome
        # All that its process could see is that the worker was gone; one that is stopped says so itself.
        if told is None or told.attempt != status.attempt or told.ending == "stopped_worker":
            lost = ended(status.attempt, "lost_worker")
            if status.host:
                lost = replace(
                    lost, what=str(lost.what).replace("the worker", f"the worker on {status.host}")
                )
            told = ended(status.attempt, "cancelled") if self.wish() else lost
        return self.finish(told)

    def _with(self, status: Status, outcome: Outcome) -> Status:
        now = datetime.now(UTC)
        return replace(
            status,
            state=outcome.state,
            since=now,
            ended=min(now, self._last_sign(status)) if outcome.ending == "lost_worker" else now,
            ending=outcome.ending,
            what=outcome.what,
            todo=outcome.todo,
        )

    def _last_sign(self, status: Status) -> datetime:
        stamps = [(status.started or status.since).timestamp()]
        for name in ("beat", "progress.json", "events.jsonl", "log.txt"):
            with contextlib.suppress(OSError):
                stamps.append((self.path / name).stat().st_mtime)
        return datetime.fromtimestamp(max(stamps), UTC)

    def _record(self, kind: type[R], name: str) -> R:
        told = self._json(name)
        try:
            if not isinstance(told, dict):
                raise TypeError("there is none" if told is None else "it is no object")
            return record_of(kind, told)
        except (TypeError, ValueError) as error:
            raise JobError(
                f"job {self.path.name}: {name} cannot be read ({error}); delete the job"
            ) from error

    def _json(self, name: str) -> Any:  # noqa: ANN401 - JSON is of any type
        file = self.path / name
        try:
            at = file.stat()
            stamp = (at.st_mtime_ns, at.st_ino, at.st_size)
            known = self._seen.get(name)
            if known is not None and known[0] == stamp:
                return known[1]
            told = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        self._seen[name] = (stamp, told)
        return told
