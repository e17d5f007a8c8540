"""Measures the app as a person meets it, in a real Chromium, and writes docs/results/app.json.

- process ready (its health check answers) to the first full page of Trees on the bundled sample;
- what a first typed query waits;
- one accept, click to redrawn page;
- resident memory of the server with one session and with ten.

    python scripts/bench_app.py [--accepts 30] [--out docs/results/app.json]
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from entail.results import write_result

ROOT = Path(__file__).parent.parent
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ROW = '[class*="st-key-row-"]'


def main() -> None:
    """Run all measurements once and write them down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accepts", type=int, default=30, help="accepts to time")
    parser.add_argument("--starts", type=int, default=3, help="fresh servers to time")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "app.json")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on the PATH: install the package 'chromium'")
    started = datetime.now(UTC)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        # A first start seeds the database; the others find it there, as on any later day.
        seeded = start_to_page(browser, Path(folder))
        starts = [start_to_page(browser, Path(folder)) for _ in range(options.starts)]
        server, url = start(Path(folder))
        try:
            tree = tree_id(Path(folder))
            page = open_trees(browser, url, tree)
            query = typed_query(page)
            accepts = [accept(page) for _ in range(options.accepts)]
            one = resident_mb(server.pid)
            for _ in range(9):
                open_trees(browser, url, tree)
            ten = resident_mb(server.pid)
        finally:
            stop(server)
        browser.close()
    figures = {
        "ready_to_first_page_s": {
            "first_start_ever": seeded,
            "later_starts": starts,
            "median": statistics.median(starts),
            "target": 4.0,
        },
        "first_typed_query_s": {"waited": query, "target": 6.0},
        "accept_click_to_redrawn_ms": {
            "p50": 1000 * statistics.median(accepts),
            "p95": 1000 * sorted(accepts)[int(0.95 * (len(accepts) - 1))],
            "n": len(accepts),
            "target_p50": 400,
        },
        "resident_mb": {"one_session": one, "ten_sessions": ten, "per_further_session": (ten - one) / 9},
    }
    write_result(options.out, figures=figures, command=sys.argv, seed=None, started=started)
    print(options.out.read_text(encoding="utf-8"))


def start(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start the app with its data in `folder` and return it once its health check answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "entail", "app", "--port", str(port), "--address", "127.0.0.1"],
        cwd=ROOT,
        env={**os.environ, "ENTAIL_DATA_DIR": str(folder), "OMP_WAIT_POLICY": "PASSIVE"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
            return server, url
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
    stop(server)
    sys.exit("the app did not become ready within a minute")


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the app."""
    server.terminate()
    server.wait(timeout=20)


def start_to_page(browser: Browser, folder: Path) -> float:
    """Return the seconds from a ready process to the full page of an example tree."""
    server, url = start(folder)
    try:
        ready = time.perf_counter()
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        if (folder / "entail.db").exists():
            page.goto(f"{url}/Trees?tree={tree_id(folder)}")
            full(page)
        else:
            page.goto(url)
            page.get_by_role("button", name="Open").first.wait_for()
            page.get_by_role("button", name="Open").first.click()
            full(page)
        seconds = time.perf_counter() - ready
        page.close()
        return seconds
    finally:
        stop(server)


def full(page: Page) -> None:
    """Wait until ten candidates and the graph are drawn."""
    page.locator(ROW).nth(9).wait_for()
    page.locator("canvas").first.wait_for()


def tree_id(folder: Path) -> str:
    """Return the id of an example tree."""
    from entail.trees.database import open_database
    from entail.trees.log import TreeLog

    return TreeLog(open_database(f"sqlite:///{folder / 'entail.db'}")).trees()[-1].id


def open_trees(browser: Browser, url: str, tree: str) -> Page:
    """Open a session of its own on a tree."""
    page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
    page.goto(f"{url}/Trees?tree={tree}")
    full(page)
    name = page.get_by_role("textbox", name="Your name")
    name.fill("Bench")
    name.press("Enter")
    page.get_by_text("Not you?").wait_for()
    return page


def typed_query(page: Page) -> float:
    """Return what a query that nobody encoded before waits for its candidates."""
    page.locator(".st-key-tool-search button").first.click()
    field = page.get_by_role("dialog").get_by_role("textbox", name="Words")
    field.fill("a thing that nobody has asked about before")
    started = time.perf_counter()
    field.press("Enter")
    page.get_by_text("Searched with your own words").wait_for()
    page.locator(ROW).nth(9).wait_for()
    return time.perf_counter() - started


def accept(page: Page) -> float:
    """Return the seconds from a click on the first free candidate to the page with it in the tree."""
    buttons = page.locator('[class*="st-key-accept-"] button:not([disabled])')
    if buttons.count() < 2:
        page.get_by_role("button", name="Next").first.click()
        page.wait_for_timeout(2000)
    button = buttons.first
    row = button.locator("xpath=ancestor::*[contains(@class, 'st-key-row-')]").first
    key = row.get_attribute("class") or ""
    name = next(part for part in key.split() if part.startswith("st-key-row-"))
    started = time.perf_counter()
    button.click()
    page.locator(f".{name}").get_by_text("accepted here").wait_for()
    return time.perf_counter() - started


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, in MB, without what its files share."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
