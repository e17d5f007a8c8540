"""Measure the app in a real Chromium, and write a result file.

- process ready (its health check answers) to the first full page of Trees on the bundled sample;
- what a first typed query waits;
- one accept, click to redrawn page, a second after the one before and without that pause;
- a key that undoes or redoes it, pressed to visible, likewise;
- resident memory of the server with one session and with ten.

    python scripts/bench_app.py [--accepts 40] [--before FILE] [--out docs/results/app.json]

`--before` adds the figures of an earlier commit, measured on the same machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app_browser import (
    FLAGS,
    ROOT,
    accept,
    find_chromium,
    open_trees,
    press,
    start,
    start_to_page,
    stop,
    tree_id,
    typed_query,
)
from playwright.sync_api import Browser, sync_playwright

from entail.results import write_result

REST = 1000
"""Milliseconds that a person reads before the next click, at least."""


def main() -> None:
    """Run all measurements once and write them down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accepts", type=int, default=40, help="accepts to time, in all or on each side")
    parser.add_argument("--starts", type=int, default=3, help="fresh servers to time")
    parser.add_argument("--before", type=Path, help="result file of an earlier commit")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "app.json")
    options = parser.parse_args()
    chromium = find_chromium()
    started = datetime.now(UTC)
    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        figures = alone(browser, Path(folder), starts=options.starts, accepts=options.accepts)
        browser.close()
    if options.before:
        earlier = json.loads(options.before.read_text(encoding="utf-8"))
        figures["before"] = {"commit": earlier["commit"], **earlier["figures"]}
    write_result(options.out, figures=figures, command=sys.argv, seed=None, started=started)
    print(options.out.read_text(encoding="utf-8"))


def alone(browser: Browser, folder: Path, *, starts: int, accepts: int) -> dict[str, Any]:
    """Return the figures of the app by itself."""
    # A first start seeds the database; the others find it there, as on any later day.
    seeded = start_to_page(browser, folder)
    later = [start_to_page(browser, folder) for _ in range(starts)]
    server, url = start(folder)
    try:
        tree = tree_id(folder)
        page = open_trees(browser, url, tree)
        query = typed_query(page, "a thing that nobody has asked about before")
        clicks = {pause: [accept(page, pause=pause) for _ in range(accepts // 2)] for pause in (REST, 0)}
        pressed = {
            pause: [press(page, key, pause=pause) for _ in range(accepts // 4) for key in ("u", "r")]
            for pause in (REST, 0)
        }
        single = resident_mb(server.pid)
        for _ in range(9):
            open_trees(browser, url, tree)
        ten = resident_mb(server.pid)
    finally:
        stop(server)
    return {
        "ready_to_first_page_s": {
            "first_start_ever": seeded,
            "later_starts": later,
            "median": statistics.median(later),
            "target": 2.0,
        },
        "first_typed_query_s": {"waited": query, "target": 6.0},
        "accept_click_to_redrawn_ms": {**milliseconds(clicks[REST]), "target_p50": 200},
        "accept_without_a_pause_ms": milliseconds(clicks[0]),
        "key_to_visible_ms": {**milliseconds(pressed[REST]), "target_p95": 400},
        "key_without_a_pause_ms": milliseconds(pressed[0]),
        "resident_mb": {
            "one_session": single,
            "ten_sessions": ten,
            "per_further_session": (ten - single) / 9,
        },
    }


def milliseconds(seconds: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times, in milliseconds."""
    return {
        "p50": 1000 * statistics.median(seconds),
        "p95": 1000 * sorted(seconds)[int(0.95 * (len(seconds) - 1))],
        "n": len(seconds),
    }


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, in MB, without what its files share."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
