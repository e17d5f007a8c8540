"""Measure training against the obvious way: sentence-transformers' trainer with the triplet loss.

::

    python scripts/bench_training.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz

Both learn from the same pairs of the same trees (gold, and what some rounds of ACS gathered beforehand: after
one alone either falls below the untrained encoder), by the same adapter on the query tower of the same base,
and are evaluated on the same trees again and again. The clock runs while they train: not while they are
evaluated, nor before, where the corpus is encoded to sample the pairs.

The trainer is in its best setting: bf16 where the processor has it, batches of like length, and the frozen
premise tower as the document route of a Router, so that nothing goes back through it (its API has no place
for vectors that are known already); margin and learning rate are those that do best in short pilots. The
result is how long each takes to the trainer's own best dev MAP, which has to be at least 0.02 over the
untrained encoder's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs, gold_pairs, sampled_pairs
from entail.aeenc.sampling import sample
from entail.aeenc.task import AeencTask
from entail.aeenc.training import train_aeenc
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.judgements import Judgements
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.catalogue import resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.stock import sentence_transformer
from entail.errors import EntailError
from entail.evaluation.retrieval.premises import GoldQueries
from entail.index.flat import DenseIndex
from entail.index.protocol import Floats
from entail.index.vectors import premise_vectors
from entail.results import write_result
from entail.settings import load_settings
from entail.statistics.ranking import ranks_of, summary
from entail.training.adapters.tower import Lora, Tower, cast_precision, training_device
from entail.training.loop.fit import fit
from entail.training.loop.task import Event, Schedule

OUT = Path(__file__).resolve().parent.parent / "docs" / "results" / "training_speed.json"
Protocol = Literal["paper", "query_excluded"]
LEAST_GAIN = 0.02
TARGET = 20

# Chosen on dev, on these pairs.
OURS = AeencConfig(gold=True, live_k=0, rank=16, dropout=None, epochs=6, learning_rate=5e-4, k=20)


class Enough(Exception):  # noqa: N818 - no error: a training ends where there is nothing more to see
    """There is nothing more to see."""


@dataclass
class Course:
    """Dev MAP over the seconds of a training; the clock stands still while it is measured."""

    measure: Callable[[], float]
    every: int
    longest: float
    patience: int
    points: list[tuple[int, float, float]] = field(default_factory=list)  # step, seconds, MAP
    paused: float = 0.0
    start: float = field(default_factory=time.perf_counter)

    def step(self, number: int) -> None:
        """Measure, where it is time to."""
        if number % self.every:
            return
        now = time.perf_counter()
        seconds = now - self.start - self.paused
        score = self.measure()
        self.paused += time.perf_counter() - now
        self.points.append((number, seconds, score))
        print(f"  step {number}, {seconds:.1f} s: MAP {score:.4f}", file=sys.stderr, flush=True)
        best = max(range(len(self.points)), key=lambda i: self.points[i][2])
        if seconds > self.longest or len(self.points) - 1 - best >= self.patience:
            raise Enough

    @property
    def best(self) -> float:
        """The highest MAP."""
        return max((score for _, _, score in self.points), default=float("-inf"))

    def seconds_to(self, score: float) -> float | None:
        """Return when this MAP was reached first, None if it never was."""
        return next((seconds for _, seconds, reached in self.points if reached >= score), None)

    def to_json(self) -> dict[str, Any]:
        """Return the course of a training."""
        return {
            "best": self.best,
            "points": [{"step": n, "seconds": round(s, 2), "MAP": m} for n, s, m in self.points],
        }


@dataclass(frozen=True)
class Bench:
    """Data and measure of both."""

    corpus: Corpus
    judgements: Judgements
    pairs: TrainingPairs
    vectors: Floats
    gold: GoldQueries
    base: BiEncoder
    protocol: Protocol

    def dev_map(self, encode: Callable[[Sequence[str]], Floats]) -> float:
        """Return the MAP of a query tower."""
        scores = encode(self.gold.texts) @ self.vectors.T
        excluded = self.gold.own if self.protocol == "query_excluded" else None
        return summary(ranks_of(scores, self.gold.children, excluded=excluded), ks=(10,))["MAP"]

    def triplets(self) -> dict[str, list[str]]:
        """Return every positive of a query with each of its negatives."""
        texts = [premise.folded for premise in self.corpus.premises]
        pairs = zip(self.pairs.queries, self.pairs.positives, self.pairs.negatives, strict=True)
        rows = [(q, texts[p], texts[n]) for q, ps, ns in pairs for p in ps for n in ns]
        return dict(zip(("anchor", "positive", "negative"), map(list, zip(*rows, strict=True)), strict=True))


def prepare(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    dev: Sequence[ExplanationTree],
    *,
    rounds: int,
    protocol: Protocol,
) -> Bench:
    """Gather the pairs: gold, those of an ACS pass by the base, and of passes by what was trained on them."""
    base = BiEncoder("minilm")
    vectors = premise_vectors(corpus, base, cache_dir=load_settings().vectors_dir)
    judgements = Judgements.of_trees(trees)
    if rounds > 1:
        pairs = train_aeenc(corpus, replace(OURS, rounds=rounds, epochs=2), trees=trees).pairs
    else:
        acs_sample = sample(corpus, judgements, DenseIndex(base, corpus, vectors), k=OURS.k)
        pairs = gold_pairs(corpus, trees).join(sampled_pairs(corpus, acs_sample))
    return Bench(corpus, judgements, pairs, vectors, GoldQueries.of(corpus, dev), base, protocol)


def train_ours(bench: Bench, *, every: int, longest: float, patience: int, seed: int) -> Course:
    """Train as `train_aeenc` does, on these pairs."""
    config = replace(OURS, seed=seed)
    device = training_device()
    tower = Tower(
        resolve("minilm"),
        lora=Lora(rank=config.rank),
        device=device,
        precision=cast_precision("auto", device),
    )
    course = Course(lambda: bench.dev_map(tower.encode), every, longest, patience)

    def watch(event: Event) -> None:
        course.step(event.step)

    try:
        task = AeencTask(
            config,
            bench.corpus,
            bench.pairs,
            bench.judgements,
            queries=tower,
            premises=None,
            base_premises=bench.vectors,
            base_queries=lambda texts: bench.base.encode_queries(list(texts)),
            resample=lambda: sys.exit("nothing is sampled here"),
            evaluate=lambda: None,
        )
        schedule = Schedule(epochs=config.epochs, learning_rate=config.highest_rate, seed=seed)
        fit(task, tower.parameters, schedule, watch=watch)
    except Enough:
        pass
    return course


def train_obvious(
    bench: Bench,
    *,
    margin: float,
    rate: float,
    epochs: int,
    every: int,
    longest: float,
    patience: int,
    seed: int,
) -> Course:
    """Train by `SentenceTransformerTrainer` and `TripletLoss`, the premise tower frozen."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import TripletDistanceMetric, TripletLoss
    from sentence_transformers.sentence_transformer.modules import Router
    from torch.utils.data import BatchSampler
    from transformers import TrainerCallback, TrainerControl, TrainerState
    from transformers.trainer_pt_utils import LengthGroupedSampler

    device = training_device()
    bf16 = cast_precision("auto", device) == "bf16"
    tower = Tower(resolve("minilm"), lora=Lora(rank=OURS.rank), device=device)
    frozen = sentence_transformer("minilm", device=device)
    frozen.requires_grad_(False)
    query_modules: list[Any] = list(tower.model.children())
    document_modules: list[Any] = list(frozen.children())
    model = SentenceTransformer(
        modules=[Router.for_query_document(query_modules, document_modules)], device=device
    )
    triplets = bench.triplets()
    lengths = [sum(map(len, texts)) for texts in zip(*triplets.values(), strict=True)]

    def encode(texts: Sequence[str]) -> Floats:
        return np.asarray(model.encode_query(list(texts), batch_size=64, show_progress_bar=False))

    def measure() -> float:
        model.eval()
        score = bench.dev_map(lambda texts: unit(encode(texts)))
        model.train()
        return score

    course = Course(measure, every, longest, patience)

    class Watch(TrainerCallback):  # type: ignore[misc]  # the library is not typed
        def on_train_begin(self, *_: object, **__: object) -> None:
            course.start, course.paused = time.perf_counter(), 0.0

        def on_step_end(self, _: object, state: TrainerState, control: TrainerControl, **__: object) -> None:
            try:
                course.step(state.global_step)
            except Enough:
                control.should_training_stop = True

    def grouped(_: object, batch_size: int, drop_last: bool, generator: object, **__: object) -> BatchSampler:
        order = LengthGroupedSampler(batch_size, lengths=lengths, generator=generator)
        return BatchSampler(order, batch_size, drop_last)

    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=OURS.batch_size,
            learning_rate=rate,
            warmup_steps=0.05,
            bf16=bf16,
            use_cpu=device == "cpu",
            batch_sampler=grouped,  # type: ignore[arg-type]  # a function will do, its documentation says
            router_mapping={"anchor": "query", "positive": "document", "negative": "document"},
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=seed,
        )
        trainer = SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_dict(triplets),
            loss=TripletLoss(model, TripletDistanceMetric.COSINE, margin),
            callbacks=[Watch()],
        )
        trainer.train()
    return course


def unit(vectors: Floats) -> Floats:
    """Return vectors of length 1."""
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Prepare, try the trainer's settings, train both, compare."""
    trees = tuple(tree for tree in read_trees(options.train) if tree.steps)[: options.trees]
    dev = tuple(read_trees(options.dev))[: options.dev_trees]
    bench = prepare(
        read_corpus(options.corpus).corpus, trees, dev, rounds=options.rounds, protocol=options.protocol
    )
    untrained = bench.dev_map(bench.base.encode_queries)
    print(f"{bench.pairs.counts}; untrained MAP {untrained:.4f}", file=sys.stderr)

    pilots = []
    settings = list(product(options.margins, options.rates))
    for margin, rate in settings if len(settings) > 1 else ():
        print(f"pilot: margin {margin}, learning rate {rate}", file=sys.stderr)
        course = train_obvious(
            bench,
            margin=margin,
            rate=rate,
            epochs=options.epochs,
            every=options.every,
            longest=options.pilot_seconds,
            patience=10**6,
            seed=options.seed,
        )
        pilots.append({"margin": margin, "rate": rate, **course.to_json()})
    margin, rate = max(
        settings, key=lambda s: next((p["best"] for p in pilots if (p["margin"], p["rate"]) == s), 0)
    )
    print(f"the trainer: margin {margin}, learning rate {rate}", file=sys.stderr)
    obvious = train_obvious(
        bench,
        margin=margin,
        rate=rate,
        epochs=options.epochs,
        every=options.every,
        longest=options.longest,
        patience=options.patience,
        seed=options.seed,
    )
    print("ours", file=sys.stderr)
    our_course = train_ours(
        bench, every=options.every_ours, longest=options.longest, patience=10**6, seed=options.seed
    )
    trainer_seconds, our_seconds = obvious.seconds_to(obvious.best), our_course.seconds_to(obvious.best)
    return {
        "trees": len(trees),
        "pairs": bench.pairs.counts,
        "dev_trees": len(dev),
        "protocol": options.protocol,
        "rounds": options.rounds,
        "untrained": untrained,
        "trainer": {"margin": margin, "rate": rate, **obvious.to_json()},
        "pilots": pilots,
        "ours": {"config": asdict(OURS), **our_course.to_json()},
        "least_gain": LEAST_GAIN,
        "both_gain_enough": min(obvious.best, our_course.best) >= untrained + LEAST_GAIN,
        "seconds_to_trainers_best": {"trainer": trainer_seconds, "ours": our_seconds},
        "times_less": trainer_seconds / our_seconds if trainer_seconds and our_seconds else None,
        "target_times_less": TARGET,
    }


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, required=True, help="candidate premises")
    parser.add_argument("--train", type=Path, required=True, help="trees to learn from (task 2)")
    parser.add_argument("--dev", type=Path, required=True, help="trees to measure on")
    parser.add_argument("--trees", type=int, default=300, help="learn from the first N trees (300)")
    parser.add_argument("--dev-trees", type=int, help="measure on the first N trees (all)")
    parser.add_argument("--rounds", type=int, default=3, help="ACS passes that the pairs come from (3)")
    parser.add_argument("--protocol", choices=get_args(Protocol), default="query_excluded", help="of dev MAP")
    parser.add_argument("--margins", type=float, nargs="+", default=[0.1, 0.2], help="the trainer's, to try")
    parser.add_argument("--rates", type=float, nargs="+", default=[2e-4, 5e-4], help="the trainer's, to try")
    parser.add_argument("--pilot-seconds", type=float, default=240, help="of each try (240)")
    parser.add_argument("--epochs", type=int, default=2, help="the trainer's (2)")
    parser.add_argument("--every", type=int, default=50, help="the trainer's steps between evaluations (50)")
    parser.add_argument("--every-ours", type=int, default=5, help="our steps between evaluations (5)")
    parser.add_argument("--longest", type=float, default=3600, help="seconds of a training at most (3600)")
    parser.add_argument("--patience", type=int, default=20, help="evaluations without a better one (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    started = datetime.now(UTC)
    try:
        figures = run(options)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    write_result(options.out, figures=figures, seed=options.seed, started=started)
    names = ("untrained", "both_gain_enough", "seconds_to_trainers_best", "times_less")
    print(json.dumps({name: figures[name] for name in names}, indent=2))
    return 0 if figures["both_gain_enough"] and (figures["times_less"] or 0) >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
