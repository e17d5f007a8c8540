"""Measure how long the first content of each page takes on a fresh installation, in a real Chromium.

    python scripts/bench_pages.py [--runs 3] [--only Claims ...] [--before FILE] [--out FILE]

Each run starts the app with an empty data folder and opens the frame once, which is the app's own start.
Then one page is opened, and the time from navigation to its first content is taken: a list, a figure or a
picture, not a progress bar. `--before` adds the seconds of an earlier result, measured at another commit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app_browser import FLAGS, ROOT, find_chromium, new_session, start, stop
from playwright.sync_api import Browser, sync_playwright

from entail.results import write_result

TARGET_S = 3.0
"""Longest wait for the first content of a page."""

METRIC, TABLE = '[data-testid="stMetricValue"]', '[data-testid="stDataFrame"]'

PAGES: dict[str, tuple[str, str]] = {
    "Home": ("", '[class*="st-key-open"] button'),
    "Trees": ("Trees", '[class*="st-key-open-"] button'),
    "Corpora": ("Corpora", TABLE),
    "Compare": ("Compare", METRIC),
    "Compare, tour": ("Compare?mode=tour", METRIC),
    "Direction": ("Direction", METRIC),
    "Chains": ("Chains", '[class*="st-key-chain-choose-"] button'),
    "Claims": ("Claims", "table.ranked"),
    "Models": ("Models", '[class*="st-key-models_view"] button'),
    "Operator": ("Operator", METRIC),
}
"""Page -> its address, and the selector of its first content."""


def main() -> None:
    """Measure the pages and write the result."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--runs", type=int, default=3, help="fresh installations a page")
    parser.add_argument("--only", nargs="+", choices=PAGES, metavar="PAGE", help="pages (default: all)")
    parser.add_argument("--before", type=Path, help="result file of an earlier commit")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "pages.json")
    options = parser.parse_args()
    begun = datetime.now(UTC)
    pages = options.only or list(PAGES)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        seconds = {page: [open_fresh(browser, page) for _ in range(options.runs)] for page in pages}
        browser.close()
    figures = make_figures(seconds, before=options.before)
    write_result(options.out, figures=figures, command=sys.argv, seed=None, started=begun)
    for page, figure in figures["pages"].items():
        print(page, figure)


def make_figures(seconds: dict[str, list[float]], *, before: Path | None = None) -> dict[str, Any]:
    """Return a figure for each page, beside the median of an earlier result."""
    earlier = json.loads(before.read_text(encoding="utf-8")) if before else None
    pages: dict[str, dict[str, Any]] = {}
    for page, durations in seconds.items():
        pages[page] = {"seconds": [round(duration, 2) for duration in durations]}
        pages[page]["median_s"] = round(statistics.median(durations), 2)
        if earlier is not None and page in earlier["figures"]["pages"]:
            pages[page]["before_s"] = earlier["figures"]["pages"][page]["median_s"]
    figures: dict[str, Any] = {"target_s": TARGET_S, "pages": pages}
    return figures if earlier is None else figures | {"before_commit": earlier["commit"]}


def open_fresh(browser: Browser, page: str) -> float:
    """Return the seconds from navigation to the first content of a page of a fresh installation."""
    address, content = PAGES[page]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server, url = start(Path(folder))
        try:
            tab = new_session(browser)
            tab.goto(f"{url}/Corpora" if page != "Corpora" else url)  # the app's own start: seeds the sample
            tab.locator(PAGES["Corpora" if page != "Corpora" else "Home"][1]).first.wait_for()
            begun = time.perf_counter()
            tab.goto(f"{url}/{address}")
            tab.locator(content).first.wait_for()
            seconds = time.perf_counter() - begun
            tab.context.close()
        finally:
            stop(server)
    print(f"{page}: {seconds:.2f} s", file=sys.stderr)
    return seconds


if __name__ == "__main__":
    main()
