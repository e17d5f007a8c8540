"""``entail evaluate nli`` and ``entail evaluate direction``: how well an encoder knows what entails what."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, progress_bar, reports, table
from entail.cli.in_use import name_in_use

if TYPE_CHECKING:
    from entail.data.nli import NliReading

app = typer.Typer()

Data = Annotated[
    str,
    typer.Option(
        help="SNLI, MultiNLI or SICK as released, CSV or TSV with premise, hypothesis and label, may be "
        "gzipped; or the name of a data set on the Hub, which is fetched.",
        metavar="FILE",
    ),
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        help="minilm, a folder under models/, or a Hub id; default: what is in use for directions.",
        metavar="NAME",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(help="Part of a file or data set with several: TRAIN, TRIAL, test ...", metavar="SPLIT"),
]
Out = Annotated[Path | None, typer.Option(help="Also write the figures to a result file.", metavar="FILE")]


@app.command()
@reports
def nli(
    data: Data,
    encoder: EncoderName = None,
    split: Split = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Call entailment what has a similarity above X; default: the encoder's own.", metavar="X"
        ),
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="Fit the threshold on this file instead.", metavar="FILE")
    ] = None,
    dev_split: Annotated[
        str | None, typer.Option(help="Part of the dev file, as --split.", metavar="SPLIT")
    ] = None,
    out: Out = None,
) -> Report:
    """Measure how well premises that entail their hypothesis are told from those that do not.

    Two-way: neutral and contradiction are one class. Rows with other labels are left out and counted.
    Without a threshold of its own, given or fitted on a dev file, an encoder is judged at the best one of
    the very data, which flatters it; the report says so.
    """
    from entail.evaluation.nli import evaluate_nli
    from entail.evaluation.nli_sources import load_nli
    from entail.evaluation.pair_similarity import pair_encoder

    started = datetime.now(UTC)
    reading = load_nli(data, split=split)
    fitted = load_nli(dev, split=dev_split) if dev is not None else None
    with progress_bar() as progress:
        found = evaluate_nli(
            reading.pairs,
            pair_encoder(encoder or name_in_use("direction")),
            threshold=threshold,
            dev=fitted.pairs if fitted else None,
            progress=progress,
        )
    figures = found.to_json()
    said = {**figures, "split": split, "data": reading.to_json(), "dev": fitted.to_json() if fitted else None}
    where = {
        "given": "given",
        "encoder": "stored with the encoder",
        "dev": f"best on {fitted.source if fitted else ''}",
        "data": "best on these very pairs, which flatters",
    }[found.threshold_from]
    low, high = figures["interval"]
    rows: list[list[object]] = [["accuracy", figures["accuracy"], f"{low:.3f} to {high:.3f}"]]
    for name, key in (("AUPRC", "auprc"), ("AUPRC, steps of 0.001", "auprc_stepped")):
        if figures[key] is not None:
            rows.append([name, figures[key], ""])
    rows += [
        ["majority class", figures["majority"], ""],
        ["threshold", figures["threshold"], where],
    ]
    heading = (
        f"{found.encoder} on {reading.source}: {found.n:,} pairs, {figures['entailment']:,} of entailment"
    )
    parts = [heading, table(["measure", "value", "95 % interval"], rows), *_truncated(found.truncated)]
    text = _text(parts, reading, fitted)
    return _report(said, text, out, started)


@app.command()
@reports
def direction(
    data: Data,
    encoder: EncoderName = None,
    split: Split = None,
    out: Out = None,
) -> Report:
    """Measure how often an encoder tells which of two sentences entails the other.

    Entailment pairs alone, without those of SICK that entail both ways. The length baseline says that the
    longer sentence entails; on the pairs where the longer one is entailed it is always wrong.
    """
    from entail.evaluation.direction import evaluate_direction
    from entail.evaluation.nli_sources import load_nli
    from entail.evaluation.pair_similarity import pair_encoder

    started = datetime.now(UTC)
    reading = load_nli(data, split=split)
    with progress_bar() as progress:
        found = evaluate_direction(
            reading.pairs, pair_encoder(encoder or name_in_use("direction")), progress=progress
        )
    figures = found.to_json()
    rows = [
        _row(name, share)
        for name, share in (
            ("similarity", figures),
            ("similarity, longer entailed", figures["longer_entailed"]),
            ("variance", figures["by_variance"]),
        )
        if share is not None and share["n"]
    ]
    rows.append(["length baseline", found.length_baseline, found.n, ""])
    left_out = f"; {found.bilateral:,} that entail both ways are left out" if found.bilateral else ""
    heading = f"{found.encoder} on {reading.source}: {found.n:,} entailment pairs{left_out}"
    parts = [heading, table(["rule", "accuracy", "pairs", "95 % interval"], rows)]
    text = _text([*parts, *_truncated(found.truncated)], reading)
    return _report({**figures, "split": split, "data": reading.to_json()}, text, out, started)


def _row(name: str, share: dict[str, Any]) -> list[object]:
    low, high = share["interval"]
    return [name, share["accuracy"], share["n"], f"{low:.3f} to {high:.3f}"]


def _truncated(count: int | None) -> list[str]:
    return [f"of {count:,} sentences only the beginning was read: they are too long for it"] if count else []


def _text(parts: list[str], *readings: NliReading | None) -> str:
    for reading in readings:
        if reading is not None and reading.skipped:
            first = f"; the first that cannot be read: {reading.problems[0]}" if reading.problems else ""
            parts.append(f"{reading.source}: {reading}{first}")
    return "\n\n".join(parts)


def _report(data: dict[str, Any], text: str, out: Path | None, started: datetime) -> Report:
    if out is not None:
        from entail.results import write_result

        write_result(out, figures=data, seed=None, started=started)
    return Report(data=data, text=text)
