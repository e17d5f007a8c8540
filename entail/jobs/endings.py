"""Every way in which a job can end without being done: its kind, what happened, and what to do, in words."""

from __future__ import annotations

import contextlib
import errno
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

from entail.errors import DivergedError, EntailError
from entail.jobs.record import Ending, Outcome, State

TODO: dict[Ending, str] = {
    "cancelled": "resume it to go on from its last checkpoint, or delete it",
    "killed": "resume it: it goes on from its last checkpoint",
    "lost_worker": "resume it: it goes on from its last checkpoint",
    "stopped_worker": "resume it: it goes on from its last checkpoint",
    "disk_full": "make room (deleting old jobs removes their checkpoints), then resume it",
    "out_of_memory": "make room in memory, then resume it; or submit it anew with a smaller batch_size",
    "diverged": "submit it anew with a lower learning_rate or precision=fp32: resumed it would do the same",
    "refused": "put that right, then resume it, or submit it anew",
    "error": "the trace is in its log; please report it. Resume it to try again",
}

EXITS: dict[Ending, int] = {
    "cancelled": 80,
    "stopped_worker": 81,
    "disk_full": 82,
    "out_of_memory": 83,
    "diverged": 84,
    "refused": 85,
    "error": 86,
}
"""Exit codes, for what a process could not write down."""

_WHAT: dict[Ending, str] = {
    "cancelled": "it was cancelled",
    "killed": "its process was killed from outside",
    "lost_worker": "the worker ended without a word: it was killed, or the machine was restarted",
    "stopped_worker": "the worker was stopped",
    "disk_full": "the disk is full",
    "out_of_memory": "the memory ran out",
    "diverged": "the loss is no number any more",
    "refused": "it could not go on",
    "error": "something happened that nobody expected",
}
_STATES: dict[Ending, State] = {
    "cancelled": "cancelled",
    "killed": "interrupted",
    "lost_worker": "interrupted",
    "stopped_worker": "interrupted",
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Libraries in other languages tell the system's error as text.
_FULL_WORDS = re.compile(
    rf"No space left on device|Disk quota exceeded|File too large|os error ({'|'.join(map(str, _FULL))})\b"
)
_MEMORY_WORDS = re.compile(r"out of memory|can't allocate memory|cannot allocate memory", re.IGNORECASE)
_LITTLE_SPACE = 2**20


def ended(attempt: int, ending: Ending, what: str | None = None) -> Outcome:
    """Return an outcome of this kind, with its words."""
    return Outcome(
        attempt=attempt,
        state=_STATES.get(ending, "failed"),
        ending=ending,
        what=what or _WHAT[ending],
        todo=TODO[ending],
    )


def outcome_of_error(attempt: int, error: BaseException) -> Outcome:
    """Return how an attempt ended that raised this."""
    chain = list(_chain(error))
    said = str(error).strip() or type(error).__name__
    if any(_is_full(one) for one in chain):
        return ended(attempt, "disk_full", f"the disk is full: {said}")
    if any(_is_memory(one) for one in chain):
        where = " of the GPU" if "CUDA" in said else ""
        return ended(attempt, "out_of_memory", f"the memory{where} ran out: {_first_line(said)}")
    if any(isinstance(one, DivergedError) for one in chain):
        return ended(attempt, "diverged", said)
    if isinstance(error, EntailError):
        return ended(attempt, "refused", said)
    return ended(attempt, "error", f"unexpected {type(error).__name__}: {_first_line(said)}")


def outcome_of_exit(attempt: int, code: int, *, folder: Path, out_of_memory: bool) -> Outcome:
    """Return how an attempt ended whose process said nothing.

    Args:
        attempt: Which.
        code: Exit code, below 0 for a signal.
        folder: Where it wrote.
        out_of_memory: Whether the system ended a process for want of memory meanwhile.
    """
    for ending, number in EXITS.items():
        if code == number:
            return ended(attempt, ending)
    if code == -signal.SIGKILL and out_of_memory:
        return ended(
            attempt, "out_of_memory", "the memory ran out, and the system ended it (signal 9, OOM killer)"
        )
    with contextlib.suppress(OSError):
        if shutil.disk_usage(folder).free < _LITTLE_SPACE:
            return ended(attempt, "disk_full", "it ended without a word, and the disk is full")
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return ended(attempt, "killed", f"its process was killed from outside (signal {-code}, {name})")
        return ended(attempt, "killed", f"its process was killed from outside (signal {-code})")
    return ended(attempt, "error", f"its process ended without a word, with exit code {code}")


def oom_kills() -> int:
    """Return how often the system has ended a process for want of memory; 0 where it does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return bool(_FULL_WORDS.search(str(error)))


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError) and bool(_MEMORY_WORDS.search(str(error)))


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else text
