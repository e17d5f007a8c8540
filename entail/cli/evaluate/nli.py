"""``entail evaluate nli``, ``direction`` and ``judge``: entailment on labelled pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from entail.cli.console import Report, command, progress_bar, table
from entail.cli.options import Out, active_or_packaged

if TYPE_CHECKING:
    from entail.data.nli.pairs import NliReading

app = typer.Typer()

Data = Annotated[
    str,
    "SNLI, MultiNLI or SICK as released; CSV or TSV with premise, hypothesis and label; or the "
    "name of a Hub data set. Files may be gzipped.",
    "FILE",
]
EncoderName = Annotated[
    str | None,
    "Encoder: minilm, a folder under models/, or a Hub id; default: the active direction model.",
    "NAME",
]
Split = Annotated[str | None, "Split of the file or data set: TRAIN, TRIAL, test ...", "SPLIT"]


@command(app)
def nli(
    data: Data,
    encoder: EncoderName = None,
    split: Split = None,
    threshold: Annotated[
        float | None, "Minimum similarity of entailment; default: the encoder's own.", "X"
    ] = None,
    dev: Annotated[str | None, "Fit the threshold on this file.", "FILE"] = None,
    dev_split: Annotated[str | None, "Split of the dev file.", "SPLIT"] = None,
    out: Out = None,
) -> Report:
    """Evaluate entailment against non-entailment on labelled pairs.

    Neutral and contradiction are one class. Rows with other labels are skipped and counted. Without a
    threshold (its own, given or fitted on dev) the best one on the evaluated pairs is used, which is
    optimistic; the report says so.
    """
    from entail.evaluation.nli.entailment import evaluate_nli
    from entail.evaluation.nli.pair_similarity import pair_encoder
    from entail.evaluation.nli.sources import load_nli

    reading = load_nli(data, split=split)
    fitted = load_nli(dev, split=dev_split) if dev is not None else None
    with progress_bar() as progress:
        evaluation = evaluate_nli(
            reading.pairs,
            pair_encoder(encoder or active_or_packaged("direction")),
            threshold=threshold,
            dev=fitted.pairs if fitted else None,
            progress=progress,
        )
    figures = evaluation.to_json()
    result = {
        **figures,
        "split": split,
        "data": reading.to_json(),
        "dev": fitted.to_json() if fitted else None,
    }
    origin = {
        "given": "given",
        "encoder": "stored with the encoder",
        "dev": f"best on {fitted.source if fitted else ''}",
        "data": "best on the evaluated pairs: optimistic",
    }[evaluation.threshold_from]
    low, high = figures["interval"]
    rows: list[list[object]] = [["accuracy", figures["accuracy"], f"{low:.3f} to {high:.3f}"]]
    for name, key in (("AUPRC", "auprc"), ("AUPRC, steps of 0.001", "auprc_stepped")):
        if figures[key] is not None:
            rows.append([name, figures[key], ""])
    rows += [
        ["majority class", figures["majority"], ""],
        ["threshold", figures["threshold"], origin],
    ]
    heading = (
        f"{evaluation.encoder} on {reading.source}: {evaluation.n:,} pairs, "
        f"{figures['entailment']:,} of entailment"
    )
    parts = [heading, table(["measure", "value", "95 % interval"], rows), *_truncated(evaluation.truncated)]
    return Report(data=result, text=_text(parts, reading, fitted), out=out)


@command(app)
def direction(
    data: Data,
    encoder: EncoderName = None,
    split: Split = None,
    out: Out = None,
) -> Report:
    """Evaluate the direction of entailment pairs.

    Pairs of SICK that entail both ways have no direction: they are told from the others in a row of their
    own. The length baseline says that the longer sentence entails; it is always wrong on pairs where the
    longer one is entailed.
    """
    from entail.evaluation.nli.direction import evaluate_direction
    from entail.evaluation.nli.equivalence import evaluate_equivalence
    from entail.evaluation.nli.pair_similarity import pair_encoder
    from entail.evaluation.nli.sources import load_nli

    reading = load_nli(data, split=split)
    with progress_bar() as progress:
        loaded = pair_encoder(encoder or active_or_packaged("direction"))
        evaluation = evaluate_direction(reading.pairs, loaded, progress=progress)
        threshold = getattr(loaded, "threshold", None)
        equivalence = None
        if threshold is not None:
            equivalence = evaluate_equivalence(reading.pairs, loaded, threshold=threshold, progress=progress)
    figures = {**evaluation.to_json(), "equivalence": equivalence.to_json() if equivalence else None}
    rows = [
        _row(name, share)
        for name, share in (
            ("similarity", figures),
            ("similarity, longer entailed", figures["longer_entailed"]),
            ("variance", figures["by_variance"]),
            ("equivalent or one way", figures["equivalence"]),
        )
        if share is not None and share["n"]
    ]
    rows.append(["length baseline", evaluation.length_baseline, evaluation.n, ""])
    left_out = (
        f"; {evaluation.bilateral:,} that entail both ways are left out" if evaluation.bilateral else ""
    )
    heading = f"{evaluation.encoder} on {reading.source}: {evaluation.n:,} entailment pairs{left_out}"
    parts = [heading, table(["rule", "accuracy", "pairs", "95 % interval"], rows)]
    text = _text([*parts, *_truncated(evaluation.truncated)], reading)
    return Report(data={**figures, "split": split, "data": reading.to_json()}, text=text, out=out)


def _row(name: str, share: dict[str, Any]) -> list[object]:
    low, high = share["interval"]
    return [name, share["accuracy"], share["n"], f"{low:.3f} to {high:.3f}"]


def _truncated(count: int | None) -> list[str]:
    return [f"truncated: {count:,} sentences exceed the encoder's maximum length"] if count else []


def _text(parts: list[str], *readings: NliReading | None) -> str:
    for reading in readings:
        if reading is not None and reading.skipped:
            first = f"; first unreadable row: {reading.problems[0]}" if reading.problems else ""
            parts.append(f"{reading.source}: {reading}{first}")
    return "\n\n".join(parts)


@command(app)
def judge(
    data: Data,
    name: Annotated[
        str,
        typer.Option("--judge", help="Judge: a name under models/, a folder, or a Hub id.", metavar="NAME"),
    ] = "nli-minilm",
    split: Split = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of pairs, taken evenly from all.")] = None,
    out: Out = None,
) -> Report:
    """Evaluate the accuracy of a judge on pairs of three labels, with its interval."""
    from entail.evaluation.nli.sources import load_nli
    from entail.judge.evaluation import evaluate_judge
    from entail.judge.judges import NliJudge
    from entail.training.nli_source import take_evenly

    reading = load_nli(data, split=split)
    judging = NliJudge(name)
    with progress_bar() as progress:
        evaluation = evaluate_judge(take_evenly(reading.pairs, limit), judging, progress=progress).to_json()
    figures = {"judge": judging.name, "revision": judging.revision, "data": reading.source, **evaluation}
    low, high = evaluation["interval"]
    labels = list(evaluation["confusion"])
    rows = [[label, *(evaluation["confusion"][label][other] for other in labels)] for label in labels]
    parts = [
        f"{judging.name}: accuracy {evaluation['accuracy']:.4f} (95 % interval {low:.4f} to {high:.4f}) on "
        f"{evaluation['n']:,} pairs, {evaluation['majority']:.4f} for the majority class; "
        f"{evaluation['entailment_accuracy']:.4f} for entailment against the rest",
        table(["label", *(f"judged {label}" for label in labels)], rows),
    ]
    return Report(data=figures, text="\n\n".join(parts), out=out)
