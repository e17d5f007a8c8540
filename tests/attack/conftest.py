"""Table of what was tried and what failed, printed after the tests and written where `ENTAIL_ATTACK` says.

Kinds of attack that a run does not try stay as an earlier one wrote them, so that parts can be repeated.
"""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from entail.results import write_result
from tests.jobs.conftest import jobs, package, submit  # noqa: F401 - fixtures
from tests.serving.conftest import serve, served  # noqa: F401 - fixtures

FULL = bool(os.environ.get("ENTAIL_ATTACK"))
"""Whether this is the whole attack; else a few seconds of each kind."""

SEED = 25
STARTED = datetime.now(UTC)

_COUNTS: dict[str, dict[str, int]] = {}

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
    """Return what counts attempts, failures and kills of a test, which else is one attempt."""

    def count(*, attempts: int, failures: int, kills: int = 0) -> None:
        row = _COUNTS.setdefault(kind_of(request.node.nodeid), {"attempts": 0, "failures": 0, "kills": 0})
        for name, number in (("attempts", attempts), ("failures", failures), ("kills", kills)):
            row[name] += number

    return count


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not FULL:
        return
    counted = frozenset(_COUNTS)
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.getreports(outcome):
            kind = kind_of(report.nodeid)
            row = _COUNTS.setdefault(kind, {"attempts": 0, "failures": 0, "kills": 0})
            row["attempts"] += kind not in counted
            row["failures"] += outcome != "passed"
    terminalreporter.section("attempts, failures, kills")
    for kind, row in sorted(_COUNTS.items()):
        terminalreporter.write_line(f"{kind:50} {row}")
    target = Path(os.environ["ENTAIL_ATTACK"])
    if target.suffix == ".json":
        earlier = json.loads(target.read_text())["figures"]["kinds"] if target.exists() else {}
        kinds = dict(sorted({**earlier, **_COUNTS}.items()))
        totals = {
            name: sum(row[name] for row in kinds.values()) for name in ("attempts", "failures", "kills")
        }
        write_result(
            target,
            figures={**totals, "kinds": kinds},
            seed=SEED,
            started=STARTED,
            command=["ENTAIL_ATTACK=docs/results/attack.json", "make", "attack"],
        )
