"""Measure search by size and engine: recall, time, memory, disk, builds and updates; write a result file.

    python scripts/bench_index.py [--data ../shared/data] [--sizes 10000 100000] [--engines flat ivf]

Vectors are mixtures of real ones: weighted means of three vectors of EntailmentBank's premises and SQuAD's
passages (without `--data`, of the bundled premises), of length 1 again; those of Gaussians are means of their
numbers. Real ones stand next to them (`real`). Texts for keyword search are two real ones, joined. Queries
are the sentences of the bundled trees. Each engine has a process of its own. Times are of the clock; `cpu_ms`
is the median of the thread's own time, which other processes do not lengthen.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

import numpy as np
import psutil

from entail.data.bundled import sample_corpus, sample_trees
from entail.data.corpora import read_corpus
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import Gaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.index.engines import ENGINES, VectorSpace
from entail.index.gaussian import GaussianRows, LiftedGaussians
from entail.index.lexical import Bm25Index
from entail.index.store import VectorStore, write_segment
from entail.index.vectors import PremiseRows, unit
from entail.results import write_result
from entail.settings import load_settings

QUERIES, K, BLOCK, SEED = 200, 10, 100_000, 0
ROOT = Path(__file__).resolve().parent.parent
METRICS = {"retrieval": "inner_product", "direction": "gaussian"}


def real_corpus(data: Path | None, passages: int) -> Corpus:
    """Return EntailmentBank's premises and SQuAD's first passages; without a folder the bundled premises."""
    if data is None:
        return sample_corpus()
    premises = read_corpus(data / "entailment_bank" / "premises.txt.gz").corpus.texts
    with gzip.open(data / "squad_v1.1" / "train-v1.1.reconstructed.json.gz", "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    contexts = [" ".join(p["context"].split()) for article in articles for p in article["paragraphs"]]
    return Corpus.of("real", [*premises, *contexts[:passages]])


def mixtures(base: np.ndarray, count: int, *, of_unit_length: bool) -> Iterator[np.ndarray]:
    """Yield blocks of weighted means of three rows."""
    draw = np.random.default_rng(SEED)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        weights = draw.dirichlet([1, 1, 1], size).astype(np.float32)
        rows = np.zeros((size, base.shape[1]), dtype=np.float32)
        for part in range(3):
            rows += weights[:, part, None] * base[draw.integers(0, len(base), size)]
        if of_unit_length:
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield rows


def milliseconds(search: Callable[[int], object], count: int) -> dict[str, float]:
    """Return median and 95th percentile of one search, after three that warm up."""
    clock, own = [], []
    for number in [0, 1, 2, *range(count)]:
        starts = time.perf_counter(), time.thread_time()
        search(number)
        clock.append(1000 * (time.perf_counter() - starts[0]))
        own.append(1000 * (time.thread_time() - starts[1]))
    p50, p95 = np.quantile(clock[3:], [0.5, 0.95])
    return {
        "p50_ms": round(float(p50), 2),
        "p95_ms": round(float(p95), 2),
        "cpu_ms": round(float(np.median(own[3:])), 2),
    }


def measure(folder: Path, task: str, engine: str) -> dict[str, Any]:
    """Measure an engine over the rows of a folder, in a process of its own."""
    os.environ["ENTAIL_INDEX"], os.environ["ENTAIL_DATA_DIR"] = engine, str(folder / "data")
    numbers, queries = np.load(folder / "keys.npy"), np.load(folder / f"{task}_queries.npy")
    # The last one is added later.
    order, count = numbers[:-1], len(numbers) - 1
    store = VectorStore(folder / task, revision="mixture@1", dimension=queries.shape[1], metric=METRICS[task])
    process = psutil.Process()
    before = process.memory_info().rss
    load, start = round(os.getloadavg()[0], 2), time.perf_counter()
    index: Any
    changed = np.concatenate([order[: count // 2], order[count // 2 + 1 :], numbers[-1:]])
    if task == "retrieval":
        space = VectorSpace(revision="mixture@1", dimension=queries.shape[1], count=count)
        read = reader(store, order)
        index = ENGINES[engine].build(space, order, read, corpus_hash=f"{count:064}")
        vectors = unit(queries.astype(np.float16))
        search = lambda row, index=index: index.search(vectors[row : row + 1], k=K).positions[0]  # noqa: E731
    else:
        gaussians = Gaussians.of(queries)
        index = LiftedGaussians(Stored(store, order), "entailing", numbers=order)
        search = lambda row, index=index: index.nearest(gaussians[row], k=K).positions[0]  # noqa: E731
    built = time.perf_counter() - start
    figures: dict[str, Any] = {"build_s": round(built, 1), "load_average": load}
    positions = np.array([search(row) for row in range(len(queries))])
    figures |= milliseconds(search, len(queries))
    gold = folder / f"{task}_gold.npy"
    if engine == "flat":
        np.save(gold, positions)
    expected = np.load(gold)
    figures["recall_at_10"] = round(
        float(np.mean([len({*a} & {*b}) / K for a, b in zip(positions, expected, strict=True)])), 4
    )
    figures["same_ids"] = f"{int((positions == expected).all(axis=1).sum())} of {len(expected)}"
    figures["memory_mib"] = round((process.memory_info().rss - before) / 2**20)
    start, own = time.perf_counter(), time.thread_time()
    if task == "retrieval":
        version = index.updated(changed, reader(store, changed))
    else:
        version = index.updated(Stored(store, changed), changed)
    figures["update_ms"] = round(1000 * (time.perf_counter() - start), 1)
    figures["update_cpu_ms"] = round(1000 * (time.thread_time() - own), 1)
    start, own = time.perf_counter(), time.thread_time()
    if task == "retrieval":
        version.search(vectors[:1], k=K)
    else:
        version.nearest(gaussians[0], k=K)
    figures["first_search_after_ms"] = round(1000 * (time.perf_counter() - start), 1)
    figures["first_search_cpu_ms"] = round(1000 * (time.thread_time() - own), 1)
    files = [path for path in (folder / "data").rglob("*") if path.is_file()]
    figures["index_disk_mib"] = round(sum(path.stat().st_size for path in files) / 2**20)
    return figures


def measure_words(texts: list[str], queries: list[str]) -> dict[str, Any]:
    """Measure keyword search, and the index of a version without its middle premise and with another one."""
    corpus, start = Corpus.of("words", texts), time.perf_counter()
    index = Bm25Index(corpus)
    figures: dict[str, Any] = {"build_s": round(time.perf_counter() - start, 1)}
    figures |= milliseconds(lambda row: index.search([queries[row]], k=K), len(queries))
    middle = len(corpus) // 2
    changed = [*corpus.texts[:middle], *corpus.texts[middle + 1 :], "a premise that is new"]
    other = Corpus.of("words", changed)
    start = time.perf_counter()
    version = index.of_version(other) or Bm25Index(other)
    figures["update_ms"] = round(1000 * (time.perf_counter() - start), 1)
    start = time.perf_counter()
    version.search(queries[:1], k=K)
    figures["first_search_after_ms"] = round(1000 * (time.perf_counter() - start), 1)
    return figures


def reader(store: VectorStore, numbers: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the reader of vectors by position."""
    return lambda positions: unit(store.read(numbers[positions]))  # type: ignore[arg-type]


class Stored:
    """Gaussians in a store, by position."""

    def __init__(self, store: VectorStore, numbers: np.ndarray) -> None:
        self.store, self.numbers = store, numbers
        self.dimension = store.dimension // 2

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, positions: Any) -> Gaussians:  # noqa: ANN401 - whatever numpy takes for rows
        rows = self.store.read(np.atleast_1d(self.numbers[positions]))
        assert rows is not None
        return Gaussians.of(rows.astype(np.float32))


def write_rows(folder: Path, task: str, blocks: Iterator[np.ndarray], numbers: np.ndarray) -> None:
    """Write rows as segments of a store."""
    start = 0
    for rows in blocks:
        own = numbers[start : start + len(rows)]
        write_segment(folder / task, own, rows, revision="mixture@1", metric=METRICS[task])
        start += len(rows)


def main() -> None:
    """Measure and write."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with entailment_bank and squad_v1.1")
    parser.add_argument("--passages", type=int, default=18_896, help="SQuAD's passages that are encoded")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", default=["flat", "panorama", "ivf"])
    parser.add_argument("--tasks", nargs="+", default=["retrieval", "direction", "words"])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "index_scale.json")
    options = parser.parse_args()
    corpus = real_corpus(options.data, options.passages)
    texts = [text for tree in sample_trees() for text in (tree.hypothesis, *tree.intermediates.values())]
    texts = list(dict.fromkeys(texts))[:QUERIES]
    encoders: dict[str, Any] = {
        "retrieval": BiEncoder("minilm", device="cpu"),
        "direction": GaussianRows(GaussianEncoder("gausscse-minilm", device="cpu")),
    }
    base, queries = {}, {}
    for task in set(METRICS) & set(options.tasks):
        rows = PremiseRows(
            corpus, encoders[task], cache_dir=load_settings().vectors_dir, metric=METRICS[task]
        )
        rows.encode(progress=lambda part: print(part, end="\r", flush=True))
        base[task] = rows.read(np.arange(len(corpus))).astype(np.float32)
        queries[task] = encoders[task].encode_queries(texts)
    figures: dict[str, Any] = {"real_premises": len(corpus), "queries": len(texts), "k": K}
    draw = np.random.default_rng(SEED)
    for size in (None, *options.sizes):
        count = len(corpus) if size is None else size + 1
        numbers = draw.integers(0, 2**64 - 1, count, dtype=np.uint64)
        name = "real" if size is None else f"{size:,}"
        for task in options.tasks:
            if task == "words":
                words = [
                    " ".join(corpus.texts[row] for row in pair)
                    for pair in draw.integers(0, len(corpus), (count, 2))
                ]
                figures.setdefault(task, {})[name] = measure_words(
                    words if size else list(corpus.texts), texts
                )
                print(task, name, figures[task][name], flush=True)
                continue
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                np.save(folder / "keys.npy", numbers)
                np.save(folder / f"{task}_queries.npy", queries[task])
                blocks = mixtures(base[task], count, of_unit_length=task == "retrieval")
                write_rows(folder, task, iter([base[task]]) if size is None else blocks, numbers)
                for engine in options.engines:
                    if task == "direction" and not ENGINES[engine].exact:
                        continue
                    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                        result = pool.submit(measure, folder, task, engine).result()
                    figures.setdefault(task, {}).setdefault(name, {})[engine] = result
                    print(task, name, engine, result, flush=True)
    write_result(options.out, figures=figures, seed=SEED, started=started)


if __name__ == "__main__":
    main()
