"""``entail train ...``: one command per method, with the method's settings and data as options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from entail.aeenc.config import AeencConfig
from entail.aeenc.method import AEENC
from entail.aeenc.source import TreeSource
from entail.cli.console import Report, progress_bar, reports, table
from entail.cli.options import Device, options_of, settings_for
from entail.errors import TrainingError
from entail.training.method import Method, Run, methods

app = typer.Typer(name="train", help="Train an encoder, a scorer of facts, or a judge.")

Out = Annotated[Path, "Folder for the model, such as models/mine.", "FOLDER"]
DataName = Annotated[
    list[str] | None,
    typer.Option("--data", help="Name of a data set, for the card; may be given again.", metavar="NAME"),
]
Resume = Annotated[bool, typer.Option(help="Continue from the checkpoint, if there is one.")]


def _command(method: Method) -> Callable[..., None]:
    @reports
    @options_of(method.config)
    @options_of(method.source, into="source", panel="Data")
    def train(
        context: typer.Context,
        *,
        out: Out,
        data_name: DataName = None,
        resume: Resume = True,
        device: Device = None,
        config: Any,  # noqa: ANN401 - the method's own
        source: Any,  # noqa: ANN401 - the method's own
    ) -> Report:
        from entail.trees.review.decisions import read_source

        with progress_bar() as progress:
            data = read_source(source, progress=progress)
            run = Run(data=data_name or (), resume=resume, device=device, progress=progress)
            return _train(method, data, settings_for(method, config, source, context), out, run)

    return train


@reports
@options_of(AeencConfig)
@options_of(TreeSource, into="source", panel="Data")
def _aeenc(
    context: typer.Context,
    *,
    out: Out,
    data_name: DataName = None,
    resume: Resume = True,
    device: Device = None,
    teacher: Annotated[
        list[str] | None, "Encoder to distil, see --distil; may be given again.", "NAME"
    ] = None,
    taught: Annotated[
        Path | None, "Sentences that the teachers encode; queries of --trees and --dev are left out."
    ] = None,
    near: Annotated[
        int,
        typer.Option(min=0, help="Variations of every query that the teachers encode, too.", metavar="N"),
    ] = 0,
    config: AeencConfig,
    source: TreeSource,
) -> Report:
    from entail.trees.review.decisions import read_source

    data, config = read_source(source), settings_for(AEENC, config, source, context)
    if bool(teacher) != (taught is not None):
        raise TrainingError("expected --teacher and --taught together, found one of them")
    with progress_bar() as progress:
        if teacher and taught:
            from entail.data.corpora import read_corpus
            from entail.data.records import gold_children
            from entail.training.distillation.teachers import teach, vary

            queries = [*(gold_children(data.trees) if data.judgements is None else data.judgements.queries)]
            variations = vary(queries, count=near, seed=config.seed)
            sentences = (*read_corpus(taught).corpus.texts, *variations)
            data = replace(data, teaching=teach(teacher, sentences, device=device, progress=progress))
        run = Run(data=data_name or (), resume=resume, device=device, progress=progress)
        return _train(AEENC, data, config, out, run)


for _name, _method in methods().items():
    app.command(
        _name,
        help=f"{_method.title or _name}.\n\nSeveral processes: `torchrun --nproc-per-node 2 -m entail train "
        f"{_name} ...`.",
    )(_aeenc if _name == AEENC.name else _command(_method))


@app.callback()
def _group() -> None:
    """Keep one command a command of the group."""


def _train(
    method: Method,
    data: Any,  # noqa: ANN401 - the method's own
    config: Any,  # noqa: ANN401 - the method's own
    out: Path,
    run: Run,
) -> Report:
    result = method.train(data, config, replace(run, out=out))
    seconds = result.get("fitted", {}).get("seconds")
    counts = ", ".join(f"{count:,} {name}" for name, count in result.get("counts", {}).items() if count)
    left_out = method.preview(data, config).left_out if method.preview is not None else {}
    parts = [
        f"trained on {counts or 'its data'}" + (f" in {seconds:,.0f} s" if seconds is not None else ""),
        *_evaluations(result.get("fitted", {})),
    ]
    if left_out:
        parts.append("left out: " + "; ".join(f"{count:,} {reason}" for reason, count in left_out.items()))
    parts.extend(f"warning: {warning}" for warning in result.get("warnings", ()))
    parts.extend(method.notes(result, out) if method.notes is not None else ())
    parts.append(f"wrote {out}")
    return Report(data=result, text="\n\n".join(parts))


def _evaluations(fitted: Mapping[str, Any]) -> Iterator[str]:
    """Yield the evaluations as a table, and which weights were kept."""
    evaluations: Sequence[Mapping[str, Any]] = fitted.get("evaluations", ())
    if evaluations:
        names = list(evaluations[0]["figures"])
        rows = [
            [evaluation["step"], evaluation["epoch"], *(evaluation["figures"][name] for name in names)]
            for evaluation in evaluations
        ]
        yield table(["step", "epoch", *names], rows)
    if best := fitted.get("best"):
        yield (
            f"kept the weights of epoch {best['epoch']}, step {best['step']}, dev score {best['score']:.4f}"
        )
