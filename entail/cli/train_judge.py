"""``entail train judge``: a cross-encoder that judges entailment, from pairs of every label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, progress_bar, reports
from entail.cli.options import options_of
from entail.jobs.judge import JudgeSource
from entail.tuning.judge_config import JudgeConfig

app = typer.Typer()


@app.command()
@reports
@options_of(JudgeConfig)
@options_of(JudgeSource, into="source", panel="Data")
def judge(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the judge, such as models/mine.", metavar="FOLDER")],
    data_name: Annotated[
        list[str] | None,
        typer.Option("--data", help="Name of the data set, for the card: snli, multinli ...", metavar="NAME"),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from a checkpoint that is there.")] = True,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
    source: JudgeSource,
    config: JudgeConfig,
) -> Report:
    """Train a judge: does a premise entail a hypothesis, contradict it, or neither?

    It judges passages and claims where there is no Hub. Several processes:
    `torchrun --nproc-per-node 2 -m entail train judge ...`.
    """
    from entail.cli.train import evaluations
    from entail.tuning.judge_training import train_judge

    data = source.read()
    with progress_bar() as progress:
        training = train_judge(
            data.pairs,
            config,
            dev=data.dev,
            data=data_name or (),
            out=out,
            resume=resume,
            device=device,
            progress=progress,
        )
    counts = training.counts
    parts = [
        f"learnt from {counts['pairs']:,} pairs ({counts['entailment']:,} entailment, {counts['neutral']:,} "
        f"neutral, {counts['contradiction']:,} contradiction) in {training.fitted.seconds:,.0f} s; "
        f"{data.skipped + counts['repeated'] + counts['with two labels']:,} rows and "
        f"{counts['pairs of dev']:,} pairs of dev left out",
        *evaluations(training.fitted, measure="accuracy"),
        *(f"warning: {warning}" for warning in training.warnings),
    ]
    if training.measured is not None:
        low, high = training.measured["interval"]
        parts.append(
            f"accuracy on all {training.measured['n']:,} dev pairs: {training.measured['accuracy']:.4f} "
            f"(95 % interval {low:.4f} to {high:.4f})"
        )
    parts.append(f"wrote {out}")
    return Report(data=training.to_json(), text="\n\n".join(parts))
