"""Measure what directions of entailment are worth in trees; write figures and a page to docs/results/.

::

    python scripts/direction_in_trees.py --corpus premises.txt.gz --trees dev.jsonl.gz
    python scripts/direction_in_trees.py ... --encoder models/mine --k 10 50
    python scripts/direction_in_trees.py --table   # only the page, from the figures that are there

Two questions. Does an encoder of Gaussians tell gold premises from the hardest negatives better than a
cosine does? Does it tell a step from its reverse: the premises, joined, entail the conclusion?
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import make_parser, measure_and_show
from gold_separation import GAUSSIAN, hardest_pairs, separation
from page_text import table, wide_paragraph

from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.nli.pairs import NliPair
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.text import fold
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import EvaluationError
from entail.evaluation.nli.direction import evaluate_direction
from entail.gausscse.verdict import judge
from entail.index.factory import retriever
from entail.index.gaussian import GaussianRows
from entail.index.vectors import QueryVectors
from entail.judge.steps import join_premises
from entail.progress import ProgressCallback
from entail.results import write_page, write_result
from entail.statistics.classification import mcnemar
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NAME = "gausscse_trees"


def step_pairs(trees: Iterable[ExplanationTree]) -> list[NliPair]:
    """Return each distinct step as an entailment pair of its joined premises and its conclusion."""
    pairs = {
        (
            join_premises([tree.text(premise) for premise in step.premises]),
            fold(tree.text(step.conclusion)),
        ): None
        for tree in trees
        for step in tree.steps
    }
    if not pairs:
        raise EvaluationError("expected trees with steps, found none")
    return [NliPair(premises, conclusion, "entailment") for premises, conclusion in pairs]


def measure(
    corpus: Corpus,
    trees: Sequence[ExplanationTree],
    encoder: GaussianEncoder,
    names: Sequence[str],
    depths: Sequence[int],
    *,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Answer both questions; every retriever chooses hard negatives, the first is what is compared with."""
    indexes = {name: retriever(name, corpus, progress=progress) for name in names}
    vectors = QueryVectors(GaussianRows(encoder), capacity=len(corpus) + len(gold_children(trees)))
    separated: dict[str, Any] = {}
    for chooser, index in indexes.items():
        for k in depths:
            pairs = hardest_pairs(corpus, trees, index, k=k, progress=progress)
            outcome = separation(corpus, pairs, encoder, indexes, vectors=vectors, progress=progress)
            separated.setdefault(chooser, {})[str(k)] = outcome.to_json(first=names[0])
    return {
        "encoder": encoder.name,
        "revision": encoder.revision,
        "threshold": encoder.threshold,
        "trees": len(trees),
        "candidates": len(corpus),
        "compared_with": names[0],
        "separation": separated,
        "steps": steps(trees, encoder, progress=progress),
    }


def steps(
    trees: Sequence[ExplanationTree], encoder: GaussianEncoder, *, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """Measure whether steps are told from their reverse, beside the lengths alone."""
    pairs = step_pairs(trees)
    measured = evaluate_direction(pairs, encoder, progress=progress)
    premises, conclusions = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    right = judge(encoder, premises, conclusions, progress=progress)
    back = judge(encoder, conclusions, premises, progress=progress)
    return {
        "direction": measured.to_json(),
        "against_length": mcnemar(measured.correct, measured.longer > 0).to_json(),
        "right_way": dict(Counter(verdict.says for verdict in right)),
        "reversed": dict(Counter(verdict.says for verdict in back)),
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, on = result["figures"], result["hardware"]
    first = figures["compared_with"]
    yield f"<!-- Made from {NAME}.json by `python scripts/direction_in_trees.py --table`; do not edit. -->"
    yield "# Directions of entailment in trees"
    yield ""
    yield from wide_paragraph(
        f"`{figures['encoder']}` (`{figures['revision']}`) on {figures['trees']:,} trees of EntailmentBank "
        f"over {figures['candidates']:,} premises. Commit `{result['commit']}`, "
        f"{on['cpu']}, {on['cores']} cores, GPUs: {', '.join(on['gpus']) or 'none'}, "
        f"{result['wall_seconds']:,.0f} s:"
    )
    yield from ("", f"    {result['command']}", "")
    yield from wide_paragraph(
        "These trees chose no weights or thresholds, but the choice among recipes saw them. "
        + contamination(PACKAGED_HUB_ID, ("snli", "multinli"))
    )
    yield from ("", "## Gold premises against the hardest negatives", "")
    for chooser, by_depth in figures["separation"].items():
        for k, outcome in by_depth.items():
            yield from separation_lines(outcome, chooser=chooser, k=k, first=first)
    yield from wide_paragraph(
        "Gaussian similarity is sim(sentence || premise), how much the premise entails the sentence; the "
        "difference is AUPRC less that of "
        f"{first}, a 95 % interval by bootstrap over sentences. Negatives are what "
        "the retriever named ranks highest of all that is not gold: on its own choice it does badly by "
        "construction, so look at all of them."
    )
    yield from ("", "## Steps and their reverse", "")
    yield from step_lines(figures["steps"])


def separation_lines(found: Mapping[str, Any], *, chooser: str, k: str, first: str) -> Iterator[str]:
    """Yield what one choice of negatives came to: an answer, then a table."""
    area, (low, high) = found["auprc"], found["difference"][GAUSSIAN]
    answer = "not better and not worse, as far as these sentences tell"
    if low > 0:
        answer = "**better**"
    elif high < 0:
        answer = "**worse**"
    yield from wide_paragraph(
        f"Against the {k} hardest negatives by {chooser} ({found['pairs']:,} pairs of {found['sentences']:,} "
        f"sentences, {found['gold']:,} gold), Gaussian similarity tells gold premises {answer} than {first}: "
        f"AUPRC {area[GAUSSIAN]:.3f} against {area[first]:.3f} ({low:+.3f} to {high:+.3f})."
    )
    rows = [[name, f"{area[name]:.3f}", _interval(found["difference"].get(name))] for name in area]
    rows.append(["chance", f"{found['chance']:.3f}", ""])
    yield from ("", *table(["score", "AUPRC", "difference"], rows), "")


def step_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known of steps: direction, and what the check says."""
    direction, against = found["direction"], found["against_length"]
    accuracy, baseline, n = direction["accuracy"], direction["length_baseline"], direction["n"]
    answer = "no differently than"
    if against["p"] < 0.05:
        answer = "**better** than" if accuracy > baseline else "**worse** than"
    yield from wide_paragraph(
        f"Of {n:,} steps the joined premises come out as what entails the conclusion, and not the other way "
        f"round, in {accuracy:.1%}; the longer text is the premises in {baseline:.1%}. So reversed steps are "
        f"told {answer} by length alone (McNemar p = {against['p']:.2g})."
    )
    yield ""
    longer, variance = direction["longer_entailed"], direction["by_variance"]
    rows = [["similarity", *_share(direction)]]
    if longer["n"]:
        rows.append(["similarity, where the conclusion is longer", *_share(longer)])
    if variance is not None:
        rows.append(["variance", *_share(variance)])
    rows.append(["length baseline", f"{baseline:.3f}", f"{n:,}", ""])
    yield from table(["rule", "accuracy", "steps", "95 % interval"], rows)
    yield ""
    right, back = found["right_way"], found["reversed"]
    caught, alarms = back.get("is entailed by", 0) / n, right.get("is entailed by", 0) / n
    yield from wide_paragraph(
        "With the threshold, which asks whether there is an entailment at all, "
        f"{caught:.1%} of reversed steps are called reversed, and {alarms:.1%} of those that stand the right "
        "way round."
    )
    yield ""
    words = list(dict.fromkeys([*right, *back]))
    shares = [
        [name, *(f"{counts.get(word, 0) / n:.1%}" for word in words)]
        for name, counts in (("right way round", right), ("reversed", back))
    ]
    yield from table(["step", *words], shares)


def _share(share: Mapping[str, Any]) -> list[str]:
    low, high = share["interval"]
    return [f"{share['accuracy']:.3f}", f"{share['n']:,}", f"{low:.3f} to {high:.3f}"]


def _interval(bounds: Sequence[float] | None) -> str:
    return "" if bounds is None else f"{bounds[0]:+.3f} to {bounds[1]:+.3f}"


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    corpus, trees = read_corpus(options.corpus).corpus, read_trees(options.trees)
    encoder = GaussianEncoder(options.encoder)
    with progress_bar() as progress:
        figures = measure(corpus, trees, encoder, options.retrievers, options.k, progress=progress)
    write_result(options.results / f"{NAME}.json", figures=figures, seed=0, started=started)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--trees", type=Path, help="gold trees")
    parser.add_argument("--encoder", default="gausscse-minilm", help="an encoder of Gaussians")
    parser.add_argument(
        "--retrievers",
        nargs="+",
        default=["minilm", "bm25"],
        metavar="NAME",
        help="what chooses hard negatives; the first is compared with",
    )
    parser.add_argument("--k", nargs="+", type=int, default=[10, 50], help="negatives of a sentence")
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
