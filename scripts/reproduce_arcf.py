"""Reproduce Tables 1, 2a, 2b, 2d, 2e and Figure 2 of the ARCF paper; figures and tables go to docs/results/.

::

    python scripts/reproduce_arcf.py --tables tables --train questions.train.tsv --on questions.dev.tsv \
        --budget 4000000 --sample 100 --k 60 --seeds 0 1 2
    python scripts/reproduce_arcf.py ... --arms "SF" "ARCF RankNet"    # some arms alone
    python scripts/reproduce_arcf.py ... --reach                       # Table 1
    python scripts/reproduce_arcf.py ... --sweep                       # Tables 2d and 2e, first seed
    python scripts/reproduce_arcf.py ... --paths                       # PR and the ensembles; many more pairs
    python scripts/reproduce_arcf.py --table                           # only the tables
    python scripts/reproduce_arcf.py ... --shared-pieces 20 --power 8  # terms of what is known unread
    python scripts/reproduce_arcf.py ... --name arcf_long              # another result file and page

Every arm trains on the same budget of tokens. What was trained and ranked stays in `--work`: a run that was
broken off goes on where it was. No text of a question is written to a result.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from arcf_tables import ARMS, PATHS, Arm, markdown
from command_line import make_parser, measure_and_show, slug

from entail.arcf.chains.baselines import PathRanker, SingleFactRanker, fuse_rankings
from entail.arcf.chains.chain import Search
from entail.arcf.chains.neighbourhoods import Neighbourhoods, neighbour_ranks
from entail.arcf.chains.predictions import read_predictions, write_predictions
from entail.arcf.chains.ranking import ChainRanker, Ranker
from entail.arcf.config import ArcfConfig
from entail.arcf.scoring.scorer import Scorer, load_scorer
from entail.arcf.training import train_arcf
from entail.cli.console import progress_bar
from entail.data.entailment_bank.trees import read_trees
from entail.data.worldtree.questions import Question, QuestionReading, gold_positions, read_questions
from entail.data.worldtree.tables import FactTables, read_fact_tables
from entail.evaluation.chains import evaluate_chains, tfidf_rankings
from entail.index.protocol import Ints
from entail.progress import Meter, ProgressCallback
from entail.results import provenance, write_page, write_result

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
REACH = (90, 130, 180, 290)
KS, LENGTHS = (20, 40, 60, 90, 180, 290), (2, 4, 6, 8, 10)
ENSEMBLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ENSEMBLE": (("SF", "single"), ("SF", "paths")),
    "ENSEMBLE with ARCF": (("SF", "single"), ("SF", "paths"), ("ARCF RankNet", "chain")),
}
"""Rankings put together, each by its arm and how it was ranked; the paper's PR has a scorer of its own."""


@dataclass(frozen=True)
class Setting:
    """Data and settings of all arms."""

    facts: FactTables
    train: tuple[Question, ...]
    dev: tuple[Question, ...]
    asked: tuple[Question, ...]
    config: ArcfConfig
    k: int
    search: Search
    first: int | None
    linked: int | None
    work: Path


def trained(arm: Arm, setting: Setting, seed: int) -> tuple[Scorer, dict[str, Any]]:
    """Train an arm, or take what was trained before."""
    folder = setting.work / f"{slug(arm.name)}-{seed}"
    record_file = folder / "training.json"
    config = replace(setting.config, seed=seed, **arm.change)
    ids = "\n".join(question.id for question in setting.train)
    learnt = hashlib.sha256(ids.encode()).hexdigest()[:12]
    if record_file.is_file():
        before: dict[str, Any] = json.loads(record_file.read_text(encoding="utf-8"))
        if (before["config"], before["learnt"]) == (asdict(config), learnt):
            return load_scorer(folder / "scorer"), before
        sys.exit(f"Error: {folder} holds a training of other settings or questions; give another --work")
    with progress_bar() as progress:
        training = train_arcf(
            setting.train,
            setting.facts,
            config,
            dev=setting.dev,
            data=["worldtree"],
            out=folder / "scorer",
            progress=progress,
        )
    about = {**training.to_json(), "name": arm.name, "learnt": learnt, "run": provenance()}
    record_file.write_text(json.dumps(about), encoding="utf-8")
    return load_scorer(folder / "scorer"), about


def measured(
    name: str, how: str, scorer: Scorer, setting: Setting, *, k: int, search: Search, folder: Path
) -> dict[str, Any]:
    """Rank the questions one way, or take what was ranked before, and score the rankings."""
    near = Neighbourhoods(setting.facts, k=k)
    ranker: Ranker
    if how == "single":
        ranker = SingleFactRanker(scorer, near, first=setting.first)
    elif how == "paths":
        ranker = PathRanker(scorer, near, linked=setting.linked)
    else:
        ranker = ChainRanker(scorer, near, search=search)
    settings = {"scorer": scorer.revision, "k": str(k), "search": str(search), "first": str(setting.first)}
    if how == "paths":
        settings["linked"] = str(setting.linked)
    file = _rankings(folder, how, k=k, search=search)
    parts, clock = file.with_suffix(".parts.jsonl"), time.perf_counter()
    with progress_bar() as progress, parts.open("a", encoding="utf-8") as log:
        for prediction in write_predictions(
            file,
            setting.asked,
            setting.facts,
            lambda left: ranker.rank(left, progress=progress),
            settings=settings,
        ):
            seconds, clock = time.perf_counter() - clock, time.perf_counter()
            chosen_count = len(prediction.chain.facts) if prediction.chain else 0
            scored_count = len(prediction.chain.scored) if prediction.chain else 0
            entry = {
                "id": prediction.question.id,
                "chosen": chosen_count,
                "scored": scored_count,
                "seconds": seconds,
            }
            log.write(json.dumps(entry) + "\n")
            log.flush()
    lines = [json.loads(line) for line in parts.read_text(encoding="utf-8").splitlines()]
    of = {line["id"]: line for line in lines}
    predictions = read_predictions(file, setting.facts)
    cut = {"w/o R3": ("chosen", "scored"), "w/o R3, S2": ("chosen",)}.get(name)
    rankings = [
        predictions[q.id][: sum(of[q.id][part] for part in cut)] if cut else predictions[q.id]
        for q in setting.asked
    ]
    figures = figures_of(setting, rankings, near, forgiving=cut is not None)
    figures["seconds_a_question"] = mean(of[q.id]["seconds"] for q in setting.asked)
    figures["chain_length"] = mean(of[q.id]["chosen"] for q in setting.asked)
    figures["run"] = provenance()
    return figures


def figures_of(
    setting: Setting, rankings: Iterable[Ints], near: Neighbourhoods, *, forgiving: bool = False
) -> dict[str, Any]:
    """Score rankings of the questions."""
    return evaluate_chains(
        setting.asked,
        setting.facts,
        rankings,
        hops={"hops_visible": lambda question, gold: neighbour_ranks(question, gold, near).hops(near.k)},
        forgiving=forgiving,
    ).to_json()


def lexical(setting: Setting) -> dict[str, Any]:
    """Score the ranking by shared words."""
    near = Neighbourhoods(setting.facts, k=setting.k)
    return figures_of(setting, tfidf_rankings(setting.asked, near.similarities), near)


def measure_reach(
    questions: Sequence[Question],
    neighbourhoods: Neighbourhoods,
    *,
    ks: Sequence[int],
    progress: ProgressCallback | None = None,
) -> Mapping[int, Mapping[str, Any]]:
    """Return for each k the share of gold premises reached by gold hops, and their hops (Table 1).

    Gold premises that are in no table are left out.
    """
    counts: dict[int, dict[str, int]] = {k: {} for k in ks}
    total = 0
    meter = Meter(len(questions), "measuring reach", unit="questions", report=progress)
    for question in questions:
        gold = gold_positions(question, neighbourhoods.facts)
        total += len(gold)
        ranks = neighbour_ranks(question, gold, neighbourhoods)
        for k in ks:
            for hop in ranks.hops(k):
                label = "infinity" if hop is None else str(hop)
                counts[k][label] = counts[k].get(label, 0) + 1
        meter.add(1)
    return {
        k: {
            "reached": 1 - hop_counts.get("infinity", 0) / total if total else 0.0,
            "facts": total,
            "hops": dict(sorted(hop_counts.items())),
        }
        for k, hop_counts in counts.items()
    }


def ensembles(setting: Setting, seed: int) -> dict[str, dict[str, Any]]:
    """Score the ensembles all of whose rankings are there."""
    figures = {}
    for name, parts in ENSEMBLES.items():
        files = [
            _rankings(setting.work / f"{slug(arm)}-{seed}", how, k=setting.k, search=setting.search)
            for arm, how in parts
        ]
        if all(file.is_file() for file in files):
            several = [read_predictions(file, setting.facts) for file in files]
            together = [
                fuse_rankings([rankings[question.id] for rankings in several]) for question in setting.asked
            ]
            figures[name] = figures_of(setting, together, Neighbourhoods(setting.facts, k=setting.k))
    return figures


def sweeps(scorer: Scorer, setting: Setting, folder: Path) -> dict[str, Any]:
    """Measure MAP and time over k (Table 2d) and over L (Table 2e)."""

    def of(k: int, length: int) -> dict[str, Any]:
        how = replace(setting.search, length=length)
        return measured("sweep", "chain", scorer, setting, k=k, search=how, folder=folder)

    names = ("MAP", "seconds_a_question")
    return {
        "k": {str(k): {n: f.get(n) for n in names} for k in KS if (f := of(k, 8))},
        "L": {str(n): {m: f.get(m) for m in names} for n in LENGTHS if (f := of(setting.k, n))},
    }


def _rankings(folder: Path, how: str, *, k: int, search: Search) -> Path:
    return folder / f"{how}-k{k}-l{search.length}.tsv"


def write_table(name: str) -> Path:
    """Write the page of tables from a result file."""
    return write_page(RESULTS / f"{name}.json", partial(markdown, file=name))


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    facts, train = read_fact_tables(options.tables), read_questions(options.train)
    on: QuestionReading = read_questions(options.on)
    scored = on.scored
    sample = np.sort(np.random.default_rng(0).permutation(len(scored))[: options.sample or len(scored)])
    questions = tuple(scored[int(at)] for at in sample)
    sample_ids = {question.id for question in questions}
    learnt = train.explained if options.unscored else train.scored
    left = {tree.id for file in options.leave_out for tree in read_trees(file)}
    setting = Setting(
        facts=facts,
        train=tuple(question for question in learnt if question.id not in left),
        # Weights are not chosen on what they are measured on.
        dev=tuple(question for question in scored if question.id not in sample_ids),
        asked=questions,
        config=ArcfConfig(
            base=options.base,
            tuning=options.tuning,
            rank=options.rank,
            k=options.train_k,
            token_budget=options.budget,
            epochs=options.epochs,
            reading=options.reading,
            prefixes_a_step=options.prefixes_a_step,
            noise_share=options.noise_share,
            noise_from=options.noise_from,
            shared_pieces=options.shared_pieces,
            power=options.power,
            similarity=options.similarity,
            learning_rate=options.rate,
            batch_tokens=options.batch_tokens,
            dropout=options.dropout,
        ),
        k=options.k,
        search=Search(margin=options.margin),
        first=options.first,
        linked=options.linked,
        work=options.work,
    )
    path = RESULTS / f"{options.name}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.is_file() else {}
    figures: dict[str, Any] = {
        "source": on.source,
        "questions": len(questions),
        "k": options.k,
        "left_out": len(learnt) - len(setting.train),
        "unscored": len({question.id for question in setting.train} - {q.id for q in train.scored}),
        "config": asdict(setting.config),
        "lexical": lexical(setting),
        "rankings": before.get("rankings", {}),
        "trainings": before.get("trainings", {}),
        "reach": before.get("reach"),
        "sweeps": before.get("sweeps"),
    }
    if options.reach:
        with progress_bar() as progress:
            near = Neighbourhoods(facts, k=1)
            reach = measure_reach(train.scored, near, ks=[options.k, *REACH], progress=progress)
        figures["reach"] = {str(k): dict(value) for k, value in reach.items()}
        write_result(path, figures=figures, seed=None, started=started)
    for arm in (arm for arm in ARMS if not options.arms or arm.name in options.arms):
        for seed in options.seeds:
            print(f"{arm.name}, seed {seed}", file=sys.stderr)
            scorer, about = trained(arm, setting, seed)
            figures["trainings"].setdefault(arm.name, {})[str(seed)] = about
            folder = options.work / f"{slug(arm.name)}-{seed}"
            ways = {PATHS: "paths"} if options.paths and arm.name == "SF" else {}
            for name, how in {**arm.rankings, **ways}.items():
                figures["rankings"].setdefault(name, {})[str(seed)] = measured(
                    name, how, scorer, setting, k=options.k, search=setting.search, folder=folder
                )
                write_result(path, figures=figures, seed=None, started=started)
            if options.sweep and arm.name == "ARCF RankNet" and seed == options.seeds[0]:
                figures["sweeps"] = sweeps(scorer, setting, folder)
                write_result(path, figures=figures, seed=None, started=started)
    for seed in options.seeds if options.paths else ():
        for name, ensemble in ensembles(setting, seed).items():
            figures["rankings"].setdefault(name, {})[str(seed)] = ensemble
            write_result(path, figures=figures, seed=None, started=started)


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--tables", type=Path, metavar="DIR", help="fact tables of the release, or a ZIP")
    parser.add_argument("--train", type=Path, metavar="FILE", help="questions to learn from")
    parser.add_argument(
        "--leave-out",
        type=Path,
        nargs="+",
        default=[],
        metavar="TREES",
        help="learn from no question that one of these trees explains: EntailmentBank's come from WorldTree",
    )
    parser.add_argument("--unscored", action="store_true", help="see `entail train arcf`")
    parser.add_argument("--on", type=Path, metavar="FILE", help="questions to measure on")
    parser.add_argument("--base", default="minilm", help="encoder to start from, or a Hub id (minilm)")
    parser.add_argument("--tuning", default="lora", choices=("lora", "full"), help="(lora)")
    parser.add_argument(
        "--rank", type=int, default=ArcfConfig.rank, help=f"of the adapter ({ArcfConfig.rank})"
    )
    parser.add_argument(
        "--budget", type=int, default=4_000_000, help="tokens an arm trains on; 0: the epochs"
    )
    parser.add_argument("--epochs", type=int, default=4, help="times through the questions, at most (4)")
    parser.add_argument("--reading", default="joint", choices=("joint", "apart"), help="of all arms")
    parser.add_argument("--shared-pieces", type=float, default=0.0, help="see `entail train arcf` (0)")
    parser.add_argument("--power", type=float, default=0.0, help="see `entail train arcf` (0)")
    parser.add_argument("--similarity", type=float, default=0.0, help="see `entail train arcf` (0)")
    parser.add_argument("--noise-share", type=float, default=0.3, help="CN: of a prefix, at most (0.3)")
    parser.add_argument("--noise-from", type=float, default=0.5, help="CN: of the epochs, before it (0.5)")
    parser.add_argument("--rate", type=float, help="learning rate (2e-5, of an adapter 5e-4)")
    parser.add_argument("--prefixes-a-step", type=int, default=1, metavar="N", help="(1)")
    parser.add_argument("--batch-tokens", type=int, default=5000, help="tokens of a prefix's samples (5000)")
    parser.add_argument("--dropout", type=float, help="of hidden states in training (as the base has it)")
    parser.add_argument("--train-k", type=int, default=180, help="visible neighbours in training (180)")
    parser.add_argument("--k", type=int, default=60, help="visible neighbours in ranking (60; the paper 290)")
    parser.add_argument("--margin", type=float, help="rank lazily, see `entail rank --margin`")
    parser.add_argument("--first", type=int, help="single facts: score only the nearest")
    parser.add_argument("--paths", action="store_true", help="also path-rerank and the ensembles")
    parser.add_argument("--linked", type=int, help="path-rerank: score only the nearest second facts")
    parser.add_argument("--sample", type=int, default=100, help="questions measured, by seed 0; 0: all (100)")
    parser.add_argument("--arms", nargs="+", choices=[arm.name for arm in ARMS], help="only these")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="(0)")
    parser.add_argument("--reach", action="store_true", help="also Table 1")
    parser.add_argument("--sweep", action="store_true", help="also Tables 2d and 2e")
    parser.add_argument(
        "--work", type=Path, default=Path("build/arcf"), help="folder for weights and rankings"
    )
    parser.add_argument("--name", default="arcf", help="of the result file and its page (arcf)")
    return measure_and_show(
        parser, _run, lambda options: write_table(options.name), needs=("tables", "train", "on")
    )


if __name__ == "__main__":
    sys.exit(main())
