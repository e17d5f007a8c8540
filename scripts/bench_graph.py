"""Measure the graph of a tree in a real Chromium, of several checkouts in turns, and write a result file.

- first paint: from the message of the server with the graph to the frame that shows it, and from the opening
  of the page;
- redraw: from the message with a node more, or the click that adds it, to the frame that shows it;
- letters: pixels of the text of a tree of 40 nodes on a full screen of 1400 x 900.

    python scripts/bench_graph.py --checkout before=../older --checkout now=. [--nodes 500] [--turns 5]
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from app_browser import find_chromium
from playwright.sync_api import Browser, Page, sync_playwright

from entail.results import write_result

ROOT = Path(__file__).parent.parent
APP = Path("tests", "browser", "apps", "components_app.py")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
PATIENCE = 120_000
"""Milliseconds that anything may take."""

WATCH = """() => {
  window.heard = 0;
  const Own = window.WebSocket;
  window.WebSocket = class extends Own {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", (event) => {
        if ((event.data.byteLength ?? event.data.size ?? 0) > 20000) window.heard = performance.now();
      });
    }
  };
  const graph = () => {
    for (const host of document.querySelectorAll("*")) {
      const found = host.shadowRoot?.querySelector(".graph");
      if (found) return found;
    }
    return document.querySelector(".graph");
  };
  // How many nodes are drawn: boxes of a picture, or what a canvas says that it has painted.
  const count = (root) => {
    if (!root) return 0;
    const boxes = root.querySelectorAll("[data-node]").length;
    if (boxes || root.dataset.still !== "true") return boxes;
    return Object.keys(JSON.parse(root.dataset.positions ?? "{}")).length;
  };
  window.paintedWith = (wanted) => new Promise((done) => {
    const look = () => {
      if (count(graph()) !== wanted) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0));
    };
    look();
  });
}"""


def main() -> None:
    """Run all checkouts in turns and write the figures down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkout", action="append", required=True, help="name=folder")
    parser.add_argument("--nodes", type=int, default=500, help="nodes of the tree that is timed")
    parser.add_argument("--turns", type=int, default=5, help="fresh pages of each checkout")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "graph.json")
    options = parser.parse_args()
    chromium = find_chromium()
    started = datetime.now(UTC)
    checkouts = dict(text.split("=", 1) for text in options.checkout)
    taken: dict[str, dict[str, list[float]]] = {name: {} for name in checkouts}
    letters: dict[str, float] = {}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for turn in range(options.turns + 1):  # the first turn warms up
            for name, path in checkouts.items():
                with serve(Path(path).resolve(), Path(folder)) as url:
                    for what, milliseconds in one_page(browser, url, options.nodes).items():
                        if turn:
                            taken[name].setdefault(what, []).append(milliseconds)
                    if not turn:
                        letters[name] = letter_pixels(browser, url)
        browser.close()
    figures = {
        "nodes": options.nodes,
        "turns": options.turns,
        **{
            name: {
                **{
                    what: {"median_ms": statistics.median(ms), "max_ms": max(ms)}
                    for what, ms in found.items()
                },
                "letters_of_40_nodes_px": letters[name],
            }
            for name, found in taken.items()
        },
    }
    write_result(options.out, figures=figures, command=sys.argv, seed=None, started=started)
    print(options.out.read_text(encoding="utf-8"))


def one_page(browser: Browser, url: str, nodes: int) -> dict[str, float]:
    """Return the milliseconds of a first paint and of two redraws, on a page of its own."""
    page = open_page(browser)
    page.goto(f"{url}/?nodes={nodes - 1}")
    painted = page.evaluate("n => paintedWith(n)", nodes)
    figures = {
        "page_opened_to_painted": painted,
        "message_to_first_paint": painted - page.evaluate("heard"),
    }
    page.wait_for_timeout(1000)
    clicked = page.evaluate("performance.now()")
    page.get_by_role("button", name="grow").click()
    painted = page.evaluate("n => paintedWith(n)", nodes + 1)
    figures["node_added_message_to_paint"] = painted - page.evaluate("heard")
    figures["node_added_click_to_paint"] = painted - clicked
    page.context.close()
    return figures


def letter_pixels(browser: Browser, url: str) -> float:
    """Return the size of the letters of a tree of 40 nodes on a full screen."""
    page = open_page(browser)
    page.goto(f"{url}/?nodes=39")
    page.evaluate("n => paintedWith(n)", 40)
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_timeout(1000)
    page.get_by_role("button", name="Fit the whole tree").click()
    page.wait_for_timeout(1000)
    root = page.locator(".graph")
    text = root.locator("[data-node] > text")
    size = 16.0  # of the letters that were painted on a canvas
    if text.count():
        size = text.first.evaluate("text => parseFloat(getComputedStyle(text).fontSize)")
    scale = float(root.get_attribute("data-scale") or "nan")
    page.context.close()
    return size * scale


def open_page(browser: Browser) -> Page:
    """Return a page that shares nothing with others and notes when messages come."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.add_init_script(f"({WATCH})()")
    return page


@contextmanager
def serve(checkout: Path, folder: Path) -> Iterator[str]:
    """Run the page of the components of a checkout and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "streamlit", "run", str(checkout / APP)),
            *(f"--{name}={value}" for name, value in options.items()),
        ],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "ENTAIL_DATA_DIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{url}/_stcore/health")
        yield url
    finally:
        server.terminate()
        server.wait(timeout=20)


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("the page did not become ready within a minute")


if __name__ == "__main__":
    main()
