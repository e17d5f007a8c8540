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
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

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
from entail.training.cards.metadata import update_facts
from entail.training.cards.template import write_card
from entail.training.distillation.teachers import Teaching, teach, vary

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
RESULT = RESULTS / "aeenc_minilm.json"
SHIPPED = ROOT / "models" / "aeenc-minilm"
ADAPTER, WHOLE = "AE-Enc single", "AE-Enc single, every weight"
"""The rows of Table 1 that differ in what is tuned, and in the learning rate that goes with it, alone."""

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
    out, told = work / name, work / f"{name}.json"
    print(name, file=sys.stderr)
    if told.is_file():
        before = json.loads(told.read_text(encoding="utf-8"))
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
    told.write_text(json.dumps(about), encoding="utf-8")
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
    made: dict[str, dict[int, Path]] = field(default_factory=dict)
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
        self.made.setdefault(part, {})[seed] = folder
        self.seconds.setdefault(part, {})[seed] = seconds
        return folder

    def first(self, seed: int) -> Path:
        """Train the first generation of one seed."""
        members = [self.train(name, config, seed) for name, config in MEMBERS.items()]
        mean_of_both = mean_of(f"members-{seed}", members, work=self.work)
        self.made.setdefault("members", {})[seed] = mean_of_both

        def teaching() -> Teaching:
            return teach(members, self.data.corpus.texts, progress=self.progress)

        return self.train("by-heart", replace(BY_HEART, initial=str(mean_of_both)), seed, teaching)

    def second(self, seeds: Sequence[int], students: Sequence[int]) -> list[Path]:
        """Train the second generation of some seeds, the students, taught by the first of all seeds."""
        teachers = [self.first(seed) for seed in seeds]
        start = mean_of("first", teachers, work=self.work, rank=SECOND.rank)

        @cache
        def teaching() -> Teaching:
            beside = vary(list(gold_children(self.data.train)), count=VARIATIONS, seed=0)
            return teach(teachers, (*self.data.corpus.texts, *beside), progress=self.progress)

        second = replace(SECOND, initial=str(start))
        return [self.train("second", second, seed, teaching) for seed in students]


def measured(encoder: str | Path, data: Data, *, progress: ProgressCallback | None) -> dict[str, Any]:
    """Return the dev figures of both protocols, of queries seen and unseen in training, and the effort."""
    index = retriever(str(encoder), data.corpus, progress=progress)
    evaluation = evaluate_premises(data.corpus, data.dev, index, progress=progress)
    gold = gold_children(data.train)
    seen = {query for query in evaluation.queries if query in gold}
    unseen = {query for query in evaluation.queries if query not in gold}
    return {
        **evaluation.figures(),
        "seen": {"queries": len(seen), **(evaluation.figures(seen) if seen else {})},
        "unseen": {"queries": len(unseen), **(evaluation.figures(unseen) if unseen else {})},
        "effort": measure_effort(data.corpus, data.dev, index, progress=progress).to_json(),
    }


PARTS = {
    "triplet": "member, triplet loss",
    "softmax": "member, softmax",
    "members": "mean of the two",
    "by-heart": "from there by the triplet loss, held to the members: the first generation",
    "second": "second generation, by softmax, held to the first",
}
ALLOWED = 0.01
"""Loss of MAP that is not reported."""

SHOWN = ("MAP", "NDCG", "Hit@10", "Hit@50")


@dataclass(frozen=True)
class Beside:
    """Figures beside those of this program: of the encoder that ships, and of adapters.

    Attributes:
        told: The `entail.json` of what ships.
        shipped: What was measured of it on dev.
        table: Table 1's rows, each by seed.
        replay: Figures of `scripts/replay_aeenc.py`, on dev, by encoder.
    """

    told: Mapping[str, Any]
    shipped: Mapping[str, Any]
    table: Mapping[str, Mapping[str, Any]]
    replay: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, shipped: Path = SHIPPED, results: Path = RESULTS) -> Beside:
        """Read them where they are kept."""
        dev = _read(results / "aeenc_dev.json")["figures"]
        measured = [one for one in (dev, *dev["others"]) if one["retriever"] == shipped.name]
        if len(measured) != 1:
            sys.exit(
                f"Error: expected one measurement of {shipped.name} in aeenc_dev.json, found "
                f"{len(measured)}; measure it there with entail evaluate premises"
            )
        table = _read(results / "aeenc_table1_dev.json")["figures"]["rows"]
        replay = _read(results / "aeenc_replay.json")["figures"]["entailment_bank_dev"]
        return cls(_read(shipped / "entail.json"), measured[0], table, replay)


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def notes(result: Mapping[str, Any], beside: Beside) -> list[str]:
    """Return what page and card say of the encoder that ships: which run it is, what an adapter loses."""
    figures = result["figures"]
    seeds = list(figures["seeds"])
    ours = [figures["seeds"][seed]["parts"]["second"]["query_excluded"]["MAP"] for seed in seeds]
    adapter, whole = (
        [run["query_excluded"]["MAP"] for run in beside.table[row].values()] for row in (ADAPTER, WHOLE)
    )
    unseen = [figures["seeds"][seed]["parts"]["second"]["unseen"]["query_excluded"]["MAP"] for seed in seeds]
    lost = mean(whole) - mean(adapter)
    more = "more" if lost > ALLOWED else "no more"
    members = [one["config"]["seed"] for one in beside.told["averaged"]["encoders"]]
    replayed = [beside.replay[f"seed {seed}"] for seed in members]
    return [
        f"What ships as models/aeenc-minilm is the mean of {len(members)} seeds of scripts/replay_aeenc.py. "
        "It trained an earlier encoder further by the loss of the second generation, and held it to its base "
        "on questions of another domain, so that it loses less there (docs/results/aeenc_replay.md). The "
        "earlier encoder is one run (seed 0) from before scripts/make_aeenc_minilm.py was whole, whose "
        "second generation was taught by the first generations of two seeds and by a mean of members; the "
        "script does not make it again. MAP on dev, query excluded: "
        f"{beside.shipped['query_excluded']['MAP']:.3f} of what ships, "
        f"{spread([one['query_excluded']['MAP'] for one in replayed])} of its seeds, "
        f"{beside.replay['initial']['query_excluded']['MAP']:.3f} of the earlier encoder, {spread(ours)} of "
        f"{len(seeds)} seeds of scripts/make_aeenc_minilm.py, "
        f"{figures['shipped']['query_excluded']['MAP']:.3f} of their mean.",
        f"It is an adapter (LoRA). In Table 1 of the paper as it was reproduced here ({ADAPTER}, "
        f"{len(adapter)} seeds) an adapter has MAP {spread(adapter)} on dev, query excluded, and tuning "
        f"every weight {spread(whole)}, each at its learning rate: the adapter loses {lost:.3f}, {more} "
        f"than {ALLOWED}. What it loses as what ships was trained has not been measured.",
        "Dev chose the weights of every training of scripts/make_aeenc_minilm.py, after each of its epochs, "
        "and those of the earlier encoder; of what ships the last weights are kept. Figures on dev are "
        "optimistic. "
        f"{beside.shipped['unseen']['queries']} of the dev queries are in no training tree: on these what "
        f"ships has MAP {beside.shipped['unseen']['query_excluded']['MAP']:.3f}, "
        f"{spread([one['unseen']['query_excluded']['MAP'] for one in replayed])} of its seeds, "
        f"{spread(unseen)} of those of scripts/make_aeenc_minilm.py, query excluded.",
    ]


def markdown(result: Mapping[str, Any], beside: Beside) -> Iterator[str]:
    """Yield the lines of the page."""
    figures = result["figures"]
    # What stands under this name is what the program makes: it was meant to ship.
    seeds, made, hardware = figures["seeds"], figures["shipped"], result["hardware"]
    yield "<!-- Made from aeenc_minilm.json, aeenc_dev.json, aeenc_replay.json and aeenc_table1_dev.json by"
    yield "`python scripts/make_aeenc_minilm.py --table`; do not edit. -->"
    yield from ("# What scripts/make_aeenc_minilm.py makes, on dev: not what ships", "")
    for note in notes(result, beside):
        yield from (*textwrap.wrap(note, 100, break_on_hyphens=False), "")
    yield f"Seeds {', '.join(seeds)}; mean ± standard deviation over them where there are several. What"
    yield f"is written is the mean of the second generation of all seeds, scaled by {figures['scale']}."
    yield f"Commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores, GPUs:"
    yield f"{', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    for protocol, title in (
        ("query_excluded", "Query excluded:"),
        ("paper", "Query among the candidates, as in the paper:"),
    ):
        yield from (title, "")
        yield f"| | {' | '.join(SHOWN)} | MAP, {made['unseen']['queries']} unseen queries |"
        yield "| --- |" + " ---: |" * (len(SHOWN) + 1)
        for words, runs in _rows(figures, beside):
            values = [[run[protocol][measure] for run in runs] for measure in SHOWN]
            values.append([run["unseen"][protocol]["MAP"] for run in runs])
            yield f"| {words} | " + " | ".join(map(spread, values)) + " |"
        yield ""
    yield from ("Effort of the simulated author:", "")
    yield from ("| | candidates read per accepted premise |", "| --- | ---: |")
    for words, runs in _rows(figures, beside):
        yield f"| {words} | {spread([run['effort']['reads_per_accepted'] for run in runs], digits=2)} |"
    yield ""
    seen, unseen = made["seen"]["queries"], made["unseen"]["queries"]
    yield f"Of {seen + unseen} queries {seen} stand in the training trees, too, mostly with the same"
    yield "premises: the encoder knows those by heart, as a team's encoder knows what the team has decided."


def _markdown(result: Mapping[str, Any]) -> Iterator[str]:
    return markdown(result, Beside.read())


def write_notes(result: Path) -> Path:
    """Write what the card of the encoder that ships says of its making."""
    update_facts(SHIPPED, notes=notes(_read(result), Beside.read()))
    return write_card(SHIPPED)


def _rows(figures: Mapping[str, Any], beside: Beside) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    yield "untrained", [figures["untrained"]]
    for part, words in PARTS.items():
        yield words, [run["parts"][part] for run in figures["seeds"].values()]
    yield "**mean of the second generation**", [figures["shipped"]]
    yield "what ships, another run trained further (`aeenc_dev.json`)", [beside.shipped]


def spread(values: list[float], digits: int = 3) -> str:
    """Return the mean, and the standard deviation where there are several.

    >>> spread([0.5, 0.7]), spread([0.5])
    ('0.600 ± 0.141', '0.500')
    """
    shown = f"{mean(values):.{digits}f}"
    return shown + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def _run(given: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    data = Data(
        read_corpus(given.corpus).corpus,
        tuple(read_trees(given.train)),
        tuple(read_trees(given.dev)),
    )
    with progress_bar() as progress:
        run = Run(data, given.work, progress)
        if given.first is not None:
            for seed in given.first:
                run.first(seed)
            return
        if given.second is not None:
            run.second(given.seeds, given.second)
            return
        last = run.second(given.seeds, given.seeds)
        average_adapters(last, given.out, scale=given.scale, rank=RANK)
        runs: dict[str, Any] = {
            str(seed): {
                "parts": {p: measured(made[seed], data, progress=progress) for p, made in run.made.items()},
                "seconds": {part: seconds[seed] for part, seconds in run.seconds.items()},
            }
            for seed in given.seeds
        }
        figures = {
            "untrained": measured("minilm", data, progress=progress),
            "shipped": measured(given.out, data, progress=progress),  # what is made, see `markdown`
            "scale": given.scale,
            "seeds": runs,
        }
    write_result(given.result, figures=figures, seed=None, started=started)
    write_page(given.result, _markdown)
    for name in ("untrained", "shipped"):
        for protocol in ("query_excluded", "paper"):
            found = figures[name][protocol]
            print(name, protocol, *(f"{m} {found[m]:.4f}" for m in ("MAP", "Hit@10", "Hit@50")))


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
    given = parser.parse_args()
    if not given.table and None in (given.corpus, given.train, given.dev):
        parser.error("--corpus, --train and --dev are needed, or --table")
    try:
        if given.table:
            print(f"wrote {write_page(given.result, _markdown)} and {write_notes(given.result)}")
        else:
            _run(given)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
