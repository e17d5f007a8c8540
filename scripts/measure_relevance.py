r"""Measure Figures 2 and 3 of the entailment tuning paper; write figures and a page to docs/results/.

::

    python scripts/measure_relevance.py --questions dev.json --passages train.json dev.json \
        --nli snli_dev.jsonl --judge nli-minilm --encoders minilm models/dpr-minilm models/dpr-minilm-tuned
    python scripts/measure_relevance.py ... --limit 500      # so many questions and pairs, evenly from all
    python scripts/measure_relevance.py --table              # only the page, from the figures that are there

Figure 2: how probable a judge of entailment finds the claim of a question, given a passage that answers it,
and given the hardest passage that BM25 brings and that holds no answer. Figure 3: how similar a retriever
finds hypotheses of NLI pairs to premises that entail them, to neutral ones, and to those of other pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import make_parser, measure_and_show
from page_text import paragraph

from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair, read_nli
from entail.data.passages.files import read_questions
from entail.encoders.encoder import load
from entail.evaluation.passages.store import store_passages
from entail.judge.judges import NliJudge
from entail.progress import ProgressCallback
from entail.results import write_page, write_result
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination
from entail.training.nli_source import take_evenly
from entail.tuning.examples import Examples, examples_of, with_hard_negatives
from entail.tuning.relevance import compare_premises, judge_claims

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NAME = "relevance"


def measure(
    examples: Examples,
    pairs: Sequence[NliPair],
    *,
    judge: NliJudge,
    encoders: Sequence[str],
    words: int = 100,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Return both figures, of one judge and of several retrievers."""
    return {
        "questions": len(examples),
        "passages": len(examples.store),
        "pairs": len(pairs),
        "judge": {"name": judge.name, "revision": judge.revision},
        "claims": judge_claims(examples, judge, words=words, progress=progress).to_json(),
        "premises": [_of_encoder(pairs, name, progress) for name in encoders],
    }


def _of_encoder(pairs: Sequence[NliPair], name: str, progress: ProgressCallback | None) -> dict[str, Any]:
    encoder = load(name)
    return {
        **compare_premises(pairs, encoder, progress=progress).to_json(),
        "revision": encoder.revision,
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    yield f"<!-- Made from {NAME}.json by `python scripts/measure_relevance.py --table`; do not edit. -->"
    yield from ("# What relevance has to do with entailment", "")
    yield f"Commit `{result['commit']}`, {hardware['cpu']}, {result['wall_seconds']:,.0f} s:"
    yield from ("", f"    {result['command']}", "")
    note = contamination(PACKAGED_HUB_ID, ("squad", "snli", "multinli"))
    yield from (*paragraph(note), "")
    yield from ("## Claims and passages (Figure 2)", "")
    yield f"{figures['questions']:,} questions over {figures['passages']:,} passages, judged by"
    yield f"`{figures['judge']['name']}` (`{figures['judge']['revision']}`): P(passage entails claim)."
    yield "Excerpts of passages are judged: a hard negative is cut where the answer is in the gold passage."
    yield ""
    yield from _groups(figures["claims"])
    yield from ("", "## Hypotheses and premises (Figure 3)", "")
    yield f"{figures['pairs']:,} NLI pairs; similarity of hypothesis and premise by each retriever. Another"
    yield "premise of the same pairs, drawn for each hypothesis, is the irrelevant one."
    for figure in figures["premises"]:
        yield from ("", f"By `{figure['by']}` (`{figure['revision']}`):", "")
        yield from _groups(figure)


def _groups(figure: Mapping[str, Any]) -> Iterator[str]:
    first = next(iter(figure["groups"]))
    yield f"| | values | mean | quartiles | P({first} stand above) |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, group in figure["groups"].items():
        quartiles = ", ".join(f"{value:.3f}" for value in group["quartiles"])
        above = f"{group['above']:.3f}" if "above" in group else ""
        yield f"| {name} | {group['n']:,} | {group['mean']:.3f} | {quartiles} | {above} |"


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    with progress_bar() as progress:
        store = store_passages(
            options.passages or [options.questions], options.work / "pool", progress=progress
        )
        questions = take_evenly(tuple(read_questions(options.questions)), options.limit)
        examples = with_hard_negatives(examples_of(store, questions), depth=options.depth, progress=progress)
        pairs = [
            pair
            for pair in (pair for nli in options.nli for pair in read_nli(nli).pairs)
            if pair.label != "contradiction"
        ]
        figures = measure(
            examples,
            take_evenly(pairs, options.limit),
            judge=NliJudge(options.judge),
            encoders=options.encoders,
            words=options.words,
            progress=progress,
        )
    write_result(options.results / f"{NAME}.json", figures=figures, seed=0, started=started)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--questions", type=Path, help="with gold passages: SQuAD or DPR JSON ...")
    parser.add_argument("--passages", type=Path, nargs="+", help="the pool (those of the questions)")
    parser.add_argument("--nli", type=Path, nargs="+", help="pairs of premise and hypothesis with labels")
    parser.add_argument("--judge", default="nli-minilm", help="any cross-encoder of NLI")
    parser.add_argument("--encoders", nargs="+", default=["minilm"], metavar="NAME", help="retrievers")
    parser.add_argument("--limit", type=int, help="so many questions and pairs, evenly from all")
    parser.add_argument("--words", type=int, default=100, help="words of a passage that are judged (100)")
    parser.add_argument("--depth", type=int, default=20, help="of BM25, where hard negatives are (20)")
    parser.add_argument("--work", type=Path, default=Path("build/relevance"), help="folder for the pool")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result")
    return measure_and_show(
        parser,
        _run,
        lambda options: write_page(options.results / f"{NAME}.json", markdown),
        needs=("questions", "nli"),
        arguments=arguments,
    )


if __name__ == "__main__":
    raise SystemExit(main())
