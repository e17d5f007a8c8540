"""Measure one search over the premises by each index, and the rates of encoding; write a result file.

    python scripts/bench_search.py [--corpus FILE] [--out docs/results/search.json]

Without a corpus the bundled premises are repeated up to 16,472, each time with other numbers in them. The
search by direction stands next to a loop over `kl_divergence` of torch, as one would write it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

import numpy as np
import torch
from torch.distributions import Normal, kl_divergence

from entail.data.bundled import sample_corpus, sample_trees
from entail.data.corpora import read_corpus
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.distributions import Gaussians
from entail.index.dense import DenseIndex
from entail.index.gaussian import LiftedGaussians
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.results import write_result

SIZE, K, QUERIES, LOOPS, SEED = 16_472, 20, 300, 5, 0
ROOT = Path(__file__).resolve().parent.parent


def repeated_sample() -> Corpus:
    """Return the bundled premises, repeated up to `SIZE`."""
    sample = sample_corpus().texts
    texts = [f"{text} {turn}" if turn else text for turn in range(-(-SIZE // len(sample))) for text in sample]
    return Corpus.of("sample, repeated", texts[:SIZE])


def milliseconds(search: Callable[[Any], object], queries: Sequence[Any]) -> dict[str, float]:
    """Return median and 95th percentile of one search a query, after three that warm up."""
    durations = []
    for number, query in enumerate([*queries[:3], *queries]):
        start = time.perf_counter()
        search(query)
        if number >= 3:
            durations.append(1000 * (time.perf_counter() - start))
    return {
        "p50_ms": round(float(np.median(durations)), 3),
        "p95_ms": round(float(np.quantile(durations, 0.95)), 3),
    }


def by_direction(count: int, dimension: int) -> dict[str, Any]:
    """Measure the search by direction over drawn Gaussians, and the plain loop."""
    draw = np.random.default_rng(SEED)
    mean, log_variance = draw.standard_normal((2, count + LOOPS, dimension), dtype=np.float32)
    premises = Gaussians(mean[:count], 0.8 * log_variance[:count])
    queries = Gaussians(mean[count:], 0.8 * log_variance[count:])
    lifted = LiftedGaussians(premises, "entailing")
    normals = [
        Normal(torch.from_numpy(m), torch.from_numpy(v).div(2).exp())
        for gaussians in (queries, premises)
        for m, v in zip(gaussians.mean, gaussians.log_variance, strict=True)
    ]
    own, premise_normals = normals[:LOOPS], normals[LOOPS:]

    def loop(number: int) -> list[int]:
        distances = [float(kl_divergence(own[number], other).sum()) for other in premise_normals]
        return sorted(range(count), key=distances.__getitem__)[:K]

    rows = list(range(LOOPS))
    agree = sum(lifted.nearest(queries[row], k=K).positions[0].tolist() == loop(row) for row in rows)
    return {
        "index": milliseconds(lambda row: lifted.nearest(queries[row], k=K), rows),
        "loop": milliseconds(loop, rows[:2]),
        "same_ranking": f"{agree} of {LOOPS}",
    }


def main() -> None:
    """Measure and write."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="premises (default: the bundled ones, repeated)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "search.json")
    options = parser.parse_args()
    load = round(os.getloadavg()[0], 2)
    corpus = read_corpus(options.corpus).corpus if options.corpus else repeated_sample()
    encoder = BiEncoder("minilm", device="cpu")
    vectors = np.random.default_rng(SEED).standard_normal((len(corpus), encoder.dimension), dtype=np.float32)
    dense = DenseIndex(encoder, corpus, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    texts = [text for tree in sample_trees() for text in (tree.hypothesis, *tree.intermediates.values())]
    queries = list(dict.fromkeys(texts))[:QUERIES]
    figures: dict[str, Any] = {
        "premises": len(corpus),
        "load_average_before": load,
        "dense": milliseconds(lambda row: dense.search_vectors(row[None], k=K), list(dense.encode(queries))),
    }
    for name, index in (("tfidf", TfidfIndex(corpus)), ("bm25", Bm25Index(corpus))):
        figures[name] = milliseconds(lambda query, index=index: index.search([query], k=K), queries)
    figures["by_direction"] = by_direction(len(corpus), encoder.dimension)
    for precision in ("fp32", "bf16"):
        encoder = BiEncoder("minilm", device="cpu", precision=precision)
        encoder.encode_premises(corpus.texts[:64])
        start = time.perf_counter()
        encoder.encode_premises(corpus.texts[:512])
        figures[f"{precision}_sentences_per_s"] = round(512 / (time.perf_counter() - start))
    figures["threads"] = torch.get_num_threads()
    write_result(options.out, figures=figures, seed=SEED, started=started)
    print(options.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
