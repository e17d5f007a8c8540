"""Measure a training step by how attention is computed and how texts are padded, and write it down.

::

    python scripts/bench_attention.py [--out docs/results/attention.json]

A step is the vectors of a batch by the query tower, a scalar of them, and its gradient; both ways in turns,
on one thread, in the precision that a training takes here, for batches as AE-Enc, GaussCSE and ARCF have
them: of nearly one length each, so that some rows are padded. Without dropout: with it, torch does not take
its fused kernel on a processor. Then 128 premises of the sample corpus, as they come to a tower of premises:
all padded to the longest, and in parts of similar length.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: else two threads spin against each other

from entail.data.bundled import sample_corpus
from entail.encoders.catalogue import resolve
from entail.encoders.throughput import distinct_texts
from entail.results import write_result
from entail.training.adapters.tower import Lora, Tower, cast_precision

BATCHES = ((80, 14), (64, 24), (16, 120))
"""Texts in a batch, and at most how many words each: steps of AE-Enc, GaussCSE and ARCF."""
WAYS = {"products": "eager", "fused": "sdpa"}
ROOT = Path(__file__).resolve().parent.parent


def compare(
    tower: Tower, texts: Sequence[str], ways: Mapping[str, Callable[[], None]], *, steps: int
) -> dict[str, float]:
    """Return the milliseconds of a step in each of two ways, in turns, and how much faster the first is."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for step in range(steps + 1):
        for way, choose in ways.items():
            choose()
            begun = time.perf_counter()
            vectors = tower.vectors(texts)
            (vectors[::2] * vectors[1::2]).sum().backward()
            if step:
                seconds[way].append(time.perf_counter() - begun)
    medians = {f"{way}_ms": 1000 * statistics.median(times) for way, times in seconds.items()}
    first, second = medians.values()
    return {way: round(ms, 1) for way, ms in medians.items()} | {"times_faster": round(second / first, 2)}


def main() -> None:
    """Run all measurements once and write them down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10, help="of each way, in turns")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "attention.json")
    options = parser.parse_args()
    started = datetime.now(UTC)
    import torch

    torch.set_num_threads(1)
    precision = cast_precision("auto", "cpu")
    tower = Tower(resolve("minilm"), lora=Lora(rank=16), device="cpu", precision=precision, dropout=0.0)
    draw = random.Random(0)
    words = " ".join(text for text, _ in zip(distinct_texts(), range(200), strict=False)).split()
    figures: dict[str, object] = {"precision": precision, "threads": 1, "load_before": os.getloadavg()[0]}
    for count, length in BATCHES:
        lengths = [draw.randint(length - length // 6, length) for _ in range(count)]
        texts = [" ".join(draw.choices(words, k=k)) for k in lengths]
        ways = {way: partial(tower.attend, name) for way, name in WAYS.items()}
        figures[f"{count} texts of up to {length} words"] = compare(tower, texts, ways, steps=options.steps)
    tower.attend("eager")
    premises = draw.sample(sample_corpus().texts, 128)
    sizes = {"in_parts": tower.at_once, "at_once": None}
    ways = {way: partial(setattr, tower, "at_once", size) for way, size in sizes.items()}
    figures["128 premises of the sample"] = compare(tower, premises, ways, steps=options.steps)
    print(write_result(options.out, figures=figures, seed=0, started=started)["figures"])


if __name__ == "__main__":
    main()
