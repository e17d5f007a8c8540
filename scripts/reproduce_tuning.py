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
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair, read_nli
from entail.data.passages.files import read_questions
from entail.errors import EntailError
from entail.evaluation.passages.retrieval import Judged, evaluate_passages
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.results import hardware, provenance, write_page, write_result
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination
from entail.training.nli_source import take_evenly
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.examples import Examples, entailed_pairs, examples_of, with_missing_negatives
from entail.tuning.training import train_dpr, train_tuning

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
KS = (1, 5, 20, 50, 100)
MEASURES = (*(f"R@{k}" for k in KS), "MRR")


@dataclass(frozen=True)
class Arm:
    """One row of the tables.

    Attributes:
        name: As on the command line.
        title: As in the table.
        tuning: Settings of the first stage; none: there is none.
        retriever: What needs no training at all, instead.
        alone: Whether it is measured after the first stage, before any contrast: what that stage does.
        paper: The paper's figures with BERT-base on NQ, in per cent.
    """

    name: str
    title: str
    tuning: Mapping[str, Any] | None = None
    retriever: str | None = None
    alone: bool = False
    paper: Mapping[str, float] | None = None


def _five(*figures: float) -> dict[str, float]:
    return dict(zip(("R@1", "R@5", "R@50", "MRR"), figures, strict=True))


ARMS = (
    Arm(
        "bm25",
        "BM25",
        retriever="bm25",
        paper={"R@1": 23.9, "R@5": 45.9, "R@20": 63.8, "R@100": 78.9},
    ),
    Arm("base", "base, untrained", retriever="base"),
    Arm(
        "none",
        "DPR without tuning",
        paper={**_five(45.21, 68.20, 83.82, 64.51), "R@20": 79.61, "R@100": 86.07},
    ),
    Arm("0.2/H", "beta 0.2, hypothesis", {"beta": 0.2}, paper=_five(46.37, 69.36, 84.21, 65.35)),
    Arm("0.8/F", "beta 0.8, full prompt", {"prompt": "full"}, paper=_five(46.26, 68.67, 84.43, 65.00)),
    Arm("p[SEP]q", "p [SEP] q", {"prompt": "question"}, paper=_five(45.79, 68.95, 83.82, 65.18)),
    Arm("plain alone", "plain 15 % MLM, no contrast after it", {"prompt": "plain"}, alone=True),
    Arm("0.8/H alone", "entailment tuning, no contrast after it", {}, alone=True),
    Arm("plain", "plain 15 % MLM, the control", {"prompt": "plain"}),
    Arm(
        "0.8/H",
        "beta 0.8, hypothesis: entailment tuning",
        {},
        paper={**_five(48.53, 70.08, 84.52, 67.24), "R@20": 80.94, "R@100": 86.43},
    ),
)


class Bench:
    """Data of all arms: pool, questions, hard negatives, pairs.

    Args:
        given: The command line.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.store: PassageStore = store_passages([given.train, given.dev], given.work / "pool")
        dev = tuple(read_questions(given.dev))
        self.dev = Judged(take_evenly(dev, given.dev_questions))

    @cached_property
    def examples(self) -> Examples:
        """Questions to learn from, evenly from all of train, with hard negatives."""
        asked = take_evenly(tuple(read_questions(self.given.train)), self.given.questions)
        with progress_bar() as progress:
            depth = self.contrast(seed=0).depth
            return with_missing_negatives(examples_of(self.store, asked), depth=depth, progress=progress)

    @cached_property
    def entailments(self) -> tuple[NliPair, ...]:
        """NLI pairs to mix in."""
        pairs = [pair for file in self.given.nli for pair in read_nli(file).pairs]
        return take_evenly([pair for pair in pairs if pair.label == "entailment"], self.given.nli_pairs)

    def tuned(self, arm: Arm, *, seed: int) -> TuningConfig:
        """Return the settings of an arm's first stage."""
        given = self.given
        return TuningConfig(
            base=given.base,
            epochs=given.tuning_epochs,
            batch_size=given.batch_size,
            max_length=given.longest,
            learning_rate=given.tuning_rate,
            warmup_steps=given.warmup,
            dropout=given.dropout,
            seed=seed,
            **(arm.tuning or {}),
        )

    def contrast(self, *, seed: int) -> DprConfig:
        """Return the settings of the contrastive stage, the same for all arms."""
        given = self.given
        return DprConfig(
            base=given.base,
            epochs=given.epochs,
            batch_size=given.batch_size,
            max_length=given.longest,
            learning_rate=given.rate,
            dropout=given.dropout,
            seed=seed,
        )

    def budget(self, arm: Arm) -> dict[str, Any]:
        """Return what the command line says that matters to an arm: what a row is bound to."""
        on = {"dev_questions": len(self.dev.questions), "passages": len(self.store)}
        names = (_MEASURED, _CONTRAST, _TUNING)
        taken = names[: 1 if arm.retriever else 2 if arm.tuning is None else 3]
        if arm.retriever == "bm25":
            return on
        told = {name: getattr(self.given, name) for some in taken for name in some}
        if arm.alone:
            del told["epochs"], told["rate"]
        if arm.tuning is None or not arm.alone:
            told["cut"] = CUT
        if told.get("nli_pairs"):
            told["nli_pairs"] = len(self.entailments)
        return {**on, **told}


CUT, OLD_CUT = "all alike", "hard negatives from their start"
"""Excerpts of the contrastive stage: now, and in rows that name none."""

_MEASURED = ("base", "precision")
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
    told = {
        "seconds": tuning.fitted.seconds,
        "steps": tuning.fitted.steps,
        "counts": dict(tuning.counts),
        # Of a training that was resumed only the last part is seen here.
        "loss": [mean(losses[:10]), mean(losses[-10:])] if losses and not tuning.fitted.resumed else None,
    }
    return told, asdict(config)


def run_arm(arm: Arm, bench: Bench, *, seed: int) -> dict[str, Any]:
    """Train an arm, both stages, and measure it; seconds are those of all processes that it took.

    A search that was broken off is begun anew: only the last is counted.
    """
    stages: dict[str, Any] = {}
    configs: dict[str, Any] = {}
    encoder = arm.retriever or ""
    if encoder == "base":
        encoder = bench.given.base
    if arm.retriever is None:
        # A stage that another row has been through is gone on from.
        told = json.dumps(bench.budget(replace(arm, alone=False)), sort_keys=True)
        key = hashlib.sha256(told.encode()).hexdigest()[:12]
        slug = "".join(c if c.isalnum() else "-" for c in arm.name.removesuffix(" alone").lower())
        place = bench.given.work / f"{slug}-{seed}-{key}"
        contrast = bench.contrast(seed=seed)
        if arm.tuning is not None:
            out = place.with_name(f"{place.name}-tuned")
            stages["tuning"], configs["tuning"] = _first_stage(arm, bench, out=out, seed=seed)
            contrast = replace(contrast, initial=str(out))
        if arm.alone:
            place = out
        else:
            with progress_bar() as progress:
                training = train_dpr(bench.examples, contrast, out=place, progress=progress)
            stages["contrast"] = {
                "seconds": training.fitted.seconds,
                "steps": training.fitted.steps,
                "counts": dict(training.counts),
            }
            configs["contrast"] = asdict(bench.contrast(seed=seed))
        encoder = str(place)
    clock = time.perf_counter()
    with progress_bar() as progress:
        found = evaluate_passages(
            bench.store,
            bench.dev,
            encoder=encoder,
            precision=bench.given.precision,
            ks=KS,
            progress=progress,
        )
    stages["measuring"] = {"seconds": time.perf_counter() - clock}
    if arm.retriever is None:  # 32 MB of vectors that nobody searches again
        for vectors in bench.store.folder.glob(f"vectors-{Path(encoder).name}*"):
            shutil.rmtree(vectors, ignore_errors=True)
    told_of, run = found.to_json(), provenance()
    return {
        "arm": arm.name,
        "seed": None if arm.retriever else seed,
        "budget": bench.budget(arm),
        "configs": configs,
        **{
            name: told_of[name]
            for name in ("retriever", "revision", "questions", "passages", "gold", "answer")
        },
        "stages": stages,
        "seconds": round(sum(stage["seconds"] for stage in stages.values()), 1),
        "hardware": hardware(),
        "run": run,
        **{name: run[name] for name in ("commit", "finished")},
    }


def _same(row: Mapping[str, Any], arm: Arm, budget: Mapping[str, Any], seed: int | None) -> bool:
    return bool(row["arm"] == arm.name and row["seed"] == seed and row["budget"] == budget)


def _run(given: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    path = RESULTS / "tuning.json"
    unknown = sorted(set(given.rows or ()) - {arm.name for arm in ARMS})
    if unknown:
        sys.exit(f"Error: no arm is called {unknown[0]!r}; arms are: {', '.join(arm.name for arm in ARMS)}")
    bench = Bench(given)
    for seed in given.seeds:
        for arm in (arm for arm in ARMS if not given.rows or arm.name in given.rows):
            counted = None if arm.retriever else seed
            budget = bench.budget(arm)
            if any(_same(row, arm, budget, counted) for row in _rows(path)):
                print(f"{arm.name}, seed {counted}: is there already", file=sys.stderr)
                continue
            print(f"{arm.name}, seed {counted}", file=sys.stderr)
            row = run_arm(arm, bench, seed=seed)
            # What another process has measured in the meantime stays.
            rows = [one for one in _rows(path) if not _same(one, arm, budget, counted)]
            figures = {"data": {"train": given.train.name, "dev": given.dev.name}, "rows": [*rows, row]}
            write_result(path, figures=figures, seed=None, started=started)


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["figures"]["rows"]
    return rows


def groups(rows: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, Any], list[Mapping[str, Any]]]]:
    """Return budgets, and the rows that are compared under each: all that it holds of a row's own budget."""

    def bound(row: Mapping[str, Any]) -> dict[str, Any]:
        known = {"cut": OLD_CUT} if "epochs" in row["budget"] else {}
        return {**known, **row["budget"]}

    budgets: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: -len(bound(row))):
        if not any(bound(row).items() <= known.items() for known in budgets):
            budgets.append(bound(row))
    return [(known, [row for row in rows if bound(row).items() <= known.items()]) for known in budgets]


def _spread(values: Sequence[float], *, signed: bool = False) -> str:
    shown = f"{100 * mean(values):{'+' if signed else ''}.2f}"
    return shown + (f" ± {100 * stdev(values):.2f}" if len(values) > 1 else "")


def _by_arm(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    return {arm.name: found for arm in ARMS if (found := [row for row in rows if row["arm"] == arm.name])}


def gains(
    rows: Sequence[Mapping[str, Any]], arm: str, *, over: str, measure: str, by: str = "gold"
) -> list[float]:
    """Return what an arm has above another, seed by seed; against a row without a seed, with each."""
    found = _by_arm(rows)
    theirs = {row["seed"]: row[by][measure] for row in found.get(over, ())}
    return [
        row[by][measure] - theirs.get(row["seed"], theirs.get(None))
        for row in found.get(arm, ())
        if row["seed"] in theirs or None in theirs
    ]


def verdicts(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was asked, whether it holds, and by how much, in points, mean over seeds."""

    def line(what: str, arm: str, over: str, measure: str, least: float) -> str | None:
        found = gains(rows, arm, over=over, measure=measure)
        if not found:
            return None
        held = mean(found) >= least
        return f"- {'holds' if held else 'does not hold'}: {what}: {_spread(found, signed=True)} points"

    asked = (
        line("with tuning R@1 at least 1 point above without", "0.8/H", "none", "R@1", 0.01),
        line("with tuning MRR at least 1 point above without", "0.8/H", "none", "MRR", 0.01),
        line("with tuning R@20 not below without", "0.8/H", "none", "R@20", 0.0),
        line("with tuning R@1 above the control, plain MLM", "0.8/H", "plain", "R@1", 1e-9),
        line("with tuning MRR above the control, plain MLM", "0.8/H", "plain", "MRR", 1e-9),
        line("without tuning MRR not below the untrained base", "none", "base", "MRR", 0.0),
    )
    yield from (said for said in asked if said is not None)
    found = {arm: mean(row["gold"]["R@1"] for row in some) for arm, some in _by_arm(rows).items()}
    paper = [arm.name for arm in ARMS if arm.paper and arm.retriever is None and arm.name in found]
    paper.sort(key=lambda name: -next((arm.paper or {})["R@1"] for arm in ARMS if arm.name == name))
    if len(paper) > 2:
        ours = sorted(paper, key=lambda name: -found[name])
        yield (
            f"- {'holds' if ours == paper else 'does not hold'}: the order of Table 5 by R@1: "
            f"{', '.join(ours)} (the paper: {', '.join(paper)})"
        )


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page of tables."""
    yield "<!-- Made from tuning.json by `python scripts/reproduce_tuning.py --table`; do not edit. -->"
    yield from ("# Entailment tuning", "")
    yield "Per cent, mean ± standard deviation over seeds; what was run stands in `tuning.json`, row by row,"
    yield "with its commit, settings, hardware and seconds. The paper's figures are those of BERT-base on"
    yield "Natural Questions (21,015,324 passages): compare them with ours in their order, not their height."
    before = sum("run" not in row for row in result["figures"]["rows"])
    yield "A row's command stands there too (`run`), and its seconds are those of all processes that it took"
    yield f"({before} rows are from before: those have no command, and seconds of their last process alone)."
    rows = result["figures"]["rows"]
    trained = sum(row["seed"] is not None for row in rows)
    yield f"Dev was read once a row: {len(rows)} rows, {trained} of them trained. The last weights are kept,"
    yield "so dev chose none. An adapter was trained; every weight: `first_stage.md`."
    yield ""
    note = contamination(PACKAGED_HUB_ID, ("squad", "snli", "multinli"))
    yield from textwrap.wrap(note, 100, break_on_hyphens=False)
    yield ""
    yield "The paper's MRR column cannot be right: its R@k bound MRR@100 at 58.9, and it prints 64.51. R@k is"
    yield "what compares."
    if any("cut" not in row["budget"] for row in rows if "epochs" in row["budget"]):
        yield from ("", *textwrap.wrap(CUT_NOTE, 100, break_on_hyphens=False))
    for budget, some in groups(rows):
        yield from ("", *_group_lines(budget, some))


CUT_NOTE = (
    f'Where a section says "cut {OLD_CUT}", contrast read gold passages cut around the answer, and hard '
    "negatives cut from their start. Gold passages alone could begin in the middle of their paragraph, so "
    "their cut told them apart. Both are cut at the same place now; these rows have not been run again. "
    "Training reads 100 words of a passage, evaluation whole paragraphs up to the encoder's length."
)


def _group_lines(budget: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    base = Path(budget.get("base", "Words")).name
    yield f"## {base}"
    told = ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in budget.items() if value is not None
    )
    yield from ("", f"{told[:1].upper()}{told[1:]}.")
    titles = {arm.name: arm for arm in ARMS}
    for by, words in (("gold", "the annotated passage"), ("answer", "any passage that holds an answer")):
        if not all(row[by] for row in rows):
            continue
        yield from ("", f"Hits are {words}:", "")
        yield "| | seeds | " + " | ".join(MEASURES) + " |"
        yield "| --- |" + " ---: |" * (len(MEASURES) + 1)
        for name, some in _by_arm(rows).items():
            cells = [_spread([row[by][measure] for row in some]) for measure in MEASURES]
            yield f"| {titles[name].title} | {len(some)} | " + " | ".join(cells) + " |"
    yield from ("", "The paper:", "", "| | " + " | ".join(MEASURES) + " |")
    yield "| --- |" + " ---: |" * len(MEASURES)
    for arm in ARMS:
        if arm.paper:
            cells = [f"{arm.paper[name]:.2f}" if name in arm.paper else "-" for name in MEASURES]
            yield f"| {arm.title} | " + " | ".join(cells) + " |"
    asked = list(verdicts(rows))
    if asked:
        yield from ("", "What was asked of it:", "", *asked)
    yield from ("", "| | tuning, s | contrast, s | all, s |", "| --- | ---: | ---: | ---: |")
    for name, some in _by_arm(rows).items():
        spent = [
            mean([row["stages"].get(stage, {}).get("seconds", 0.0) for row in some])
            for stage in ("tuning", "contrast")
        ]
        everything = mean([row["seconds"] for row in some])
        yield f"| {titles[name].title} | {spent[0]:,.0f} | {spent[1]:,.0f} | {everything:,.0f} |"


def write_table() -> Path:
    """Write the page of tables from the result file."""
    return write_page(RESULTS / "tuning.json", markdown)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    parser.add_argument("--table", action="store_true", help="measure nothing, only write the tables again")
    given = parser.parse_args(arguments)
    if not given.table:
        if given.train is None or given.dev is None:
            parser.error("--train and --dev are needed, or --table")
        try:
            _run(given)
        except EntailError as error:
            sys.exit(f"Error: {error}")
    if (RESULTS / "tuning.json").is_file():
        print(f"wrote {write_table()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
