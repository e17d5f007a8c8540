r"""Measure what a training on decisions brings, as the Trees page trains: figures and a page.

::

    python scripts/learning_curve.py --corpus premises.txt.gz --trees dev.jsonl.gz \
        --worldtree worldtree_v2.1_tg2020 --train train.jsonl.gz
    python scripts/learning_curve.py ... --sizes 10 30 90 270 --splits 3
    python scripts/learning_curve.py --table  # only the page, from the figures that are there

Of trees that no encoder learnt from, one half is decided by a simulated author, the other is measured. The
author reads the list of a sentence down to the last premise that explains it, at most 20 premises, accepts
what explains it and rejects what stands between. The trees are those of EntailmentBank, and explanations of
WorldTree's questions, another team's notion of what explains.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from command_line import make_parser, measure_and_show
from page_text import paragraph, spread, table

from entail.aeenc.config import decisions_config
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.judgements import JudgedPair, Judgements
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.data.worldtree.questions import WorldtreeRelease, gold_positions, read_release
from entail.encoders.catalogue import SHIPPED as DEFAULT
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.results import write_page, write_result

RESULT = Path(__file__).resolve().parent.parent / "docs" / "results" / "aeenc_learning.json"
SIZES = (10, 30, 90, 270)
STARTS = {"minilm": decisions_config(), DEFAULT: decisions_config(initial=DEFAULT)}
KEYWORDS = "+bm25"
READ = 20
"""Premises of a list that the author reads at most."""
HOME, OTHER = "EntailmentBank", "WorldTree"


def question_trees(release: WorldtreeRelease, known: Collection[str]) -> list[ExplanationTree]:
    """Return a tree of one step for each explained question of train: all facts below question and answer.

    Args:
        release: WorldTree with its questions.
        known: Ids of questions that are left out.
    """
    texts = release.facts.texts
    return [
        ExplanationTree.of_premises(
            question.id,
            question.text,
            dict.fromkeys(texts[at] for at in gold_positions(question, release.facts)),
        )
        for reading in release.readings
        if "train" in reading.source
        for question in reading.scored
        if question.id not in known
    ]


def decide(corpus: Corpus, trees: Sequence[ExplanationTree], name: str) -> Judgements:
    """Return the decisions of an author who reads the lists of a retriever."""
    gold = gold_children(trees)
    hits = retriever(name, corpus).search(list(gold), k=READ + 1)
    pairs = []
    for (query, children), positions in zip(gold.items(), hits.positions, strict=True):
        own = corpus.position(query)
        targets = {position for text in children if (position := corpus.position(text)) is not None}
        read = [position for position in positions.tolist() if position != own][:READ]
        last = max((at for at, position in enumerate(read) if position in targets), default=-1)
        pairs += [JudgedPair(query, corpus.texts[position], True) for position in sorted(targets)]
        pairs += [JudgedPair(query, corpus.texts[p], False) for p in read[: last + 1] if p not in targets]
    return Judgements.of_pairs(pairs, roots=[tree.hypothesis for tree in trees])


def measure(
    corpus: Corpus, trees: Sequence[ExplanationTree], name: str, known: Collection[str]
) -> dict[str, Any]:
    """Measure a retriever with keyword match on queries that nobody decided, and the author's effort."""
    index = retriever(f"{name}{KEYWORDS}", corpus)
    evaluation = evaluate_premises(corpus, trees, index)
    unseen = {query for query in evaluation.queries if query not in known}
    figures = evaluation.figures(unseen)["query_excluded"]
    return {**figures, "reads": measure_effort(corpus, trees, index).reads_per_accepted}


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean by Student's t; None where one value says nothing of a spread."""
    if len(values) < 2:
        return None
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return mean(values) - half, mean(values) + half


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    hardware, domains = result["hardware"], result["figures"]
    splits = len(domains[HOME][DEFAULT]["0"])
    yield "<!-- Made from aeenc_learning.json by `python scripts/learning_curve.py --table`; do not edit. -->"
    yield from ("# AE-Enc: training on a team's decisions", "")
    yield from paragraph(
        f"One half of the trees is decided by a simulated author, the other is measured, in {splits} "
        "random splits. The author reads each list down to the last premise that explains the sentence, "
        f"{READ} premises at most, accepts what explains it and rejects what stands between. The training "
        "has the settings of the Trees page: it starts from the retriever that made the lists; a premise "
        f"without a decision counts as rejected. Figures are with keyword match (`{KEYWORDS}`), MAP and "
        "Hit@10 of queries without a decision, query excluded; mean ± standard deviation over splits. "
        "Gains are those of a split over its own start, with the 95 % interval of Student's t. Other "
        "splits chose the learning rate of a continued training, and training trees of EntailmentBank "
        "the other settings."
    )
    yield from ("", f"Commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores:")
    yield from ("", f"    {result['command']}")
    for domain, figures in domains.items():
        yield from ("", f"## {domain}", "")
        yield from paragraph(_ABOUT[domain])
        yield ""
        yield from _rows(figures)


_ABOUT = {
    HOME: f"Dev trees. `{DEFAULT}` learnt from the training trees of the same authors; dev chose weights of "
    "an earlier generation of it.",
    OTHER: "Questions of train that are in no tree of EntailmentBank's train and dev, each with its correct "
    "answer as the claim, and all facts of its explanation below it: background and definitions too, which "
    f"EntailmentBank leaves out. `{DEFAULT}` learnt from trees about other questions of the same exams, and "
    "many of the facts stand in its training trees.",
}


def _rows(figures: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for start, sizes in figures.items():
        for size, runs in sizes.items():
            split_runs = list(runs.values())
            cells = [spread([run[m] for run in split_runs]) for m in ("MAP", "Hit@10")]
            cells.append(spread([run["reads"] for run in split_runs], digits=2))
            gained = [
                _gain([sign * (run[m] - sizes["0"][at][m]) for at, run in runs.items()], digits)
                for m, sign, digits in (("MAP", 1, 3), ("reads", -1, 2))
            ]
            rows.append([start, size, *cells, *(gained if size != "0" else ("", ""))])
    head = ["start", "trees decided", "MAP", "Hit@10", "read per accepted", "MAP gained", "fewer read"]
    yield from table(head, rows)


def _gain(values: Sequence[float], digits: int) -> str:
    ends = interval(values)
    between = "" if ends is None else f" ({ends[0]:+.{digits}f} to {ends[1]:+.{digits}f})"
    return f"{mean(values):+.{digits}f}{between}"


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    trees = list(read_trees(options.trees))
    known_ids = {tree.id for tree in trees} | {tree.id for tree in read_trees(options.train)}
    release = read_release(options.worldtree)
    domains = {
        HOME: (read_corpus(options.corpus).corpus, trees),
        OTHER: (Corpus.of("worldtree", release.facts.texts), question_trees(release, known_ids)),
    }
    figures: dict[str, Any] = {domain: {start: {} for start in STARTS} for domain in domains}
    for domain, (corpus, trees) in domains.items():
        for split in range(1, options.splits + 1):  # 0 and 10 chose a learning rate
            for start, size, run in _measure_split(corpus, trees, split, options):
                figures[domain][start].setdefault(str(size), {})[str(split)] = run
                write_result(RESULT, figures=figures, seed=None, started=started)


def _measure_split(
    corpus: Corpus, trees: Sequence[ExplanationTree], split: int, options: argparse.Namespace
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    order = np.random.default_rng(split).permutation(len(trees)).tolist()
    decided = [trees[at] for at in order[: len(trees) // 2]]
    measured = [trees[at] for at in order[len(trees) // 2 :]]
    known_queries = frozenset(gold_children(decided))
    for start, config in STARTS.items():
        yield start, 0, measure(corpus, measured, start, known_queries)
        for size in (size for size in options.sizes if size <= len(decided)):
            folder = options.work.resolve() / f"{corpus.name}-{start}-{size}-{split}"
            judgements = decide(corpus, decided[:size], f"{start}{KEYWORDS}")
            with progress_bar() as progress:
                train_aeenc(corpus, config, judgements=judgements, out=folder, progress=progress)
            yield start, size, measure(corpus, measured, str(folder), known_queries)


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--trees", type=Path, help="trees that no encoder learnt from")
    parser.add_argument("--worldtree", type=Path, metavar="RELEASE", help="WorldTree with its questions")
    parser.add_argument("--train", type=Path, help="trees whose questions are left out of WorldTree's")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="numbers of trees")
    parser.add_argument("--splits", type=int, default=3, help="halves that are decided (3)")
    parser.add_argument("--work", type=Path, default=Path("build/learning"), help="folder for weights")
    needs = ("corpus", "trees", "worldtree", "train")
    return measure_and_show(parser, _run, lambda _: write_page(RESULT, markdown), needs=needs)


if __name__ == "__main__":
    sys.exit(main())
