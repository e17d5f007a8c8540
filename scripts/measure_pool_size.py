"""Measure retrievers of passages over pools of many sizes; write figures and a page to docs/results/.

::

    python scripts/measure_pool_size.py --train train-v1.1.json.gz --dev dev-v1.1.json.gz
    python scripts/measure_pool_size.py ... --encoder minilm --encoder dpr-minilm --sizes 3000 10000
    python scripts/measure_pool_size.py --table                 # only the page, from the result file

What one training gains over another may show only where a pool is large. The smallest pool has the dev
questions' own passages, the largest all of train and dev, and each holds the smaller ones: further passages
come in an order drawn by the seed. A question's rank in a pool is 1 plus the number of its passages that
score above the gold one.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

import entail
from entail.cli.console import progress_bar
from entail.data.passages.files import Question, read_questions
from entail.encoders.device import Precision
from entail.evaluation.passages.store import PassageStore, encode_store, store_passages
from entail.results import write_page, write_result
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination
from entail.training.nli_source import take_evenly

RESULT = Path(__file__).resolve().parent.parent / "docs" / "results" / "pool_size.json"
MRR_AT = 100
Positions = NDArray[np.int64]
_BLOCK = 256


def pools(
    store: PassageStore, asked: Sequence[Question], sizes: Sequence[int], *, seed: int
) -> list[Positions]:
    """Return pools as positions, the smallest first: gold passages, then others as the seed draws them."""
    gold = sorted(set(store.positions(known for one in asked for known in one.gold).values()))
    others = np.setdiff1d(np.arange(len(store)), gold)
    order = np.concatenate([gold, np.random.default_rng(seed).permutation(others)]).astype(np.int64)
    counts = sorted({len(gold), *(size for size in sizes if len(gold) < size < len(store)), len(store)})
    return [order[:count] for count in counts]


def gold_ranks(
    queries: NDArray[np.float32],
    passages: NDArray[np.float32],
    gold: Sequence[Sequence[int]],
    pool: Positions,
) -> NDArray[np.int64]:
    """Return each question's rank of its best gold passage in a pool that holds it, from 1.

    Args:
        queries: Shape (questions, d).
        passages: Of the whole store, shape (passages, d).
        gold: Positions in the store, of each question.
        pool: Positions in the store.
    """
    among, ranks = passages[pool], []
    for at in range(0, len(queries), _BLOCK):
        block = queries[at : at + _BLOCK]
        scores = block @ among.T
        for one, row, wanted in zip(block, scores, gold[at : at + _BLOCK], strict=True):
            best = (passages[list(wanted)] @ one).max()
            # A product of one row and of many may differ in the last digit.
            ranks.append(1 + int((row > best + 1e-6).sum()))
    return np.array(ranks, dtype=np.int64)


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Return R@1, R@20 and MRR@100 of each encoder in each pool."""
    store = store_passages([given.train, given.dev], given.work / "pool")
    asked = [one for one in take_evenly(tuple(read_questions(given.dev)), given.questions) if one.gold]
    where = store.positions(known for one in asked for known in one.gold)
    gold = [[where[known] for known in one.gold] for one in asked]
    made = pools(store, asked, given.sizes, seed=given.seed)
    encoders = []
    for name in given.encoder:
        loaded = entail.load(name, precision=given.precision)
        with progress_bar() as progress:
            files = encode_store(store, loaded, progress=progress)
            queries = loaded.encode_queries([one.text for one in asked], progress=progress)
        passages = np.concatenate([np.load(file) for file in files])
        rows = []
        for pool in made:
            ranks = gold_ranks(queries, passages, gold, pool)
            rows.append(
                {
                    "passages": len(pool),
                    "R@1": float((ranks == 1).mean()),
                    "R@20": float((ranks <= 20).mean()),
                    "MRR": float(np.where(ranks <= MRR_AT, 1 / ranks, 0).mean()),
                }
            )
        encoders.append({"encoder": name, "revision": loaded.revision, "pools": rows})
    return {"questions": len(asked), "precision": given.precision, "encoders": encoders}


def markdown(result: dict[str, Any]) -> Iterator[str]:
    """Make the page's lines."""
    figures = result["figures"]
    names = [one["encoder"] for one in figures["encoders"]]
    yield "<!-- Made from pool_size.json by `python scripts/measure_pool_size.py --table`; do not edit. -->"
    yield "# Passage retrieval by the size of the pool"
    yield ""
    yield f"{figures['questions']:,} dev questions of SQuAD; the smallest pool has their own paragraphs"
    yield "alone, the largest all of train and dev. Per cent; gold passage. In brackets: what an encoder has"
    yield "more than the first. One seed of each encoder and no interval: how a difference changes with the"
    yield "pool is not shown by it. Dev was read once an encoder and pool; it chose nothing."
    yield ""
    yield from textwrap.wrap(contamination(PACKAGED_HUB_ID, ("squad",)), 100, break_on_hyphens=False)
    for measure_of in ("R@1", "R@20", "MRR"):
        yield ""
        yield f"| {measure_of} | {' | '.join(names)} |"
        yield f"| ---: |{' ---: |' * len(names)}"
        for rows in zip(*(one["pools"] for one in figures["encoders"]), strict=True):
            first = rows[0][measure_of]
            told = [f"{100 * first:.2f}"]
            for row in rows[1:]:
                told.append(f"{100 * row[measure_of]:.2f} ({100 * (row[measure_of] - first):+.2f})")
            yield f"| {rows[0]['passages']:,} | {' | '.join(told)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write, or only write the page again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=Path, help="SQuAD JSON whose passages make the pool larger")
    parser.add_argument("--dev", type=Path, help="SQuAD JSON of the questions")
    parser.add_argument("--encoder", action="append", help="default dpr-minilm dpr-minilm-tuned minilm")
    parser.add_argument("--sizes", type=int, nargs="*", default=[3_000, 5_000, 10_000])
    parser.add_argument("--questions", type=int, help="so many, evenly from all; default all")
    parser.add_argument("--precision", choices=get_args(Precision), default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("build/pool-size"), help="folder for vectors")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--table", action="store_true", help="only write the page from the result file")
    given = parser.parse_args(arguments)
    if not given.table:
        if given.train is None or given.dev is None:
            parser.error("give --train and --dev, or --table")
        given.encoder = given.encoder or ["dpr-minilm", "dpr-minilm-tuned", "minilm"]
        started = datetime.now(UTC)
        write_result(given.out, figures=measure(given), seed=given.seed, started=started)
    print(f"wrote {write_page(given.out, markdown)}")
    return 0


if __name__ == "__main__":
    main()
