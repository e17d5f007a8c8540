"""Changes that carry AE-Enc further on dev or not, one at a time; figures and a page.

::

    python scripts/aeenc_further.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/aeenc_further.py ... --only K hybrid   # some of the questions
    python scripts/aeenc_further.py ... --missing         # what the file does not hold
    python scripts/aeenc_further.py --table               # only the page

Trainings start from the base on a fixed subset of the training trees (the first 300), so that many fit on
two cores; hybrids are measured on top of what ships. Everything is looked at on dev. What was trained stays
in `--work`; several processes may write one file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from aeenc_rows import OURS
from command_line import make_parser, measure_and_show, slug
from filelock import FileLock
from page_text import spread

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.index.hybrid import HybridIndex
from entail.index.lexical import Bm25Index, NgramIndex
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.results import provenance, write_page, write_result

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "results" / "aeenc_further.json"
SHIPPED = "aeenc-minilm"
SUBSET = 300
WEIGHTS = (0.05, 0.1, 0.15, 0.25)
SHOWN = ("MAP", "Hit@10", "Hit@50")
PROTOCOLS = {"query_excluded": "query excluded", "paper": "paper's protocol"}

ITERATIVE = replace(OURS, rounds=4)
"""The row "Iterative AE-Enc single" of Table 1 (`scripts/reproduce_aeenc.py`)."""

BEGUN = "as in Table 1"
LIVE = replace(ITERATIVE, gold=False, rounds=0, live_k=100, epochs=12)


@dataclass(frozen=True)
class Trained:
    """A training that is compared: the question it belongs to, what is changed."""

    question: str
    name: str
    config: AeencConfig
    seeds: tuple[int, ...] = (0,)


TRAINED = (
    Trained("K", f"30, {BEGUN}", ITERATIVE, (0, 1, 2)),
    Trained("K", "10", replace(ITERATIVE, k=10)),
    Trained("K", "20, as the paper", replace(ITERATIVE, k=20)),
    Trained("K", "60", replace(ITERATIVE, k=60)),
    Trained("K", "100", replace(ITERATIVE, k=100)),
    Trained("rounds", "eight", replace(ITERATIVE, rounds=8)),
    Trained(
        "negatives",
        "four rounds, then positives alone (the paper's restart)",
        replace(ITERATIVE, restart=True),
    ),
    Trained("negatives", "and premises of the other queries of a batch", replace(ITERATIVE, in_batch=True)),
    Trained("negatives", "from hypotheses down, not every parent", replace(ITERATIVE, start="hypotheses")),
    Trained("negatives", "at every step, the 100 nearest of that moment", LIVE, (0, 1, 2)),
    Trained("negatives", "at every step, 400", replace(LIVE, live_k=400)),
    Trained(
        "negatives",
        "at every step, softmax over all premises of the trees",
        replace(LIVE, loss="softmax", live_k=20_000, pool="trees", learning_rate=1e-3),
    ),
)
QUESTIONS = {
    "K": "How many premises are looked up a query (K)",
    "rounds": "How many rounds",
    "negatives": "Where hard negatives come from, and when",
    "hybrid": "What shipped after one round of replay, with a share w of BM25 (of the query's best)",
    "from hybrid": "An earlier encoder, taught by such a hybrid (all training trees, 4 epochs)",
    "cross-encoder": "An earlier encoder, and a cross-encoder that reads query and premise together",
}
MADE = ("K", "rounds", "negatives", "hybrid")
"""Questions that are still asked: the others gave way to `entail train reranker`, their figures stay."""


@dataclass(frozen=True)
class Data:
    """Data to learn from and to measure on."""

    corpus: Corpus
    train: tuple[ExplanationTree, ...]
    dev: tuple[ExplanationTree, ...]

    def figures(self, index: PremiseIndex, *, progress: ProgressCallback | None = None) -> dict[str, Any]:
        """Measure an index on dev."""
        return dict(evaluate_premises(self.corpus, self.dev, index, progress=progress).figures())


def trained(one: Trained, seed: int, data: Data, *, work: Path) -> dict[str, Any]:
    """Train on the subset and measure on dev."""
    config = replace(one.config, seed=seed)
    folder = work.resolve() / f"{slug(f'{one.question} {one.name}')}-{seed}"
    with progress_bar() as progress:
        training = train_aeenc(
            data.corpus, config, trees=data.train[:SUBSET], dev=data.dev, out=folder, progress=progress
        )
        index = retriever(str(folder), data.corpus, progress=progress)
        figures = data.figures(index, progress=progress)
    fitted = training.fitted
    assert fitted.best is not None
    return {
        **figures,
        "config": asdict(config),
        "seconds": fitted.seconds,
        "best epoch": fitted.best.epoch,
        "evaluations": [{"epoch": e.epoch, "MAP": e.score} for e in fitted.evaluations],
    }


def hybrids(data: Data) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what ships alone, and with every share of both lexical indexes."""
    first = retriever(SHIPPED, data.corpus)
    yield "alone", data.figures(first)
    for name, second, relative in (
        ("BM25", Bm25Index(data.corpus), True),
        ("parts of words", NgramIndex(data.corpus), False),
    ):
        for weight in WEIGHTS:
            index = HybridIndex(first, second, weight=weight, relative=relative)
            yield f"{name}, w = {weight:g}", data.figures(index)


Runs = dict[str, dict[str, dict[str, Any]]]


def run(options: argparse.Namespace) -> None:
    """Answer the questions asked, writing after each figure."""
    started = datetime.now(UTC)
    data = Data(
        read_corpus(options.corpus).corpus, tuple(read_trees(options.train)), tuple(read_trees(options.dev))
    )
    options.work.mkdir(parents=True, exist_ok=True)
    selection = set(options.only or MADE)

    def kept() -> dict[str, Runs]:
        if not options.result.is_file():
            return {}
        questions: dict[str, Runs] = json.loads(options.result.read_text(encoding="utf-8"))["figures"][
            "questions"
        ]
        return questions

    def write(question: str, name: str, seed: int, record: Mapping[str, Any]) -> None:
        with FileLock(options.work / "result.lock"):
            questions = kept()
            questions.setdefault(question, {}).setdefault(name, {})[str(seed)] = {
                **record,
                "run": provenance(),
            }
            figures = {
                "trees": len(data.dev),
                "learnt from": SUBSET,
                "premises": len(data.corpus),
                "questions": {
                    question: questions[question] for question in QUESTIONS if question in questions
                },
            }
            write_result(options.result, figures=figures, seed=None, started=started)

    for training in (training for training in TRAINED if training.question in selection):
        for seed in training.seeds:
            if options.missing and str(seed) in kept().get(training.question, {}).get(training.name, {}):
                continue
            print(f"{training.question}: {training.name}, seed {seed}", file=sys.stderr)
            write(training.question, training.name, seed, trained(training, seed, data, work=options.work))
    if "hybrid" in selection and not (options.missing and "hybrid" in kept()):
        for name, record in hybrids(data):
            print(f"hybrid: {name}", file=sys.stderr)
            write("hybrid", name, 0, record)


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures = result["figures"]
    yield "<!-- Made from aeenc_further.json by `python scripts/aeenc_further.py --table`; do not edit. -->"
    yield from ("# AE-Enc: what carries it further on dev", "")
    yield f"{figures['trees']} dev trees, {figures['premises']:,} candidate premises. Trainings are of the"
    yield f"query tower alone, of {figures['learnt from']} training trees, with the settings of Iterative"
    yield "AE-Enc single of Table 1 but for what a row says; weights chosen on dev; one seed, or mean ±"
    yield "standard deviation."
    yield "Rows of one table differ in one thing. Siamese and dual stand in [Table 1](aeenc.md), further"
    yield "members, generations and their mean in [the making of such an encoder](aeenc_minilm.md)."
    yield "Where a heading says an earlier encoder, the code gave way to a re-ranker that ships"
    yield "([its figures](reranker_minilm.md)); it stands at the commit named."
    yield from ("", "The last command:", "", f"    {result['command']}", "")
    for question, runs in figures["questions"].items():
        yield from (f"## {QUESTIONS[question]}", "")
        measures = [f"{m}, {words}" for words in PROTOCOLS.values() for m in SHOWN]
        all_runs = [run for seeds in runs.values() for run in seeds.values()]
        also = any("seconds" in run for run in all_runs)
        yield f"| | {' | '.join(measures)} |{' best epoch | training, s |' if also else ''}"
        yield "| --- |" + " ---: |" * (len(measures) + 2 * also)
        for name, seeds in runs.items():
            seed_runs = list(seeds.values())
            cells = [spread([run[p][m] for run in seed_runs]) for p in PROTOCOLS for m in SHOWN]
            if also:
                cells.append(
                    ", ".join(f"{run['best epoch']:g}" if "best epoch" in run else "" for run in seed_runs)
                )
                seconds = [run["seconds"] for run in seed_runs if "seconds" in run]
                cells.append(f"{mean(seconds):,.0f}" if seconds else "")
            yield f"| {name} | {' | '.join(cells)} |"
        yield ""
        if question == "rounds":
            yield from _rounds(all_runs[0])
        origins = sorted({(run["run"]["commit"][:12], run["run"]["cpu"]) for run in all_runs})
        yield from (f"Measured at {'; '.join(f'commit `{at}`, {cpu}' for at, cpu in origins)}.", "")


def _rounds(run: Mapping[str, Any]) -> Iterator[str]:
    per, rounds = run["config"]["epochs"], run["config"]["rounds"]
    at = {evaluation["epoch"]: evaluation["MAP"] for evaluation in run["evaluations"]}
    ends = [number for number in range(rounds + 1) if number * per in at]
    yield "MAP on dev, query excluded, of the weights at the end of each round (0: untrained):"
    yield from ("", f"| {' | '.join(map(str, ends))} |", "|" + " ---: |" * len(ends))
    yield from (f"| {' | '.join(f'{at[number * per]:.3f}' for number in ends)} |", "")


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--train", type=Path, help="trees to learn from")
    parser.add_argument("--dev", type=Path, help="trees to choose and measure on")
    parser.add_argument("--only", nargs="+", choices=MADE, help="only these questions")
    parser.add_argument("--missing", action="store_true", help="only what is not measured yet")
    parser.add_argument("--work", type=Path, default=Path("build/aeenc-further"), help="folder for weights")
    parser.add_argument("--result", type=Path, default=RESULT, help="where the figures go")
    return measure_and_show(
        parser, run, lambda options: write_page(options.result, markdown), needs=("corpus", "train", "dev")
    )


if __name__ == "__main__":
    sys.exit(main())
