r"""Measure retrievers on claims of other domains: the premise that entails a claim among all premises.

::

    python scripts/measure_transfer.py --corpus premises.txt.gz --trees dev.jsonl.gz \
        --nli mnli_dev.jsonl.gz snli_dev.jsonl.gz
    python scripts/measure_transfer.py --table  # only the page

A claim is the hypothesis of a pair with the label entailment, and the corpus is every premise of the file.
Beside them stand the trees of the domain that the default retriever learnt from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import make_parser, measure_and_show
from page_text import paragraph, table

from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.nli.pairs import read_nli
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.catalogue import SHIPPED as DEFAULT
from entail.encoders.cross.reranker import SHIPPED
from entail.evaluation.retrieval.premises import compare_evaluations, evaluate_premises
from entail.index.factory import retriever
from entail.results import write_page, write_result
from entail.training.nli_source import take_evenly

RESULT = Path(__file__).resolve().parent.parent / "docs" / "results" / "transfer.json"
BASE = "minilm"
RETRIEVERS = ("bm25", BASE, DEFAULT, f"{BASE}+bm25", f"{DEFAULT}+bm25", f"{DEFAULT}+bm25+{SHIPPED}")
COMPARED = ((BASE, DEFAULT), (f"{BASE}+bm25", f"{DEFAULT}+bm25"))
PROTOCOL = "query_excluded"
SHOWN = ("MAP", "Hit@10", "Hit@50")


def claims(file: Path, limit: int) -> tuple[Corpus, list[ExplanationTree]]:
    """Return the premises of a file of pairs, and a tree of one step for each of some entailed claims."""
    pairs = read_nli(file).pairs
    entailed = take_evenly([pair for pair in pairs if pair.label == "entailment"], limit)
    trees = [
        ExplanationTree.of_premises(str(at), pair.hypothesis, [pair.premise])
        for at, pair in enumerate(entailed)
    ]
    return Corpus.of(file.name.partition(".jsonl")[0], [pair.premise for pair in pairs]), trees


def measure(corpus: Corpus, trees: Sequence[ExplanationTree]) -> dict[str, Any]:
    """Return the figures of every retriever, and of the default compared with its base."""
    with progress_bar() as progress:
        evaluations = {
            name: evaluate_premises(corpus, trees, retriever(name, corpus), progress=progress)
            for name in RETRIEVERS
        }
    compared = {
        second: compare_evaluations(evaluations[first], evaluations[second])[PROTOCOL]["MAP"].to_json()
        for first, second in COMPARED
    }
    first = next(iter(evaluations.values()))
    return {
        "claims": len(first.queries),
        "premises": len(corpus),
        "retrievers": {name: evaluation.figures()[PROTOCOL] for name, evaluation in evaluations.items()},
        "compared": compared,
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    hardware = result["hardware"]
    yield "<!-- Made from transfer.json by `python scripts/measure_transfer.py --table`; do not edit. -->"
    yield from ("# The default retriever in other domains", "")
    yield from paragraph(
        f"`{DEFAULT}` learnt what explains elementary science, and ranks the premises of every corpus until "
        "another retriever is promoted. Here it looks for the premise that entails a claim, among all "
        "premises of MultiNLI (fiction, letters, telephone calls, government) and SNLI (captions of "
        f"photographs). Its base `{BASE}` learnt from AllNLI, the training parts of both, by its card, and "
        f"`{DEFAULT}`, an adapter on it, inherits that: what it loses there is not for want of that data. Of "
        "EntailmentBank it learnt from the training trees, its settings were compared on dev, and some of "
        f"the claims stand in training trees, too. `+{SHIPPED}` re-ranks the first premises. The claim "
        "itself is left out of its list."
    )
    yield from ("", f"Commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores:")
    yield from ("", f"    {result['command']}")
    for name, domain in result["figures"].items():
        yield from (
            "",
            f"## {name}",
            "",
            f"{domain['claims']:,} claims, {domain['premises']:,} premises.",
            "",
        )
        rows = [
            [method, *(f"{measures[m]:.3f}" for m in SHOWN)]
            for method, measures in domain["retrievers"].items()
        ]
        yield from (*table(["", *SHOWN], rows), "")
        for first, second in COMPARED:
            comparison = domain["compared"][second]
            low, high = comparison["difference_interval"]
            yield (
                f"- `{second}` over `{first}`, MAP: {comparison['difference']:+.3f} "
                f"({low:+.3f} to {high:+.3f}), better for {comparison['better']:,} claims, "
                f"worse for {comparison['worse']:,}."
            )


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    figures = {
        "EntailmentBank": measure(read_corpus(options.corpus).corpus, tuple(read_trees(options.trees)))
    }
    for file in options.nli:
        corpus, trees = claims(file, options.limit)
        figures[corpus.name] = measure(corpus, trees)
    write_result(RESULT, figures=figures, seed=None, started=started)


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="premises of the trees")
    parser.add_argument("--trees", type=Path, help="trees that no retriever learnt from")
    parser.add_argument("--nli", type=Path, nargs="+", help="pairs of premise and hypothesis with labels")
    parser.add_argument("--limit", type=int, default=1000, help="claims of a file of pairs (1000)")
    needs = ("corpus", "trees", "nli")
    return measure_and_show(parser, _run, lambda options: write_page(RESULT, markdown), needs=needs)


if __name__ == "__main__":
    raise SystemExit(main())
