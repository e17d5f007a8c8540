"""Records of a job, to and from JSON: specification, status, outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from entail.progress import Progress

State = Literal["queued", "running", "cancelling", "cancelled", "done", "failed", "interrupted"]
"""
::

    queued ──> running ──> done | failed | interrupted
      │           │
      │           └─> cancelling ──> cancelled
      └─────────────────────────────> cancelled
    cancelled | failed | interrupted ──(resume)──> queued
"""

_Interruption = Literal["cancelled", "killed", "lost_worker", "stopped_worker"]
_Failure = Literal["disk_full", "out_of_memory", "diverged", "refused", "error"]
Ending = Literal[_Interruption, _Failure]
"""Kind of ending of a job that is not done; `entail.jobs.endings` describes each."""

OPEN: frozenset[State] = frozenset({"queued", "running", "cancelling"})
RESUMABLE: frozenset[State] = frozenset({"cancelled", "failed", "interrupted"})


class Stored:
    """Base of the records that stand in files of a job."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        fields = asdict(self)  # type: ignore[call-overload]  # every subclass is a dataclass
        return {name: v.isoformat() if isinstance(v, datetime) else v for name, v in fields.items()}


@dataclass(frozen=True)
class JobSpec(Stored):
    """Immutable specification of a job; ids sort by time, and `name` is that of the model.

    `config` and `source` are of JSON's types; `about` describes the source for people. Times are UTC.
    Without a device the worker's setting counts.
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


@dataclass(frozen=True)
class Status(Stored):
    """Stored status of a job; a request to cancel is in a file next to it.

    Attributes:
        since: Time of the state, UTC; `queued` is that of the last enqueueing.
        attempt: Number of attempts; `started` and `ended` are of the last one.
        host: Machine of the worker; `worker` is its process id, `pid` that of the training.
        seconds: Duration of the earlier attempts.
        ending: Kind of ending, unless it is done; `what` is its cause and `todo` the remedy, for people.
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


@dataclass(frozen=True)
class Job:
    """Snapshot of a job.

    Attributes:
        queue_position: Position in the queue, 1 is next; None unless it is queued.
        progress: Progress of the current piece of work, while it runs.
        cancelled_by: Author of the request to cancel, if there is one.
        result: Result of the method, once it is done; `evaluation` compares with the active encoder.
        noted: Whether a user dismissed the notice of its end.
    """

    spec: JobSpec
    state: State
    status: Status
    queue_position: int | None = None
    progress: Progress | None = None
    cancelled_by: str | None = None
    result: Mapping[str, Any] | None = None
    evaluation: Mapping[str, Any] | None = None
    noted: bool = False

    @property
    def id(self) -> str:
        """Id of the job."""
        return self.spec.id

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.spec.name

    @property
    def open(self) -> bool:
        """Whether it is queued or runs."""
        return self.state in OPEN

    @property
    def resumable(self) -> bool:
        """Whether it can be queued again, to continue from its checkpoint."""
        return self.state in RESUMABLE

    @property
    def seconds(self) -> float:
        """Duration of all attempts."""
        status = self.status
        if status.started is None:
            return 0.0
        until = status.ended or datetime.now(UTC)
        return status.seconds + (until - status.started).total_seconds()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the training."""
        return tuple(map(str, (self.result or {}).get("warnings", ())))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            **self.spec.to_json(),
            **{name: value for name, value in self.status.to_json().items() if name != "state"},
            "state": self.state,
            "seconds": round(self.seconds, 1),
            "place": self.queue_position,
            "progress": asdict(self.progress) if self.progress else None,
            "cancelled_by": self.cancelled_by,
            "result": self.result,
            "evaluation": self.evaluation,
        }


@dataclass(frozen=True)
class Outcome(Stored):
    """Outcome of one attempt, written by the training process; fields as in `Status` and `Job`."""

    attempt: int
    state: State
    ending: Ending | None = None
    what: str | None = None
    todo: str | None = None
    result: Mapping[str, Any] | None = None
    evaluation: Mapping[str, Any] | None = None
