"""Records of a job, to and from JSON: specification, status, outcome; and the endings of a job not done."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from entail.errors import DivergedError, EntailError
from entail.masking import mask_secrets
from entail.progress import Progress
from entail.trees.store.authors import SignedIn

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
"""Kind of ending of a job that is not done."""

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
    Without a device the worker's setting counts. `signed_in` tells whether its author was.
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
    signed_in: bool = False

    @property
    def viewer(self) -> str:
        """Author of the job, whose permissions decide which trees it learns from."""
        return SignedIn(self.by) if self.signed_in else self.by


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
    """

    spec: JobSpec
    state: State
    status: Status
    queue_position: int | None = None
    progress: Progress | None = None
    cancelled_by: str | None = None
    result: Mapping[str, Any] | None = None
    evaluation: Mapping[str, Any] | None = None

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


@dataclass(frozen=True)
class Worker(Stored):
    """A worker as of its last heartbeat, which runs `jobs` at a time and works `at` those with these ids."""

    host: str
    pid: int
    since: datetime
    jobs: int
    at: tuple[str, ...] = ()
    alive: bool = True


class _Kind(NamedTuple):
    state: State
    cause: str
    todo: str
    exit_code: int | None = None


_RESUME = "resume it to continue from its last checkpoint"
_LOST = "the worker disappeared: it was killed, or the machine restarted"
_SPACE = "free space (deleting old jobs removes their checkpoints), then resume it"
_SMALLER = "free memory, then resume it; or submit it again with a smaller batch_size"
_LOWER = "submit it again with a lower learning_rate or precision=fp32; resumed it would diverge again"
_REPORT = "report the trace in its log, please; resume it to try again"
_FIX = "fix the cause, then resume it or submit it again"

_KINDS: dict[Ending, _Kind] = {
    "cancelled": _Kind("cancelled", "it was cancelled", f"{_RESUME}, or delete it", 80),
    "killed": _Kind("interrupted", "its process was killed from outside", _RESUME),
    "lost_worker": _Kind("interrupted", _LOST, _RESUME),
    "stopped_worker": _Kind("interrupted", "the worker was stopped", _RESUME, 81),
    "disk_full": _Kind("failed", "the disk is full", _SPACE, 82),
    "out_of_memory": _Kind("failed", "the memory ran out", _SMALLER, 83),
    "diverged": _Kind("failed", "the loss is no number any more", _LOWER, 84),
    "refused": _Kind("failed", "it could not continue", _FIX, 85),
    "error": _Kind("failed", "an unexpected error", _REPORT, 86),
}
TODO: dict[Ending, str] = {ending: kind.todo for ending, kind in _KINDS.items()}
EXITS: dict[Ending, int] = {
    ending: kind.exit_code for ending, kind in _KINDS.items() if kind.exit_code is not None
}
"""Exit codes, for outcomes that a process could not write."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Libraries in other languages pass the system's error on as text.
_FULL_WORDS = re.compile(
    rf"No space left on device|Disk quota exceeded|File too large|os error ({'|'.join(map(str, _FULL))})\b"
)
_MEMORY_WORDS = re.compile(r"out of memory|can't allocate memory|cannot allocate memory", re.IGNORECASE)
_LITTLE_SPACE = 2**20


def make_outcome(attempt: int, ending: Ending, cause: str | None = None) -> Outcome:
    """Return the outcome of an attempt that ended in this way; default cause: that of the kind."""
    kind = _KINDS[ending]
    return Outcome(attempt=attempt, state=kind.state, ending=ending, what=cause or kind.cause, todo=kind.todo)


def outcome_of_error(attempt: int, error: BaseException) -> Outcome:
    """Return the outcome of an attempt that raised an error."""
    chain = list(_chain(error))
    message = mask_secrets(str(error).strip() or type(error).__name__)
    first_line = message.splitlines()[0]
    if any(_is_full(cause) for cause in chain):
        return make_outcome(attempt, "disk_full", f"the disk is full: {message}")
    if any(_is_memory(cause) for cause in chain):
        device = " of the GPU" if "CUDA" in message else ""
        return make_outcome(attempt, "out_of_memory", f"the memory{device} ran out: {first_line}")
    if any(isinstance(cause, DivergedError) for cause in chain):
        return make_outcome(attempt, "diverged", message)
    if isinstance(error, EntailError):
        return make_outcome(attempt, "refused", message)
    return make_outcome(attempt, "error", f"unexpected {type(error).__name__}: {first_line}")


def outcome_of_exit(attempt: int, code: int, *, folder: Path, out_of_memory: bool) -> Outcome:
    """Return the outcome of an attempt whose process wrote none, by its exit code.

    `folder` is the one that it wrote into; with `out_of_memory` the system killed a process meanwhile.
    """
    if ending := next((ending for ending, number in EXITS.items() if code == number), None):
        return make_outcome(attempt, ending)
    if code == -signal.SIGKILL and out_of_memory:
        cause = "the memory ran out, and the system killed it (signal 9, OOM killer)"
        return make_outcome(attempt, "out_of_memory", cause)
    with contextlib.suppress(OSError):
        if shutil.disk_usage(folder).free < _LITTLE_SPACE:
            return make_outcome(attempt, "disk_full")
    if code < 0:
        names = [name.name for name in signal.Signals if name == -code]
        signals = ", ".join([f"signal {-code}", *names])
        return make_outcome(attempt, "killed", f"its process was killed from outside ({signals})")
    return make_outcome(attempt, "error", f"its process ended without a message, with exit code {code}")


def oom_kills() -> int:
    """Return how many processes the system killed for lack of memory since its start; 0 where unknown."""
    with contextlib.suppress(OSError):
        if match := re.search(r"^oom_kill (\d+)", Path("/proc/vmstat").read_text("ascii"), re.MULTILINE):
            return int(match[1])
    return 0


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_full(error: BaseException) -> bool:
    is_full = isinstance(error, OSError) and error.errno in _FULL
    return is_full or bool(_FULL_WORDS.search(str(error)))


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and bool(_MEMORY_WORDS.search(str(error)))
