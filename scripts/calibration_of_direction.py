"""Measure what the confidences of an encoder of Gaussians are worth: figures and a page in docs/results/.

::

    python scripts/calibration_of_direction.py --on SNLI-dev=snli_dev.jsonl SICK-TRAIN=SICK.txt:TRAIN \
        --fitted-on SNLI-dev
    python scripts/calibration_of_direction.py --table   # only the page, from the figures that are there

Two confidences: of the answer to "does the premise entail the hypothesis?", and of which of two sentences
entails the other, asked of pairs of which one does. Of decisions that are 80 % sure, 80 % should be right.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from command_line import make_parser, measure_and_show, named_pairs
from numpy.typing import ArrayLike
from page_text import table, wide_paragraph

from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.errors import EncoderError, EvaluationError
from entail.evaluation.nli.pair_similarity import pair_similarities
from entail.gausscse.calibration import fit_form, is_one_way, logits
from entail.gausscse.verdict import confidence, direction_confidence, threshold_of
from entail.progress import ProgressCallback
from entail.results import write_page, write_result
from entail.statistics.classification import wilson_interval
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
NAME = "gausscse_calibration"
TITLES = {"nli": "Does the premise entail the hypothesis?", "direction": "Which of two entails the other?"}
ROWS = {
    "right": "right",
    "mean confidence": "confidence",
    "**expected calibration error**": "error",
    "log loss": "log_loss",
}


@dataclass(frozen=True, slots=True)
class Bin:
    """Decisions of one range of confidence; the last three fields are None without any.

    Attributes:
        low: Least confidence of the range.
        high: Start of the next range; the last one includes 1.
        n: Number of decisions.
        confidence: Mean confidence.
        right: Share of correct decisions.
        interval: 95 % interval of that share.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    right: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Reliability:
    """Calibration of confidences of decisions between two classes.

    Attributes:
        n: Number of decisions.
        bins: Ranges of confidence from 0.5 to 1, of equal width.
        error: Expected calibration error: mean over all decisions of |share correct - mean confidence| of
            their bin.
        confidence: Mean confidence.
        right: Share of correct decisions.
        log_loss: Mean -log of the probability of the true class.
    """

    n: int
    bins: tuple[Bin, ...]
    error: float
    confidence: float
    right: float
    log_loss: float

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def reliability(confidences: ArrayLike, right: ArrayLike, *, bins: int = 10) -> Reliability:
    """Compare the confidence of decisions, the probability to be right, from 0.5 to 1, with their accuracy.

    >>> reliability([0.75, 0.75, 0.875, 0.875], [True, False, True, True], bins=4).error
    0.1875

    Raises:
        EvaluationError: If there is no decision, the lengths differ, a confidence is out of range, or `bins`
            is below 1.
    """
    values, truth = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.bool_)
    if values.shape != truth.shape or not len(values):
        raise EvaluationError(f"expected a confidence a decision, found {values.shape} and {truth.shape}")
    if bins < 1 or values.min() < 0.5 or values.max() > 1:
        raise EvaluationError(
            f"expected confidences from 0.5 to 1 and at least one bin, found some from {values.min():g} to "
            f"{values.max():g} and {bins} bins"
        )
    edges = np.linspace(0.5, 1, bins + 1)
    indices = np.minimum(np.searchsorted(edges, values, side="right") - 1, bins - 1)
    ranges, error = [], 0.0
    for index in range(bins):
        in_bin = indices == index
        count, mean, share = int(in_bin.sum()), None, None
        if count:
            mean, share = float(values[in_bin].mean()), float(truth[in_bin].mean())
            error += count * abs(share - mean)
        interval = wilson_interval(int(truth[in_bin].sum()), count)
        ranges.append(Bin(float(edges[index]), float(edges[index + 1]), count, mean, share, interval))
    likelihoods = np.maximum(np.where(truth, values, 1 - values), np.finfo(np.float64).tiny)
    return Reliability(
        n=len(values),
        bins=tuple(ranges),
        error=error / len(values),
        confidence=float(values.mean()),
        right=float(truth.mean()),
        log_loss=float(-np.log(likelihoods).mean()),
    )


def measure(
    encoder: GaussianEncoder,
    on: Mapping[str, Sequence[NliPair]],
    fitted_on: str,
    *,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Measure both confidences on every set; what is fitted anew on the one named is told beside."""
    form = encoder.form
    if form.entailment is None or form.direction is None:
        raise EncoderError(f"{encoder.name}: expected fitted curves, found none; fit them on dev first")
    sets, again = {}, form
    for name, pairs in on.items():
        similarities = pair_similarities(pairs, encoder, progress=progress)
        assert similarities.backward is not None, "Gaussians have both"
        entailed = np.array([pair.label == "entailment" for pair in pairs])
        sure = confidence(form, similarities.forward)
        margins = (logits(similarities.forward) - logits(similarities.backward))[entailed & is_one_way(pairs)]
        runs = direction_confidence(form, margins)
        assert sure is not None
        assert runs is not None
        sets[name] = {
            "nli": {
                **reliability(sure, (similarities.forward > threshold_of(form)) == entailed).to_json(),
                "at_half": int((sure == 0.5).sum()),
            },
            "direction": reliability(np.maximum(runs, 1 - runs), margins > 0).to_json(),
        }
        if name == fitted_on:
            again = fit_form(form, (similarities.forward, similarities.backward), pairs)
    return {
        "encoder": encoder.name,
        "revision": encoder.revision,
        "stored": form.to_json(),
        "fitted_on": fitted_on,
        "fitted_again": again.to_json(),
        "sets": sets,
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, on = result["figures"], result["hardware"]
    sets, fitted_on = figures["sets"], figures["fitted_on"]
    stored, again, fitted = figures["stored"], figures["fitted_again"], sets[fitted_on]
    script = "scripts/calibration_of_direction.py"
    yield f"<!-- Made from {NAME}.json by `python {script} --table`; do not edit. -->"
    yield from ("# How well the confidences of directions are calibrated", "")
    yield from wide_paragraph(
        f"`{figures['encoder']}` (`{figures['revision']}`), as the Direction page, the arrows on the Trees "
        f"page and `POST /direction` say how sure they are. Commit `{result['commit']}`, "
        f"{on['cpu']}, {on['cores']} cores, GPUs: {', '.join(on['gpus']) or 'none'}, "
        f"{result['wall_seconds']:,.0f} s:"
    )
    yield from ("", f"    {result['command']}", "")
    yield from wide_paragraph(
        f"Threshold and curves were fitted on {fitted_on}: threshold and NLI's curve on its "
        f"{fitted['nli']['n']:,} pairs, direction's curve on the {fitted['direction']['n']:,} entailments "
        "among them that run one way. There the figures flatter. The other sets chose no weights or "
        f"thresholds, but the choice among recipes saw them. Fitted again on {fitted_on} they come to: "
        f"threshold {again['threshold']:.4f} (stored {stored['threshold']:.4f}), slopes "
        f"{again['entailment']['slope']:.3f} ({stored['entailment']['slope']:.3f}) and "
        f"{again['direction']['slope']:.3f} ({stored['direction']['slope']:.3f}), intercept "
        f"{again['entailment']['intercept']:.3f} ({stored['entailment']['intercept']:.3f})."
    )
    yield ""
    yield from wide_paragraph(contamination(PACKAGED_HUB_ID, ("snli", "multinli")))
    for question, title in TITLES.items():
        records = {name: set_figures[question] for name, set_figures in sets.items()}
        names = [f"{name}{' (fitted on it)' if name == fitted_on else ''}" for name in records]
        yield from ("", f"## {title}", "")
        yield from wide_paragraph(answer(records, fitted_on))
        rows = [
            [words, *(f"{record[key]:.3f}" for record in records.values())] for words, key in ROWS.items()
        ]
        for words, key in (("decisions", "n"), ("held at one half", "at_half")):
            rows += (
                [[words, *(f"{record[key]:,}" for record in records.values())]]
                if key in fitted[question]
                else []
            )
        yield from ("", *table(["", *names], rows), "", "Share right by confidence (decisions):", "")
        ranges = zip(*(record["bins"] for record in records.values()), strict=True)
        bins = [[f"from {group[0]['low']:.2f}", *map(_cell, group)] for group in ranges]
        yield from table(["confidence", *names], bins)
    yield ""
    yield from wide_paragraph(
        "The expected calibration error is the mean over all decisions of how far the share right lies from "
        "the mean confidence, in bins of .05. Held at one half are answers that the threshold gives and the "
        "curve speaks against."
    )


def answer(found: Mapping[str, Mapping[str, Any]], fitted_on: str) -> str:
    """Return how far the confidence is off on each set that was not fitted on, and which way in all."""
    parts = []
    for name, record in found.items():
        gap = 100 * (record["confidence"] - record["right"])
        way = f"{abs(gap):.1f} {'above' if gap > 0 else 'below'} the share right"
        parts += (
            [f"{100 * record['error']:.1f} points on {name} (in the mean {way})"] if name != fitted_on else []
        )
    return f"On pairs that it was not fitted on the confidence is off by {'; '.join(parts) or '?'}."


def _cell(bin_figures: Mapping[str, Any]) -> str:
    return "-" if not bin_figures["n"] else f"{bin_figures['right']:.3f} ({bin_figures['n']:,})"


def _run(options: argparse.Namespace) -> None:
    started, sets = datetime.now(UTC), dict(map(named_pairs, options.on))
    if options.fitted_on not in sets:
        raise EvaluationError(
            f"expected --fitted-on to be one of {', '.join(sets)}, found {options.fitted_on!r}"
        )
    with progress_bar() as progress:
        figures = measure(GaussianEncoder(options.encoder), sets, options.fitted_on, progress=progress)
    write_result(options.results / f"{NAME}.json", figures=figures, seed=None, started=started)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--on", nargs="+", metavar="NAME=FILE[:SPLIT]", help="pairs to measure on")
    parser.add_argument("--fitted-on", metavar="NAME", help="which of them threshold and curves come from")
    parser.add_argument("--encoder", default="gausscse-minilm", help="an encoder of Gaussians")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result")
    return measure_and_show(
        parser,
        _run,
        lambda options: write_page(options.results / f"{NAME}.json", markdown),
        needs=("on", "fitted_on"),
        arguments=arguments,
    )


if __name__ == "__main__":
    raise SystemExit(main())
