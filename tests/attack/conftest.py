"""Table of what was tried and what failed, printed after the tests and written where `ENTAIL_ATTACK` says.

Kinds of attack that a run does not try stay as an earlier one wrote them, so that parts can be repeated.
"""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from entail.results import write_result
from tests.jobs.conftest import jobs, package, submit, until  # noqa: F401 - fixtures
from tests.serving.conftest import serve, served  # noqa: F401 - fixtures
from tests.trees.conftest import blank_url, new_postgres_url, postgres_server  # noqa: F401 - fixtures

FULL = bool(os.environ.get("ENTAIL_ATTACK"))
"""Whether this is the whole attack; else a few seconds of each kind."""

SEED = 25
STARTED = datetime.now(UTC)

_COUNTS: dict[str, dict[str, float]] = {}

Tally = Callable[..., None]


def kind_of(nodeid: str) -> str:
    """Return the kind of attack of a test.

    >>> kind_of("tests/attack/test_bad_files.py::test_damaged_files[nli]")
    'bad files: damaged files'
    """
    file, _, name = nodeid.partition("::")
    module, test = Path(file).stem.removeprefix("test_"), name.partition("[")[0].removeprefix("test_")
    return f"{module}: {test}".replace("_", " ")


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """Return `tally(attempts=..., failures=..., kills=..., **maxima)`, which counts for all cases of a test.

    A test that does not call it counts as one attempt a case.
    """

    def count(*, attempts: int, failures: int, kills: int = 0, **maxima: float) -> None:
        row = _COUNTS.setdefault(kind_of(request.node.nodeid), {"attempts": 0, "failures": 0, "kills": 0})
        for name, number in (("attempts", attempts), ("failures", failures), ("kills", kills)):
            row[name] += number
        for name, value in maxima.items():
            row[name] = max(value, row.get(name, 0))

    return count


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    reports = {
        outcome: [
            kind_of(report.nodeid)
            for report in terminalreporter.getreports(outcome)
            if "::test_" in report.nodeid
        ]
        for outcome in ("passed", "failed", "error", "skipped")
    }
    for kind in dict.fromkeys([*reports["passed"], *reports["failed"], *reports["error"]]):
        broken = reports["failed"].count(kind) + reports["error"].count(kind)
        row = {"attempts": reports["passed"].count(kind) + broken, "failures": 0, "kills": 0}
        row = _COUNTS.setdefault(kind, row)
        row["failures"] = max(row["failures"], broken)
    if not FULL:
        return
    terminalreporter.section("attempts, failures, kills")
    for kind, row in sorted(_COUNTS.items()):
        more = ", ".join(f"{name} {value:.3g}" for name, value in list(row.items())[3:])
        numbers = [row[name] for name in ("attempts", "failures", "kills")]
        terminalreporter.write_line(f"{kind:50} {'{:7.0f} {:5.0f} {:6.0f}'.format(*numbers)}  {more}")
    target = Path(os.environ["ENTAIL_ATTACK"])
    if target.suffix == ".json":
        earlier = json.loads(target.read_text()) if target.exists() else {"figures": {}, "wall_seconds": 0}
        kinds = dict(sorted({**earlier["figures"].get("kinds", {}), **_COUNTS}.items()))
        totals = {
            name: sum(row[name] for row in kinds.values()) for name in ("attempts", "failures", "kills")
        }
        skipped = sorted({*reports["skipped"], *earlier["figures"].get("skipped", [])} - kinds.keys())
        write_result(
            target,
            figures={**totals, "skipped": skipped, "kinds": kinds},
            seed=SEED,
            started=STARTED - timedelta(seconds=earlier["wall_seconds"]),
            command=["ENTAIL_ATTACK=docs/results/attack.json", "make", "attack"],
        )
