"""Measure what a scorer of facts saves an author; write figures and a page to docs/results/.

::

    python scripts/measure_chain_effort.py --corpus premises.txt.gz --trees dev.jsonl.gz --scorer arcf-minilm
    python scripts/measure_chain_effort.py ... --retrievers minilm aeenc-minilm --k 60 --limit 20
    python scripts/measure_chain_effort.py --table   # only the page, from the figures that are there

The simulated author (`entail.evaluation.retrieval.effort`) builds the gold trees twice with each retriever:
reading what it ranks, and reading its best k as the scorer orders them anew after each accept, in the
light of what
was accepted below the node so far. The time is that of the scorer alone, all orders of a node together.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from command_line import make_parser, measure_and_show
from page_text import wide_paragraph

from entail.arcf.chains.next_premise import next_order, score_next
from entail.arcf.scoring.scorer import SHIPPED, Scorer, load_scorer
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree
from entail.data.text import fold
from entail.errors import RetrievalError
from entail.evaluation.retrieval.effort import (
    DEFAULT_LIMIT,
    Effort,
    author_effort,
    locate_texts,
    rank_sentences,
    sentence_positions,
    walk_sentences,
)
from entail.evaluation.retrieval.premises import score_batches
from entail.index.factory import retriever
from entail.index.protocol import Floats, Ints, PremiseIndex
from entail.progress import Meter, ProgressCallback
from entail.results import write_page, write_result
from entail.statistics.paired import SAMPLES, SEED, check_draws, interval
from entail.training.config import Precision

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NAME = "arcf_authoring"

RERANKED = 60
"""Number of best candidates that are re-ranked."""

Reorder = Callable[[str, Sequence[str], Sequence[str]], Floats]
"""A node's text, texts accepted below it so far, candidates -> score of each candidate, (candidates,)."""


@dataclass
class Timed:
    """A scorer that orders candidates, and how long it took at each node.

    Attributes:
        scorer: The scorer.
        seconds: One entry an order.
        nodes: Seconds of all orders of a node; one entry a node.
    """

    scorer: Scorer
    seconds: list[float] = field(default_factory=list)
    nodes: list[float] = field(default_factory=list)
    _at: tuple[str, int] = ("", -1)

    def __call__(self, sentence: str, accepted: Sequence[str], candidates: Sequence[str]) -> Floats:
        """Return what orders candidates, given as they were retrieved, behind what was accepted."""
        started = perf_counter()
        order = next_order(score_next(self.scorer, sentence, accepted, candidates).scores)
        took = perf_counter() - started
        scores = np.empty(len(order), dtype=np.float32)
        scores[order] = -np.arange(len(order))
        # A node goes on as long as more is accepted below the same sentence.
        if self.seconds and self._at[0] == sentence and len(accepted) > self._at[1]:
            self.nodes[-1] += took
        else:
            self.nodes.append(took)
        self._at = (sentence, len(accepted))
        self.seconds.append(took)
        return scores


def reordered_effort(
    corpus: Corpus,
    tree: ExplanationTree,
    ranking: Callable[[str], Ints],
    reorder: Reorder,
    *,
    first: int = RERANKED,
    limit: int = DEFAULT_LIMIT,
) -> Effort:
    """Let the simulated author build one tree where the best candidates are re-ranked after each accept.

    Rule 3 of the author then reads: at any moment the list is the `first` best of the candidates, re-ranked,
    then the others as they rank; the author reads the first of it that was not read at this node before.
    Linked children stand below the node from the beginning.

    Args:
        corpus: The candidates.
        tree: The gold tree; without a proof the effort is zero.
        ranking: Folded text of a node -> positions, best first: all, or at least `limit` + `first` + the
            number of the tree's sentences.
        reorder: Scores of the best candidates; ties stay as they rank.
        first: Number of best candidates that are re-ranked.
        limit: Candidates after which a node is given up.
    """
    reads = accepted = missing = linked = nodes = 0
    positions = locate_texts(corpus, tree)
    in_tree = {fold(tree.hypothesis)}
    for sentence, children in walk_sentences(tree):
        nodes += 1
        texts = {fold(tree.text(child)): tree.text(child) for child in children}
        targets = {text for text in texts if text not in in_tree}
        below = [own for text, own in texts.items() if text not in targets]
        linked += len(below)
        sought = {positions[text]: text for text in targets}
        order = ranking(fold(tree.text(sentence))).tolist() if targets else []
        read: set[int] = set()
        while targets and len(read) < limit:
            tree_positions = {positions[text] for text in in_tree}
            offered = [position for position in order if position not in tree_positions]
            ahead = offered[:first]
            if not ahead:
                break
            scores = reorder(tree.text(sentence), below, [corpus.texts[position] for position in ahead])
            behind = [ahead[at] for at in np.argsort(-scores, kind="stable")] + offered[first:]
            hit = None
            for position in (position for position in behind if position not in read):
                read.add(position)
                if position in sought:
                    hit = sought[position]
                if hit is not None or len(read) == limit:
                    break
            if hit is None:
                break  # given up, or nothing is left
            targets.discard(hit)
            in_tree.add(hit)
            below.append(texts[hit])
            accepted += 1
        reads += len(read)
        missing += len(targets)
        in_tree.update(fold(tree.text(child)) for child in children if child not in tree.sentences)
    return Effort(reads, accepted, missing, linked, nodes, limit)


def reads_difference(
    first: Sequence[Effort],
    second: Sequence[Effort],
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """Return a bootstrap interval over trees of how many more reads per accepted premise the second needs.

    Raises:
        RetrievalError: If they are not of the same trees, or nothing was accepted.
    """
    check_draws(samples)
    tables = [
        np.array([(effort.reads, effort.accepted) for effort in efforts]) for efforts in (first, second)
    ]
    if len(first) != len(second) or not all(table.size and table[:, 1].sum() for table in tables):
        raise RetrievalError(
            f"expected efforts over the same trees, with something accepted, found {len(first)} and "
            f"{len(second)} trees"
        )
    draws = np.random.default_rng(seed).integers(len(first), size=(samples, len(first)))
    totals = [table[draws].sum(axis=1) for table in tables]  # each (samples, 2)
    valid = np.logical_and(*(total[:, 1] > 0 for total in totals))
    ratios = [total[valid, 0] / total[valid, 1] for total in totals]
    return interval(ratios[1] - ratios[0])


def measure(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    index: PremiseIndex,
    scorer: Scorer,
    *,
    k: int,
    limit: int = DEFAULT_LIMIT,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Let the author build each tree with a retriever alone, and with its best k ordered by the scorer."""
    positions = sentence_positions(corpus, trees)
    nodes = tuple(positions)
    most = max((len(tree.sentences) + len(tree.intermediates) + 1 for tree in trees), default=0)
    depth = min(len(corpus), limit + k + most)
    ranks: dict[str, Mapping[int, float]] = {}
    orders: dict[str, Ints] = {}
    for batch, scores in score_batches(
        index, nodes, description=f"searching with {index.name}", progress=progress
    ):
        ranks.update(rank_sentences(positions, nodes[batch], scores))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        orders.update(zip(nodes[batch], best, strict=True))
    alone = [author_effort(corpus, tree, ranks, limit=limit) for tree in trees]
    timed, ordered = Timed(scorer), list[Effort]()
    meter = Meter(len(trees), f"ordering by {scorer.name}", unit="trees", report=progress)
    for tree in trees:
        ordered.append(reordered_effort(corpus, tree, orders.__getitem__, timed, first=k, limit=limit))
        meter.add(1)
    nothing = Effort(0, 0, 0, 0, 0, limit)
    return {
        "alone": sum(alone, nothing).to_json(),
        "ordered": sum(ordered, nothing).to_json(),
        "difference": list(reads_difference(alone, ordered)),
        "seconds_a_node": _spread(timed.nodes),
        "seconds_an_order": _spread(timed.seconds),
    }


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    values = np.array(seconds or [0.0])
    return {
        "count": len(seconds),
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "p95": float(np.quantile(values, 0.95)),
        "max": float(values.max()),
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    yield f"<!-- Made from {NAME}.json by `python scripts/measure_chain_effort.py --table`; do not edit. -->"
    yield from ("# Candidates read per accepted premise, with ARCF beside retrieval", "")
    yield from wide_paragraph(
        f"`{figures['scorer']}` (`{figures['revision']}`, {figures['precision']}) and "
        f"the retriever order its {figures['k']} best anew after each accept, by the ranks of both, the "
        f"scorer's given the premises accepted so far. "
        f"The simulated author builds {figures['trees']:,} trees of EntailmentBank over "
        f"{figures['candidates']:,} premises, and gives a node up after {figures['limit']} candidates. "
        f"Commit `{result['commit']}`, {hardware['cpu']}, {figures['threads']} threads, GPUs: "
        f"{', '.join(hardware['gpus']) or 'none'}:"
    )
    yield from ("", f"    {result['command']}", "")
    yield (
        "| retriever | alone | ordered | difference, 95 % interval | never found | so ordered | "
        "s a node, mean | p95 | max |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, comparison in figures["retrievers"].items():
        alone, ordered = comparison["alone"], comparison["ordered"]
        low, high = comparison["difference"]
        node = comparison["seconds_a_node"]
        yield (
            f"| {name} | {alone['reads_per_accepted']:.2f} | {ordered['reads_per_accepted']:.2f} | "
            f"{low:+.2f} to {high:+.2f} | {alone['missing_share']:.1%} | {ordered['missing_share']:.1%} | "
            f"{node['mean']:.2f} | {node['p95']:.2f} | {node['max']:.2f} |"
        )
    yield ""
    for name, comparison in figures["retrievers"].items():
        yield from wide_paragraph(_answer(name, comparison))
    yield ""
    yield from wide_paragraph(
        "Read per accepted premise, with the difference by bootstrap over trees (below 0: less is read); "
        "the share of gold premises that were looked for and never found; the scorer's time, all orders of a "
        "node together. What was read at a node is not read again there. See "
        "`entail/evaluation/retrieval/effort.py` for the author's rules."
    )


def _answer(name: str, comparison: Mapping[str, Any]) -> str:
    low, high = comparison["difference"]
    slowest = comparison["seconds_a_node"]["max"]
    amount = "neither more nor less, as far as these trees tell,"
    if high < 0:
        amount = "**less**"
    elif low > 0:
        amount = "**more**"
    return f"With {name}, the author reads {amount} where the scorer orders; slowest node {slowest:.2f} s."


def _run(options: argparse.Namespace) -> None:
    import torch

    started = datetime.now(UTC)
    corpus, trees = read_corpus(options.corpus).corpus, list(read_trees(options.trees))[: options.limit]
    precision: Precision = options.precision
    scorer = load_scorer(options.scorer, precision=precision)
    score_next(scorer, "a text", (), ["another"])  # the first takes longer than those after it
    figures: dict[str, Any] = {
        "scorer": scorer.name,
        "revision": scorer.revision,
        "precision": precision,
        "threads": torch.get_num_threads(),
        "k": options.k,
        "limit": DEFAULT_LIMIT,
        "trees": len(trees),
        "candidates": len(corpus),
        "retrievers": {},
    }
    with progress_bar() as progress:
        for name in options.retrievers:
            index = retriever(name, corpus, progress=progress)
            comparison = measure(corpus, trees, index, scorer, k=options.k, progress=progress)
            figures["retrievers"][name] = comparison
            write_result(options.results / f"{NAME}.json", figures=figures, seed=0, started=started)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--trees", type=Path, help="gold trees")
    parser.add_argument("--scorer", default=SHIPPED, help="a scorer of facts under models/, or a folder")
    parser.add_argument(
        "--retrievers",
        nargs="+",
        default=["minilm", "aeenc-minilm"],
        metavar="NAME",
        help="whose best candidates are ordered",
    )
    parser.add_argument("--k", type=int, default=RERANKED, help="candidates that are ordered")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N trees")
    parser.add_argument("--precision", choices=["fp32", "bf16", "auto"], default="auto")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result")
    return measure_and_show(
        parser,
        _run,
        lambda options: write_page(options.results / f"{NAME}.json", markdown),
        needs=("corpus", "trees"),
        arguments=arguments,
    )


if __name__ == "__main__":
    raise SystemExit(main())
