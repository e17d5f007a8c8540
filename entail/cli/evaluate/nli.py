"""``entail evaluate nli``: an encoder or a judge on labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import Out, active_or_packaged
from entail.errors import SettingsError

if TYPE_CHECKING:
    from entail.data.nli.pairs import NliReading

app = typer.Typer()


@command(app)
def nli(
    data: Annotated[
        str,
        "SNLI, MultiNLI or SICK as released; CSV or TSV with premise, hypothesis and label; or the "
        "name of a Hub data set. Files may be gzipped.",
        "FILE",
    ],
    encoder: Annotated[
        str | None,
        "Encoder: minilm, a folder under models/, or a Hub id; default: the active direction model.",
        "NAME",
    ] = None,
    judge: Annotated[
        str | None, "Instead of an encoder: a judge such as nli-minilm, on all three labels.", "NAME"
    ] = None,
    direction: Annotated[
        bool, "Instead of entailment: which sentence of an entailment pair entails the other."
    ] = False,
    split: Annotated[str | None, "Split of the file or data set: TRAIN, TRIAL, test ...", "SPLIT"] = None,
    dev: Annotated[str | None, "Fit the threshold of the encoder on this file.", "FILE"] = None,
    dev_split: Annotated[str | None, "Split of the dev file.", "SPLIT"] = None,
    out: Out = None,
) -> Report:
    """Evaluate an encoder, or a judge, on labelled pairs; rows with other labels are skipped and counted.

    Of an encoder: entailment against the rest. Without a threshold, its own or one fitted on dev, the best
    one on the evaluated pairs is used, which is optimistic; the report says so.

    With --direction: pairs of SICK that entail both ways are told from the others in a row of their own. The
    length baseline says that the longer sentence entails; it is always wrong on pairs where the longer one is
    entailed.
    """
    from entail.evaluation.nli.sources import load_nli

    if sum([judge is not None, direction, dev is not None]) > 1 or (judge and encoder):
        raise SettingsError("expected one of --judge, --direction and --dev, and no encoder with --judge")
    reading = load_nli(data, split=split)
    if judge is not None:
        return _judge(reading, judge, out)
    name = encoder or active_or_packaged("direction")
    if direction:
        return _direction(reading, name, split, out)
    return _entailment(reading, name, split, load_nli(dev, split=dev_split) if dev else None, out)


def _entailment(
    reading: NliReading, encoder: str, split: str | None, dev: NliReading | None, out: Path | None
) -> Report:
    from entail.evaluation.nli.decisions import evaluate_nli
    from entail.evaluation.nli.pair_similarity import pair_encoder

    with progress_bar() as progress:
        evaluation = evaluate_nli(
            reading.pairs, pair_encoder(encoder), dev=dev.pairs if dev else None, progress=progress
        )
    figures = evaluation.to_json()
    origin = {
        "encoder": "stored with the encoder",
        "dev": f"best on {dev.source if dev else ''}",
        "data": "best on the evaluated pairs: optimistic",
    }[evaluation.threshold_from]
    rows: list[list[object]] = [["accuracy", figures["accuracy"], _interval(figures)]]
    if figures["auprc"] is not None:
        rows.append(["AUPRC", figures["auprc"], ""])
    rows += [["majority class", figures["majority"], ""], ["threshold", figures["threshold"], origin]]
    heading = (
        f"{evaluation.encoder} on {reading.source}: {evaluation.n:,} pairs, "
        f"{figures['entailment']:,} of entailment"
    )
    data = {**figures, "split": split, "data": reading.to_json(), "dev": dev.to_json() if dev else None}
    parts = [heading, table(["measure", "value", "95 % interval"], rows)]
    return Report(data=data, text=_text(parts, evaluation.truncated, reading, dev), out=out)


def _direction(reading: NliReading, encoder: str, split: str | None, out: Path | None) -> Report:
    from entail.evaluation.nli.decisions import evaluate_direction, evaluate_equivalence
    from entail.evaluation.nli.pair_similarity import pair_encoder

    with progress_bar() as progress:
        loaded = pair_encoder(encoder)
        evaluation = evaluate_direction(reading.pairs, loaded, progress=progress)
        threshold = getattr(loaded, "threshold", None)
        equivalence = None
        if threshold is not None:
            equivalence = evaluate_equivalence(reading.pairs, loaded, threshold=threshold, progress=progress)
    figures = {**evaluation.to_json(), "equivalence": equivalence}
    shares = {
        "similarity": figures,
        "similarity, longer entailed": figures["longer_entailed"],
        "variance": figures["by_variance"],
        "equivalent or one way": figures["equivalence"],
    }
    rows = [
        [rule, share["accuracy"], share["n"], _interval(share)]
        for rule, share in shares.items()
        if share is not None and share["n"]
    ]
    rows.append(["length baseline", evaluation.length_baseline, evaluation.n, ""])
    left_out = (
        f"; {evaluation.bilateral:,} that entail both ways are left out" if evaluation.bilateral else ""
    )
    heading = f"{evaluation.encoder} on {reading.source}: {evaluation.n:,} entailment pairs{left_out}"
    parts = [heading, table(["rule", "accuracy", "pairs", "95 % interval"], rows)]
    data = {**figures, "split": split, "data": reading.to_json()}
    return Report(data=data, text=_text(parts, evaluation.truncated, reading), out=out)


def _judge(reading: NliReading, name: str, out: Path | None) -> Report:
    from entail.judge.evaluation import evaluate_judge
    from entail.judge.judges import NliJudge

    judge = NliJudge(name)
    with progress_bar() as progress:
        figures = evaluate_judge(reading.pairs, judge, progress=progress).to_json()
    labels = list(figures["confusion"])
    rows = [[label, *(figures["confusion"][label][other] for other in labels)] for label in labels]
    parts = [
        f"{judge.name}: accuracy {figures['accuracy']:.4f} (95 % interval {_interval(figures)}) on "
        f"{figures['n']:,} pairs, {figures['majority']:.4f} for the majority class; "
        f"{figures['entailment_accuracy']:.4f} for entailment against the rest",
        table(["label", *(f"judged {label}" for label in labels)], rows),
    ]
    data = {"judge": judge.name, "revision": judge.revision, "data": reading.source, **figures}
    return Report(data=data, text=_text(parts, None, reading), out=out)


def _interval(figures: dict[str, Any]) -> str:
    low, high = figures["interval"]
    return f"{low:.3f} to {high:.3f}"


def _text(parts: Sequence[str], truncated: int | None, *readings: NliReading | None) -> str:
    lines = list(parts)
    if truncated:
        lines.append(f"truncated: {truncated:,} sentences exceed the encoder's maximum length")
    for reading in readings:
        if reading is not None and reading.skipped:
            first = f"; first unreadable row: {reading.problems[0]}" if reading.problems else ""
            lines.append(f"{reading.source}: {reading}{first}")
    return "\n\n".join(lines)
