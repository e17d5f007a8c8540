"""What was asked for, and what has become of it: frozen records, to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from entail.progress import Progress

R = TypeVar("R")

State = Literal["queued", "running", "cancelling", "cancelled", "done", "failed", "interrupted"]
"""
::

    queued ──> running ──> done | failed | interrupted
      │           │
      │           └─> cancelling ──> cancelled
      └─────────────────────────────> cancelled
    cancelled | failed | interrupted ──(resume)──> queued
"""

Ending = Literal[
    "cancelled",
    "killed",
    "lost_worker",
    "stopped_worker",
    "disk_full",
    "out_of_memory",
    "diverged",
    "refused",
    "error",
]
"""Why a job is not done: a person wished it; it was killed; its worker was, or was stopped; no room on the
disk; none in memory; a loss that is no number; a clear error of ours; one that nobody expected."""

OPEN: frozenset[State] = frozenset({"queued", "running", "cancelling"})
RESUMABLE: frozenset[State] = frozenset({"cancelled", "failed", "interrupted"})


@dataclass(frozen=True)
class JobSpec:
    """What was asked for; it never changes.

    Attributes:
        id: When it was asked for and some digits of chance; ids sort by time.
        method: Name of the method.
        config: The method's settings, of JSON's types.
        source: What it reads, of JSON's types.
        about: The same in words.
        name: The encoder to be, a folder under `models/`.
        by: Who asked.
        at: When, in UTC.
        device: Where to train; None: the worker's setting.
    """

    id: str
    method: str
    config: Mapping[str, Any]
    source: Mapping[str, Any]
    about: str
    name: str
    by: str
    at: datetime
    device: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return plain(self)


@dataclass(frozen=True)
class Status:
    """What is stored of how a job stands; `cancelling` is told by the wish to cancel beside it.

    Attributes:
        state: As it was written last.
        since: When, in UTC.
        queued: When it came into the queue last.
        attempt: Times a worker took it up.
        host: The worker's machine.
        worker: The worker's process.
        pid: The process that trains, and its group.
        started: When it was taken up last.
        ended: When that ended.
        seconds: Spent on it before it was taken up last.
        ending: Why it is not done.
        what: What happened, in words.
        todo: What to do about it, in words.
    """

    state: State
    since: datetime
    queued: datetime
    attempt: int = 0
    host: str | None = None
    worker: int | None = None
    pid: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    seconds: float = 0.0
    ending: Ending | None = None
    what: str | None = None
    todo: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return plain(self)


@dataclass(frozen=True)
class Job:
    """A job as it is at this moment.

    Attributes:
        spec: What was asked for.
        state: How it stands.
        status: What is stored of that.
        place: Its place in the queue, 1 is next; None where it does not queue.
        progress: How far the present piece of work is, while it runs.
        cancelled_by: Who wished it to end, where somebody did.
        result: What the method says it came to, once it is done.
        evaluation: Its figures beside the active encoder's (`Beside.to_json`), once it is done; None where
            there was no split to measure on.
        noted: Whether somebody has taken note of how it ended.
    """

    spec: JobSpec
    state: State
    status: Status
    place: int | None = None
    progress: Progress | None = None
    cancelled_by: str | None = None
    result: Mapping[str, Any] | None = None
    evaluation: Mapping[str, Any] | None = None
    noted: bool = False

    @property
    def id(self) -> str:
        """The spec's."""
        return self.spec.id

    @property
    def name(self) -> str:
        """The encoder to be."""
        return self.spec.name

    @property
    def open(self) -> bool:
        """Whether something is still to happen by itself."""
        return self.state in OPEN

    @property
    def resumable(self) -> bool:
        """Whether it can be queued again, to go on where it was."""
        return self.state in RESUMABLE

    @property
    def seconds(self) -> float:
        """Time spent on it, over all attempts."""
        status = self.status
        if status.started is None:
            return 0.0
        until = status.ended or datetime.now(UTC)
        return status.seconds + (until - status.started).total_seconds()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What looked wrong, in words."""
        return tuple(map(str, (self.result or {}).get("warnings", ())))

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {
            **self.spec.to_json(),
            **{name: value for name, value in self.status.to_json().items() if name != "state"},
            "state": self.state,
            "seconds": round(self.seconds, 1),
            "place": self.place,
            "progress": asdict(self.progress) if self.progress else None,
            "cancelled_by": self.cancelled_by,
            "result": self.result,
            "evaluation": self.evaluation,
        }


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended, told by the process that trained.

    Attributes:
        attempt: Which.
        state: `done`, or how else.
        ending: Why it is not done.
        what: What happened, in words.
        todo: What to do about it.
        result: What the method says it came to.
        evaluation: See `Job`.
    """

    attempt: int
    state: State
    ending: Ending | None = None
    what: str | None = None
    todo: str | None = None
    result: Mapping[str, Any] | None = field(default=None)
    evaluation: Mapping[str, Any] | None = None


def plain(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any of these records
    """Return a record of JSON's types."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in asdict(record).items()
    }


def record_of(kind: type[R], told: Mapping[str, Any]) -> R:
    """Take back what `plain` returned; what a newer version wrote beside it is passed over.

    Raises:
        TypeError: If a field is missing.
        ValueError: If a time is none.
    """
    known = {f.name: f.type for f in fields(kind)}  # type: ignore[arg-type]  # R is one of these records
    values = {name: value for name, value in told.items() if name in known}
    for name, type_ in known.items():
        if "datetime" in str(type_) and values.get(name) is not None:
            values[name] = datetime.fromisoformat(values[name])
    return kind(**values)
