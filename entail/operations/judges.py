"""Judges in memory: one copy of each in a process."""

from __future__ import annotations

from pathlib import Path

from entail.encoders.catalogue import model_folder
from entail.judge.judges import NliJudge
from entail.operations.tasks import TaskGroup, finish

_JUDGES = TaskGroup("judges", failure="the judge could not be loaded")


def load_judge(name: str) -> NliJudge:
    """Return the process's copy of a cross-encoder, loaded at the first call.

    Args:
        name: A name under `models/`, a folder or a Hub id.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    return finish(_JUDGES.get_or_start((name, judge_stamp(name)), lambda _: NliJudge(name), wait=0))


def judge_stamp(name: str) -> int:
    """Return a stamp that changes when a judge under `models/` is replaced; 0 for others."""
    try:
        return ((model_folder(name) or Path(name)) / "entail.json").stat().st_mtime_ns
    except (OSError, ValueError):
        return 0
