"""The page of tables that `reproduce_gausscse.py` writes: its figures, beside the paper's own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from page_text import paragraph, percent, table

from entail.gausscse.config import GausscseConfig
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination

BATCHES, RATES = (16, 32, 64, 128), (1e-4, 3e-4, 5e-4)
"""Of the grid: rates are an adapter's, ten times those of the paper, who tunes every weight."""

LONGER = ("direction", "longer_entailed", "accuracy")
TABLES: Mapping[str, tuple[str, ...]] = {
    "Direction": ("direction", "accuracy"),
    "Direction where the longer sentence is the entailed one": LONGER,
    "NLI, accuracy at the threshold of dev": ("nli", "accuracy"),
    "NLI, accuracy at the best threshold of each set itself": ("nli, own threshold",),
    "NLI, AUPRC": ("nli", "auprc"),
    "NLI, AUPRC by thresholds in steps of 0.001, as in the paper": ("nli", "auprc_stepped"),
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> Iterator[str]:
    yield from (*table(head, rows, words=words), "")


def _baseline(figures: Mapping[str, Any], path: Sequence[str]) -> list[list[str]]:
    base, names = figures["baselines"], figures["on"]
    if path == ("direction", "accuracy"):
        return [["the longer sentence", *(percent([base[name]["length"]]) for name in names)]]
    if path[0] == "direction":
        return []
    if path[0] != "nli":
        own = [base[name].get("cosine, own threshold") for name in names]
        return [["cosine of the base", *(percent([one]) if one is not None else "-" for one in own)]]
    return [["cosine of the base", *(percent([base[name]["cosine"][path[1]]]) for name in names)]]


def _rows(figures: Mapping[str, Any], part: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows that have a part of the figures: points have no direction."""
    for row, runs in figures["rows"].items():
        if all(part in found for run in runs.values() for found in run["on"].values()):
            yield row, runs


def _with_intervals(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield each run's share of right directions where the longer sentence is entailed, with its interval."""
    for row, runs in _rows(figures, "direction"):
        for seed, run in runs.items():
            found = [run["on"][name]["direction"]["longer_entailed"] for name in figures["on"]]
            yield [row if seed == "mean" else f"{row}, seed {seed}", *map(_within, found)]


def agreement(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the share of directions that most seeds, and that any seed, of a row decides rightly."""
    for row, runs in _rows(figures, "right"):
        if len(runs) < 3:
            continue
        right = {
            name: np.array([[mark == "1" for mark in run["on"][name]["right"]] for run in runs.values()])
            for name in figures["on"]
        }
        votes = {name: marks.mean(axis=0) for name, marks in right.items()}
        yield [f"{row}, most of {len(runs)}", *(percent([float((v > 0.5).mean())]) for v in votes.values())]
        yield [f"{row}, any of {len(runs)}", *(percent([float((v > 0).mean())]) for v in votes.values())]


def _within(found: Mapping[str, Any]) -> str:
    if found["accuracy"] is None:
        return "-"
    low, high = found["interval"]
    return f"{100 * found['accuracy']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _trainings(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    for row, runs in figures["rows"].items():
        for seed, run in runs.items():
            config, told = run["config"], run.get("run", {})
            yield [
                row,
                seed,
                f"{config['epochs']}",
                f"{config['batch_size']}",
                f"{_rate(config):g}",
                f"{run['seconds']:,.0f}",
                told.get("cpu", "-") if not told.get("gpus") else ", ".join(told["gpus"]),
                f"`{(told.get('commit') or '-')[:7]}`",
            ]


def _row_cells(runs: Sequence[Mapping[str, Any]], names: Sequence[str], *path: str) -> list[str]:
    cells = []
    for name in names:
        values = []
        for run in runs:
            value: Any = run["on"][name]
            for part in path:
                value = value[part]
            values.append(value)
        cells.append(percent(values) if None not in values else "-")
    return cells


def _averaged(names: Sequence[str]) -> list[str]:
    """Return the first set of each source (SNLI, MultiNLI, SICK), as in the paper; none of one alone."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.partition("-")[0], name)
    return list(first.values()) if len(first) > 1 else []


def _average_cells(runs: Sequence[Mapping[str, Any]], names: Sequence[str], *path: str) -> list[str]:
    """Return the mean over some sets, with its spread over runs; nothing without sets."""
    if not names:
        return []
    means = []
    for run in runs:
        values = [run["on"][name] for name in names]
        for part in path:
            values = [value[part] for value in values]
        if None in values:
            return ["-"]
        means.append(mean(values))
    return [percent(means)]


def _rate(config: Mapping[str, Any]) -> float:
    if config["learning_rate"] is not None:
        return float(config["learning_rate"])
    known = {field.name for field in fields(GausscseConfig)}
    return GausscseConfig(**{name: value for name, value in config.items() if name in known}).highest_rate


def _papers(folder: Path, name: str) -> list[list[str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def markdown(result: Mapping[str, Any], *, file: str, papers: Path) -> Iterator[str]:
    """Yield the lines of the page.

    Args:
        result: What the result file says.
        file: Its name.
        papers: Where the paper's own figures lie.
    """
    figures, hardware = result["figures"], result["hardware"]
    names = figures["on"]
    made = "python scripts/reproduce_gausscse.py --table" + (f" --name {file}" if file != "gausscse" else "")
    yield f"<!-- Made from {file}.json by `{made}`; do not edit. -->"
    yield from ("# GaussCSE", "")
    yield f"Base {figures['base']}, {figures['data']['triplets']:,} triplets; per cent, mean ± standard"
    yield "deviation over seeds. Where and when each was trained stands under Trainings; the last run, at"
    yield f"commit `{result['commit']}`, {hardware['cpu']}, {hardware['cores']} cores, GPUs:"
    yield f"{', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    if averaged := _averaged(names):
        yield from (f"Avg. is the mean of {', '.join(averaged)}, one set a source as in the paper.", "")
    yield from _reading(figures)
    for title, path in TABLES.items():
        yield from (f"{title}:", "")
        averaged = _averaged(names)
        rows = [
            [row, *_row_cells(some, names, *path), *_average_cells(some, averaged, *path)]
            for row, some in ((row, list(runs.values())) for row, runs in _rows(figures, path[0]))
        ]
        baseline = [[*cells, *([""] if averaged else [])] for cells in _baseline(figures, path)]
        yield from _table(["", *names, *(["Avg."] if averaged else [])], [*baseline, *rows])
    yield from ("The same where the longer sentence is the entailed one, with 95 % intervals:", "")
    yield from _table(["", *names], _with_intervals(figures))
    if agreed := list(agreement(figures)):
        yield from (
            "Direction by several seeds: their majority, and any of them, the ceiling of a choice",
            "",
        )
        yield from _table(["", *names], agreed)
    if figures.get("significance"):
        yield from ("Who is right where only one of two is (McNemar):", "")
        told = [
            [name, f"{one['first_only']}", f"{one['second_only']}", f"{one['p']:.2g}"]
            for name, one in figures["significance"].items()
        ]
        yield from _table(["first / second / what", "first alone", "second alone", "p"], told)
    overlaps = {
        f"{row}, seed {seed}": run["overlap"]
        for row, runs in figures["rows"].items()
        for seed, run in runs.items()
        if "overlap" in run
    }
    for name, one in overlaps.items():
        yield f"{name}: of the {one['k']} most similar of {one['premises']:,} premises ({one['set']}) a"
        yield f"search brings {100 * one['mean']:.1f} %, mean of {one['queries']} queries; at least"
        yield from (f"{100 * one['least']:.0f} %.", "")
    yield from ("Trainings:", "")
    head = ["", "seed", "epochs", "batch", "rate", "seconds", "on", "commit"]
    yield from _table(head, _trainings(figures))
    if figures.get("grid"):
        counts = {one["triplets"] for one in figures["grid"].values()}
        said = " or ".join(f"{count:,}" for count in sorted(counts))
        yield from (
            f"Batch size and learning rate, AUPRC on dev while training, {said} triplets (Table 5):",
            "",
        )
        cells = [[f"{b}", *(_cell(figures["grid"], f"{b}/{rate:g}") for rate in RATES)] for b in BATCHES]
        yield from _table(["batch", *(f"{rate:g}" for rate in RATES)], cells, words=0)
        yield from _cell_in_words(figures)
    yield from ("Premise over hypothesis in characters, entailment pairs (Figure 2):", "")
    ratios = {name: figures["baselines"][name]["ratios"] for name in names}
    most = max(
        (at + 1 for one in ratios.values() for at, count in enumerate(one["counts"]) if count), default=0
    )
    width = next(iter(ratios.values()))["width"] if ratios else 0
    bins = [
        [
            f"{at * width:.2f} to {(at + 1) * width:.2f}",
            *(f"{one['counts'][at]:,}" for one in ratios.values()),
        ]
        for at in range(most)
    ]
    yield from _table(["ratio", *names], bins)
    yield from ("The paper's own figures (all of SNLI and MultiNLI, test sets; Tables 1 to 4):", "")
    head, *rows = _papers(papers, "gausscse")
    yield from _table(head, [[cell or "-" for cell in row] for row in rows], words=2)
    yield from ("and its Table 5, AUPRC on SNLI dev:", "")
    head, *rows = _papers(papers, "gausscse_grid")
    yield from _table(head, rows, words=1)


def _cell_in_words(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the cell of the rows stands in the grid; the paper's rows use the best one."""
    cells = {name: one["AUPRC"] for name, one in figures["grid"].items()}
    config = next((run["config"] for run in figures["rows"].get("ent", {}).values()), None)
    own = f"{config['batch_size']}/{_rate(config):g}" if config is not None else ""
    if own not in cells:
        return
    best = max(cells, key=lambda name: cells[name])
    place = 1 + sum(value > cells[own] for value in cells.values())
    yield f"The rows above use batch {own.replace('/', ', rate ')}: place {place} of {len(cells)} here"
    yield f"({100 * cells[own]:.2f}). The paper's rows use the best cell, here batch"
    cell = best.replace("/", ", rate ")
    yield f"{cell} ({100 * cells[best]:.2f})."
    yield ""


def _reading(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the base has seen, which sets were chosen on, and how often dev was read."""
    read = figures.get("read", {})
    chosen = [name for name in figures["on"] if read.get(name, "") == read.get("dev")]
    runs = [run for _, row in _rows(figures, "direction") for run in row.values() if "averaged" not in run]
    runs += figures.get("grid", {}).values()
    times = 0
    for run in runs:
        config = run["config"]
        triplets = run.get("triplets", figures["data"]["triplets"])
        steps = config["epochs"] * -(-triplets // config["batch_size"])
        times += 1 + config["epochs"] + (steps // config["evaluate_every"] if config["evaluate_every"] else 0)
    pairs = {run["config"]["dev_pairs"] for run in runs}
    if chosen and runs:
        yield f"**{', '.join(chosen)} is the selection set**: of each training it chose the weights (on"
        yield f"{' or '.join(f'{count:,}' for count in sorted(pairs))} of its pairs, {len(runs)} trainings"
        yield f"and about {times:,} readings in all), the threshold and the curves. Table 5's grid was"
        yield "read on it, too. Its figures are optimistic; the other sets chose nothing. Test sets are not"
        yield "among the data here."
        yield ""
    note = contamination(PACKAGED_HUB_ID if figures["base"] == "minilm" else None, ("snli", "multinli"))
    if note:
        yield from (*paragraph(note), "")


def _cell(grid: Mapping[str, Any], name: str) -> str:
    return percent([grid[name]["AUPRC"]]) if name in grid else "-"
