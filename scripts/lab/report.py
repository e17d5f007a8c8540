"""Result file and page of an experiment: a table with intervals and paired tests, and a chart.

`make_result` needs the work folder; `write_page` only the result file and the experiment. Both write the same
bytes each time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from entail.data.writing import write_text
from entail.statistics.paired import paired_difference
from lab.adapters import Values
from lab.errors import LabError
from lab.experiment import Experiment
from lab.run import MEAN, Run
from lab.ship import Checked

RESULTS = Path(__file__).resolve().parent.parent.parent / "docs" / "results"
_DIGITS, _CELL = 4, 3
"""Digits of figures in the result file, and on the page."""


def make_result(
    experiment: Experiment, runs: Sequence[Run], checks: Sequence[Checked] = ()
) -> dict[str, Any]:
    """Return the content of the result file.

    Attributes of a row: `figures` (metric -> mean and standard deviation over seeds, 95 % interval over
    queries), `paired` (metric -> difference from the control, its interval and p). Of a recipe the rows are
    the means of its stages.

    Raises:
        LabError: If nothing is measured yet, or the adapter does not measure a metric.
    """
    if not runs:
        raise LabError(f"{experiment.name}: nothing is measured yet; run it first")
    metrics = experiment.measure.metrics
    rows = {arm: _selected(experiment, arm, runs) for arm in dict.fromkeys(run.arm for run in runs)}
    control = rows.get(experiment.measure.paired_with)
    return {
        "experiment": {"name": experiment.name, "hash": experiment.hash},
        "data": {**experiment.data, **experiment.measure.data},
        "rows": [
            {
                "arm": arm,
                "seeds": [run.seed for run in selected if run.seed not in ("", MEAN)],
                "figures": {metric: _figure(selected, metric) for metric in metrics},
                "paired": {metric: _paired(control, selected, metric) for metric in metrics}
                if control and arm != experiment.measure.paired_with
                else {},
            }
            for arm, selected in rows.items()
        ],
        "checks": [
            {"text": str(checked), "figure": round(checked.figure, _DIGITS), "holds": checked.holds}
            for checked in checks
        ],
        "runs": [
            {
                "arm": run.arm,
                "seed": run.seed,
                "hash": run.key,
                "measures": {name: round(run.figure(name), _DIGITS) for name in run.measures},
                "trainings": list(run.records) if run.seed != MEAN else [],
            }
            for run in runs
        ],
    }


def _selected(experiment: Experiment, arm: str, runs: Sequence[Run]) -> list[Run]:
    """Return the runs of a row: those of every seed; of a recipe's stage that of the mean."""
    own = [run for run in runs if run.arm == arm]
    means = [run for run in own if run.seed == MEAN]
    return means if means and experiment.stages else [run for run in own if run.seed != MEAN]


def _figure(runs: Sequence[Run], metric: str) -> dict[str, float]:
    figures = [run.figure(metric) for run in runs]
    values, weights = _over_seeds(runs, metric)
    interval = paired_difference(np.zeros(len(values)), values, weights=weights)
    spread = stdev(figures) if len(figures) > 1 else 0.0
    numbers = {"mean": mean(figures), "sd": spread, "low": interval.low, "high": interval.high}
    return {name: round(number, _DIGITS) for name, number in numbers.items()}


def _paired(control: Sequence[Run], runs: Sequence[Run], metric: str) -> dict[str, float]:
    values, weights = _over_seeds(runs, metric)
    result = paired_difference(_over_seeds(control, metric)[0], values, weights=weights)
    numbers = {"difference": result.difference, "low": result.low, "high": result.high}
    rounded = {name: round(number, _DIGITS) for name, number in numbers.items()}
    return {**rounded, "p": float(f"{result.p:.2g}")}


def _over_seeds(runs: Sequence[Run], metric: str) -> tuple[Values, Values]:
    """Return the mean of each query's value over seeds, and its weight."""
    values = np.mean([run.measures[metric][0] for run in runs], axis=0)
    return values, runs[0].measures[metric][1]


def write_result(experiment: Experiment, result: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write result file, page and chart; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(folder / f"{experiment.name}.json", text)
    return write_page(experiment, folder)


def write_page(experiment: Experiment, folder: Path = RESULTS) -> Path:
    """Write page and chart from the result file; return the page.

    Raises:
        LabError: If there is no result file.
    """
    file = folder / f"{experiment.name}.json"
    if not file.is_file():
        raise LabError(f"expected the results of {experiment.name} in {file}, found none; run it first")
    result = json.loads(file.read_text(encoding="utf-8"))
    write_text(file.with_suffix(".svg"), chart(experiment, result))
    write_text(file.with_suffix(".md"), "\n".join(page(experiment, result)) + "\n")
    return file.with_suffix(".md")


def page(experiment: Experiment, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    name, metrics = experiment.name, experiment.measure.metrics
    yield f"<!-- Made from {name}.json by `python scripts/lab report {name}`; do not edit. -->"
    yield from (f"# {experiment.title}", "")
    if experiment.question:
        yield from (experiment.question, "")
    if experiment.finding:
        yield from (f"**{' '.join(experiment.finding)}**", "")
    control = experiment.measure.paired_with
    yield f"| | {' | '.join(metrics)} |"
    yield f"| --- |{' ---: |' * len(metrics)}"
    for row in result["rows"]:
        cells = [_cell(row, metric, experiment.paper.get(row["arm"], {})) for metric in metrics]
        yield f"| {row['arm']} | {' | '.join(cells)} |"
    yield ""
    yield f"![{_charted(experiment)} of every arm]({name}.svg)"
    yield ""
    notes = ["mean ± standard deviation over seeds", "in brackets the 95 % interval over queries"]
    if control:
        notes.append(f"\\* differs from {control} (paired bootstrap, p < .05)")
    if experiment.paper:
        notes.append("in braces the paper's figure")
    yield f"{'; '.join(notes).capitalize()}."
    data = ", ".join(f"{role} {data}" for role, data in result["data"].items())
    yield f"Data: {data}. Recipe `{name}.toml`, hash `{result['experiment']['hash']}`."
    trainings = [training for run in result["runs"] for training in run["trainings"]]
    if trainings:
        hours = sum(training["seconds"] for training in trainings) / 3600
        machines = ", ".join(sorted({f"{t['cpu']}, {t['cores']} cores" for t in trainings}))
        commits = ", ".join(sorted({f"`{str(t['commit'])[:12]}`" for t in trainings}))
        yield f"{len(trainings)} trainings, {hours:.1f} hours in all ({machines}; commit {commits})."
    yield from (f"- {check['text']}" for check in result["checks"])


def _cell(row: Mapping[str, Any], metric: str, paper: Mapping[str, float]) -> str:
    figure, paired = row["figures"][metric], row["paired"].get(metric)
    text = f"{figure['mean']:.{_CELL}f}"
    if len(row["seeds"]) > 1 and figure["sd"]:
        text += f" ± {figure['sd']:.{_CELL}f}"
    text += f" [{figure['low']:.{_CELL}f}, {figure['high']:.{_CELL}f}]"
    if metric in paper:
        text += f" {{{paper[metric]:.{_CELL}f}}}"
    return text + ("\\*" if paired and paired["p"] < 0.05 else "")


def _charted(experiment: Experiment) -> str:
    return experiment.measure.chart or experiment.measure.metrics[0]


def chart(experiment: Experiment, result: Mapping[str, Any]) -> str:
    """Return a dot and an interval for each arm, as SVG that reads on light and dark pages."""
    metric = _charted(experiment)
    rows = [(row["arm"], row["figures"][metric]) for row in result["rows"]]
    low, high = min(f["low"] for _, f in rows), max(f["high"] for _, f in rows)
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-6) / 2))
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    left, width, line = 8 + 7 * max(len(arm) for arm, _ in rows), 420, 22
    height = line * (len(rows) + 2)

    def x(value: float) -> str:
        return f"{left + width * (value - low) / (high - low):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 60} {height}" '
        f'font-family="sans-serif" font-size="12" fill="#888" role="img" aria-label="{escape(metric)}">'
    ]
    for at, (arm, figure) in enumerate(rows):
        y = line * (at + 1)
        parts += [
            f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{escape(arm)}</text>',
            f'<path d="M{x(figure["low"])} {y}H{x(figure["high"])}" stroke="#888"/>',
            f'<circle cx="{x(figure["mean"])}" cy="{y}" r="4" fill="#0072b2"/>',
            f'<text x="{left + width + 8}" y="{y + 4}">{figure["mean"]:.{_CELL}f}</text>',
        ]
    y = height - 8
    for value in (low, high):
        parts.append(f'<text x="{x(value)}" y="{y}" text-anchor="middle">{value:g}</text>')
    parts.append(
        f'<text x="{left + width / 2:.0f}" y="{y}" text-anchor="middle">{escape(metric)}</text></svg>'
    )
    return "\n".join(parts) + "\n"
