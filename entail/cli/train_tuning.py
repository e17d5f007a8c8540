"""``entail train tuning`` and ``entail train dpr``: a retriever of passages, in two stages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, progress_bar, reports
from entail.cli.options import options_of
from entail.jobs.passage_source import PassageSource
from entail.tuning.config import DprConfig, TuningConfig

app = typer.Typer()

_OUT = Annotated[Path, typer.Option(help="Folder for the encoder, such as models/mine.", metavar="FOLDER")]
_DATA = Annotated[
    list[str] | None,
    typer.Option("--data", help="Name of the data set, for the card: squad, snli ...", metavar="NAME"),
]
_RESUME = Annotated[bool, typer.Option(help="Go on from a checkpoint that is there.")]
_DEVICE = Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")]


@app.command()
@reports
@options_of(TuningConfig)
@options_of(PassageSource, into="source", panel="Data")
def tuning(
    *,
    out: _OUT,
    data_name: _DATA = None,
    resume: _RESUME = True,
    device: _DEVICE = None,
    source: PassageSource,
    config: TuningConfig,
) -> Report:
    """Tune an encoder to predict masked claims from the passages that entail them.

    What comes out is a start for `entail train dpr --initial NAME` (an adapter) or `--base NAME` (every
    weight). Several processes: `torchrun --nproc-per-node 2 -m entail train tuning ...`.
    """
    from entail.cli.train import evaluations
    from entail.tuning.examples import entailed_pairs
    from entail.tuning.training import train_tuning

    with progress_bar() as progress:
        data = source.read(progress=progress)
        training = train_tuning(
            entailed_pairs(data.examples, data.nli, words=config.words),
            config,
            dev=entailed_pairs(data.dev, words=config.words) if data.dev else (),
            data=data_name or (),
            out=out,
            resume=resume,
            device=device,
            progress=progress,
        )
    counts = training.counts
    head = "a new masked-LM head" if training.new_head else "the masked-LM head of the base"
    parts = [
        f"learnt from {counts['pairs']:,} pairs, {len(data.examples):,} of questions, by {head}, in "
        f"{training.fitted.seconds:,.0f} s; {counts['premises_cut']:,} passages were cut, "
        f"{counts['too_long']:,} pairs left out",
        *evaluations(training.fitted, measure="score (loss below 0)"),
        *(f"warning: {warning}" for warning in training.warnings),
        f"wrote {out}; go on with: entail train dpr "
        + (f"--initial {out}" if config.tuning == "lora" else f"--base {out}"),
    ]
    return Report(data=training.to_json(), text="\n\n".join(parts))


@app.command()
@reports
@options_of(DprConfig)
@options_of(PassageSource, into="source", panel="Data")
def dpr(
    *,
    out: _OUT,
    data_name: _DATA = None,
    resume: _RESUME = True,
    device: _DEVICE = None,
    source: PassageSource,
    config: DprConfig,
) -> Report:
    """Train a retriever of passages on in-batch negatives and hard ones (DPR).

    Hard negatives that a file gives are taken as they are; BM25 brings some for questions that have none.
    Several processes: `torchrun --nproc-per-node 2 -m entail train dpr ...`.
    """
    from entail.cli.train import evaluations
    from entail.jobs.passage_source import with_mined
    from entail.tuning.dpr import train_dpr

    with progress_bar() as progress:
        data = source.read(progress=progress)
        if config.negatives:
            data = with_mined(data, depth=config.depth, progress=progress)
        training = train_dpr(
            data.examples,
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
        f"learnt from {counts['questions']:,} questions over {counts['passages']:,} passages, with "
        f"{counts['hard_negatives']:,} hard negatives, in {training.fitted.seconds:,.0f} s; "
        f"{counts['questions_without_gold']:,} questions without a gold passage left out",
        *evaluations(training.fitted, measure="MRR"),
        *(f"warning: {warning}" for warning in training.warnings),
        f"wrote {out}",
    ]
    return Report(data=training.to_json(), text="\n\n".join(parts))
