r"""Train an encoder such as `models/aeenc-minilm`, the debiased one that ships, and measure every part of it.

::

    python scripts/make_aeenc_minilm.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/make_aeenc_minilm.py ... --first 0 &  # in processes of their own, before it:
    python scripts/make_aeenc_minilm.py ... --first 1 &  # the first generation of these seeds
    python scripts/make_aeenc_minilm.py ... --second 1 &  # and then the second of these, taught by all
    python scripts/make_aeenc_minilm.py --table  # only page and card, from the figures that are there

The first generation, for each seed: two members learn from live hard negatives, one by the triplet loss and
one by softmax; their mean goes on by the triplet loss until it knows the training trees by heart, while on
the sentences of the corpus that nobody judged it is held to the members' mean
(`entail.training.distillation.task`). The second generation begins at the mean of the first, learns by
softmax at a low temperature, and is held to the vectors of the first, all seeds together, on those
sentences and on
variations of the training queries: what it knows by heart stays with the query that it knows it of. What
is made is the mean of the second generation. Weights are chosen on dev. A second generation by the triplet
loss was tried and came to no more.

`models/aeenc-minilm` began as another run, from before this program was whole: its second generation had a
further teacher, a mean of members. What the program makes did no better on dev, so it was not put in its
place, and is written elsewhere. That run was then trained further by `scripts/replay_aeenc.py`. Page and card
say so in figures (`docs/results/aeenc_minilm.md`).

What was trained stays in `--work`: a run that was broken off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from aeenc_minilm_tables import RESULTS, markdown, write_notes

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.errors import EntailError
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.progress import ProgressCallback
from entail.results import write_page, write_result
from entail.training.adapters.averaging import average_adapters
from entail.training.distillation.teachers import Teaching, teach, vary

RESULT = RESULTS / "aeenc_minilm.json"

LIVE = AeencConfig(gold=False, rounds=0, live_k=100, alpha=0.0)
MEMBERS = {
    "triplet": replace(LIVE, reduction="sum", margin=0.2, alpha=0.02, rank=32, learning_rate=7e-4, epochs=8),
    "softmax": replace(LIVE, loss="softmax", live_k=20_000, pool="trees", learning_rate=1e-3, epochs=10),
}
BY_HEART = replace(
    LIVE,
    reduction="sum",
    margin=0.2,
    rank=48,
    dropout=0.0,
    distil=30.0,
    contrast=0.15,
    learning_rate=1.2e-3,
    epochs=16,
)
SECOND = replace(
    LIVE,
    loss="softmax",
    temperature=0.03,
    live_k=20_000,
    rank=46,
    dropout=0.0,
    distil=60.0,
    sentences=48,
    learning_rate=8e-4,
    epochs=8,
)
VARIATIONS = 2  # of every training query
RANK = SECOND.rank  # of what ships: 3.8 MB


@dataclass(frozen=True)
class Data:
    """Data to learn from and to measure on."""

    corpus: Corpus
    train: tuple[ExplanationTree, ...]
    dev: tuple[ExplanationTree, ...]


def trained(
    name: str,
    config: AeencConfig,
    data: Data,
    *,
    work: Path,
    teaching: Callable[[], Teaching] | None = None,
    data_names: Sequence[str] = ("entailment_bank",),
    progress: ProgressCallback | None,
) -> tuple[Path, float]:
    """Train an encoder into the work folder, or find it there whole; return it and its seconds."""
    out, record_file = work / name, work / f"{name}.json"
    print(name, file=sys.stderr)
    if record_file.is_file():
        before = json.loads(record_file.read_text(encoding="utf-8"))
        if before["config"] == asdict(config):
            return out, before["seconds"]
        sys.exit(f"Error: {out} was trained with other settings; give another --work")
    training = train_aeenc(
        data.corpus,
        config,
        trees=data.train,
        dev=data.dev,
        teaching=teaching() if teaching is not None else None,
        data=list(data_names),
        out=out,
        progress=progress,
    )
    about = {"config": asdict(config), "seconds": training.fitted.seconds}
    record_file.write_text(json.dumps(about), encoding="utf-8")
    return out, training.fitted.seconds


def mean_of(name: str, folders: list[Path], *, work: Path, scale: float = 1.0, rank: int = 48) -> Path:
    """Average encoders into the work folder."""
    average_adapters(folders, work / name, scale=scale, rank=rank)
    return work / name


@dataclass
class Run:
    """Trains parts, keeps where they are and what they took: part -> seed -> folder, seconds."""

    data: Data
    work: Path
    progress: ProgressCallback | None
    folders: dict[str, dict[int, Path]] = field(default_factory=dict)
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)

    def train(
        self, part: str, config: AeencConfig, seed: int, teaching: Callable[[], Teaching] | None = None
    ) -> Path:
        """Train a part of one seed."""
        folder, seconds = trained(
            f"{part}-{seed}",
            replace(config, seed=seed),
            self.data,
            work=self.work,
            teaching=teaching,
            progress=self.progress,
        )
        self.folders.setdefault(part, {})[seed] = folder
        self.seconds.setdefault(part, {})[seed] = seconds
        return folder

    def first(self, seed: int) -> Path:
        """Train the first generation of one seed."""
        members = [self.train(name, config, seed) for name, config in MEMBERS.items()]
        mean_of_both = mean_of(f"members-{seed}", members, work=self.work)
        self.folders.setdefault("members", {})[seed] = mean_of_both

        def teaching() -> Teaching:
            return teach(members, self.data.corpus.texts, progress=self.progress)

        return self.train("by-heart", replace(BY_HEART, initial=str(mean_of_both)), seed, teaching)

    def second(self, seeds: Sequence[int], students: Sequence[int]) -> list[Path]:
        """Train the second generation of some seeds, the students, taught by the first of all seeds."""
        teachers = [self.first(seed) for seed in seeds]
        start = mean_of("first", teachers, work=self.work, rank=SECOND.rank)

        @cache
        def teaching() -> Teaching:
            variations = vary(list(gold_children(self.data.train)), count=VARIATIONS, seed=0)
            return teach(teachers, (*self.data.corpus.texts, *variations), progress=self.progress)

        second = replace(SECOND, initial=str(start))
        return [self.train("second", second, seed, teaching) for seed in students]


def measured(encoder: str | Path, data: Data, *, progress: ProgressCallback | None) -> dict[str, Any]:
    """Return the dev figures of both protocols, of queries seen and unseen in training, and the effort."""
    index = retriever(str(encoder), data.corpus, progress=progress)
    evaluation = evaluate_premises(data.corpus, data.dev, index, progress=progress)
    gold = gold_children(data.train)
    seen_queries = {query for query in evaluation.queries if query in gold}
    unseen_queries = {query for query in evaluation.queries if query not in gold}
    return {
        **evaluation.figures(),
        "seen": {"queries": len(seen_queries), **(evaluation.figures(seen_queries) if seen_queries else {})},
        "unseen": {
            "queries": len(unseen_queries),
            **(evaluation.figures(unseen_queries) if unseen_queries else {}),
        },
        "effort": measure_effort(data.corpus, data.dev, index, progress=progress).to_json(),
    }


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    data = Data(
        read_corpus(options.corpus).corpus,
        tuple(read_trees(options.train)),
        tuple(read_trees(options.dev)),
    )
    with progress_bar() as progress:
        run = Run(data, options.work, progress)
        if options.first is not None:
            for seed in options.first:
                run.first(seed)
            return
        if options.second is not None:
            run.second(options.seeds, options.second)
            return
        last = run.second(options.seeds, options.seeds)
        average_adapters(last, options.out, scale=options.scale, rank=RANK)
        runs: dict[str, Any] = {
            str(seed): {
                "parts": {
                    p: measured(folders[seed], data, progress=progress) for p, folders in run.folders.items()
                },
                "seconds": {part: seconds[seed] for part, seconds in run.seconds.items()},
            }
            for seed in options.seeds
        }
        figures = {
            "untrained": measured("minilm", data, progress=progress),
            "shipped": measured(options.out, data, progress=progress),  # what is made, see `markdown`
            "scale": options.scale,
            "seeds": runs,
        }
    write_result(options.result, figures=figures, seed=None, started=started)
    write_page(options.result, markdown)
    for name in ("untrained", "shipped"):
        for protocol in ("query_excluded", "paper"):
            measures = figures[name][protocol]
            print(name, protocol, *(f"{m} {measures[m]:.4f}" for m in ("MAP", "Hit@10", "Hit@50")))


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--train", type=Path, help="trees to learn from")
    parser.add_argument("--dev", type=Path, help="trees to choose the weights on")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="N", help="(0 1 2)")
    parser.add_argument(
        "--first", nargs="+", type=int, metavar="N", help="train the first generation of these seeds alone"
    )
    parser.add_argument(
        "--second", nargs="+", type=int, metavar="N", help="train the second generation of these seeds alone"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of what is made, see entail average (1)")
    parser.add_argument("--work", type=Path, default=Path("build/aeenc-minilm"), help="folder for the parts")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/aeenc-minilm/made"),
        help="folder for what is made (build/aeenc-minilm/made)",
    )
    parser.add_argument("--result", type=Path, default=RESULT, help="where the figures go")
    parser.add_argument(
        "--table", action="store_true", help="train nothing, only write the page and the card's notes again"
    )
    options = parser.parse_args()
    if not options.table and None in (options.corpus, options.train, options.dev):
        parser.error("--corpus, --train and --dev are needed, or --table")
    try:
        if options.table:
            print(f"wrote {write_page(options.result, markdown)} and {write_notes(options.result)}")
        else:
            _run(options)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
