"""``entail evaluate judge``: how well a cross-encoder of NLI judges pairs whose label is known."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from entail.cli.console import Report, progress_bar, reports, table

app = typer.Typer()


@app.command()
@reports
def judge(
    data: Annotated[
        str,
        typer.Option(
            help="SNLI, MultiNLI or SICK as released, CSV or TSV with premise, hypothesis and label, may be "
            "gzipped; or the name of a data set on the Hub, which is fetched.",
            metavar="FILE",
        ),
    ],
    name: Annotated[
        str,
        typer.Option("--judge", help="A judge under models/, a folder, or a Hub id.", metavar="NAME"),
    ] = "nli-minilm",
    split: Annotated[
        str | None, typer.Option(help="Part of a file or data set with several: TRAIN, TRIAL, test ...")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many pairs, evenly from all.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write the figures to a result file.", metavar="FILE")
    ] = None,
) -> Report:
    """Measure the accuracy of a judge of entailment on pairs of three labels, with its interval."""
    from entail.evaluation.nli_sources import load_nli
    from entail.jobs.passage_source import evenly
    from entail.tuning.judge import NliJudge
    from entail.tuning.judge_evaluation import evaluate_judge

    started = datetime.now(UTC)
    reading = load_nli(data, split=split)
    judging = NliJudge(name)
    with progress_bar() as progress:
        found = evaluate_judge(evenly(reading.pairs, limit), judging, progress=progress).to_json()
    figures = {"judge": judging.name, "revision": judging.revision, "data": reading.source, **found}
    if out is not None:
        from entail.results import write_result

        write_result(out, figures=figures, seed=None, started=started)
    low, high = found["interval"]
    said = list(found["confusion"])
    rows = [[label, *(found["confusion"][label][other] for other in said)] for label in said]
    parts = [
        f"{judging.name}: accuracy {found['accuracy']:.4f} (95 % interval {low:.4f} to {high:.4f}) on "
        f"{found['n']:,} pairs, {found['majority']:.4f} by calling all the same; "
        f"{found['entailment_accuracy']:.4f} between entailment and none",
        table(["pairs that are", *(f"called {label}" for label in said)], rows),
    ]
    return Report(data=figures, text="\n\n".join(parts))
