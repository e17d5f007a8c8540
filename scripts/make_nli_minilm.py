r"""Train `models/nli-minilm`, the judge of entailment that ships, and measure it.

::

    python scripts/make_nli_minilm.py --train snli_train.jsonl mnli_train.jsonl cad_train.tsv \
        --data snli multinli snli_counterfactual --dev snli=snli_dev.jsonl multinli=mnli_dev.jsonl \
        --on sick-trial=SICK.txt:TRIAL --seeds 0
    python scripts/make_nli_minilm.py ... --trial 20   # so many steps alone: what a training would take
    python scripts/make_nli_minilm.py --table          # only the page, from the figures that are there

Weights are chosen on 2,000 pairs drawn from all `--dev` files together; figures are taken on the others, and
on what `--on` names. No pair of either is learnt from. Of several seeds the one that does best on the chosen
pairs ships. What was trained stays in `--work`: a run that was broken off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import make_parser, measure_and_show, named_pairs
from lab.ship import install
from page_text import paragraph

from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair
from entail.errors import TrainingError
from entail.evaluation.nli.sources import load_nli
from entail.judge.config import JudgeConfig
from entail.judge.evaluation import evaluate_judge
from entail.judge.judges import NliJudge
from entail.judge.training import CleanPairs, clean_pairs, train_judge
from entail.progress import ProgressCallback
from entail.results import write_page, write_result
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination
from entail.training.loop.task import Event
from entail.training.run import sample_rows

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "results" / "nli_minilm.json"


@dataclass(frozen=True)
class Data:
    """Pairs to learn from, to choose on and to measure on.

    Attributes:
        learnt: Pairs to learn from, none of them in any other part.
        chosen: Pairs that the weights are chosen on.
        measured: Name -> pairs that figures are taken on.
        names: Of the data sets, for the card.
    """

    learnt: CleanPairs
    chosen: tuple[NliPair, ...]
    measured: Mapping[str, tuple[NliPair, ...]]
    names: tuple[str, ...]


def read_data(options: argparse.Namespace, config: JudgeConfig) -> Data:
    """Read all files, and keep apart what is learnt from, chosen on and measured on."""
    dev = dict(map(named_pairs, options.dev))
    extra_sets = dict(map(named_pairs, options.on))
    every = [(name, pair) for name, pairs in dev.items() for pair in pairs]
    sample = set(sample_rows(range(len(every)), config.dev_pairs))
    rest = {
        name: tuple(pair for at, (of, pair) in enumerate(every) if of == name and at not in sample)
        for name in dev
    }
    eval_pairs = [*(pair for _, pair in every), *(pair for pairs in extra_sets.values() for pair in pairs)]
    return Data(
        learnt=clean_pairs([pair for file in options.train for pair in load_nli(file).pairs], eval_pairs),
        chosen=tuple(every[at][1] for at in sorted(sample)),
        measured={name: pairs for name, pairs in {**rest, **extra_sets}.items() if pairs},
        names=tuple(options.data),
    )


def trial(data: Data, config: JudgeConfig, steps: int) -> dict[str, float]:
    """Train so many steps and keep nothing; return what a step and a whole training would take.

    Seconds of the processor are told beside those of the clock: on a busy machine they are what counts.
    """
    times: list[tuple[float, float]] = []
    events: list[Event] = []

    def watch(event: Event) -> None:
        if event.terms:
            events.append(event)

    def stop() -> bool:
        times.append((time.perf_counter(), time.process_time()))
        return len(times) >= steps

    try:
        train_judge(data.learnt.pairs, replace(config, evaluate_every=0), watch=watch, stop=stop)
    except TrainingError:
        if len(times) < steps:
            raise
    every, busy = (
        (last - first) / max(1, len(times) - 1) for first, last in zip(times[0], times[-1], strict=True)
    )
    whole = events[-1].steps
    return {
        "seconds_a_step": every,
        "steps": whole,
        "minutes": every * whole / 60,
        "processor_seconds_a_step": busy,
        "processor_minutes": busy * whole / 60,
        "loss_first": events[0].terms["loss"],
        "loss_last": events[-1].terms["loss"],
    }


def trained(data: Data, config: JudgeConfig, work: Path, progress: ProgressCallback | None) -> dict[str, Any]:
    """Train one seed into the work folder, or find it there whole."""
    out, record_file = work / f"judge-{config.seed}", work / f"judge-{config.seed}.json"
    if record_file.is_file():
        before: dict[str, Any] = json.loads(record_file.read_text(encoding="utf-8"))
        if before["config"] == asdict(config):
            return before
        sys.exit(f"Error: {out} was trained with other settings; give another --work")
    training = train_judge(
        data.learnt.pairs, config, dev=data.chosen, data=data.names, out=out, progress=progress
    )
    best = training.fitted.best
    about = {
        "config": asdict(config),
        "seconds": training.fitted.seconds,
        "score": best.score if best else 0.0,
        "step": best.step if best else training.fitted.steps,
        "steps": training.fitted.steps,
        "warnings": list(training.warnings),
    }
    record_file.write_text(json.dumps(about), encoding="utf-8")
    return about


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    yield "<!-- Made from nli_minilm.json by `python scripts/make_nli_minilm.py --table`; do not edit. -->"
    yield from ("# The judge of entailment that ships, on dev", "")
    yield f"`{figures['judge']}` (`{figures['revision']}`), {figures['bytes'] / 1e6:.1f} MB, seed"
    seeds = list(figures["seeds"])
    among = f"the best of {', '.join(seeds)}" if len(seeds) > 1 else "the only one"
    yield f"{figures['shipped']}, {among}. Learnt from"
    yield f"{figures['learnt']['pairs']:,} pairs;"
    yield f"weights chosen on {figures['chosen']:,} pairs of dev, figures on the others. Commit"
    yield f"`{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores:"
    yield from ("", f"    {result['command']}", "")
    if len(seeds) == 1:
        seconds = figures["seeds"][seeds[0]]["seconds"]
        yield f"One seed was trained, in {seconds:,.0f} s; the spread over seeds was not measured."
        yield ""
    note = contamination(PACKAGED_HUB_ID, ("snli", "multinli", "snli_counterfactual"))
    yield from (*paragraph(note), "")
    yield "| pairs | n | accuracy | 95 % interval | calling all the same | entailment or not | AUPRC |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, scores in figures["seeds"][str(figures["shipped"])]["measured"].items():
        low, high = scores["interval"]
        yield (
            f"| {name} | {scores['n']:,} | {scores['accuracy']:.3f} | {low:.3f} to {high:.3f} | "
            f"{scores['majority']:.3f} | {scores['entailment_accuracy']:.3f} | "
            f"{scores['entailment_auprc']:.3f} |"
        )
    if len(figures["seeds"]) > 1:
        yield from ("", "Accuracy of every seed:", "", "| seed | " + " | ".join(_names(figures)) + " |")
        yield "| --- |" + " ---: |" * len(_names(figures))
        for seed, run in figures["seeds"].items():
            values = (f"{run['measured'][name]['accuracy']:.3f}" for name in _names(figures))
            yield f"| {seed} | " + " | ".join(values) + " |"


def _names(figures: Mapping[str, Any]) -> list[str]:
    return list(figures["seeds"][str(figures["shipped"])]["measured"])


def _run(options: argparse.Namespace) -> bool:
    started = datetime.now(UTC)
    entries = {name: getattr(options, name) for name in _SETTINGS if getattr(options, name) is not None}
    config = JudgeConfig(**entries)
    data = read_data(options, config)
    print(json.dumps({**data.learnt.counts, "chosen": len(data.chosen)}), file=sys.stderr)
    if options.trial:
        print(json.dumps(trial(data, config, options.trial), indent=2))
        return False
    options.work.mkdir(parents=True, exist_ok=True)
    seeds: dict[str, Any] = {}
    with progress_bar() as progress:
        for seed in options.seeds:
            run = trained(data, replace(config, seed=seed), options.work, progress)
            judge = NliJudge(options.work / f"judge-{seed}")
            measured = {
                name: evaluate_judge(pairs, judge, progress=progress).to_json()
                for name, pairs in data.measured.items()
            }
            seeds[str(seed)] = {**run, "measured": measured}
    shipped = max(options.seeds, key=lambda seed: seeds[str(seed)]["score"])
    dev = json.loads((options.work / f"judge-{shipped}" / "entail.json").read_text(encoding="utf-8"))[
        "figures"
    ]
    entries = {"figures": {**dev, "tables": for_card(seeds[str(shipped)]["measured"])}}
    size = install(options.work / f"judge-{shipped}", options.out, more=entries)
    figures = {
        "judge": options.out.name,
        "revision": NliJudge(options.out).revision,
        "bytes": size,
        "shipped": shipped,
        "learnt": dict(data.learnt.counts),
        "chosen": len(data.chosen),
        "seeds": seeds,
    }
    write_result(options.result, figures=figures, seed=shipped, started=started)
    return True


def for_card(measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the table of the card: every set of pairs, those that chose the weights left out."""
    caption = (
        "Pairs that neither taught it nor chose its weights, by one seed; the spread over seeds was not "
        "measured. Command, commit and seconds: docs/results/nli_minilm.md."
    )
    rows = [
        [
            name,
            f"{scores['n']:,}",
            scores["accuracy"],
            "{:.3f} to {:.3f}".format(*scores["interval"]),
            scores["entailment_auprc"],
        ]
        for name, scores in measured.items()
    ]
    return [{"caption": caption, "head": ["pairs", "n", "accuracy", "95 % interval", "AUPRC"], "rows": rows}]


_SETTINGS = (
    *("base", "rank", "epochs", "batch_size", "learning_rate", "max_length", "dropout", "precision"),
    *("dev_pairs", "evaluate_every"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--train", type=Path, nargs="+", help="pairs to learn from")
    parser.add_argument("--data", nargs="+", default=[], metavar="NAME", help="data sets, for the card")
    parser.add_argument("--dev", nargs="+", metavar="NAME=FILE", help="to choose weights on")
    parser.add_argument("--on", nargs="+", default=[], metavar="NAME=FILE[:SPLIT]", help="measured, too")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="(0)")
    parser.add_argument("--trial", type=int, default=0, metavar="STEPS", help="only see what a step takes")
    types = {"base": str, "learning_rate": float, "dropout": float, "precision": str}
    for field in fields(JudgeConfig):
        if field.name in _SETTINGS:
            option = f"--{field.name.replace('_', '-')}"
            parser.add_argument(option, type=types.get(field.name, int), help=f"({field.default})")
    parser.add_argument("--work", type=Path, default=Path("build/nli-minilm"), help="folder for the parts")
    parser.add_argument("--out", type=Path, default=ROOT / "models" / "nli-minilm", help="what ships")
    parser.add_argument("--result", type=Path, default=RESULT, help="where the figures go")
    return measure_and_show(
        parser,
        _run,
        lambda options: write_page(options.result, markdown),
        needs=("train", "dev"),
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
