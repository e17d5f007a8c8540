"""The page of tables that `reproduce_gausscse.py` writes: its figures, beside the paper's own."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from gausscse_rows import COMPARED, legend, row_ids, row_labels, with_seed
from page_text import GPU_NOTE, paragraph, percent, table

from entail.gausscse.config import GausscseConfig
from entail.statistics.classification import mcnemar
from entail.training.cards.sources import PACKAGED_HUB_ID, contamination

TITLES: Mapping[str, str] = {
    "gausscse": "what ships, and the grid of Table 5",
    "gausscse_three_epochs": "the paper's tables and our terms, by several seeds",
}
"""Purpose of a page, by the name of its result file."""

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
        return [["cosine of the base", *(percent([value]) if value is not None else "-" for value in own)]]
    return [["cosine of the base", *(percent([base[name]["cosine"][path[1]]]) for name in names)]]


def _rows(figures: Mapping[str, Any], part: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows that have a part of the figures: points have no direction."""
    for row, runs in figures["rows"].items():
        if all(part in measures for run in runs.values() for measures in run["on"].values()):
            yield row, runs


def _with_intervals(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield each run's share of right directions where the longer sentence is entailed, with its interval."""
    for row, runs in _rows(figures, "direction"):
        for seed, run in runs.items():
            shares = [run["on"][name]["direction"]["longer_entailed"] for name in figures["on"]]
            yield [with_seed(row_ids(figures)[row], seed), *map(_within, shares)]


def agreement(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the share of directions that most seeds, and that any seed, of a row decides rightly."""
    for row, runs in _rows(figures, "right"):
        if len(runs) < 3:
            continue
        right = {
            name: np.array([_marks(run, [name], "right") for run in runs.values()]) for name in figures["on"]
        }
        votes = {name: marks.mean(axis=0) for name, marks in right.items()}
        letter = row_ids(figures)[row]
        yield [
            f"{letter}, most of {len(runs)}",
            *(percent([float((v > 0.5).mean())]) for v in votes.values()),
        ]
        yield [f"{letter}, any of {len(runs)}", *(percent([float((v > 0).mean())]) for v in votes.values())]


def _marks(run: Mapping[str, Any], names: Sequence[str], kind: str) -> list[bool] | None:
    """Return which answers on some sets are right; None if that was not kept."""
    marks = [run["on"][name].get(kind) for name in names]
    return None if None in marks else [mark == "1" for set_marks in marks for mark in set_marks]


def compared(figures: Mapping[str, Any], pair: Sequence[tuple[str, str]], kind: str) -> list[str]:
    """Return how many answers only one of two runs decides rightly, and McNemar's p, set by set and over all.

    Args:
        figures: Figures of the result file.
        pair: Row and seed of both.
        kind: `right` or `nli right`.

    Returns:
        A cell a set, and one of the sets of the average if there are any; nothing if answers were not kept.
    """
    runs = [figures["rows"].get(row, {}).get(seed) for row, seed in pair]
    if None in runs:
        return []
    cells = []
    for names in [*([name] for name in figures["on"]), *filter(None, [_averaged(figures["on"])])]:
        first, other = (_marks(run, names, kind) for run in runs)
        if first is None or other is None:
            return []
        test = mcnemar(first, other)
        p = f"{test.p:.2g}" if test.p >= 1e-10 else "< 1e-10"
        cells.append(f"{test.first_only} : {test.second_only} ({p})")
    return cells


def _significance(figures: Mapping[str, Any], kind: str) -> Iterator[list[str]]:
    """Yield a line for each two runs whose answers were kept: of a seed, but with teachers of every one."""
    ids, rows = row_ids(figures), figures["rows"]
    for row, other in COMPARED:
        for first_seed, seed in itertools.product(rows.get(row, {}), rows.get(other, {})):
            cells = compared(figures, [(row, first_seed), (other, seed)], kind)
            if cells and (first_seed == seed or "teachers" in row):
                yield [f"{ids[row]} : {ids[other]}, seed {seed}", *cells]


def _within(share: Mapping[str, Any]) -> str:
    if share["accuracy"] is None:
        return "-"
    low, high = share["interval"]
    return f"{100 * share['accuracy']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _trainings(figures: Mapping[str, Any]) -> Iterator[list[str]]:
    for row, runs in figures["rows"].items():
        for seed, run in runs.items():
            config, origin = run["config"], run.get("run", {})
            yield [
                row_labels(figures)[row],
                seed,
                f"{config['epochs']}",
                f"{config['batch_size']}",
                f"{_rate(config):g}",
                f"{run['seconds']:,.0f}",
                origin.get("cpu", "-") if not origin.get("gpus") else ", ".join(origin["gpus"]),
                f"`{(origin.get('commit') or '-')[:7]}`",
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
    names = {field.name for field in fields(GausscseConfig)}
    return GausscseConfig(**{name: value for name, value in config.items() if name in names}).highest_rate


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
    names, labels, averaged = figures["on"], row_labels(figures), _averaged(figures["on"])
    call = "python scripts/reproduce_gausscse.py --table" + (f" --name {file}" if file != "gausscse" else "")
    yield f"<!-- Made from {file}.json by `{call}`; do not edit. -->"
    yield from (_title(figures, file), "")
    yield from paragraph(
        f"Base {figures['base']}; per cent, mean ± standard deviation over seeds. Trainings tells where and "
        f"when each row was trained. The last run was at commit `{result['commit']}`, {hardware['cpu']}, "
        f"{hardware['cores']} cores, GPUs: {', '.join(hardware['gpus']) or 'none'}:"
    )
    yield from ("", f"    {result['command']}", "")
    if averaged:
        yield from (f"Avg. is the mean of {', '.join(averaged)}, one set a source as in the paper.", "")
    yield from _reading(figures)
    yield from legend(figures)
    for title, path in TABLES.items():
        yield from (f"{title}:", "")
        rows = [
            [labels[row], *_row_cells(seed_runs, names, *path), *_average_cells(seed_runs, averaged, *path)]
            for row, seed_runs in ((row, list(runs.values())) for row, runs in _rows(figures, path[0]))
        ]
        baseline = [[*cells, *([""] if averaged else [])] for cells in _baseline(figures, path)]
        yield from _table(["", *names, *(["Avg."] if averaged else [])], [*baseline, *rows])
    yield from ("The same where the longer sentence is the entailed one, with 95 % intervals:", "")
    yield from _table(["", *names], _with_intervals(figures))
    if agreed := list(agreement(figures)):
        yield from (
            "Direction by several seeds: their majority, and any of them, the ceiling of a choice:",
            "",
        )
        yield from _table(["", *names], agreed)
    for kind, words in (("right", "direction"), ("nli right", "NLI")):
        if lines := list(_significance(figures, kind)):
            yield from paragraph(
                f"McNemar, {words}: answers that the first alone has right : the second alone (p). Rows are "
                "compared seed by seed, one with teachers with every seed. Answers that were not kept are "
                "missing." + (f" Together: {', '.join(averaged)}." if averaged else "")
            )
            yield from ("", *table(["", *names, *(["together"] if averaged else [])], lines), "")
    for row, runs in figures["rows"].items():
        for seed, run in runs.items():
            if overlap := run.get("overlap"):
                yield from paragraph(
                    f"{with_seed(labels[row], seed)}: of the {overlap['k']} most similar of "
                    f"{overlap['premises']:,} premises ({overlap['set']}) a search brings "
                    f"{100 * overlap['mean']:.1f} %, mean of {overlap['queries']} queries; "
                    f"at least {100 * overlap['least']:.0f} %."
                )
                yield ""
    yield from ("Trainings:", "")
    head = ["", "seed", "epochs", "batch", "rate", "seconds", "on", "commit"]
    yield from _table(head, _trainings(figures))
    yield from _provenance(figures)
    if figures.get("grid"):
        yield from _grid(figures)
    if file != "gausscse" and file in TITLES:
        yield "Figure 2 and the paper's own figures: [gausscse.md](gausscse.md)."
        return
    yield from _ratios(figures)
    yield from ("The paper's own figures (all of SNLI and MultiNLI, test sets; Tables 1 to 4):", "")
    head, *rows = _papers(papers, "gausscse")
    yield from _table(head, [[cell or "-" for cell in row] for row in rows], words=2)
    yield from ("and its Table 5, AUPRC on SNLI dev:", "")
    head, *rows = _papers(papers, "gausscse_grid")
    yield from _table(head, rows, words=1)


def _title(figures: Mapping[str, Any], file: str) -> str:
    epochs = sorted({run["config"]["epochs"] for runs in figures["rows"].values() for run in runs.values()})
    length = " or ".join(map(str, epochs)) + f" epoch{'s' * (epochs != [1])}"
    purpose = f": {TITLES[file]}" if file in TITLES else ""
    return f"# GaussCSE, {f'{length} of ' * bool(epochs)}{figures['data']['triplets']:,} triplets{purpose}"


def _provenance(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield which runs kept no command, and how rows of a GPU came by their commit."""
    runs = [(row, run.get("run", {})) for row, by_seed in figures["rows"].items() for run in by_seed.values()]
    if without := [row for row, run in runs if not run.get("command")]:
        letters = ", ".join(dict.fromkeys(row_ids(figures)[row] for row in without))
        yield from paragraph(
            f"{len(without)} of {len(runs)} runs have no command ({letters}): they are from before commands "
            "were kept. Their settings stand in the result file."
        )
        yield ""
    if any(run.get("gpus") for _, run in runs):
        yield from (*paragraph(GPU_NOTE), "")


def _grid(figures: Mapping[str, Any]) -> Iterator[str]:
    counts = {cell["triplets"] for cell in figures["grid"].values()}
    sizes = " or ".join(f"{count:,}" for count in sorted(counts))
    yield from (f"Batch size and learning rate, AUPRC on dev while training, {sizes} triplets (Table 5):", "")
    cells = [[f"{b}", *(_cell(figures["grid"], f"{b}/{rate:g}") for rate in RATES)] for b in BATCHES]
    yield from _table(["batch", *(f"{rate:g}" for rate in RATES)], cells, words=0)
    yield from _cell_in_words(figures)


def _ratios(figures: Mapping[str, Any]) -> Iterator[str]:
    yield from ("Premise over hypothesis in characters, entailment pairs (Figure 2):", "")
    ratios = {name: figures["baselines"][name]["ratios"] for name in figures["on"]}
    most = max(
        (at + 1 for histogram in ratios.values() for at, count in enumerate(histogram["counts"]) if count),
        default=0,
    )
    width = next(iter(ratios.values()))["width"] if ratios else 0
    bins = [
        [
            f"{at * width:.2f} to {(at + 1) * width:.2f}",
            *(f"{histogram['counts'][at]:,}" for histogram in ratios.values()),
        ]
        for at in range(most)
    ]
    yield from _table(["ratio", *ratios], bins)


def _cell_in_words(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the cell of the rows stands in the grid; the paper's rows use the best one."""
    cells = {name: cell["AUPRC"] for name, cell in figures["grid"].items()}
    config = next((run["config"] for run in figures["rows"].get("ent+con+rev", {}).values()), None)
    own = f"{config['batch_size']}/{_rate(config):g}" if config is not None else ""
    if own not in cells:
        return
    best = max(cells, key=lambda name: cells[name])
    rank = 1 + sum(value > cells[own] for value in cells.values())
    yield from paragraph(
        f"The rows above use batch {own.replace('/', ', rate ')}: place {rank} of {len(cells)} here "
        f"({100 * cells[own]:.2f}). The paper's rows use the best cell, here batch "
        f"{best.replace('/', ', rate ')} ({100 * cells[best]:.2f})."
    )
    yield ""


def _reading(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the base has seen, which sets were chosen on, and how often dev was read."""
    read = figures.get("read", {})
    selection = [name for name in figures["on"] if read.get(name, "") == read.get("dev")]
    runs = [run for _, row in _rows(figures, "direction") for run in row.values() if "averaged" not in run]
    runs += figures.get("grid", {}).values()
    times = 0
    for run in runs:
        config = run["config"]
        triplets = run.get("triplets", figures["data"]["triplets"])
        steps = config["epochs"] * -(-triplets // config["batch_size"])
        times += 1 + config["epochs"] + (steps // config["evaluate_every"] if config["evaluate_every"] else 0)
    pairs = {run["config"]["dev_pairs"] for run in runs}
    if selection and runs:
        yield from paragraph(
            f"**{', '.join(selection)} is the selection set**: of each training it chose the weights (on "
            f"{' or '.join(f'{count:,}' for count in sorted(pairs))} of its pairs, {len(runs)} trainings and "
            f"about {times:,} readings in all), the threshold and the curves. Table 5's grid was read on it, "
            "too. Its figures are optimistic. The other sets chose no weights or thresholds, but the choice "
            "among recipes saw them. Test sets are not among the data here."
        )
        yield ""
    note = contamination(PACKAGED_HUB_ID if figures["base"] == "minilm" else None, ("snli", "multinli"))
    if note:
        yield from (*paragraph(note), "")


def _cell(grid: Mapping[str, Any], name: str) -> str:
    return percent([grid[name]["AUPRC"]]) if name in grid else "-"
