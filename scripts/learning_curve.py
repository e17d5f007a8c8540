"""From how many annotated trees on does AE-Enc pay? Train on nested subsets; write figures and a table.

::

    python scripts/learning_curve.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/learning_curve.py ... --sizes 10 30 100 300 --seeds 0 1 2
    python scripts/learning_curve.py --table  # only the table, from the figures that are there

A team that starts from nothing has no dev trees to choose weights on: the last weights are kept, and the
settings depend on the size alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from command_line import make_parser, measure_and_show
from page_text import spread

from entail.aeenc.config import FEW_DECISIONS, AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.results import write_page, write_result

RESULT = Path(__file__).resolve().parent.parent / "docs" / "results" / "aeenc_learning.json"
SIZES = (10, 30, 100, 300)
MANY = 100
"""Trees from which on the settings of a full training are better than those for few decisions."""


def subset(trees: Sequence[ExplanationTree], size: int, seed: int) -> list[ExplanationTree]:
    """Draw trees; of one seed, a smaller subset lies within a larger one."""
    order = np.random.default_rng(seed).permutation(len(trees))
    return [trees[i] for i in order[:size]]


def config_for(size: int, seed: int) -> AeencConfig:
    """Return the settings for so many trees: a few are learnt from gently (`few_decisions`)."""
    live = replace(FEW_DECISIONS, gold=False, live_k=100, seed=seed)
    return live if size < MANY else replace(live, alpha=0.02, learning_rate=5e-4, epochs=8)


def measure(corpus: Corpus, dev: Sequence[ExplanationTree], name: str) -> dict[str, Any]:
    """Measure a retriever by the query-excluded protocol, the paper's, and effort."""
    index = retriever(name, corpus)
    evaluation = evaluate_premises(corpus, dev, index)
    return {**evaluation.figures(), "effort": measure_effort(corpus, dev, index).to_json()}


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table page."""
    yield "<!-- Made from aeenc_learning.json by `python scripts/learning_curve.py --table`; do not edit. -->"
    yield from ("# AE-Enc: how many trees does it take?", "")
    hardware = result["hardware"]
    yield f"Query excluded, mean ± standard deviation over seeds. Commit `{result['commit']}`,"
    yield f"{hardware['cpu']}, {hardware['cores']} cores, GPUs: {', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    yield "| trees | MAP | Hit@10 | Hit@50 | read per accepted premise | less reading | training, s |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    untrained = result["figures"]["untrained"]
    before = untrained["effort"]["reads_per_accepted"]
    for size, runs in {"0": {"0": untrained}, **result["figures"]["sizes"]}.items():
        some = list(runs.values())
        cells = [spread([run["query_excluded"][m] for run in some]) for m in ("MAP", "Hit@10", "Hit@50")]
        reads = [run["effort"]["reads_per_accepted"] for run in some]
        seconds = [run["seconds"] for run in some if "seconds" in run]
        yield (
            f"| {size} | {' | '.join(cells)} | {mean(reads):.2f} | {1 - mean(reads) / before:.0%} | "
            f"{f'{mean(seconds):,.0f}' if seconds else ''} |"
        )
    yield ""
    yield from _from_when_on(result["figures"])


def gains(untrained: Mapping[str, Any], runs: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return what each seed gained over the untrained encoder: MAP, and candidates that are not read."""
    return {
        "MAP": [run["query_excluded"]["MAP"] - untrained["query_excluded"]["MAP"] for run in runs.values()],
        "reads": [
            untrained["effort"]["reads_per_accepted"] - run["effort"]["reads_per_accepted"]
            for run in runs.values()
        ],
    }


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean by Student's t; None where one value says nothing of a spread."""
    if len(values) < 2:
        return None
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return mean(values) - half, mean(values) + half


def pays_from(figures: Mapping[str, Any]) -> int | None:
    """Return from how many trees on MAP and reading both gain, their whole intervals; None if they do not."""
    first = None
    for size in sorted(map(int, figures["sizes"]), reverse=True):
        found = gains(figures["untrained"], figures["sizes"][str(size)])
        if any((ends := interval(values)) is None or ends[0] <= 0 for values in found.values()):
            break
        first = size
    return first


def _from_when_on(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the answer to "from how many trees on does it pay?", and on what it rests."""
    sizes, first = sorted(map(int, figures["sizes"])), pays_from(figures)
    seeds = min(len(runs) for runs in figures["sizes"].values())
    if first is None:
        yield "From how many trees on it pays these figures do not say: of no number of trees on are both"
        yield "intervals below wholly above 0."
    else:
        found = gains(figures["untrained"], figures["sizes"][str(first)])
        fewest = ", the fewest that were tried" if first == sizes[0] else ""
        more, less = mean(found["MAP"]), mean(found["reads"])
        yield f"**It pays from {first} trees on**{fewest}: MAP is higher by {more:.3f} there and {less:.2f}"
        yield "fewer candidates are read per accepted premise, and from there on both intervals below are"
        yield "wholly above 0."
    yield from (
        "",
        "| trees | MAP gained | 95 % interval | fewer read | 95 % interval | seeds that gain both |",
    )
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for size in sizes:
        found = gains(figures["untrained"], figures["sizes"][str(size)])
        both = sum(one > 0 and other > 0 for one, other in zip(found["MAP"], found["reads"], strict=True))
        cells = [
            part
            for name, digits in (("MAP", 3), ("reads", 2))
            for part in (f"{mean(found[name]):.{digits}f}", _ends(interval(found[name]), digits))
        ]
        yield f"| {size} | {' | '.join(cells)} | {both} of {len(found['MAP'])} |"
    yield ""
    yield f"The intervals are Student's t over what {seeds} seeds gained on the untrained encoder: how far"
    yield "other draws of trees and other seeds would move the mean on these dev queries. Figures query by"
    yield "query were not kept, so there is no paired test over queries: how far other queries would move"
    yield "it is not in the intervals."


def _ends(ends: tuple[float, float] | None, digits: int) -> str:
    return "one seed" if ends is None else f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def _run(given: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    corpus = read_corpus(given.corpus).corpus
    train, dev = list(read_trees(given.train)), list(read_trees(given.dev))
    figures: dict[str, Any] = {"untrained": measure(corpus, dev, "minilm"), "sizes": {}}
    for size in given.sizes:
        for seed in given.seeds:
            folder = given.work / f"learning-{size}-{seed}"
            with progress_bar() as progress:
                training = train_aeenc(
                    corpus,
                    config_for(size, seed),
                    trees=subset(train, size, seed),
                    out=folder,
                    progress=progress,
                )
            run = {**measure(corpus, dev, str(folder.resolve())), "seconds": training.fitted.seconds}
            figures["sizes"].setdefault(str(size), {})[str(seed)] = run
            write_result(RESULT, figures=figures, seed=None, started=started)


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--train", type=Path, help="trees to learn from")
    parser.add_argument("--dev", type=Path, help="trees to measure on")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="numbers of trees")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="N", help="of the subsets")
    parser.add_argument("--work", type=Path, default=Path("build/aeenc"), help="folder for weights")
    return measure_and_show(
        parser, _run, lambda _: write_page(RESULT, markdown), needs=("corpus", "train", "dev")
    )


if __name__ == "__main__":
    sys.exit(main())
