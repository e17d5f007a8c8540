"""Measure the Compare page over many trees and a large corpus, and write docs/results/compare.json.

The first trees that hold so many queries are compared over the whole corpus. All vectors are cached before
anything is timed, those of the premises on disk, those of the queries in memory. Then:

- by the library alone: figures with intervals and tests, Figure 3 of every encoder of the pair, and the tour;
- in a real Chromium: from opening the address of a comparison that nobody made yet to its first table, and
  to the list of its claims, and again when it was made; the same for Figure 3's chart, which has all panels
  at once, and its findings, and for the slopes of one query.

    python scripts/bench_compare.py --trees train.jsonl.gz --corpus premises.txt.gz [--queries 1000]
        [--left minilm --right aeenc-minilm]                # the page's own pair
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app_browser import FLAGS, find_chromium, start, stop
from playwright.sync_api import Page, sync_playwright

from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees, write_trees
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.results import write_result

ROOT = Path(__file__).parent.parent
TARGET = 3.0
"""Seconds in which 1,000 queries over 16,000 premises should be drawn from cached vectors."""


def main() -> None:
    """Run all measurements once and write them down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=Path, required=True, help="EntailmentBank JSONL, tasks 1 or 2")
    parser.add_argument("--corpus", type=Path, required=True, help="the candidates")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--left", default="minilm", help="the first retriever (minilm)")
    parser.add_argument("--right", default="aeenc-minilm", help="the second (aeenc-minilm)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "compare.json")
    options = parser.parse_args()
    pair = options.left, options.right
    if len(set(pair)) < 2:
        parser.error(f"expected two retrievers to compare, found {options.left} twice; name another one")
    chromium = find_chromium()
    started = datetime.now(UTC)
    corpus = read_corpus(options.corpus).corpus
    trees = first_trees(read_trees(options.trees), options.queries)
    with tempfile.TemporaryDirectory() as folder:
        figures = {
            "queries": len(gold_children(trees)),
            "trees": len(trees),
            "premises": len(corpus),
            "retrievers": list(pair),
            **library(corpus, trees, pair, Path(folder), options.repeats),
            "page_seconds": page_times(corpus, trees, pair, Path(folder), chromium, options.repeats),
        }
    figures["target_seconds"] = TARGET
    print(figures)
    write_result(options.out, figures=figures, seed=0, started=started)


def first_trees(trees: list[ExplanationTree], queries: int) -> list[ExplanationTree]:
    """Return the first trees that together have so many distinct queries, or all."""
    selection: list[ExplanationTree] = []
    distinct_queries: set[str] = set()
    for tree in trees:
        if len(distinct_queries) >= queries:
            break
        selection.append(tree)
        distinct_queries |= gold_children([tree]).keys()
    return selection


def library(
    corpus: Corpus, trees: list[ExplanationTree], pair: tuple[str, str], folder: Path, repeats: int
) -> dict[str, Any]:
    """Return what Figure 3 is of, and the median seconds of each computation behind the page."""
    from entail.aeenc.bias import SimilarityBias, bias
    from entail.evaluation.retrieval.premises import GoldQueries
    from entail.evaluation.retrieval.split_comparison import compare_split
    from entail.evaluation.retrieval.tour import choose_stops
    from entail.index.factory import retriever
    from entail.index.flat import DenseIndex
    from entail.ui.compare.bias import draw_bias, encoders_of, pairs_table
    from entail.ui.shared.model_names import retriever_marks

    os.environ["ENTAIL_DATA_DIR"] = str(folder)  # where the page finds the premise vectors, too
    first, second = (retriever(name, corpus) for name in pair)
    for index in (first, second):
        if isinstance(index, DenseIndex):
            index.encode(GoldQueries.of(corpus, trees).texts)
    split = compare_split(corpus, trees, (first, second))
    encoders = encoders_of((first, second))

    def panels() -> SimilarityBias:
        encoder_bias = bias(corpus, trees, encoders)
        _ = encoder_bias.panels
        return encoder_bias

    def whole() -> None:
        comparison = compare_split(corpus, trees, (first, second))
        _ = comparison.changes, comparison.figures

    seconds = {
        "split": timed(whole, repeats),
        "split_processor": timed(whole, repeats, clock=time.process_time),
        "tour": timed(lambda: choose_stops(split, (first, second)), repeats),
    }
    if not encoders:
        return {"panels": 0, "library_seconds": seconds}
    encoder_bias, marks = panels(), retriever_marks([index.name for index in encoders])
    chart = draw_bias(pairs_table(encoder_bias, "all"), marks)
    seconds["bias"] = timed(panels, repeats)
    seconds["bias_chart"] = timed(
        lambda: draw_bias(pairs_table(encoder_bias, "all"), marks).to_dict(), repeats
    )
    return {"panels": len(chart.vconcat), "library_seconds": seconds}


def timed(
    work: Callable[[], object], repeats: int, *, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the median of some runs, in seconds of a clock."""
    seconds = []
    for _ in range(repeats):
        begun = clock()
        work()
        seconds.append(clock() - begun)
    return round(statistics.median(seconds), 3)


def page_times(
    corpus: Corpus,
    trees: list[ExplanationTree],
    pair: tuple[str, str],
    folder: Path,
    chromium: str,
    repeats: int,
) -> dict[str, float]:
    """Return the median seconds from opening an address to what it shows; a fresh server each time."""
    from entail.index.factory import LEXICAL
    from entail.trees.store.corpora import CorpusStore
    from entail.trees.store.database import open_database

    database = open_database(f"sqlite:///{folder / 'entail.db'}")
    corpus_id = CorpusStore(database).add_corpus(corpus, author="Bench").id
    database.engine.dispose()
    (folder / "splits").mkdir()
    write_trees(trees, folder / "splits" / "trees.jsonl")
    encoders = [name for name in pair if name not in LEXICAL and "+" not in name]  # a hybrid has no cosine
    source = f"corpus={corpus_id}&trees=file&file=trees.jsonl"
    fields = f"left={pair[0]}&right={pair[1]}&{source}"
    figures, chart = '[data-testid="stTable"] td', '[data-testid="stVegaLiteChart"] :is(svg, canvas)'
    claims, findings = '[data-testid="stDataFrame"] canvas', "text=Do false positives stand above"
    measured: dict[str, list[float]] = {}

    def opened(page: Page, url: str, address: str, *selectors: str, name: str, then: str = "") -> None:
        begun = time.perf_counter()
        page.goto(f"{url}/Compare?{address}")
        for selector, called in zip(selectors, (name, f"{name}_{then}"), strict=False):
            page.locator(selector).first.wait_for(timeout=120_000)
            measured.setdefault(called, []).append(time.perf_counter() - begun)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for _ in range(repeats):
            server, url = start(folder)
            try:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                # What is cached before the clock runs: both indexes, and the query vectors.
                opened(page, url, f"mode=query&{fields}&query=ice", chart, name="cold")
                for name in encoders:
                    alone = f"mode=split&left={name}&right={name}&{source}"
                    opened(page, url, alone, figures, name=f"vectors_{name}")
                opened(page, url, f"mode=split&{fields}", figures, claims, name="split", then="claims")
                opened(page, url, f"mode=split&{fields}", figures, claims, name="split_again", then="claims")
                if encoders:
                    opened(page, url, f"mode=bias&{fields}", chart, findings, name="bias", then="findings")
                opened(page, url, f"mode=query&{fields}&query=ice", chart, name="query")
                page.close()
            finally:
                stop(server)
        browser.close()
    return {name: round(statistics.median(seconds), 3) for name, seconds in measured.items()}


if __name__ == "__main__":
    main()
