"""``entail train ...``: trains an encoder from files or from what a team decided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.aeenc.config import AeencConfig
from entail.cli import train_arcf, train_judge, train_tuning
from entail.cli.console import Report, progress_bar, reports, table
from entail.cli.options import CorpusFileIfAny, Extend, FromLog, TreesFileIfAny, options_of
from entail.errors import TrainingError
from entail.gausscse.config import GausscseConfig
from entail.jobs.nli_source import NliSource

if TYPE_CHECKING:
    from entail.aeenc.training import AeencTraining
    from entail.training.loop import Fitted

app = typer.Typer(name="train", help="Train an encoder, a scorer of facts, or a judge.")
app.add_typer(train_arcf.app)
app.add_typer(train_tuning.app)
app.add_typer(train_judge.app)


@app.command()
@reports
@options_of(AeencConfig)
def aeenc(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the encoder, such as models/mine.", metavar="FOLDER")],
    corpus: CorpusFileIfAny = None,
    trees: TreesFileIfAny = None,
    from_log: FromLog = None,
    dev: Annotated[
        Path | None, typer.Option(help="Trees to choose the best weights on (MAP).", metavar="FILE")
    ] = None,
    extend: Extend = None,
    teacher: Annotated[
        list[str] | None,
        typer.Option(help="Encoder to learn from too, see --distil; may be given again.", metavar="NAME"),
    ] = None,
    taught: Annotated[
        Path | None,
        typer.Option(
            help="Sentences that teachers are asked about; queries of --trees and --dev are left out.",
            metavar="FILE",
        ),
    ] = None,
    beside: Annotated[
        int,
        typer.Option(
            "--near", min=0, help="Also ask teachers about so many variations of every query.", metavar="N"
        ),
    ] = 0,
    data_name: Annotated[
        list[str] | None,
        typer.Option(
            "--data", help="Name of the data set, for the card: entailment_bank ...", metavar="NAME"
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Take only the first trees.", metavar="N")] = None,
    resume: Annotated[bool, typer.Option(help="Go on from a checkpoint that is there.")] = True,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
    config: AeencConfig,
) -> Report:
    """Train a bi-encoder on what explains and what only looks alike (AE-Enc).

    The defaults are the paper's. Several processes: `torchrun --nproc-per-node 2 -m entail train aeenc ...`.
    """
    from entail.aeenc.training import train_aeenc
    from entail.data.corpora import read_corpus
    from entail.data.records import gold_children
    from entail.jobs.source import training_data
    from entail.training.teaching import near, teach

    data = training_data(corpus=corpus, trees=trees, from_log=from_log, dev=dev, limit=limit, extend=extend)
    if bool(teacher) != (taught is not None):
        raise TrainingError("expected --teacher and --taught together, found one of them")
    with progress_bar() as progress:
        teaching = None
        if teacher and taught:
            asked = gold_children(data.trees) if data.judgements is None else data.judgements.queries
            sentences = (*read_corpus(taught).corpus.texts, *near([*asked], count=beside, seed=config.seed))
            teaching = teach(teacher, sentences, device=device, progress=progress)
        training = train_aeenc(
            data.corpus,
            config,
            trees=data.trees,
            judgements=data.judgements,
            dev=data.dev,
            dev_corpus=data.given,
            teaching=teaching,
            data=data_name or (),
            out=out,
            resume=resume,
            device=device,
            progress=progress,
        )
    return Report(data=training.to_json(), text=_as_text(training))


@app.command()
@reports
@options_of(GausscseConfig)
@options_of(NliSource, into="source", panel="Data")
def gausscse(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the encoder, such as models/mine.", metavar="FOLDER")],
    data_name: Annotated[
        list[str] | None,
        typer.Option("--data", help="Name of the data set, for the card: snli, multinli ...", metavar="NAME"),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from a checkpoint that is there.")] = True,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...")] = None,
    source: NliSource,
    config: GausscseConfig,
) -> Report:
    """Train an encoder of Gaussians, which says which sentence entails which (GaussCSE).

    Several processes: `torchrun --nproc-per-node 2 -m entail train gausscse ...`.
    """
    from entail.gausscse.training import train_gausscse

    data = source.read()
    with progress_bar() as progress:
        training = train_gausscse(
            data.triplets,
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
        f"learnt from {counts['triplets']:,} triplets, {counts['with_contradiction']:,} of them with a "
        f"contradiction, in {training.fitted.seconds:,.0f} s; {data.skipped:,} rows left out",
        *evaluations(training.fitted, measure="AUPRC"),
        *(f"warning: {warning}" for warning in training.warnings),
        f"wrote {out}",
    ]
    return Report(data=training.to_json(), text="\n\n".join(parts))


def evaluations(fitted: Fitted, *, measure: str) -> list[str]:
    """Return the evaluations as a table, and which weights were kept."""
    parts = []
    if fitted.evaluations:
        names = list(fitted.evaluations[0].figures)
        rows: list[list[Any]] = [
            [e.step, e.epoch, *(e.figures[n] for n in names)] for e in fitted.evaluations
        ]
        parts.append(table(["step", "epoch", *names], rows))
    if fitted.best:
        best = fitted.best
        parts.append(
            f"kept the weights of epoch {best.epoch}, step {best.step}, dev {measure} {best.score:.4f}"
        )
    return parts


def _as_text(training: AeencTraining) -> str:
    counts, fitted = training.counts, training.fitted
    parts = [
        f"learnt from {counts['queries']:,} queries, {counts['positives']:,} positives, "
        f"{counts['negatives']:,} hard negatives by name, in {fitted.seconds:,.0f} s"
    ]
    parts.extend(evaluations(fitted, measure="MAP"))
    if training.missing:
        parts.append(
            f"{len(training.missing):,} gold premises are not in the corpus and were not learnt from "
            f"(--extend adds them); the first: {training.missing[0]!r}"
        )
    parts.extend(f"warning: {warning}" for warning in training.warnings)
    if training.folder:
        parts.append(f"wrote {training.folder}")
    return "\n\n".join(parts)
