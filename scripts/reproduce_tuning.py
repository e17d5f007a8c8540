"""Reproduce Tables 2 and 5 of entailment tuning on SQuAD; write figures and tables to docs/results/.

::

    python scripts/reproduce_tuning.py --train train-v1.1.json.gz --dev dev-v1.1.json.gz --seeds 0 1 2
    python scripts/reproduce_tuning.py ... --nli snli.jsonl.gz mnli.jsonl.gz --nli-pairs 8000
    python scripts/reproduce_tuning.py ... --rows none 0.8/H plain      # some arms alone
    python scripts/reproduce_tuning.py ... --rows "0.8/H alone"         # after its first stage
    python scripts/reproduce_tuning.py ... --base bert-base             # a folder under models/, or a Hub id
    python scripts/reproduce_tuning.py --table                          # only the table

The arms differ in what the first stage does and in nothing else: the contrastive stage has the same
questions, hard negatives, batches, steps and seed. No weights are chosen on dev: the last are kept. Dev
questions are looked up among all paragraphs of train and dev. A row of the same arm, seed and budget that
stands in the result file is not run again (take it out there to have it anew), and what was trained lies in
`--work`: a run that was broken off goes on. An adapter is trained; for every weight, other poolings and two
towers see `scripts/measure_first_stage.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from statistics import mean
from typing import Any

from command_line import make_parser, measure_and_show, slug
from tuning_tables import ARMS, CUT, KS, Arm, markdown

from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair, read_nli
from entail.data.passages.files import read_questions
from entail.encoders.weights import read_object
from entail.evaluation.passages.retrieval import Judged, evaluate_passages
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.results import hardware, provenance, write_page, write_result
from entail.training.nli_source import take_evenly
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import Examples, entailed_pairs, examples_of, with_missing_negatives
from entail.tuning.training import train_dpr, train_tuning

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"


class Bench:
    """Data of all arms: pool, questions, hard negatives, pairs.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.store: PassageStore = store_passages([options.train, options.dev], options.work / "pool")
        dev = tuple(read_questions(options.dev))
        self.dev = Judged(take_evenly(dev, options.dev_questions))

    @cached_property
    def examples(self) -> Examples:
        """Questions to learn from, evenly from all of train, with hard negatives."""
        questions = take_evenly(tuple(read_questions(self.options.train)), self.options.questions)
        with progress_bar() as progress:
            depth = self.contrast(seed=0).depth
            return with_missing_negatives(examples_of(self.store, questions), depth=depth, progress=progress)

    @cached_property
    def entailments(self) -> tuple[NliPair, ...]:
        """NLI pairs to mix in."""
        pairs = [pair for file in self.options.nli for pair in read_nli(file).pairs]
        return take_evenly([pair for pair in pairs if pair.label == "entailment"], self.options.nli_pairs)

    def tuned(self, arm: Arm, *, seed: int) -> TuningConfig:
        """Return the settings of an arm's first stage."""
        options = self.options
        return TuningConfig(
            base=options.base,
            epochs=options.tuning_epochs,
            batch_size=options.batch_size,
            max_length=options.longest,
            learning_rate=options.tuning_rate,
            warmup_steps=options.warmup,
            dropout=options.dropout,
            seed=seed,
            **(arm.tuning or {}),
        )

    def contrast(self, *, seed: int) -> DprConfig:
        """Return the settings of the contrastive stage, the same for all arms."""
        options = self.options
        return DprConfig(
            base=options.base,
            epochs=options.epochs,
            batch_size=options.batch_size,
            max_length=options.longest,
            learning_rate=options.rate,
            dropout=options.dropout,
            seed=seed,
        )

    def budget(self, arm: Arm) -> dict[str, Any]:
        """Return what the command line says that matters to an arm: what a row is bound to."""
        on = {"dev_questions": len(self.dev.questions), "passages": len(self.store)}
        names = (_MEASURED, _CONTRAST, _TUNING)
        groups = names[: 1 if arm.retriever else 2 if arm.tuning is None else 3]
        if arm.retriever == "bm25":
            return on
        settings = {name: getattr(self.options, name) for group in groups for name in group}
        if arm.alone:
            del settings["epochs"], settings["rate"]
        if arm.tuning is None or not arm.alone:
            settings["cut"] = CUT
        if settings.get("nli_pairs"):
            settings["nli_pairs"] = len(self.entailments)
        return {**on, **settings}


_MEASURED = ("base",)
_CONTRAST = ("questions", "epochs", "batch_size", "longest", "rate", "dropout")
_TUNING = ("tuning_epochs", "tuning_rate", "warmup", "nli_pairs")


def _first_stage(arm: Arm, bench: Bench, *, out: Path, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train an arm's first stage; return what it took and its settings."""
    config = bench.tuned(arm, seed=seed)
    pairs = entailed_pairs(bench.examples, bench.entailments, words=config.words)
    losses: list[float] = []
    with progress_bar() as progress:
        tuning = train_tuning(
            pairs,
            config,
            out=out,
            progress=progress,
            watch=lambda event: losses.append(event.terms["loss"]),
        )
    record = {
        "seconds": tuning.fitted.seconds,
        "steps": tuning.fitted.steps,
        "counts": dict(tuning.counts),
        # Of a training that was resumed only the last part is seen here.
        "loss": [mean(losses[:10]), mean(losses[-10:])] if losses and not tuning.fitted.resumed else None,
    }
    return record, asdict(config)


def run_arm(arm: Arm, bench: Bench, *, seed: int) -> dict[str, Any]:
    """Train an arm, both stages, and measure it; seconds are those of all processes that it took.

    A search that was broken off is begun anew: only the last is counted.
    """
    stages: dict[str, Any] = {}
    configs: dict[str, Any] = {}
    encoder = arm.retriever or ""
    if encoder == "base":
        encoder = bench.options.base
    if arm.retriever is None:
        # A stage that another row has been through is gone on from.
        budget_json = json.dumps(bench.budget(replace(arm, alone=False)), sort_keys=True)
        key = hashlib.sha256(budget_json.encode()).hexdigest()[:12]
        folder = bench.options.work / f"{slug(arm.name.removesuffix(' alone'))}-{seed}-{key}"
        contrast = bench.contrast(seed=seed)
        if arm.tuning is not None:
            out = folder.with_name(f"{folder.name}-tuned")
            stages["tuning"], configs["tuning"] = _first_stage(arm, bench, out=out, seed=seed)
            contrast = replace(contrast, initial=str(out))
        if arm.alone:
            folder = out
        else:
            with progress_bar() as progress:
                training = train_dpr(bench.examples, contrast, out=folder, progress=progress)
            stages["contrast"] = {
                "seconds": training.fitted.seconds,
                "steps": training.fitted.steps,
                "counts": dict(training.counts),
            }
            configs["contrast"] = asdict(bench.contrast(seed=seed))
        encoder = str(folder)
    clock = time.perf_counter()
    with progress_bar() as progress:
        evaluation = evaluate_passages(
            bench.store,
            bench.dev,
            encoder=encoder,
            precision=bench.options.precision,
            ks=KS,
            progress=progress,
        )
    stages["measuring"] = {"seconds": time.perf_counter() - clock}
    if arm.retriever is None:  # 32 MB of vectors that nobody searches again
        for vectors in bench.store.folder.glob(f"vectors-{Path(encoder).name}*"):
            shutil.rmtree(vectors, ignore_errors=True)
    figures, run = evaluation.to_json(), provenance()
    return {
        "arm": arm.name,
        "seed": None if arm.retriever else seed,
        "budget": bench.budget(arm),
        "precision": _vectors(bench.options.precision),
        "configs": configs,
        **{
            name: figures[name]
            for name in ("retriever", "revision", "questions", "passages", "gold", "answer")
        },
        "stages": stages,
        "seconds": round(sum(stage["seconds"] for stage in stages.values()), 1),
        "hardware": hardware(),
        "run": run,
        **{name: run[name] for name in ("commit", "finished")},
    }


def _vectors(precision: str) -> str:
    """Return the precision of vectors; `auto` is what `entail.encoders.device.dtype_of` makes of it."""
    return ("fp16" if hardware()["gpus"] else "fp32") if precision == "auto" else precision


def _same(row: Mapping[str, Any], arm: Arm, budget: Mapping[str, Any], seed: int | None) -> bool:
    return bool(row["arm"] == arm.name and row["seed"] == seed and row["budget"] == budget)


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    path = RESULTS / "tuning.json"
    unknown = sorted(set(options.rows or ()) - {arm.name for arm in ARMS})
    if unknown:
        sys.exit(f"Error: no arm is called {unknown[0]!r}; arms are: {', '.join(arm.name for arm in ARMS)}")
    bench = Bench(options)
    for seed in options.seeds:
        for arm in (arm for arm in ARMS if not options.rows or arm.name in options.rows):
            counted = None if arm.retriever else seed
            budget = bench.budget(arm)
            if any(_same(row, arm, budget, counted) for row in _rows(path)):
                print(f"{arm.name}, seed {counted}: is there already", file=sys.stderr)
                continue
            print(f"{arm.name}, seed {counted}", file=sys.stderr)
            row = run_arm(arm, bench, seed=seed)
            # What another process has measured in the meantime stays.
            rows = [old_row for old_row in _rows(path) if not _same(old_row, arm, budget, counted)]
            figures = {"data": {"train": options.train.name, "dev": options.dev.name}, "rows": [*rows, row]}
            write_result(path, figures=figures, seed=None, started=started)


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["figures"]["rows"]
    return rows


def learnt_stage() -> dict[str, Any] | None:
    """Return the figures of a first stage on all claims, by `measure_first_stage.py`."""
    figures: dict[str, Any] | None = read_object(RESULTS / "first_stage.json").get("figures")
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--train", type=Path, metavar="FILE", help="SQuAD train, or DPR JSON")
    parser.add_argument("--dev", type=Path, metavar="FILE", help="questions that are looked up")
    parser.add_argument("--nli", type=Path, nargs="+", default=[], metavar="FILE", help="pairs to mix in")
    parser.add_argument(
        "--nli-pairs", type=int, default=8000, metavar="N", help="entailments of these (8000)"
    )
    parser.add_argument("--questions", type=int, default=8000, metavar="N", help="of train (8000)")
    parser.add_argument("--dev-questions", type=int, metavar="N", help="of dev (all)")
    parser.add_argument("--base", default="minilm", help="encoder to start from (minilm)")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these arms")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="(0)")
    parser.add_argument("--tuning-epochs", type=int, default=2, help="of the first stage (2; the paper: 10)")
    parser.add_argument("--epochs", type=int, default=2, help="of the contrastive stage (2; the paper: 40)")
    parser.add_argument("--batch-size", type=int, default=128, help="of both stages (128)")
    parser.add_argument("--longest", type=int, default=128, help="tokens that are read (128; the paper: 256)")
    parser.add_argument("--tuning-rate", type=float, help="learning rate of the first stage")
    parser.add_argument("--rate", type=float, help="learning rate of the contrastive stage")
    parser.add_argument("--dropout", type=float, help="of both stages (as the base has it)")
    parser.add_argument(
        "--precision", choices=("auto", "fp32", "bf16"), default="auto", help="of what is measured (auto)"
    )
    parser.add_argument("--warmup", type=int, default=100, help="steps of the first stage (100)")
    parser.add_argument("--work", type=Path, default=Path("build/tuning"), help="folder for weights")
    return measure_and_show(
        parser,
        _run,
        lambda _: write_page(RESULTS / "tuning.json", partial(markdown, learnt=learnt_stage())),
        needs=("train", "dev"),
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
