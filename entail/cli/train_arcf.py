"""``entail train arcf``: a scorer of facts, from questions with explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.arcf.config import ArcfConfig
from entail.cli.console import Report, progress_bar, reports
from entail.cli.options import options_of
from entail.jobs.worldtree_source import WorldtreeSource

app = typer.Typer()


@app.command()
@reports
@options_of(ArcfConfig)
@options_of(WorldtreeSource, into="source", panel="Data")
def arcf(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the scorer, such as models/mine.", metavar="FOLDER")],
    data_name: Annotated[
        list[str] | None,
        typer.Option("--data", help="Name of the data set, for the card: worldtree ...", metavar="NAME"),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from a checkpoint that is there.")] = True,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
    source: WorldtreeSource,
    config: ArcfConfig,
) -> Report:
    """Train a scorer that chooses facts one after another, each in the light of those before (ARCF).

    Several processes: `torchrun --nproc-per-node 2 -m entail train arcf --prefixes-a-step 2 ...`.
    """
    from entail.arcf.training import train_arcf
    from entail.cli.train import evaluations

    data = source.read()
    with progress_bar() as progress:
        training = train_arcf(
            data.questions,
            data.facts,
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
        f"learnt from {counts['questions']:,} questions with {counts['gold facts']:,} gold facts of "
        f"{counts['facts']:,}, {counts['steps']:,} steps in {training.fitted.seconds:,.0f} s",
        str(data.facts),
        str(data.reading),
        *evaluations(training.fitted, measure="step MAP"),
        *(f"warning: {warning}" for warning in training.warnings),
        f"wrote {out}",
    ]
    return Report(data=training.to_json(), text="\n\n".join(parts))
