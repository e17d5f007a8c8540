"""Measures the app as a person meets it, in a real Chromium, and writes a result file.

- process ready (its health check answers) to the first full page of Trees on the bundled sample;
- what a first typed query waits;
- one accept, click to redrawn page, a second after the one before and without that pause;
- a key that undoes or redoes it, pressed to visible, likewise;
- resident memory of the server with one session and with ten.

    python scripts/bench_app.py [--accepts 40] [--before FILE] [--out docs/results/app.json]

`--before` adds the figures of an earlier commit, measured on the same machine.

Or what a training of the queue costs those who work meanwhile: accepts, searches in one's own words and the
opening of a second session, in turns without and beside an AE-Enc job of MiniLM on the sample's trees, whose
worker is started as the app starts it:

    python scripts/bench_app.py --beside-training [--turns 4] [--out docs/results/app_beside_training.json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
PATIENCE = 180_000
"""Milliseconds that anything may take, on a machine that others keep busy, before all is given up."""
REST = 1000
"""Milliseconds that a person reads before the next click, at least."""
ROW = '[class*="st-key-row-"]'


def main() -> None:
    """Run all measurements once and write them down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accepts", type=int, default=40, help="accepts to time, in all or on each side")
    parser.add_argument("--starts", type=int, default=3, help="fresh servers to time")
    parser.add_argument("--before", type=Path, help="result file of an earlier commit")
    parser.add_argument("--beside-training", action="store_true", help="alone against beside a training")
    parser.add_argument("--turns", type=int, default=4, help="how often each side of that is measured")
    parser.add_argument("--out", type=Path, help="result file; default: by its name in docs/results")
    options = parser.parse_args()
    name = "app_beside_training" if options.beside_training else "app"
    out = options.out or ROOT / "docs" / "results" / f"{name}.json"
    chromium = find_chromium()
    started = datetime.now(UTC)
    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        if options.beside_training:
            turns = options.turns
            figures = beside_training(browser, Path(folder), turns=turns, accepts=options.accepts)
        else:
            figures = alone(browser, Path(folder), starts=options.starts, accepts=options.accepts)
        browser.close()
    if options.before:
        earlier = json.loads(options.before.read_text(encoding="utf-8"))
        figures["before"] = {"commit": earlier["commit"], **earlier["figures"]}
    write_result(out, figures=figures, command=sys.argv, seed=None, started=started)
    print(out.read_text(encoding="utf-8"))


def find_chromium() -> str:
    """Return the path of Chromium; exit without one."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on the PATH: install the package 'chromium'")
    return chromium


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
        taken = {pause: [accept(page, pause=pause) for _ in range(accepts // 2)] for pause in (REST, 0)}
        pressed = {
            pause: [press(page, key, pause=pause) for _ in range(accepts // 4) for key in ("u", "r")]
            for pause in (REST, 0)
        }
        one = resident_mb(server.pid)
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
        "accept_click_to_redrawn_ms": {**milliseconds(taken[REST]), "target_p50": 200},
        "accept_without_a_pause_ms": milliseconds(taken[0]),
        "key_to_visible_ms": {**milliseconds(pressed[REST]), "target_p95": 400},
        "key_without_a_pause_ms": milliseconds(pressed[0]),
        "resident_mb": {"one_session": one, "ten_sessions": ten, "per_further_session": (ten - one) / 9},
    }


def milliseconds(seconds: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times, in milliseconds."""
    return {
        "p50": 1000 * statistics.median(seconds),
        "p95": 1000 * sorted(seconds)[int(0.95 * (len(seconds) - 1))],
        "n": len(seconds),
    }


SIDES = ("alone", "beside training")


def beside_training(browser: Browser, folder: Path, *, turns: int, accepts: int) -> dict[str, Any]:
    """Return accepts, searches and a second session's page, alone and beside a training.

    Every turn has both sides, each on a tree of its own; which comes first changes from turn to turn, as
    machines warm up and others work on them, too.
    """
    (folder / "models").mkdir()
    os.environ |= {"ENTAIL_DATA_DIR": str(folder), "ENTAIL_MODELS_DIR": str(folder / "models")}
    start_to_page(browser, folder)
    trees = iter(tree_ids(folder))
    taken: dict[str, dict[str, list[float]]] = {side: {} for side in SIDES}
    trained: list[float] = []
    server, url = start(folder)
    try:
        # What a process does for the first time takes longer: that counts for neither side.
        one_turn(browser, url, next(trees), "what nobody has asked about either", accepts=1)
        for turn in range(turns):
            for side in SIDES if turn % 2 == 0 else SIDES[::-1]:
                share = accepts // turns + (turn < accepts % turns)
                words = f"a thing that nobody has asked about before, {side} {turn}"
                with training(turn) if side != "alone" else nullcontext() as steps:
                    before = steps() if steps else None
                    for what, seconds in one_turn(browser, url, next(trees), words, accepts=share).items():
                        taken[side].setdefault(what, []).extend(seconds)
                    if steps and before:
                        done, at = steps()
                        trained.append((done - before[0]) / max(at - before[1], 1e-9))
    finally:
        stop(server)
        end_workers()
    return {
        what: {
            **{f"{side}, p50": 1000 * statistics.median(taken[side][what]) for side in SIDES},
            "ratio": statistics.median(taken[SIDES[1]][what]) / statistics.median(taken[SIDES[0]][what]),
            "n_each": len(taken[SIDES[0]][what]),
        }
        for what in taken[SIDES[0]]
    } | {"training_steps_per_s_meanwhile": statistics.median(trained), "turns": turns}


def one_turn(browser: Browser, url: str, tree: str, words: str, *, accepts: int) -> dict[str, list[float]]:
    """Return the seconds of accepts, of a search in one's own words, and of a second session's full page."""
    page = open_trees(browser, url, tree)
    clicks = [accept(page) for _ in range(accepts)]
    searched = typed_query(page, words)
    second = new_session(browser)
    begun = time.perf_counter()
    second.goto(f"{url}/Trees?tree={tree}")
    full(second)
    opened = time.perf_counter() - begun
    second.context.close()
    page.context.close()
    return {
        "accept_click_to_redrawn_ms": clicks,
        "typed_search_ms": [searched],
        "second_session_full_page_ms": [opened],
    }


@contextmanager
def training(turn: int) -> Iterator[Callable[[], tuple[int, float]]]:
    """Have a job train, and yield what returns which step it told of last, and when that was.

    Exits if it does not train any more when it is asked: what was measured would not be what is said.
    """
    from entail.data.bundled import sample_dir
    from entail.jobs.jobs import Jobs

    jobs = Jobs()
    data = {"corpus": sample_dir() / "premises.jsonl.gz", "trees": sample_dir() / "trees.jsonl.gz"}
    job = jobs.submit("aeenc", {"epochs": 1000}, data, name=f"beside-{turn}", by="Bench")

    def steps() -> tuple[int, float]:
        found = jobs.job(job.id)
        if found.state != "running":
            sys.exit(f"the training is {found.state}: {found.status.what}\n{jobs.log_tail(job.id)}")
        last = [event for event in jobs.list_events(job.id) if event.get("kind") == "step"][-1]
        return last["step"], last["at"]

    wait_for(lambda: any(event.get("kind") == "step" for event in jobs.list_events(job.id)), "the first step")
    yield steps
    jobs.cancel(job.id, by="Bench")
    wait_for(lambda: not jobs.job(job.id).open, "the end of a cancelled training")


def end_workers() -> None:
    """End the worker that the trainings were given to."""
    from entail.jobs.jobs import Jobs

    for worker in Jobs().workers():
        if worker.alive:
            os.kill(worker.pid, signal.SIGTERM)
    wait_for(lambda: not any(worker.alive for worker in Jobs().workers()), "the worker's end")


def wait_for(there: Callable[[], bool], what: str) -> None:
    """Wait until something is so; exit where it never is."""
    for _ in range(9000):
        if there():
            return
        time.sleep(0.1)
    sys.exit(f"expected {what} within a quarter of an hour: is the machine busy with something else?")


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
    begun = time.monotonic()
    while 1000 * (time.monotonic() - begun) < PATIENCE:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
            return server, url
        except OSError:  # nobody there yet, or too busy with its start to answer
            time.sleep(0.02)
    stop(server)
    sys.exit("the app did not become ready within three minutes")


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
            # By its key: the arrow of a list of choices is a button called "Open", too.
            page.locator('[class*="st-key-open-"] button').first.click()
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
    if buttons.count() < 2:
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
    wanted = accepted + (1 if key == "r" else -1)
    return time_effect(page, lambda: page.keyboard.press(key), event=None, selector=ROW, wanted=wanted)


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


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, in MB, without what its files share."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
