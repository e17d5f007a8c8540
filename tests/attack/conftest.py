"""Table of what was tried and what failed, printed after the tests and written where `ENTAIL_ATTACK` says."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_COUNTS: dict[str, dict[str, float]] = {}

Tally = Callable[..., None]


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Return `tally(attempts=..., failures=..., **figures)`, which counts for all cases of a test."""

    def count(*, attempts: int, failures: int, **figures: float) -> None:
        name = request.node.originalname or request.node.name
        row = _COUNTS.setdefault(name, {"attempts": 0, "failures": 0})
        row["attempts"] += attempts
        row["failures"] += failures
        for figure, value in figures.items():
            row[figure] = max(value, row.get(figure, 0))

    return count


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _COUNTS:
        return
    terminalreporter.section("attempts, failures")
    for name, row in _COUNTS.items():
        more = ", ".join(f"{figure} {value:.3g}" for figure, value in list(row.items())[2:])
        terminalreporter.write_line(f"{name:40} {row['attempts']:7.0f} {row['failures']:5.0f}  {more}")
    target = os.environ.get("ENTAIL_ATTACK", "")
    if target.endswith(".json"):
        Path(target).write_text(json.dumps(_COUNTS, indent=2) + "\n", encoding="utf-8")
