r"""Measure what the first stage of entailment tuning learns, and what it does to passage retrieval.

::

    python scripts/measure_first_stage.py --train train-v1.1.json.gz --dev dev-v1.1.json.gz \
        --nli snli.jsonl.gz mnli.jsonl.gz --arms none hypothesis bottleneck --questions 500 2000
    python scripts/measure_first_stage.py ... --base build/mlm-minilm --towers dual --name first_stage_mlm
    python scripts/measure_first_stage.py --table  # only the page, from the result file

Every weight is trained: the head alone at first, then all. During the first stage, claims of dev are
predicted beside their own passage and beside another's, with the same masks: the difference is what the
premise gains. Then each arm is trained by contrast on so many questions (0: on none), and dev questions are
looked up among the paragraphs of dev. The thirds of dev by lexical overlap, the share of a question's words
that stand in its paragraph, are fixed by the data alone.

Rows that stand in the result file are not run again, and first stages stay in `--work`.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from command_line import make_parser, measure_and_show
from filelock import FileLock
from first_stage_arms import ARMS, FIRST, TITLES, Arm, gains, group, plain_claim
from page_text import GPU_NOTE, TORCH_NOTE, spread

from entail.cli.console import progress_bar
from entail.data.nli.pairs import read_nli
from entail.data.passages.files import Question, read_questions
from entail.encoders.weights import read_json
from entail.evaluation.passages.retrieval import Judged, answer_tokens, evaluate_passages
from entail.evaluation.passages.store import PassageStore, store_passages
from entail.results import hardware, provenance, write_page, write_result
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination
from entail.training.nli_source import take_evenly
from entail.tuning.config import DprConfig
from entail.tuning.examples import EntailedPair, Examples, entailed_pairs, examples_of
from entail.tuning.training import train_dpr, train_tuning

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
GATE = 1.2
"""Nats that the premise is to gain."""
THIRDS = ("low", "middle", "high")
CONTRAST = DprConfig(
    tuning="full", learning_rate=5e-5, dropout=0.1, batch_size=64, negatives=0, epochs=2, max_length=128
)


class Bench:
    """Data of all arms."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.train = store_passages([options.train], options.work / "train")
        self.pool: PassageStore = store_passages([options.dev], options.work / "dev")
        self.dev = tuple(read_questions(options.dev))

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Questions of train."""
        return tuple(read_questions(self.options.train))

    def examples(self, count: int) -> Examples:
        """Return examples, evenly from all of train."""
        return examples_of(self.train, take_evenly(self.questions, count))

    def pairs(self, arm: Arm) -> tuple[EntailedPair, ...]:
        """Return the pairs of a first stage: claims and entailments of NLI."""
        nli = [
            pair for file in self.options.nli for pair in read_nli(file).pairs if pair.label == "entailment"
        ]
        mixed = take_evenly(nli, self.options.nli_pairs)
        pairs = entailed_pairs(self.examples(self.options.claims), mixed, words=FIRST.words)
        return tuple(self._claimed(arm, pair) for pair in pairs)

    def dev_pairs(self, arm: Arm) -> list[EntailedPair]:
        """Return claims of dev, evenly from all."""
        examples = examples_of(self.pool, take_evenly(self.dev, FIRST.dev_pairs))
        return [self._claimed(arm, pair) for pair in entailed_pairs(examples, words=FIRST.words)]

    @staticmethod
    def _claimed(arm: Arm, pair: EntailedPair) -> EntailedPair:
        if arm.claim == "grammar" or pair.hypothesis == pair.question:
            return pair
        return replace(pair, hypothesis=plain_claim(pair.question))

    @cached_property
    def thirds(self) -> dict[str, Any]:
        """Dev questions in each third by lexical overlap, of equal size, ties by their order."""
        positions = self.pool.positions(question.gold[0] for question in self.dev)
        shares = []
        for question in self.dev:
            question_words, passage = (
                set(answer_tokens(question.text)),
                answer_tokens(self.pool[positions[question.gold[0]]].whole),
            )
            shares.append(len(question_words & set(passage)) / max(1, len(question_words)))
        order = np.argsort(shares, kind="stable")
        parts = np.array_split(order, len(THIRDS))
        return {name: np.isin(np.arange(len(shares)), part) for name, part in zip(THIRDS, parts, strict=True)}

    def measure(self, encoder: str) -> dict[str, Any]:
        """Look up dev questions among the paragraphs of dev."""
        with progress_bar() as progress:
            evaluation = evaluate_passages(self.pool, Judged(self.dev), encoder=encoder, progress=progress)
        hits = np.array(evaluation.first_hits) == 1
        return {
            "gold": evaluation.gold,
            "revision": evaluation.revision,
            "thirds": {name: float(hits[third].mean()) for name, third in self.thirds.items()},
            "hits": np.packbits(hits).tobytes().hex(),
            "passages": evaluation.passages,
        }


def first_stage(name: str, bench: Bench, *, seed: int) -> dict[str, Any]:
    """Train the first stage of an arm into the work folder."""
    arm = ARMS[name]
    assert arm.changes is not None
    config = replace(FIRST, base=bench.options.base, seed=seed, **arm.changes)
    with progress_bar() as progress:
        trained = train_tuning(
            bench.pairs(arm),
            config,
            dev=bench.dev_pairs(arm),
            out=stage_folder(name, bench.options, seed=seed),
            progress=progress,
        )
    return {
        "arm": name,
        "seed": seed,
        "config": asdict(config),
        "counts": dict(trained.counts),
        "seconds": trained.fitted.seconds,
        "evaluations": [
            {"step": evaluation.step, **evaluation.figures} for evaluation in trained.fitted.evaluations
        ],
        **run_record(),
    }


def stage_folder(name: str, options: argparse.Namespace, *, seed: int) -> Path:
    """Return where the first stage of an arm is."""
    folder: Path = options.work / f"{name}-{seed}"
    return folder


def run_row(name: str, bench: Bench, *, seed: int, questions: int) -> dict[str, Any]:
    """Train an arm by contrast on some questions, and measure it."""
    has_stage = ARMS[name].changes is not None
    start = str(stage_folder(name, bench.options, seed=seed)) if has_stage else bench.options.base
    encoder, seconds, config = start, 0.0, {}
    if questions:
        out = bench.options.work / f"{name}-{seed}-{questions}"
        contrast = replace(CONTRAST, seed=seed, **start_of(bench.options, name))
        with progress_bar() as progress:
            trained = train_dpr(
                bench.examples(questions), replace(contrast, base=start), out=out, progress=progress
            )
        encoder, seconds, config = str(out), trained.fitted.seconds, asdict(contrast)
    return {
        "arm": name,
        "seed": seed,
        "questions": questions,
        "config": config,
        "seconds": seconds,
        **bench.measure(encoder),
        **run_record(),
    }


def start_of(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Return the settings that all rows of a result file share, but for what an arm has of its own."""
    shared = {field: getattr(options, field) for field in ("base", "towers", "pooling", "similarity")}
    return shared | ARMS[name].contrast


def run_record() -> dict[str, Any]:
    """Return where and how a row was run."""
    run = provenance()
    return {"hardware": hardware(), **{key: run[key] for key in ("commit", "command", "finished")}}


def run(options: argparse.Namespace) -> None:
    """Run the rows that are not there."""
    path = RESULTS / f"{options.name}.json"
    bench, into = Bench(options), {"path": path, "started": datetime.now(UTC), "options": options}
    for row in (row for row in read_result(path)[1] if row["config"]):
        # A row of an earlier version has not all of today's settings.
        settings = asdict(CONTRAST) | row["config"]
        shared = start_of(options, row["arm"])
        if differing := {name for name, value in shared.items() if settings[name] != value}:
            sys.exit(f"Error: {path.name} holds rows of another {', '.join(sorted(differing))}; give --name")
    for seed in options.seeds:
        for name in options.arms:
            stages, rows = read_result(path)
            if ARMS[name].changes is not None and not any(
                (stage["arm"], stage["seed"]) == (name, seed) for stage in stages
            ):
                add("stages", first_stage(name, bench, seed=seed), **into)
            # Without contrast, an arm that differs in contrast alone is no first stage.
            counts = [count for count in options.questions if count or not ARMS[name].contrast]
            for count in counts:
                if not any(
                    (row["arm"], row["seed"], row["questions"]) == (name, seed, count) for row in rows
                ):
                    add("rows", run_row(name, bench, seed=seed, questions=count), **into)


def read_result(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the first stages and the rows that were measured."""
    if not path.is_file():
        return [], []
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return figures["stages"], figures["rows"]


def add(
    part: str, one: dict[str, Any], *, path: Path, started: datetime, options: argparse.Namespace
) -> None:
    """Add a row to what is in the result file by now, where another process may have written."""
    with FileLock(options.work / "result.lock"):
        stages, rows = read_result(path)
        (stages if part == "stages" else rows).append(one)
        base_record = read_json(Path(options.base) / "made.json")
        figures = {"stages": stages, "rows": rows, **({"made": base_record} if base_record else {})}
        write_result(path, figures=figures, seed=None, started=started)


def markdown(result: Mapping[str, Any], *, name: str = "first_stage") -> Iterator[str]:
    """Yield the lines of the page of a result file of this name."""
    stages, rows = result["figures"]["stages"], result["figures"]["rows"]
    config = next((stage["config"] for stage in stages), asdict(FIRST))
    pairs = " or ".join(f"{count:,}" for count in sorted({stage["counts"]["pairs"] for stage in stages}))
    option = f" --name {name}" if name != "first_stage" else ""
    yield f"<!-- Made by `scripts/measure_first_stage.py --table{option}`; do not edit. -->"
    yield f"# First stage of entailment tuning, {pairs} pairs: {TITLES.get(name, config['base'])}"
    yield ""
    yield from _wrapped(
        "The first stage is to predict a claim from the passage that entails it. It has learnt so if the "
        "claim is harder to predict beside another passage. The table has the mean loss of masked claim "
        f"tokens (nats, beta {FIRST.share:g}), own / another passage, and the difference; {GATE:g} nats were "
        f"asked for. The base is {config['base']}. "
        "Behind a bottleneck it is the decoder's. Claims of dev chose among the weights of a first stage; "
        "no retrieval did."
    )
    if base_record := result["figures"].get("made"):
        yield from _wrapped(_made(base_record))
    yield from _gate(stages)
    gains = {
        arm: [stage["evaluations"][-1].get("premise_gain", 0.0) for stage in seeds]
        for arm, seeds in group(stages, "arm").items()
    }
    titles = [ARMS[arm].title for arm, values in gains.items() if min(values) >= GATE]
    yield from _wrapped(f"The gate is passed by {'; '.join(titles) or 'none'}.")
    yield from _wrapped(
        f"Then contrast on questions of train (in-batch negatives, every weight{_set_up(rows)}). R@1 in per "
        f"cent over {rows[0]['passages']:,} paragraphs of SQuAD dev, all questions, and by thirds of "
        "their lexical overlap with the paragraph; mean ± standard deviation over seeds. p: McNemar "
        "against no first stage, the same questions and seed; the largest of the seeds. Dev was "
        f"read once a row and seed, {len(rows)} times; no setting was chosen by it."
    )
    yield from _retrieval(rows)
    yield from _wrapped(contamination(PACKAGED_HUB_ID, ("squad", "snli", "multinli")))
    note = f" {GPU_NOTE} {TORCH_NOTE}" if any(row["hardware"]["gpus"] for row in rows) else ""
    yield from _wrapped(f"Each row has its commit, command, hardware and seconds in the result file.{note}")


def _made(base_record: Mapping[str, Any]) -> str:
    losses = {int(step): loss for step, loss in base_record["held_out"].items()}
    best = min(losses, key=losses.__getitem__)
    before = max((step for step in losses if step <= 0.8 * base_record["steps"]), default=best)
    return (
        f"This base is the body of {base_record['base']}, which was trained by contrast, after "
        f"{base_record['steps']:,} batches of {base_record['batch_size']} pieces of SQuAD's passages by "
        "plain masking with a new masked-LM head (`scripts/make_mlm_base.py`). On every twentieth passage, "
        f"held out, the loss fell from {losses[min(losses)]:.2f} (step {min(losses):,}) to "
        f"{losses[before]:.2f} (step {before:,}) and {losses[best]:.2f} (step {best:,}, whose weights these "
        f"are); on the others it ended at {mean(base_record['losses'][-20:]):.2f}."
    )


def _set_up(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the settings of the contrast that the rows of a file share, where they are not `CONTRAST`'s."""
    shared = asdict(CONTRAST) | next((row["config"] for row in rows if row["arm"] == "none"), {})
    return "".join(
        f", {name} {shared[name]}"
        for name in ("towers", "pooling", "similarity")
        if shared[name] != getattr(CONTRAST, name)
    )


def _gate(stages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    steps = sorted({point["step"] for stage in stages for point in stage["evaluations"]})
    yield "| | seeds | " + " | ".join(f"step {step}" for step in steps) + " | pairs | s |"
    yield "| --- | ---: |" + " ---: |" * (len(steps) + 2)
    for arm, seeds in group(stages, "arm").items():
        courses = [{point["step"]: point for point in stage["evaluations"]} for stage in seeds]
        cells = [_point([points[step] for points in courses if step in points]) for step in steps]
        size = f"{seeds[0]['counts']['pairs']:,} | {mean(stage['seconds'] for stage in seeds):,.0f}"
        yield f"| {ARMS[arm].title} | {len(seeds)} | {' | '.join(cells)} | {size} |"
    yield ""


def _point(points: Sequence[Mapping[str, float]]) -> str:
    if not points:
        return ""
    loss = mean(point["loss"] for point in points)
    if "premise_gain" not in points[0]:
        return f"{loss:.2f}"
    gain = mean(point["premise_gain"] for point in points)
    return f"{loss:.2f} / {loss + gain:.2f}: {gain:.2f}"


def _retrieval(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield (
        "| questions | | seeds | R@1 | above no first stage | "
        + " | ".join(f"{name} overlap" for name in THIRDS)
        + " | R@20 | MRR | p |"
    )
    yield "| ---: | --- | ---: |" + " ---: |" * (len(THIRDS) + 5)
    for (questions, arm), seeds in group(rows, "questions", "arm").items():
        above, p = gains(rows, seeds)
        measures = (
            [row["gold"]["R@1"] for row in seeds],
            above,
            *([row["thirds"][name] for row in seeds] for name in THIRDS),
            [row["gold"]["R@20"] for row in seeds],
            [row["gold"]["MRR"] for row in seeds],
        )
        cells = [
            spread(values, 1, scale=100, sign="+" if values is above else "") if values else ""
            for values in measures
        ]
        p_value = "" if p is None else f"{p:.2g}"
        yield f"| {questions:,} | {ARMS[arm].title} | {len(seeds)} | {' | '.join(cells)} | {p_value} |"
    yield ""


def _wrapped(text: str) -> Iterator[str]:
    yield from (*textwrap.wrap(text, 100, break_on_hyphens=False), "")


def main() -> int:
    """Measure and write result and page, or only the page."""
    parser = make_parser(__doc__)
    parser.add_argument("--train", type=Path, help="SQuAD train")
    parser.add_argument("--dev", type=Path, help="SQuAD dev")
    parser.add_argument("--nli", type=Path, nargs="+", default=[], help="files of NLI pairs")
    parser.add_argument(
        "--claims", type=int, default=45_000, help="questions of train in a first stage (45,000)"
    )
    parser.add_argument("--nli-pairs", type=int, default=9_000, help="entailments in it (9,000)")
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS), help="(all)")
    parser.add_argument(
        "--questions",
        type=int,
        nargs="+",
        default=[0, 500, 2000, 8000],
        help="for contrast (0 500 2000 8000)",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="(0)")
    parser.add_argument(
        "--work", type=Path, default=Path("build/first-stage"), help="folder of what is trained"
    )
    parser.add_argument("--base", default="minilm", help="encoder to start from, or a folder (minilm)")
    parser.add_argument("--towers", default="siamese", choices=("siamese", "dual"), help="of contrast")
    parser.add_argument("--pooling", default="base", choices=("base", "mean", "cls"), help="of contrast")
    parser.add_argument("--similarity", default="cosine", choices=("cosine", "dot"), help="of contrast")
    parser.add_argument("--name", default="first_stage", help="of the result file (first_stage)")
    return measure_and_show(
        parser,
        run,
        lambda options: write_page(RESULTS / f"{options.name}.json", partial(markdown, name=options.name)),
        needs=("train", "dev"),
    )


if __name__ == "__main__":
    sys.exit(main())
