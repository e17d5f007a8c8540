"""Rows of the tables of `reproduce_tuning.py`, the paper's figures, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from page_text import GPU_NOTE, TORCH_NOTE, paragraph, percent

from entail.training.cards.sources import PACKAGED_HUB_ID, contamination

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
    Arm("bm25", "BM25", retriever="bm25", paper={"R@1": 23.9, "R@5": 45.9, "R@20": 63.8, "R@100": 78.9}),
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

CUT = "all alike"
CUT_NOTE = (
    "Contrast reads 100 words of a passage, gold passages and hard negatives cut at the same place; "
    "evaluation reads whole paragraphs up to the encoder's length."
)
"""Where excerpts of the contrastive stage are cut."""


def groups(rows: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, Any], list[Mapping[str, Any]]]]:
    """Return budgets, and the rows that are compared under each: all that it holds of a row's own budget."""
    budgets: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: -len(row["budget"])):
        if not any(row["budget"].items() <= budget.items() for budget in budgets):
            budgets.append(row["budget"])
    return [(budget, [row for row in rows if row["budget"].items() <= budget.items()]) for budget in budgets]


def _by_arm(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    return {arm.name: repeats for arm in ARMS if (repeats := [row for row in rows if row["arm"] == arm.name])}


def gains(
    rows: Sequence[Mapping[str, Any]], arm: str, *, over: str, measure: str, by: str = "gold"
) -> list[float]:
    """Return what an arm has above another, seed by seed; against a row without a seed, with each."""
    by_arm = _by_arm(rows)
    theirs = {row["seed"]: row[by][measure] for row in by_arm.get(over, ())}
    return [
        row[by][measure] - theirs.get(row["seed"], theirs.get(None))
        for row in by_arm.get(arm, ())
        if row["seed"] in theirs or None in theirs
    ]


def verdicts(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what was asked, whether it holds, and by how much, in points, mean over seeds."""

    def line(claim: str, arm: str, over: str, measure: str, least: float) -> str | None:
        differences = gains(rows, arm, over=over, measure=measure)
        if not differences:
            return None
        holds = mean(differences) >= least
        return f"- {'holds' if holds else 'does not hold'}: {claim}: {percent(differences, sign='+')} points"

    lines = (
        line("with tuning R@1 at least 1 point above without", "0.8/H", "none", "R@1", 0.01),
        line("with tuning MRR at least 1 point above without", "0.8/H", "none", "MRR", 0.01),
        line("with tuning R@20 not below without", "0.8/H", "none", "R@20", 0.0),
        line("with tuning R@1 above the control, plain MLM", "0.8/H", "plain", "R@1", 1e-9),
        line("with tuning MRR above the control, plain MLM", "0.8/H", "plain", "MRR", 1e-9),
        line("without tuning MRR not below the untrained base", "none", "base", "MRR", 0.0),
    )
    yield from (verdict for verdict in lines if verdict is not None)
    recalls = {arm: mean(row["gold"]["R@1"] for row in repeats) for arm, repeats in _by_arm(rows).items()}
    paper = [arm.name for arm in ARMS if arm.paper and arm.retriever is None and arm.name in recalls]
    paper.sort(key=lambda name: -next((arm.paper or {})["R@1"] for arm in ARMS if arm.name == name))
    if len(paper) > 2:
        order = sorted(paper, key=lambda name: -recalls[name])
        yield (
            f"- {'holds' if order == paper else 'does not hold'}: the order of Table 5 by R@1: "
            f"{', '.join(order)} (the paper: {', '.join(paper)})"
        )


def markdown(result: Mapping[str, Any], *, learnt: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield the lines of the page of tables.

    Args:
        result: What the result file says.
        learnt: Figures of `measure_first_stage.py` with a first stage that passes its gate.
    """
    rows = result["figures"]["rows"]
    before = sum("run" not in row for row in rows)
    trained = sum(row["seed"] is not None for row in rows)
    yield "<!-- Made from tuning.json by `python scripts/reproduce_tuning.py --table`; do not edit. -->"
    yield from ("# Entailment tuning on SQuAD by an adapter, short first stages: the paper's arms", "")
    yield from paragraph(
        "Per cent, mean ± standard deviation over seeds. `tuning.json` has commit, command, settings, "
        "hardware and seconds of each row; seconds are those of all processes that it took "
        f"({before} rows are from before: without a command, seconds of their last process alone). The "
        "paper's figures are those of BERT-base on Natural Questions (21,015,324 passages): compare them "
        f"with ours in their order, not their height. Dev was read once a row: {len(rows)} rows, {trained} "
        "of them trained. The last weights are kept, so dev chose none. Hard negatives were found in the "
        "pool that is searched, paragraphs of dev among them, as DPR finds them in all of Wikipedia. Beside "
        "the processor stands the precision of the vectors that were searched."
    )
    yield from ("", *paragraph(" ".join([*_short_stage(rows), *_longer_stage(learnt)])), "")
    yield from (*paragraph(contamination(PACKAGED_HUB_ID, ("squad", "snli", "multinli"))), "")
    yield from paragraph(
        "The paper's MRR column cannot be right: its R@k bound MRR@100 at 58.9, and it prints 64.51. R@k is "
        "what compares."
    )
    yield from ("", *paragraph(CUT_NOTE))
    if any(row["hardware"]["gpus"] for row in rows):
        yield from ("", *paragraph(f"{GPU_NOTE} {TORCH_NOTE} Hard negatives were mined beforehand."))
    for budget, budget_rows in groups(rows):
        yield from ("", *_group_lines(budget, budget_rows))


def _short_stage(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how little the first stages of these rows learnt."""
    stages = [row["stages"]["tuning"] for row in rows if "tuning" in row["stages"]]
    if not stages:
        return
    steps = " or ".join(map(str, sorted({stage["steps"] for stage in stages})))
    head = max(row["configs"].get("tuning", {}).get("head_steps", 0) for row in rows)
    yield (
        f"**These first stages are short: {steps} steps of an adapter with a new masked-LM head, "
        f"{head or 'no'} steps of the head alone.** What a claim's premise gains was not measured for them."
    )
    losses = (row["stages"]["tuning"]["loss"] for row in rows if row["arm"].startswith("0.8/H"))
    if ends := [loss[1] for loss in losses if loss]:
        yield f"The loss of claims ended at {min(ends):.1f} to {max(ends):.1f} (last ten steps)."


def _longer_stage(figures: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what a first stage that learnt ends at, and what it does to retrieval."""
    if figures is None:
        return
    stage = next(candidate for candidate in figures["stages"] if candidate["arm"] == "hypothesis")
    last, most = stage["evaluations"][-1], max(row["questions"] for row in figures["rows"])
    first = {
        arm: mean(
            row["gold"]["R@1"] for row in figures["rows"] if (row["arm"], row["questions"]) == (arm, most)
        )
        for arm in ("none", "hypothesis")
    }
    yield (
        f"A stage of {last['step']:,} steps that trains every weight, its head first, ends at "
        f"{last['loss']:.2f} on dev and gains {last['premise_gain']:.2f} nats "
        "([first_stage.md](first_stage.md)). With such a stage, which passes the gate, the loss of "
        f"R@1 is larger: {100 * first['hypothesis']:.1f} against {100 * first['none']:.1f} without one, "
        f"after {most:,} questions, among {figures['rows'][0]['passages']:,} paragraphs."
    )


def _device_and_precision(row: Mapping[str, Any]) -> str:
    device = "GPU" if row["hardware"]["gpus"] else "CPU"
    return device if row["arm"] == "bm25" else f"{device}, {row['precision']}"


def _group_lines(budget: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    base = Path(budget.get("base", "Words")).name
    about = [base, f"{budget['questions']:,} questions" if "questions" in budget else ""]
    yield f"## {', '.join(filter(None, about))}"
    settings = ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in budget.items() if value is not None
    )
    yield from ("", f"{settings[:1].upper()}{settings[1:]}.")
    titles = {arm.name: arm for arm in ARMS}
    for by, words in (("gold", "the annotated passage"), ("answer", "any passage that holds an answer")):
        if not all(row[by] for row in rows):
            continue
        yield from ("", f"Hits are {words}:", "")
        yield "| | seeds | on | " + " | ".join(MEASURES) + " |"
        yield "| --- | ---: | --- |" + " ---: |" * len(MEASURES)
        for name, repeats in _by_arm(rows).items():
            cells = [percent([row[by][measure] for row in repeats]) for measure in MEASURES]
            devices = " and ".join(sorted({_device_and_precision(row) for row in repeats}))
            yield f"| {titles[name].title} | {len(repeats)} | {devices} | " + " | ".join(cells) + " |"
    yield from ("", "The paper:", "", "| | " + " | ".join(MEASURES) + " |")
    yield "| --- |" + " ---: |" * len(MEASURES)
    for arm in ARMS:
        if arm.paper:
            cells = [f"{arm.paper[name]:.2f}" if name in arm.paper else "-" for name in MEASURES]
            yield f"| {arm.title} | " + " | ".join(cells) + " |"
    verdict_lines = list(verdicts(rows))
    if verdict_lines:
        yield from ("", "What was asked of it:", "", *verdict_lines)
    yield from ("", "| | tuning, s | contrast, s | all, s |", "| --- | ---: | ---: | ---: |")
    for name, repeats in _by_arm(rows).items():
        spent = [
            mean([row["stages"].get(stage, {}).get("seconds", 0.0) for row in repeats])
            for stage in ("tuning", "contrast")
        ]
        everything = mean([row["seconds"] for row in repeats])
        yield f"| {titles[name].title} | {spent[0]:,.0f} | {spent[1]:,.0f} | {everything:,.0f} |"
