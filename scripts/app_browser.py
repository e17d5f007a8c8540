"""App in a real Chromium: its server, sessions, inputs and the times of their effects."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page

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
PATIENCE = 180_000
"""Milliseconds that anything may take, on a machine that others keep busy, before all is given up."""
APP = (sys.executable, "-m", "entail", "app", "--port", "{port}", "--address", "127.0.0.1")
HEALTH = "/_stcore/health"
ROW = '[class*="st-key-row-"]'


def find_chromium() -> str:
    """Return the path of Chromium; exit without one."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on the PATH: install the package 'chromium'")
    return chromium


def start(
    folder: Path, *, command: Sequence[str] = APP, cwd: Path = ROOT, health: str = HEALTH, **variables: str
) -> tuple[subprocess.Popen[bytes], str]:
    """Start the app, or another server, and return it with its address once its health check answers.

    Args:
        folder: Data folder; what the server prints goes to `server.log` in it.
        command: Command of the server; its port is the variable `PORT` and, at `{port}`, an argument.
        cwd: Folder that it is started in.
        health: Path of the health check.
        variables: Further environment variables.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"ENTAIL_DATA_DIR": str(folder), "OMP_WAIT_POLICY": "PASSIVE", "PORT": str(port)}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [part.format(port=port) for part in command],
            cwd=cwd,
            env={**os.environ, **environment, **variables},
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    begun = time.monotonic()
    while 1000 * (time.monotonic() - begun) < PATIENCE and server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}{health}", timeout=1).close()
            return server, url
        except OSError:  # nobody there yet, or too busy with its start to answer
            time.sleep(0.02)
    stop(server)
    sys.exit(f"the server did not become ready: {(folder / 'server.log').read_text()[-2000:]}")


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the app."""
    server.terminate()
    server.wait(timeout=20)


def start_to_page(browser: Browser, folder: Path) -> float:
    """Return the seconds from a ready process to the full page of an example tree."""
    server, url = start(folder)
    try:
        ready = time.perf_counter()
        page = new_session(browser)
        if (folder / "entail.db").exists():
            page.goto(f"{url}/Trees?tree={tree_id(folder)}")
            full(page)
        else:
            page.goto(url)
            page.locator(".st-key-open_example button").click()
            full(page)
        seconds = time.perf_counter() - ready
        page.context.close()
        return seconds
    finally:
        stop(server)


def new_session(browser: Browser) -> Page:
    """Return a page that shares nothing with others."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def full(page: Page) -> None:
    """Wait until ten candidates and the graph are drawn."""
    page.locator(ROW).nth(9).wait_for()
    page.locator(".graph .node").first.wait_for(state="attached")


def tree_id(folder: Path) -> str:
    """Return the id of an example tree."""
    return tree_ids(folder)[0]


def tree_ids(folder: Path) -> list[str]:
    """Return the ids of all trees, the one that was not touched for longest first."""
    from entail.trees.log.event_log import TreeLog
    from entail.trees.store.database import open_database

    return [tree.id for tree in TreeLog(open_database(f"sqlite:///{folder / 'entail.db'}")).trees()][::-1]


def open_trees(browser: Browser, url: str, tree: str) -> Page:
    """Open a session of its own on a tree."""
    page = new_session(browser)
    page.goto(f"{url}/Trees?tree={tree}")
    full(page)
    page.evaluate("localStorage.setItem('entail.author', 'Bench')")
    page.reload()
    page.get_by_text("Not you?").wait_for()
    full(page)
    return page


def typed_query(page: Page, words: str) -> float:
    """Return what a query that nobody encoded before waits for its candidates."""
    page.locator(".st-key-tool-search button").first.click()
    field = page.get_by_role("dialog").get_by_role("textbox", name="Words")
    field.fill(words)
    started = time.perf_counter()
    field.press("Enter")
    page.get_by_text("Your search for this").wait_for()
    page.locator(ROW).nth(9).wait_for()
    return time.perf_counter() - started


def accept(page: Page, *, pause: int = 0) -> float:
    """Return the seconds from a click on the first free candidate to the page with it in the tree.

    Args:
        page: Page.
        pause: Milliseconds before the click. Without any, the page still draws what the one before changed.
    """
    page.wait_for_timeout(pause)
    buttons = page.locator('[class*="st-key-accept-"] button:not([disabled])')
    if buttons.count() < 4:  # an accepted row may still be drawn as free
        page.get_by_role("button", name="Next").first.click()
        page.wait_for_timeout(2000)
    button = buttons.first
    row = button.locator("xpath=ancestor::*[contains(@class, 'st-key-row-')]").first
    key = row.get_attribute("class") or ""
    name = next(part for part in key.split() if part.startswith("st-key-row-"))
    return time_effect(page, button.click, event="pointerdown", selector=f".{name}", wanted=1)


def press(page: Page, key: str, *, pause: int = 0) -> float:
    """Return the seconds from a key, u or r, to the page with one accepted premise less, or more."""
    page.wait_for_timeout(pause)
    accepted = page.locator(ROW).filter(has_text="accepted here").count()
    target = accepted + (1 if key == "r" else -1)
    return time_effect(page, lambda: page.keyboard.press(key), event=None, selector=ROW, wanted=target)


STOPWATCH = """([event, selector, wanted, patience]) => {
  window.entailEffect = new Promise((resolve, reject) => {
    const begin = started => {
      const look = () => {
        const found = [...document.querySelectorAll(selector)];
        if (found.filter(row => row.textContent.includes("accepted here")).length !== wanted) return;
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
      };
      const watcher = new MutationObserver(look);
      watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
      setTimeout(() => reject(new Error("no effect in time")), patience);
    };
    if (!event) begin(performance.now());
    else addEventListener(event, ({ timeStamp }) => begin(timeStamp), { capture: true, once: true });
  });
  window.entailEffect.catch(() => {});
}"""
"""Script that times an input to the painted page with so many rows that say "accepted here"."""


def time_effect(
    page: Page, act: Callable[[], object], *, event: str | None, selector: str, wanted: int
) -> float:
    """Return the seconds from an input to its painted effect, as the page itself sees both.

    Playwright's own wait looks after 0, 20, 70, 170, 270 and 770 ms, which is too coarse for such times.

    Args:
        page: Page.
        act: Gives the input.
        event: DOM event at which time begins; None for right before the input, since the page's own handler
            of keys lets no other hear them.
        selector: Rows that are counted.
        wanted: Number of rows that say "accepted here" when the effect is there.
    """
    page.evaluate(STOPWATCH, [event, selector, wanted, PATIENCE])
    act()
    return float(page.evaluate("window.entailEffect")) / 1000
