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
from scipy.stats import t

from entail.data.writing import write_text
from entail.statistics.paired import paired_difference
from lab.adapters import Values
from lab.errors import LabError
from lab.experiment import SHIP, Experiment, read_experiment
from lab.record import record_page, table
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
    queries), `paired` (metric -> difference from the control, its interval and p over queries; of several
    seeds also `seeds`, the 95 % interval of the difference over seeds, by Student's t). Of a recipe the rows
    are the means of its stages.

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
        "paired_with": experiment.measure.paired_with,
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
                "measures": {
                    name: round(run.figure(name), _DIGITS)
                    for name, (_, weights) in run.measures.items()
                    if weights.any()  # such as no unseen query
                },
                "trainings": list(run.records),
                **({"measured": run.measured} if run.measured else {}),
            }
            for run in runs
        ],
        "trainings": {key: record for run in runs for key, record in run.records.items()},
    }


def add_former(
    result: dict[str, Any], former: Mapping[str, Any], keys: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return a result with the rows of a former one that were not measured again.

    A long experiment is run arm by arm, on several days. An arm keeps its row as long as data, metrics and
    `keys` (arm -> keys of its models) are those it was measured with, its own and those of the control.
    """
    if any(former.get(name) != result[name] for name in ("data", "paired_with")):
        return result
    measured = {row["arm"] for row in result["rows"]}
    metrics = result["rows"][0]["figures"].keys()
    hashes = {(run["arm"], run["hash"]) for run in former["runs"]}
    same = {arm for arm in keys if all((arm, key) in hashes for key in keys[arm])}
    control = {result["paired_with"]} - {""}
    unchanged = {
        row["arm"]
        for row in former["rows"]
        if {row["arm"]} | control <= same and row["arm"] not in measured and row["figures"].keys() == metrics
    }
    order = list(keys)
    whole: dict[str, Any] = {**result, "trainings": {**former["trainings"], **result["trainings"]}}
    for part in ("rows", "runs"):
        entries = [*result[part], *(entry for entry in former[part] if entry["arm"] in unchanged)]
        whole[part] = sorted(entries, key=lambda entry: order.index(entry["arm"]))
    used = [key for run in whole["runs"] for key in run["trainings"]]
    return {**whole, "trainings": {key: whole["trainings"][key] for key in used}}


def stated_figures(experiment: Experiment, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the card of a recipe's model states, from its result file and those it names."""
    own = {row["arm"]: row["figures"] for row in result["rows"]}
    states = []
    for stated in experiment.stated:
        rows, arm, rival_arm = own, list(own)[-1], experiment.measure.paired_with
        if stated.result:
            named = json.loads((RESULTS / f"{stated.result}.json").read_text(encoding="utf-8"))
            rows = {row["arm"]: row["figures"] for row in named["rows"]}
            arm, rival_arm = experiment.name.removeprefix(SHIP), stated.rival_arm
        figure = rows[arm][stated.metric]
        states.append(
            {
                "task": stated.task,
                "data": stated.data,
                "measure": stated.measure,
                "value": figure["mean"],
                "interval": [figure["low"], figure["high"]],
                "rival": stated.rival,
                "rival_value": rows[rival_arm][stated.metric]["mean"],
            }
        )
    return states


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


def _paired(control: Sequence[Run], runs: Sequence[Run], metric: str) -> dict[str, Any]:
    values, weights = _over_seeds(runs, metric)
    result = paired_difference(_over_seeds(control, metric)[0], values, weights=weights)
    numbers = {"difference": result.difference, "low": result.low, "high": result.high}
    rounded = {name: round(number, _DIGITS) for name, number in numbers.items()}
    return {**rounded, "p": float(f"{result.p:.2g}"), **_over_pairs_of_seeds(control, runs, metric)}


def _over_pairs_of_seeds(control: Sequence[Run], runs: Sequence[Run], metric: str) -> dict[str, list[float]]:
    """Return the interval over seeds, if both have the same ones, several of them."""
    if len(runs) < 2 or [run.seed for run in control] != [run.seed for run in runs]:
        return {}
    differences = [run.figure(metric) - base.figure(metric) for base, run in zip(control, runs, strict=True)]
    half = float(t.ppf(0.975, len(runs) - 1)) * stdev(differences) / len(runs) ** 0.5
    return {"seeds": [round(mean(differences) + side * half, _DIGITS) for side in (-1, 1)]}


def _over_seeds(runs: Sequence[Run], metric: str) -> tuple[Values, Values]:
    """Return the mean of each query's value over seeds, and its weight."""
    values = np.mean([run.measures[metric][0] for run in runs], axis=0)
    return values, runs[0].measures[metric][1]


def write_result(experiment: Experiment, result: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write result file, page and chart; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(folder / f"{experiment.name}.json", text)
    return write_page(experiment.name, folder, experiment)


def write_page(name: str, folder: Path = RESULTS, experiment: Experiment | None = None) -> Path:
    """Write the page of a result file, and the chart of an experiment; return the page.

    Raises:
        LabError: If there is no result file.
    """
    file = folder / f"{name}.json"
    if not file.is_file():
        raise LabError(f"expected the results of {name} in {file}, found none; run it first")
    result = json.loads(file.read_text(encoding="utf-8"))
    if "experiment" in result:
        experiment = experiment or read_experiment(name)
        write_text(file.with_suffix(".svg"), chart(experiment, result))
        lines = page(experiment, result)
    else:
        lines = record_page(name, result)
    write_text(file.with_suffix(".md"), "\n".join(lines) + "\n")
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
    control, charted = experiment.measure.paired_with, _charted(experiment)
    of_seeds = any("seeds" in row["paired"].get(charted, {}) for row in result["rows"])
    titles = [*metrics, *([f"{charted} over {control} [over seeds]"] if of_seeds else [])]
    rows = []
    for row in result["rows"]:
        paper = experiment.paper.get(row["arm"], {})
        cells = [_cell(row, metric, paper, interval=metric == charted) for metric in metrics]
        cells += [_difference(row["paired"].get(charted, {}))] if of_seeds else []
        rows.append([row["arm"], *cells])
    yield from table(["", *titles], rows)
    yield from ("", f"![{charted} of every arm]({name}.svg)", "")
    if unbiased := result.get("held_out"):
        yield from ("A tenth of the training data, of which these models have learned the rest:", "")
        rows = [
            [row["arm"], *(_cell(row, metric, {}, interval=True) for metric in metrics)]
            for row in unbiased["rows"]
        ]
        yield from table(["", *metrics], rows)
        yield from ("", f"Held out: {_places(list(unbiased['trainings'].values()))}.", "")
    notes = ["Mean ± standard deviation over seeds", f"[95 % interval of {charted} over queries]"]
    if experiment.paper:
        notes.append("(the paper's figure)")
    if control:
        notes.append(f"\\* differs from {control}, paired bootstrap over queries, p < .05")
    yield f"{'; '.join(notes)}."
    data = ", ".join(f"{role} {data}" for role, data in result["data"].items())
    yield f"Data: {data}. Recipe `{name}.toml`, hash `{result['experiment']['hash']}`."
    if trainings := list(result["trainings"].values()):
        yield f"{len(trainings)} trainings, {_places(trainings)}."
    if measured := [run["measured"] for run in result["runs"] if "measured" in run]:
        yield f"Measured: {_places(measured)}."
    yield from (f"- {check['text']}" for check in result["checks"])


def _places(records: Sequence[Mapping[str, Any]]) -> str:
    """Return hours, machines and commits of trainings or measurements."""
    hours = sum(record["seconds"] for record in records) / 3600
    machines = ", ".join(sorted({f"{record['cpu']}, {record['cores']} cores" for record in records}))
    commits = ", ".join(sorted({f"`{str(record['commit'])[:12]}`" for record in records}))
    return f"{hours:.1f} hours in all ({machines}; commit {commits})"


def _cell(row: Mapping[str, Any], metric: str, paper: Mapping[str, float], *, interval: bool) -> str:
    figure, paired = row["figures"][metric], row["paired"].get(metric)
    text = f"{figure['mean']:.{_CELL}f}"
    if len(row["seeds"]) > 1 and figure["sd"]:
        text += f" ± {figure['sd']:.{_CELL}f}"
    text += "\\*" if paired and paired["p"] < 0.05 else ""
    if interval:
        text += f" [{figure['low']:.{_CELL}f}, {figure['high']:.{_CELL}f}]"
    return text + (f" ({paper[metric]:.{_CELL}f})" if metric in paper else "")


def _difference(paired: Mapping[str, Any]) -> str:
    text = f"{paired['difference']:+.{_CELL}f}" if paired else ""
    if "seeds" in paired:
        low, high = paired["seeds"]
        text += f" [{low:+.{_CELL}f}, {high:+.{_CELL}f}]"
    return text


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
