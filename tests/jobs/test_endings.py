"""Endings from exceptions and exit codes."""

import errno
from pathlib import Path

import pytest

from entail.errors import CheckpointError, DivergedError, EncoderError
from entail.jobs.endings import EXITS, TODO, make_outcome, outcome_of_error, outcome_of_exit


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "state", "ending"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "failed", "disk_full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "failed", "disk_full"),
        (
            chained(
                CheckpointError("the checkpoint could not be written"), OSError(errno.ENOSPC, "No space")
            ),
            "failed",
            "disk_full",
        ),
        # safetensors tells it as text
        (Exception("Error while serializing: I/O error: No space left (os error 28)"), "failed", "disk_full"),
        (OSError(errno.EACCES, "Permission denied"), "failed", "error"),
        (MemoryError(), "failed", "out_of_memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "failed", "out_of_memory"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
            "failed",
            "out_of_memory",
        ),
        (RuntimeError("shapes do not fit"), "failed", "error"),
        (DivergedError("the gradient became inf at step 2; lower the learning rate"), "failed", "diverged"),
        (EncoderError("no encoder is called 'x'"), "failed", "refused"),
    ],
)
def test_outcome_of_error(error: Exception, state: str, ending: str) -> None:
    outcome = outcome_of_error(3, error)
    assert (outcome.attempt, outcome.state, outcome.ending) == (3, state, ending)
    assert outcome.what
    assert outcome.todo == TODO[outcome.ending]  # type: ignore[index]  # not None, by the line above


@pytest.mark.parametrize(
    ("code", "memory", "state", "ending", "words"),
    [
        (-9, False, "interrupted", "killed", "signal 9, SIGKILL"),
        (-9, True, "failed", "out_of_memory", "OOM killer"),
        (-11, True, "interrupted", "killed", "signal 11, SIGSEGV"),
        (-99, False, "interrupted", "killed", "signal 99"),
        (7, False, "failed", "error", "exit code 7"),
        (EXITS["disk_full"], False, "failed", "disk_full", "disk is full"),
        (EXITS["cancelled"], False, "cancelled", "cancelled", "it was cancelled"),
    ],
)
def test_outcome_of_exit(
    tmp_path: Path, code: int, memory: bool, state: str, ending: str, words: str
) -> None:
    outcome = outcome_of_exit(1, code, folder=tmp_path, out_of_memory=memory)
    assert (outcome.state, outcome.ending) == (state, ending)
    assert words in str(outcome.what)


def test_outcome_of_exit_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.jobs.endings._LITTLE_SPACE", 1 << 62)
    assert outcome_of_exit(1, 1, folder=tmp_path, out_of_memory=False).ending == "disk_full"


def test_kinds_are_complete_and_exit_codes_distinct() -> None:
    for ending in TODO:
        outcome = make_outcome(1, ending)
        assert outcome.what
        assert outcome.todo
        assert outcome.state in ("failed", "interrupted", "cancelled")
    assert len(set(EXITS.values())) == len(EXITS)
    assert all(0 < code < 128 for code in EXITS.values())
