"""Endings from exceptions and exit codes."""

import errno
from pathlib import Path

import pytest

from entail.errors import CheckpointError, DivergedError, EncoderError
from entail.jobs.record import EXITS, TODO, outcome_of_error, outcome_of_exit


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full"),
        (chained(CheckpointError("not written"), OSError(errno.ENOSPC, "No space")), "disk_full"),
        # safetensors tells it as text
        (Exception("Error while serializing: I/O error: No space left (os error 28)"), "disk_full"),
        (OSError(errno.EACCES, "Permission denied"), "error"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out_of_memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out_of_memory"),
        (RuntimeError("shapes do not fit"), "error"),
        (DivergedError("the gradient became inf at step 2; lower the learning rate"), "diverged"),
        (EncoderError("no encoder is called 'x'"), "refused"),
    ],
)
def test_outcome_of_error(error: Exception, ending: str) -> None:
    outcome = outcome_of_error(3, error)
    assert (outcome.attempt, outcome.state, outcome.ending) == (3, "failed", ending)
    assert outcome.what
    assert outcome.todo == TODO[outcome.ending]  # type: ignore[index]  # not None, by the line above


@pytest.mark.parametrize(
    ("code", "memory", "state", "ending", "words"),
    [
        (-9, False, "interrupted", "killed", "SIGKILL"),
        (-9, True, "failed", "out_of_memory", "OOM killer"),
        (-99, False, "interrupted", "killed", "99"),
        (EXITS["disk_full"], False, "failed", "disk_full", ""),
        (EXITS["cancelled"], False, "cancelled", "cancelled", ""),
    ],
)
def test_outcome_of_exit(
    tmp_path: Path, code: int, memory: bool, state: str, ending: str, words: str
) -> None:
    outcome = outcome_of_exit(1, code, folder=tmp_path, out_of_memory=memory)
    assert (outcome.state, outcome.ending) == (state, ending)
    assert words in str(outcome.what)


def test_outcome_of_exit_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.jobs.record._LITTLE_SPACE", 1 << 62)
    assert outcome_of_exit(1, 1, folder=tmp_path, out_of_memory=False).ending == "disk_full"
