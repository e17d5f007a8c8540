"""Measure encoding and searching passages, and write the figures to a result file.

    python scripts/bench_passages.py [--passages FILE] [--questions FILE] [--encode 64] [--out FILE]

Encoding is set beside `SentenceTransformer.encode` of the same passages, in rounds that take turns, that with
the batch size which is fastest for it, in fp32 and with weights in bf16. With questions, what a precision
costs in quality is measured over a smaller pool. Vectors to be searched are those encoded, repeated with
jitter: the time does not depend on what they say. Last, on paper, what the 21 million passages of Natural
Questions would take.
"""

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

import numpy as np

from entail.data.bundled import sample_corpus, sample_trees
from entail.data.passages.files import Passage, Question, read_passages
from entail.data.records import Corpus
from entail.encoders.bert.folder import BertConfig
from entail.encoders.catalogue import resolve
from entail.encoders.device import Precision
from entail.encoders.encoder import PASS_TOKENS, BiEncoder
from entail.encoders.stock import sentence_transformer
from entail.encoders.towers import BertTowers, load_towers
from entail.evaluation.passages.retrieval import Judged, evaluate_passages, judged_questions
from entail.evaluation.passages.search import search_vectors
from entail.evaluation.passages.store import encode_store, store_passages
from entail.index.flat import DenseIndex
from entail.index.protocol import Floats
from entail.results import write_result

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

POOL = 21_000
K = 100
SEED = 0
BATCH_SIZES = (2, 4, 8, 16, 32)
ROOT = Path(__file__).resolve().parent.parent

Encode = Callable[[Sequence[str]], Any]

NQ_PASSAGES, NQ_QUESTIONS = 21_015_324, 3_610
NQ_WORDS = 103  # of a passage with its title: 100, and about 3
PQ_LISTS, PQ_PROBED = 16_384, 32

H200_FLOPS, H200_BYTES = 989e12, 4.8e12  # by its data sheet: bf16, dense; bytes a second
H200_USED, H200_CORES = (0.10, 0.40), 16  # assumed: small matrices; processor cores beside it, to tokenize


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds that work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Return median and 95th percentile."""
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
    return {"p50_ms": round(float(p50), 3), "p95_ms": round(float(p95), 3), "runs": len(seconds)}


def read_pool(file: Path | None) -> list[Passage]:
    """Return the passages of a file, by default the bundled facts."""
    if file is not None:
        return list(read_passages(file))
    return [Passage(str(position), text) for position, text in enumerate(sample_corpus().texts)]


PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")


def plain_bert(name: str, device: str) -> BertTowers:
    """Return an encoder's towers in fp32, whose tokens and operations can be counted."""
    towers = load_towers(resolve(name), device=device, precision="fp32")
    if not isinstance(towers, BertTowers):
        raise SystemExit(f"{name}: expected a plain BERT, found a model of another kind")
    return towers


def stock_models(name: str, device: str) -> "dict[str, SentenceTransformer]":
    """Return the model of sentence-transformers in fp32, and with weights in bf16."""
    import torch

    dtypes = {"fp32": torch.float32, "bf16": torch.bfloat16}
    return {
        precision: sentence_transformer(name, tower="premise", device=device).to(dtype).eval()
        for precision, dtype in dtypes.items()
    }


def by_stock(model: "SentenceTransformer", size: int) -> Encode:
    """Return the `encode` of sentence-transformers with a batch size."""
    return lambda texts: model.encode(
        list(texts), batch_size=size, normalize_embeddings=True, show_progress_bar=False
    )


def best_size(model: "SentenceTransformer", texts: Sequence[str], *, rounds: int = 2) -> int:
    """Return the batch size that is fastest: by the least time of rounds in which all take turns."""
    by_stock(model, 2)(texts[:2])  # what is done once counts for none
    least = dict.fromkeys(BATCH_SIZES, np.inf)
    for _, size in itertools.product(range(rounds), BATCH_SIZES):
        least[size] = min(least[size], seconds_of(lambda size=size: by_stock(model, size)(texts)))
    return min(BATCH_SIZES, key=least.__getitem__)


def in_turns(ways: Mapping[str, Encode], texts: Sequence[str], *, rounds: int) -> dict[str, list[float]]:
    """Return what each way takes in each round; every round begins with another one."""
    names = list(ways)
    durations: dict[str, list[float]] = {name: [] for name in names}
    for way in ways.values():
        way(texts)  # the first pass of a shape takes longer than those after it
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            durations[name].append(seconds_of(lambda name=name: ways[name](texts)))
    return durations


def rates(found: Mapping[str, Sequence[float]], tokens: int) -> dict[str, Any]:
    """Return the median tokens a second of each way, and the median ratio of ours to stock's of a round."""
    figures: dict[str, Any] = {
        f"{name}_tokens_per_s": round(tokens / float(np.median(times))) for name, times in found.items()
    }
    for name, times in found.items():
        for other in ("stock_fp32", "stock_bf16"):
            like = other.endswith(name.removeprefix("ours_"))
            if name.startswith("ours_") and like:
                ratios = np.array(found[other]) / np.array(times)
                figures[f"{name}_to_{other}"] = round(float(np.median(ratios)), 2)
    return figures


def encoding(name: str, device: str, texts: Sequence[str], *, rounds: int) -> dict[str, Any]:
    """Measure every precision beside sentence-transformers."""
    encoders = {kind: BiEncoder(name, device=device, precision=kind) for kind in PRECISIONS}
    towers = plain_bert(name, device)
    lengths = [len(tokens) for tokens in towers.tokens(texts)]
    stock = stock_models(name, device)
    sizes = {
        precision: best_size(model, texts[: max(BATCH_SIZES[-1], len(texts) // 2)])
        for precision, model in stock.items()
    }
    ways: dict[str, Encode] = {
        f"ours_{precision}": encoder.encode_premises for precision, encoder in encoders.items()
    }
    ways |= {f"stock_{precision}": by_stock(model, sizes[precision]) for precision, model in stock.items()}
    durations = in_turns(ways, texts, rounds=rounds)
    words = sum(len(text.split()) for text in texts)
    tokenizing = [seconds_of(lambda: towers.tokens(texts)) for _ in range(5)]
    return {
        "passages": len(texts),
        "tokens_a_passage": round(float(np.mean(lengths)), 1),
        "words_a_passage": round(words / len(texts), 1),
        "rounds": rounds,
        "ours_tokens_a_pass": PASS_TOKENS,
        **{f"stock_{precision}_batch_size": size for precision, size in sizes.items()},
        **rates(durations, sum(lengths)),
        "tokenizing_tokens_per_s": round(sum(lengths) / float(np.median(tokenizing))),
    }


def sampled(
    passages: Sequence[Passage], questions: Sequence[Question], *, pool: int, asked: int
) -> tuple[list[Passage], list[Question]]:
    """Draw questions, and a pool of the passages that answer them and others, in the order of the file."""
    draw = random.Random(SEED)
    rows = {passage.id: number for number, passage in enumerate(passages)}
    fit = [question for question in questions if any(passage_id in rows for passage_id in question.gold)]
    sample = draw.sample(fit, min(asked, len(fit)))
    gold = {rows[passage_id] for question in sample for passage_id in question.gold if passage_id in rows}
    rest = [number for number in range(len(passages)) if number not in gold]
    extra = draw.sample(rest, max(0, min(pool - len(gold), len(rest))))
    return [passages[number] for number in sorted({*gold, *extra})], sample


def quality(
    name: str, device: str, passages: Sequence[Passage], questions: Sequence[Question], folder: Path
) -> dict[str, Any]:
    """Measure what each precision moves: the cosine to the vector in fp32, and R@1 and MRR of questions."""
    os.environ["ENTAIL_DEVICE"] = device
    corpus = folder / "pool" / "corpus.jsonl"
    corpus.parent.mkdir()
    rows = ({"_id": passage.id, "title": passage.title, "text": passage.text} for passage in passages)
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    store = store_passages([corpus.parent], folder / "store")
    figures: dict[str, Any] = {"passages": len(store), "questions": len(questions)}
    vectors: dict[str, Floats] = {}
    ranked: dict[str, dict[str, float]] = {}
    for precision in PRECISIONS:
        encoder = BiEncoder(name, device=device, precision=precision)
        vectors[precision] = np.vstack([np.load(shard) for shard in encode_store(store, encoder)])
        if questions:
            evaluation = evaluate_passages(store, Judged(tuple(questions)), encoder=name, precision=precision)
            ranked[precision] = evaluation.gold or {}
    for precision in vectors:
        if precision != "fp32":
            cosines = (vectors[precision] * vectors["fp32"]).sum(axis=1)
            summary = {"mean": cosines.mean(), "least": cosines.min()}
            figures[f"{precision}_cosine"] = {key: round(float(value), 6) for key, value in summary.items()}
    for precision, gold in ranked.items():
        for key in ("R@1", "MRR"):
            figures[f"{precision}_{key}"] = round(gold[key], 4)
            if precision != "fp32":
                figures[f"{precision}_{key}_less_fp32"] = round(gold[key] - ranked["fp32"][key], 4)
    return figures


def repeated(vectors: Floats, size: int) -> Floats:
    """Return so many unit vectors: these, then the same with jitter."""
    rounds = -(-size // len(vectors))
    jitter = np.random.default_rng(SEED).normal(scale=0.02, size=(rounds, *vectors.shape))
    jitter[0] = 0
    many = (vectors + jitter).reshape(-1, vectors.shape[1])[:size].astype(np.float32)
    return np.ascontiguousarray(many / np.linalg.norm(many, axis=1, keepdims=True))


def searching(encoder: BiEncoder, vectors: Floats, questions: Sequence[str], folder: Path) -> dict[str, Any]:
    """Time a question by itself: encoding it, then searching in memory and on disk; and all at once."""
    shard = folder / "vectors.npy"
    np.save(shard, vectors)
    corpus = Corpus.of("passages", [f"passage {position}" for position in range(len(vectors))])
    dense = DenseIndex(encoder, corpus, vectors)
    embeddings = encoder.encode_queries(questions)
    rows = [embeddings[position : position + 1] for position in range(len(embeddings))]
    k = min(K, len(vectors))
    ways: dict[str, Callable[[int], object]] = {
        "in_memory": lambda position: dense.search_vectors(rows[position], k=k),
        "on_disk": lambda position: search_vectors(rows[position], [shard], k=k),
        "encoding_the_question": lambda position: encoder.encode_queries([questions[position]]),
    }
    figures: dict[str, Any] = {"passages": len(vectors), "k": k, "threads": 1}
    for name, way in ways.items():
        for position in range(min(3, len(rows))):
            way(position)
        figures[name] = milliseconds([seconds_of(lambda way=way, p=p: way(p)) for p in range(len(rows))])
    whole = [seconds_of(lambda: search_vectors(embeddings, [shard], k=k)) for _ in range(3)]
    figures["many_at_once"] = {
        "questions": len(embeddings),
        "ms_a_question": round(float(np.median(whole)) * 1000 / len(embeddings), 3),
    }
    return figures | {"product_quantised": scanning(vectors, rows)}


def scanning(vectors: Floats, rows: Sequence[Floats]) -> dict[str, float]:
    """Time how long FAISS scans codes of one byte for 8 numbers: what an IVF-PQ does in each list."""
    import faiss

    size = vectors.shape[1]
    index = faiss.IndexPQ(size, max(1, size // 8), 8, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.niter = 4  # bad centroids take as long to scan as good ones
    index.pq.cp.min_points_per_centroid = 1  # so few vectors are told of on the standard error else
    before = faiss.omp_get_max_threads()
    index.train(vectors[: 256 * 40])
    index.add(vectors)
    faiss.omp_set_num_threads(1)
    times = [seconds_of(lambda row=row: index.search(row, K)) for row in rows]
    faiss.omp_set_num_threads(before)
    return {
        "bytes_a_passage": index.pq.M,
        "ns_a_passage": round(float(np.median(times)) * 1e9 / len(vectors), 2),
    }


def flop_per_token(config: BertConfig, tokens: float) -> float:
    """Return the multiplications and additions for one token among so many, of all layers."""
    d, inner = config.dimension, config.inner
    return config.layers * (2 * (4 * d * d + 2 * d * inner) + 4 * tokens * d)


def estimate(encode: Mapping[str, Any], search: Mapping[str, Any], config: BertConfig) -> dict[str, Any]:
    """Return what Natural Questions' passages would take, from what `encoding` and `searching` measured."""
    a_word = (encode["tokens_a_passage"] - 2) / encode["words_a_passage"]
    a_passage = a_word * NQ_WORDS + 2
    tokens = a_passage * NQ_PASSAGES
    hours = {
        name.removeprefix("ours_").removesuffix("_tokens_per_s"): round(tokens / rate / 3600, 1)
        for name, rate in encode.items()
        if name.startswith("ours_") and name.endswith("_tokens_per_s")
    }
    flop = flop_per_token(config, a_passage)
    slow, fast = (H200_FLOPS * used / flop for used in H200_USED)
    longest, shortest = tokens / slow / 60, tokens / fast / 60
    # The encoder tokenizes twice: once to tell equal texts, once a pass.
    tokenizing = 2 * tokens / encode["tokenizing_tokens_per_s"] / H200_CORES / 60
    numbers = NQ_PASSAGES * config.dimension
    times = NQ_PASSAGES / search["passages"]
    pq = search["product_quantised"]
    coarse = search["in_memory"]["p50_ms"] * PQ_LISTS / search["passages"]
    scan = pq["ns_a_passage"] / 1e6 * NQ_PASSAGES * PQ_PROBED / PQ_LISTS
    lists = PQ_LISTS * config.dimension * 4
    return {
        "passages": NQ_PASSAGES,
        "tokens_a_passage": round(a_passage, 1),
        "tokens_in_billions": round(tokens / 1e9, 2),
        "encoding_on_this_processor_hours, scaled from the measured rate": hours,
        "encoding_on_one_H200, on paper": {
            "mflop_a_token": round(flop / 1e6, 1),
            "assumed_tflops": round(H200_FLOPS / 1e12),
            "assumed_share_used": " to ".join(f"{used:.0%}" for used in H200_USED),
            "million_tokens_per_s": f"{slow / 1e6:.1f} to {fast / 1e6:.1f}",
            "gpu_minutes": f"{shortest:.0f} to {longest:.0f}",
            "tokenizing_minutes, measured rate on assumed cores": round(tokenizing),
            "assumed_cores": H200_CORES,
            "minutes": f"{shortest + tokenizing:.0f} to {longest + tokenizing:.0f}",
        },
        "vectors_gb": {"fp32": round(numbers * 4 / 1e9, 1), "fp16": round(numbers * 2 / 1e9, 1)},
        "flat_fp16_on_one_H200, exact, on paper": {
            "gb_of_141": round(numbers * 2 / 1e9, 1),
            "ms_a_question_alone, by memory bandwidth": round(numbers * 2 / H200_BYTES * 1e3, 1),
            "ms_a_question_of_many, by arithmetic": round(2 * numbers / (H200_FLOPS * H200_USED[0]) * 1e3, 2),
        },
        "flat_fp32_here, exact, one thread, scaled from the measured time": {
            "gb_on_disk": round(numbers * 4 / 1e9, 1),
            "s_a_question_alone": round(search["on_disk"]["p50_ms"] * times / 1e3, 1),
            f"minutes_for_{NQ_QUESTIONS}_questions_at_once": round(
                search["many_at_once"]["ms_a_question"] * times * NQ_QUESTIONS / 60e3
            ),
        },
        f"ivf{PQ_LISTS}_pq{pq['bytes_a_passage']}_here, inexact, scaled from the measured scan": {
            "gb": round((NQ_PASSAGES * (pq["bytes_a_passage"] + 8) + lists) / 1e9, 2),
            "lists_probed": PQ_PROBED,
            "ms_a_question": round(coarse + scan, 1),
        },
        "index": "one H200: GpuIndexFlat, fp16 (exact); two cores: IndexIVFPQ",
    }


def main() -> None:
    """Measure and write."""
    started = datetime.now(UTC)
    parser = argparse.ArgumentParser(description="Measure encoding and searching passages.")
    parser.add_argument("--passages", type=Path, help="any format of entail (default: the bundled facts)")
    parser.add_argument("--questions", type=Path, help="questions with gold passages among them")
    parser.add_argument("--encoder", default="minilm", help="a plain BERT (minilm)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--encode", type=int, default=64, help="passages encoded in each round (64)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--pool", type=int, default=384, help="passages of the pool for quality (384)")
    parser.add_argument("--asked", type=int, default=200, help="questions asked of it (200)")
    parser.add_argument("--search", type=int, default=POOL, help="vectors searched (21000)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "passages_speed.json")
    options = parser.parse_args()

    import torch

    passages = read_pool(options.passages)
    questions = judged_questions(options.questions).questions if options.questions else ()
    pool, queries = sampled(passages, questions, pool=options.pool, asked=options.asked)
    sample = random.Random(SEED).sample(passages, min(options.encode, len(passages)))
    figures: dict[str, Any] = {
        "encoder": options.encoder,
        "device": options.device,
        "threads": torch.get_num_threads(),
        "load_average_before": round(os.getloadavg()[0], 2),
    }
    print("encoding ...", file=sys.stderr)
    figures["encoding"] = encoding(
        options.encoder, options.device, [passage.whole for passage in sample], rounds=options.rounds
    )
    print("quality ...", file=sys.stderr)
    encoder = BiEncoder(options.encoder, device=options.device, precision="fp32")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures["quality"] = quality(options.encoder, options.device, pool, queries, folder)
        print("search ...", file=sys.stderr)
        words = [question.text for question in queries] or [tree.hypothesis for tree in sample_trees()][:200]
        vectors = encoder.encode_premises([passage.whole for passage in sample])
        figures["search"] = searching(encoder, repeated(vectors, options.search), words, folder)
    figures["natural_questions"] = estimate(
        figures["encoding"],
        figures["search"],
        plain_bert(options.encoder, options.device).bert.config,
    )
    record = write_result(options.out, figures=figures, seed=SEED, started=started)
    for key, value in record["figures"].items():
        print(f"{key}: {value}")


if __name__ == "__main__":
    main()
