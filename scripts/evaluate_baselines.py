"""Measure the retrievers that need no training; write the figures and a table of them to docs/results/.

::

    python scripts/evaluate_baselines.py --corpus premises.txt.gz --trees dev.jsonl.gz --split dev
    python scripts/evaluate_baselines.py --table  # only the table, from the figures that are there
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import make_parser, measure_and_show
from page_text import table

from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.results import write_result

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
MEASURES = (
    "MAP",
    "NDCG",
    "NDCG@10",
    "NDCG@50",
    "Hit@10",
    "Hit@20",
    "Hit@30",
    "Hit@40",
    "Hit@50",
    "Recall@10",
)
PROTOCOLS = {
    "paper": "Query among the candidates, as in the AE-Enc paper",
    "query_excluded": "Query excluded",
}


def measure(corpus_file: Path, trees_file: Path, names: list[str]) -> dict[str, Any]:
    """Evaluate every retriever on one corpus and one set of trees."""
    corpus = read_corpus(corpus_file).corpus
    trees = list(read_trees(trees_file))
    found: dict[str, Any] = {}
    with progress_bar() as progress:
        for name in names:
            index = retriever(name, corpus, progress=progress)
            evaluation = evaluate_premises(corpus, trees, index, progress=progress)
            effort = measure_effort(corpus, trees, index, progress=progress)
            found[name] = {**evaluation.to_json(), "effort": effort.to_json()}
    return {"trees": len(trees), "retrievers": found}


def markdown(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table page, one part for each result file."""
    yield "<!-- Made from premises_*.json by `python scripts/evaluate_baselines.py --table`; do not edit. -->"
    yield "# Parent to child retrieval"
    yield ""
    yield "MAP, NDCG and Recall@k are means over queries, Hit@k is found pairs / all pairs;"
    yield "`entail/evaluation/` says what the protocols and the simulated author are."
    for split, result in results.items():
        retrievers = result["figures"]["retrievers"]
        first = next(iter(retrievers.values()))
        yield from ("", f"## {split}", "")
        trees, candidates = result["figures"]["trees"], first["manifest"]["count"]
        yield f"{first['queries']:,} queries and {first['pairs']:,} pairs of {trees:,} trees,"
        yield f"{candidates:,} candidate premises. Commit `{result['commit']}`:"
        yield from ("", f"    {result['command']}")
        for protocol, title in PROTOCOLS.items():
            figures = {name: found[protocol] for name, found in retrievers.items()}
            rows = [[name, *(f"{found[m]:.3f}" for m in MEASURES)] for name, found in figures.items()]
            yield from ("", f"{title}:", "", *table(["retriever", *MEASURES], rows))
        rows = []
        for name, found in retrievers.items():
            effort = found["effort"]
            never = f"{effort['missing']:,} ({effort['missing_share']:.1%})"
            each = f"{effort['reads_per_accepted']:.2f}"
            rows.append([name, each, f"{effort['reads']:,}", f"{effort['accepted']:,}", never])
        header = ["retriever", "candidates read per accepted premise", "read", "accepted", "never found"]
        yield from ("", "Effort of the simulated author:", "", *table(header, rows))


def write_table() -> Path:
    """Write the table page from the result files that are there."""
    files = sorted(RESULTS.glob("premises_*.json"))
    results = {f.stem.removeprefix("premises_"): json.loads(f.read_text(encoding="utf-8")) for f in files}
    path = RESULTS / "premises.md"
    path.write_text("\n".join(markdown(results)) + "\n", encoding="utf-8")
    return path


def _run(given: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    figures = measure(given.corpus, given.trees, given.retrievers)
    write_result(RESULTS / f"premises_{given.split}.json", figures=figures, seed=None, started=started)


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--trees", type=Path, help="gold trees")
    parser.add_argument("--split", default="dev", help="name of the split in the file's name (dev)")
    parser.add_argument("--retrievers", nargs="+", default=["tfidf", "bm25", "minilm"], metavar="NAME")
    return measure_and_show(parser, _run, lambda _: write_table(), needs=("corpus", "trees"))


if __name__ == "__main__":
    sys.exit(main())
