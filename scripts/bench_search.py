"""Measure searching and encoding, and write the figures to a result file.

    python scripts/bench_search.py [--corpus FILE] [--out docs/results/search.json]

Without a corpus the bundled facts are repeated, each time with other numbers in them and their vectors
jittered, up to 16,472: the time of a search does not depend on what is said.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

import numpy as np

from entail.data.bundled import sample_corpus, sample_trees
from entail.data.corpora import read_corpus
from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.encoder import BiEncoder
from entail.index.flat import BLAS_FROM, DenseIndex
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.index.protocol import Floats, PremiseIndex
from entail.index.vectors import premise_vectors
from entail.results import write_result
from entail.settings import load_settings

SIZE = 16_472
SEED = 0
K = 20
FAISS_DEFAULT = 128_000
ROOT = Path(__file__).resolve().parent.parent

FIRST_QUERY = """
import time; start = time.perf_counter()
from entail.encoders.encoder import BiEncoder
BiEncoder("minilm").encode_queries(["how cold is the moon"])
print(time.perf_counter() - start)
"""


class Given:
    """Stands in for an encoder whose premise vectors are there already."""

    def __init__(self, encoder: BiEncoder, corpus: Corpus, vectors: Floats) -> None:
        self.name, self.revision, self.dimension = encoder.name, encoder.revision, encoder.dimension
        self.premise_revision, self.symmetric = encoder.premise_revision, True
        self._vectors = dict(zip(map(fold, corpus.texts), vectors, strict=True))
        self.encode_queries = encoder.encode_queries

    def encode_premises(self, texts: Sequence[str], **_: object) -> Floats:
        """Look the vectors up."""
        return np.stack([self._vectors[text] for text in texts])


def repeated_sample(encoder: BiEncoder) -> tuple[Corpus, Floats]:
    """Return the bundled facts, repeated up to `SIZE`, and vectors for them."""
    sample = sample_corpus()
    vectors = premise_vectors(sample, encoder, cache_dir=load_settings().vectors_dir)
    rounds = -(-SIZE // len(sample))
    texts = [f"{text} {turn}" if turn else text for turn in range(rounds) for text in sample.texts]
    jitter = np.random.default_rng(SEED).normal(scale=0.02, size=(rounds, *vectors.shape))
    jitter[0] = 0
    many = (vectors + jitter).reshape(-1, vectors.shape[1])[:SIZE].astype(np.float32)
    return Corpus.of("sample, repeated", texts[:SIZE]), many / np.linalg.norm(many, axis=1, keepdims=True)


def seconds(work: Callable[[], object], *, times: int, warm: int = 3) -> list[float]:
    """Run work and return how long each run took."""
    durations = []
    for run in range(-warm, times):
        start = time.perf_counter()
        work()
        if run >= 0:
            durations.append(time.perf_counter() - start)
    return durations


def milliseconds(taken: Sequence[float]) -> dict[str, float]:
    """Return median and 95th percentile."""
    p50, p95 = np.percentile(np.array(taken) * 1000, [50, 95])
    return {"p50_ms": round(float(p50), 3), "p95_ms": round(float(p95), 3), "runs": len(taken)}


def one_by_one(search: Callable[[Any], object], queries: Sequence[Any]) -> dict[str, float]:
    """Time one search a query."""
    turn = iter([*queries[:3], *queries])
    return milliseconds(seconds(lambda: search(next(turn)), times=len(queries)))


def blas_ratio(index: DenseIndex, vectors: Floats) -> dict[str, float]:
    """Time 64 queries at once on one thread, with FAISS's own threshold and with ours, in turns."""
    import faiss

    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(index._vectors)
    batch = np.ascontiguousarray(vectors[:64])
    durations: dict[int, list[float]] = {FAISS_DEFAULT: [], BLAS_FROM: []}
    for _ in range(10):
        for threshold, times in durations.items():
            faiss.cvar.distance_compute_blas_threshold = threshold
            times += seconds(lambda: flat.search(batch, K), times=1, warm=1)
    default, custom = (float(np.median(times)) for times in durations.values())
    return {
        "queries": len(batch),
        "default_ms": round(default * 1000, 2),
        "ours_ms": round(custom * 1000, 2),
        "ratio": round(default / custom, 1),
    }


def encoding_rates(texts: Sequence[str]) -> dict[str, Any]:
    """Encode the same texts with each precision, after a warm-up."""
    rates: dict[str, Any] = {"sentences": len(texts)}
    for precision in ("fp32", "bf16"):
        encoder = BiEncoder("minilm", device="cpu", precision=precision)
        encoder.encode_premises(texts[:64])
        (duration,) = seconds(lambda encoder=encoder: encoder.encode_premises(texts), times=1, warm=0)
        rates[f"{precision}_per_second"] = round(len(texts) / duration)
    import torch

    rates["threads"] = torch.get_num_threads()
    rates["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
    return rates


def main() -> None:
    """Measure and write."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(description="Measure searching and encoding.")
    parser.add_argument("--corpus", type=Path, help="premises (default: the bundled ones, repeated)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "search.json")
    parser.add_argument("--encode", type=int, default=1024, help="sentences to encode for the rates")
    options = parser.parse_args()

    load = round(os.getloadavg()[0], 2)
    encoder = BiEncoder("minilm", device="cpu")
    if options.corpus is None:
        corpus, vectors = repeated_sample(encoder)
    else:
        corpus = read_corpus(options.corpus).corpus
        vectors = premise_vectors(
            corpus,
            encoder,
            cache_dir=load_settings().vectors_dir,
            progress=lambda progress: print(progress, end="\r", file=sys.stderr),
        )
    trees = sample_trees()
    texts = [text for tree in trees for text in (tree.hypothesis, *tree.intermediates.values())]
    queries = list(dict.fromkeys(texts))[:300]

    figures: dict[str, Any] = {"premises": len(corpus), "k": K, "load_average_before": load}
    lookup = Given(encoder, corpus, vectors)
    with tempfile.TemporaryDirectory() as folder:
        first = seconds(lambda: premise_vectors(corpus, lookup, cache_dir=Path(folder)), times=1, warm=0)
        again = seconds(lambda: premise_vectors(corpus, lookup, cache_dir=Path(folder)), times=5, warm=1)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    figures["vector_cache"] = {
        "write_ms": round(first[0] * 1000, 1),
        "load_ms": round(float(np.median(again)) * 1000, 1),
        "mib": round(size / 2**20, 1),
    }

    start = time.perf_counter()
    dense = DenseIndex(lookup, corpus, vectors)
    build = {"dense": time.perf_counter() - start}
    vectors_of_queries = dense.encode(queries)
    search: dict[str, Any] = {
        "dense": one_by_one(lambda row: dense.search_vectors(row[None], k=K), list(vectors_of_queries))
    }
    lexical: dict[str, Callable[[Corpus], PremiseIndex]] = {"tfidf": TfidfIndex, "bm25": Bm25Index}
    for name, make in lexical.items():
        start = time.perf_counter()
        index = make(corpus)
        build[name] = time.perf_counter() - start
        search[name] = one_by_one(lambda query, index=index: index.search([query], k=K), queries)
    figures["one_search"] = search
    figures["index_build_s"] = {name: round(duration, 2) for name, duration in build.items()}
    figures["faiss_64_queries"] = blas_ratio(dense, vectors_of_queries)
    done = subprocess.run([sys.executable, "-c", FIRST_QUERY], capture_output=True, text=True, check=True)
    figures["first_query_in_a_new_process_s"] = round(float(done.stdout), 2)
    figures["encoding"] = encoding_rates(corpus.texts[: options.encode])

    record = write_result(options.out, figures=figures, seed=SEED, started=started)
    for name, value in record["figures"].items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
