"""Endings of a job that is not done: kind, cause and remedy."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from entail.errors import DivergedError, EntailError
from entail.jobs.record import Ending, Outcome, State
from entail.masking import mask_secrets


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
