r"""Train `models/reranker-minilm`, which reads query and premise together, and measure it.

::

    python scripts/make_reranker_minilm.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/make_reranker_minilm.py ... --until chosen   # dev stays unread
    python scripts/make_reranker_minilm.py ... --trial 5        # only see what a step takes
    python scripts/make_reranker_minilm.py ... --first aeenc-dual-minilm --stand-in build/aeenc-dual/mean-0.6
    python scripts/make_reranker_minilm.py ... --test test.jsonl.gz  # measured on these trees instead of dev
    python scripts/make_reranker_minilm.py --table              # only the page

A tenth of the training trees is held out, and a re-ranker learns from the others. The retriever that ships
has learnt from all of them, so its lists of held-out queries are better than those of new queries. A
stand-in that did not see the held-out trees makes the lists instead (`--stand-in`, else it is trained). On
these the weight beside the retriever's score and the number of premises to read are chosen. With them each
seed learns anew, from all training trees, and dev is read once. The first seed ships, not the best.

What was trained stays in `--work`: a run that was broken off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from command_line import make_parser
from lab.ship import install
from reranker_tables import for_card, markdown

from entail.aeenc.config import AeencConfig
from entail.aeenc.reranking.config import RerankerConfig
from entail.aeenc.reranking.lists import RankedList, ranked_lists
from entail.aeenc.reranking.task import mean_precision
from entail.aeenc.reranking.training import train_reranker
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.encoders.cross.reranker import Reranker
from entail.encoders.weights import read_json
from entail.errors import EntailError, TrainingError
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.index.protocol import Floats, PremiseIndex
from entail.index.reranked import RerankedIndex, combine, place_reread
from entail.results import provenance, write_page, write_result

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "results" / "reranker_minilm.json"
SHIPPED = ROOT / "models" / "reranker-minilm"
FIRST = "aeenc-minilm"
KEYWORDS = "+bm25"
WEIGHTS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.1, 0.2)
DEPTHS = (20, 50, 64)
"""More would take an author longer than a second."""

PARTS = ("stand-in", "chosen", "trained", "measured")
CONFIG = RerankerConfig(weight=0.03)
"""The last weights are kept, so that the weight is not used."""

STAND_IN = AeencConfig(
    gold=False,
    rounds=0,
    alpha=0.0,
    loss="softmax",
    temperature=0.03,
    live_k=20_000,
    pool="trees",
    learning_rate=1e-3,
    epochs=8,
)
"""A member of the encoder that ships (`make_aeenc_minilm.py`), with its last stage's temperature."""


@dataclass(frozen=True)
class Data:
    """Trees to learn from, held-out trees to choose on, dev trees to measure on, and the candidates."""

    corpus: Corpus
    learnt: tuple[ExplanationTree, ...]
    held_out: tuple[ExplanationTree, ...]
    dev: tuple[ExplanationTree, ...]

    @classmethod
    def read(cls, corpus: Path, train: Path, dev: Path) -> Data:
        """Read the files and hold out every tenth tree of a seeded permutation."""
        trees = read_trees(train)
        held_out = set(np.random.default_rng(0).permutation(len(trees))[::10].tolist())
        return cls(
            read_corpus(corpus).corpus,
            tuple(tree for at, tree in enumerate(trees) if at not in held_out),
            tuple(tree for at, tree in enumerate(trees) if at in held_out),
            tuple(read_trees(dev)),
        )


def stand_in(data: Data, work: Path) -> Path:
    """Train the stand-in of the retriever into the work folder, or find it there."""
    out, about = work / "stand-in", work / "stand-in.json"
    if about.is_file():
        return out
    with progress_bar() as progress:
        training = train_aeenc(data.corpus, STAND_IN, trees=data.learnt, out=out, progress=progress)
    record = {"config": asdict(STAND_IN), "seconds": training.fitted.seconds, "run": provenance()}
    about.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return out


def held_out_lists(data: Data, folder: Path, *, depth: int) -> list[RankedList]:
    """Return the stand-in's lists of the held-out queries that no tree to learn from has."""
    index = retriever(f"{folder.resolve()}{KEYWORDS}", data.corpus)
    known_queries = gold_children(data.learnt)
    lists = ranked_lists(data.corpus, data.held_out, index, depth=depth)
    return [ranking for ranking in lists if ranking.query not in known_queries]


def trained(
    corpus: Corpus, trees: Sequence[ExplanationTree], config: RerankerConfig, out: Path
) -> dict[str, Any]:
    """Train one seed into a folder, or find it there."""
    about = out.with_suffix(".json")
    if about.is_file():
        before: dict[str, Any] = json.loads(about.read_text(encoding="utf-8"))
        if before["config"] == asdict(config):
            return before
        sys.exit(f"Error: {out} was trained with other settings; give another --work")
    with progress_bar() as progress:
        training = train_reranker(
            corpus,
            config,
            retriever(config.retriever, corpus),
            trees=trees,
            data=["entailment_bank"],
            out=out,
            progress=progress,
        )
    fitted = training.fitted
    record = {
        "config": asdict(config),
        "counts": {"trees": len(trees), **training.counts},
        "seconds": fitted.seconds,
        "run": provenance(),
    }
    about.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return record


def trial(data: Data, config: RerankerConfig, steps: int) -> dict[str, float]:
    """Train so many steps and keep nothing; return what a step takes."""
    times: list[tuple[float, float]] = []

    def stop() -> bool:
        times.append((time.perf_counter(), time.process_time()))
        return len(times) >= steps

    try:
        train_reranker(
            data.corpus, config, retriever(config.retriever, data.corpus), trees=data.learnt, stop=stop
        )
    except TrainingError:
        if len(times) < steps:
            raise
    clock, busy = ((b - a) / (steps - 1) for a, b in zip(times[0], times[-1], strict=True))
    return {"seconds a step": clock, "processor seconds a step": busy}


@dataclass
class Remembered:
    """A re-ranker that reads a query's premises once and keeps its scores and the seconds.

    Attributes:
        seconds: Of each query's list.
    """

    reranker: Reranker
    scores: dict[tuple[str, str], float] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name."""
        return self.reranker.name

    @property
    def revision(self) -> str:
        """Its revision."""
        return self.reranker.revision

    def score(self, query: str, premises: Sequence[str]) -> Floats:
        """Return the scores, read now or earlier."""
        new = [text for text in premises if (query, text) not in self.scores]
        if new:
            start = time.perf_counter()
            scores = self.reranker.score(query, new)
            if len(new) == len(premises):
                self.seconds.append(time.perf_counter() - start)
            self.scores |= {(query, text): float(s) for text, s in zip(new, scores, strict=True)}
        return np.array([self.scores[query, text] for text in premises], dtype=np.float32)


def choices(data: Data, lists: Sequence[RankedList], folder: Path) -> list[dict[str, Any]]:
    """Return the MAP of the held-out lists by depth and weight; what is not read stays behind."""
    reranker, texts = Reranker(folder), data.corpus.texts
    with progress_bar() as progress:
        read = [
            reranker.score(ranking.query, [texts[at] for at in ranking.positions], progress=progress)
            for ranking in lists
        ]
    rows = []
    for depth in DEPTHS:
        for weight in (0.0, *WEIGHTS):
            scores = []
            for ranking, values in zip(lists, read, strict=True):
                row, nearest = ranking.scores.copy(), np.arange(min(depth, len(ranking.scores)))
                place_reread(row, nearest, combine(row[nearest], values[nearest], weight=weight))
                scores.append(row)
            rows.append({"depth": depth, "weight": weight, "MAP": mean_precision(lists, scores)})
    return rows


def measured(data: Data, index: PremiseIndex) -> dict[str, Any]:
    """Return the figures of an index on dev: of all queries, of those in no training tree, and the effort."""
    evaluation = evaluate_premises(data.corpus, data.dev, index)
    known_queries = gold_children((*data.learnt, *data.held_out))
    unseen = {query for query in evaluation.queries if query not in known_queries}
    return {
        "all": evaluation.figures(),
        "unseen": evaluation.figures(unseen),
        "queries": len(evaluation.queries),
        "unseen queries": len(unseen),
        "effort": measure_effort(data.corpus, data.dev, index).to_json(),
    }


def reranked(
    data: Data, folder: Path, indexes: Mapping[str, PremiseIndex], *, weight: float, depth: int
) -> dict[str, Any]:
    """Return the figures of the lists of some indexes, re-ranked, and the seconds a list."""
    reranker = Remembered(Reranker(folder))
    over = {
        name: measured(data, RerankedIndex(index, data.corpus, reranker, weight=weight, depth=depth))
        for name, index in reversed(indexes.items())
    }
    return {
        "measured": over,
        "seconds a list": {
            "median": float(np.median(reranker.seconds)),
            "95 %": float(np.quantile(reranker.seconds, 0.95)),
            "longest": max(reranker.seconds),
        },
    }


def run(options: argparse.Namespace, data: Data) -> None:
    """Make all parts up to the last one asked for."""
    started = datetime.now(UTC)
    config = replace(CONFIG, retriever=f"{options.first}{KEYWORDS}")
    if options.trial:
        print(json.dumps(trial(data, config, options.trial), indent=1))
        return
    first = options.stand_in or stand_in(data, options.work)
    if options.until == "stand-in":
        return
    choice = options.work / "chosen.json"
    if not choice.is_file():
        learnt = options.work / "learnt"
        trained(data.corpus, data.learnt, config, learnt)
        lists = held_out_lists(data, first, depth=max(DEPTHS))
        record = {"queries": len(lists), "rows": choices(data, lists, learnt), "run": provenance()}
        choice.write_text(json.dumps(record, indent=1), encoding="utf-8")
    record = json.loads(choice.read_text(encoding="utf-8"))
    best = max(record["rows"], key=lambda row: row["MAP"])
    print(json.dumps(best))
    if options.until == "chosen":
        return
    trees = (*data.learnt, *data.held_out)
    folders = {seed: options.work / f"reranker-{seed}" for seed in options.seeds}
    seeds = {
        seed: trained(data.corpus, trees, replace(config, seed=seed), out) for seed, out in folders.items()
    }
    if options.until == "trained":
        return
    weight, depth = best["weight"], best["depth"]
    indexes = {name: retriever(name, data.corpus) for name in (options.first, config.retriever)}
    figures: dict[str, Any] = {
        "held out": {
            "trees": len(data.held_out),
            "queries": record["queries"],
            "choices": record["rows"],
            "best": best,
            "run": record.get("run"),
        },
        "learnt": seeds[options.seeds[0]]["counts"],
        "stand-in": read_json(first.parent / f"{first.name}.json"),
        "trees": {"count": len(data.dev), "split": "test" if options.test else "dev"},
        "first": {name: measured(data, index) for name, index in indexes.items()},
        "seeds": {},
    }
    for seed, folder in folders.items():
        over = reranked(data, folder, indexes, weight=weight, depth=depth)
        figures["seeds"][str(seed)] = {**seeds[seed], **over}
    form = {"max_length": config.max_length, "weight": weight, "depth": depth}
    if not options.test:
        settings = asdict(replace(config, seed=options.seeds[0], weight=weight, depth=depth))
        about = {"config": settings, "reranker": form, "figures": {"tables": for_card(figures)}}
        size = install(folders[options.seeds[0]], options.out, more=about)
        figures |= {"bytes": size, "revision": Reranker(options.out).revision}
    write_result(options.result, figures=figures, seed=None, started=started)
    print(f"wrote {write_page(options.result, markdown)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--train", type=Path, help="trees to learn from, a tenth held out")
    parser.add_argument("--dev", type=Path, help="trees to measure on")
    parser.add_argument("--test", type=Path, help="trees to measure on instead of dev; nothing is shipped")
    parser.add_argument("--first", default=FIRST, help=f"retriever of the lists ({FIRST})")
    parser.add_argument("--stand-in", type=Path, help="its like that has not learnt from every tenth tree")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="(0)")
    parser.add_argument("--work", type=Path, default=Path("build/reranker"), help="folder for the parts")
    parser.add_argument("--until", choices=PARTS, default=PARTS[-1], help="last part to make")
    parser.add_argument("--trial", type=int, default=0, metavar="STEPS", help="only see what a step takes")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="what ships")
    parser.add_argument("--result", type=Path, default=RESULT, help="where the figures go")
    options = parser.parse_args(arguments)
    try:
        if options.table:
            print(f"wrote {write_page(options.result, markdown)}")
            return 0
        if None in (options.corpus, options.train, options.dev):
            parser.error("--corpus, --train and --dev are needed, or --table")
        options.work.mkdir(parents=True, exist_ok=True)
        run(options, Data.read(options.corpus, options.train, options.test or options.dev))
    except EntailError as error:
        sys.exit(f"Error: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
