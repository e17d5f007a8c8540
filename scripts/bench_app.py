"""Measure the app in a real Chromium, and write a result file.

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
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app_browser import (
    FLAGS,
    ROOT,
    accept,
    find_chromium,
    full,
    new_session,
    open_trees,
    press,
    start,
    start_to_page,
    stop,
    tree_id,
    tree_ids,
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
    durations: dict[str, dict[str, list[float]]] = {side: {} for side in SIDES}
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
                    for measure, seconds in one_turn(browser, url, next(trees), words, accepts=share).items():
                        durations[side].setdefault(measure, []).extend(seconds)
                    if steps and before:
                        done, at = steps()
                        trained.append((done - before[0]) / max(at - before[1], 1e-9))
    finally:
        stop(server)
        end_workers()
    return {
        measure: {
            **{f"{side}, p50": 1000 * statistics.median(durations[side][measure]) for side in SIDES},
            "ratio": statistics.median(durations[SIDES[1]][measure])
            / statistics.median(durations[SIDES[0]][measure]),
            "n_each": len(durations[SIDES[0]][measure]),
        }
        for measure in durations[SIDES[0]]
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
        record = jobs.job(job.id)
        if record.state != "running":
            sys.exit(f"the training is {record.state}: {record.status.what}\n{jobs.log_tail(job.id)}")
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


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, in MB, without what its files share."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
