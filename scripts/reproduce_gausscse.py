"""Reproduce Tables 1 to 5 of the GaussCSE paper on data at hand; write figures and tables to docs/results/.

::

    python scripts/reproduce_gausscse.py --train snli_train.jsonl mnli_train.jsonl --dev snli_dev.jsonl \
        --on snli-dev=snli_dev.jsonl mnli-dev=mnli_dev.jsonl sick-train=SICK.txt:TRAIN --seeds 0 1 2
    python scripts/reproduce_gausscse.py ... --rows ent+con+rev kl_per_dim   # some rows alone
    python scripts/reproduce_gausscse.py ... --epochs 1 --seeds 1 &          # several processes, one file
    python scripts/reproduce_gausscse.py ... --rows ent+con+rev --seeds 0 1 2 --mean 40  # and of their mean
    python scripts/reproduce_gausscse.py ... --grid --seeds 0                # Table 5: batch size and rate
    python scripts/reproduce_gausscse.py --table                             # only the tables

Weights, thresholds and curves are chosen on `--dev` alone; `--on` names what is measured, any number of
files. What was trained stays in `--work`: a run that was broken off goes on where it was, and what was
measured there by the same settings, from as much data, on the same sets is not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from entail.classification import best_threshold, mcnemar
from entail.cli.console import progress_bar
from entail.data.nli import NliPair, read_nli
from entail.data.nli_triplets import NliTriplets, nli_triplets
from entail.encoders.biencoder import BiEncoder
from entail.encoders.gaussian import GaussianEncoder
from entail.errors import EntailError
from entail.evaluation.direction import evaluate_direction, length_baseline, length_ratios
from entail.evaluation.nli import evaluate_nli
from entail.gausscse.calibration import calibrate
from entail.gausscse.config import GausscseConfig
from entail.gausscse.training import train_gausscse
from entail.results import provenance, write_result
from entail.training.averaging import average_adapters

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
BATCHES, RATES = (16, 32, 64, 128), (1e-4, 3e-4, 5e-4)


@dataclass(frozen=True)
class Row:
    """One row of the tables: a setting, and the paper's own figures with BERT-base, in per cent."""

    name: str
    config: GausscseConfig
    paper: Mapping[str, float] | None = None


def _paper(*figures: float) -> dict[str, float]:
    names = ("nli.snli", "auprc.snli", "nli.mnli", "auprc.mnli", "nli.sick", "auprc.sick")
    return dict(zip((*names, "direction.snli", "direction.mnli", "direction.sick"), figures, strict=True))


OURS = GausscseConfig()
RANKED = replace(OURS, ranking=1.0)
ROWS = (
    Row(
        "ent",
        replace(OURS, sets="ent"),
        _paper(72.44, 60.65, 67.92, 56.96, 67.70, 68.26, 64.84, 61.11, 60.10),
    ),
    Row(
        "ent+con",
        replace(OURS, sets="ent+con"),
        _paper(77.63, 70.95, 77.71, 74.21, 80.38, 82.12, 64.55, 56.84, 69.67),
    ),
    Row(
        "ent+rev",
        replace(OURS, sets="ent+rev"),
        _paper(69.32, 54.21, 66.04, 53.87, 67.93, 63.60, 97.60, 92.64, 87.80),
    ),
    Row("ent+con+rev", OURS, _paper(76.64, 67.07, 76.85, 71.34, 83.15, 79.45, 97.38, 91.92, 86.22)),
    Row("ent+con, ranked", replace(RANKED, sets="ent+con")),
    Row("ent+con+rev, ranked", RANKED),
    Row("ent+con+rev, ranked, longer twice", replace(RANKED, longer=2.0)),
    Row("ent+con+rev, ranked, directed, longer twice", replace(RANKED, direction=2.0, longer=2.0)),
    Row("ent+con+rev, ranked, directed more, longer twice", replace(RANKED, direction=5.0, longer=2.0)),
    Row("kl", replace(OURS, similarity="kl")),
    Row("kl_per_dim", replace(OURS, similarity="kl_per_dim", tanh=True)),
    Row("reversed by premise", replace(OURS, reversal="by_premise")),
    Row("[CLS]", replace(OURS, pooling="cls")),
    Row("rate rises to the end", replace(OURS, rate="rising")),
    Row("every weight", replace(OURS, tuning="full")),
)

MEAN = "mean of the seeds as one encoder"


@dataclass(frozen=True)
class Measured:
    """What figures are taken on: a name, its pairs."""

    name: str
    pairs: tuple[NliPair, ...]


def _measured(told: str) -> Measured:
    name, _, place = told.partition("=")
    path, _, split = place.partition(":")
    if not path:
        sys.exit(f"Error: expected NAME=FILE or NAME=FILE:SPLIT, found {told!r}")
    return Measured(name, tuple(read_nli(path, split=split or None).pairs))


def figures_of(encoder: GaussianEncoder, on: Sequence[Measured]) -> dict[str, Any]:
    """Measure NLI, with the encoder's threshold and with one of the set's own, and direction, on each set."""
    found: dict[str, Any] = {}
    for one in on:
        nli, direction = evaluate_nli(one.pairs, encoder), evaluate_direction(one.pairs, encoder)
        found[one.name] = {
            "nli": nli.to_json(),
            "nli, own threshold": best_threshold(nli.scores, nli.entails).accuracy,
            "direction": direction.to_json(),
            "right": "".join("1" if right else "0" for right in direction.margins > 0),
        }
    return found


def run_row(
    row: Row,
    triplets: NliTriplets,
    dev: Sequence[NliPair],
    on: Sequence[Measured],
    *,
    base: str,
    seed: int,
    work: Path,
) -> dict[str, Any]:
    """Train a row and measure it."""
    folder = _folder(row, base=base, seed=seed, work=work)
    config = replace(row.config, base=base, seed=seed)
    with progress_bar() as progress:
        training = train_gausscse(triplets, config, dev=dev, out=folder, progress=progress)
    measured = figures_of(GaussianEncoder(folder), on)
    best = training.fitted.best
    return {
        "config": asdict(config),
        "seconds": training.fitted.seconds,
        "dev": dict(best.figures) if best else {},
        "on": measured,
        "run": provenance(),
    }


def _folder(row: Row, *, base: str, seed: int, work: Path) -> Path:
    slug = "".join(c if c.isalnum() else "-" for c in f"{base} {row.name}".lower())
    return work / f"{slug}-{seed}"


def _measured_before(
    row: Row,
    path: Path,
    triplets: NliTriplets,
    on: Sequence[Measured],
    *,
    base: str,
    seed: int,
    work: Path,
) -> dict[str, Any] | None:
    """Return a run of the result file, where its weights are still there and nothing else is asked."""
    if not path.is_file() or not (_folder(row, base=base, seed=seed, work=work) / "entail.json").is_file():
        return None
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    run: dict[str, Any] | None = figures["rows"].get(row.name, {}).get(str(seed))
    if run is None or run["config"] != asdict(replace(row.config, base=base, seed=seed)):
        return None
    sizes = {name: found["nli"]["n"] for name, found in run["on"].items()}
    same = figures["data"] == dict(triplets.to_json()) and sizes == {one.name: len(one.pairs) for one in on}
    return run if same else None


def run_mean(
    folders: Sequence[Path],
    runs: Sequence[Mapping[str, Any]],
    dev: Sequence[NliPair],
    on: Sequence[Measured],
    *,
    rank: int,
) -> dict[str, Any]:
    """Average what the seeds of a row made into one encoder of a rank, find its threshold, and measure it."""
    out = folders[0].with_name(f"{folders[0].name.rpartition('-')[0]}-mean")
    lost = average_adapters(folders, out, rank=rank)
    with progress_bar() as progress:
        calibrate(out, dev, progress=progress)
    return {
        "config": runs[0]["config"],
        "averaged": {"encoders": len(folders), "rank": rank, "lost": lost},
        "seconds": sum(run["seconds"] for run in runs),
        "dev": {},
        "on": figures_of(GaussianEncoder(out), on),
        "run": provenance(),
    }


def baselines(on: Sequence[Measured], dev: Sequence[NliPair], base: str) -> dict[str, Any]:
    """Measure what needs no training: the base's cosine at its best dev threshold, the longer sentence."""
    encoder = BiEncoder(base)
    return {
        one.name: {
            "cosine": evaluate_nli(one.pairs, encoder, dev=dev).to_json(),
            "length": length_baseline(one.pairs),
            "ratios": length_ratios(one.pairs).to_json(),
        }
        for one in on
    }


def significance(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Compare the directions of ent+con+rev and the other losses, set by set and seed by seed (McNemar)."""
    found: dict[str, Any] = {}
    first = rows.get("ent+con+rev", {})
    for other in ("ent", "ent+con", "ent+rev"):
        for seed in first.keys() & rows.get(other, {}).keys():
            for name, figures in first[seed]["on"].items():
                ours = [c == "1" for c in figures["right"]]
                theirs = [c == "1" for c in rows[other][seed]["on"][name]["right"]]
                found[f"{other}, {name}, seed {seed}"] = mcnemar(ours, theirs).to_json()
    return found


def _spread(values: Sequence[float]) -> str:
    shown = f"{100 * mean(values):.2f}"
    return shown + (f" ± {100 * stdev(values):.2f}" if len(values) > 1 else "")


def _row_cells(runs: Sequence[Mapping[str, Any]], names: Sequence[str], *path: str) -> list[str]:
    cells = []
    for name in names:
        values = []
        for run in runs:
            value: Any = run["on"][name]
            for part in path:
                value = value[part]
            values.append(value)
        cells.append(_spread(values) if None not in values else "-")
    return cells


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page of tables."""
    figures = result["figures"]
    names = figures["on"]
    hardware = result["hardware"]
    yield "<!-- Made from gausscse.json by `python scripts/reproduce_gausscse.py --table`; do not edit. -->"
    yield from ("# GaussCSE", "")
    yield f"Base {figures['base']}, {figures['data']['triplets']:,} triplets; per cent, mean ± standard"
    yield f"deviation over seeds. Commit `{result['commit']}`,"
    yield f"{hardware['cpu']}, {hardware['cores']} cores, GPUs: {', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    head = "| | " + " | ".join(names) + " |"
    rule = "| --- |" + " ---: |" * len(names)
    tables = {
        "Direction": ("direction", "accuracy"),
        "Direction where the longer sentence is the entailed one": (
            "direction",
            "longer_entailed",
            "accuracy",
        ),
        "NLI, accuracy at the threshold of dev": ("nli", "accuracy"),
        "NLI, AUPRC": ("nli", "auprc"),
    }
    for title, path in tables.items():
        yield from (f"{title}:", "", head, rule)
        base = figures["baselines"]
        if path[0] == "nli":
            yield (
                "| cosine of the base | "
                + " | ".join(_spread([base[name]["cosine"][path[1]]]) for name in names)
                + " |"
            )
        elif len(path) == 2:
            yield "| the longer sentence | " + " | ".join(_spread([base[n]["length"]]) for n in names) + " |"
        for row, runs in figures["rows"].items():
            yield f"| {row} | " + " | ".join(_row_cells(list(runs.values()), names, *path)) + " |"
        yield ""
    yield from ("Trainings:", "", "| | seeds | epochs | batch | seconds |", "| --- |" + " ---: |" * 4)
    for row, runs in figures["rows"].items():
        some = list(runs.values())
        config, seconds = some[0]["config"], mean(run["seconds"] for run in some)
        seeds = some[0].get("averaged", {}).get("encoders", len(some))
        yield f"| {row} | {seeds} | {config['epochs']} | {config['batch_size']} | {seconds:,.0f} |"
    yield ""
    yield from ("The paper's own figures (BERT-base, all of SNLI and MultiNLI, test sets):", "")
    papers = [row for row in ROWS if row.paper]
    measures = list(papers[0].paper or ())
    yield "| | " + " | ".join(measures) + " |"
    yield "| --- |" + " ---: |" * len(measures)
    for row in papers:
        yield f"| {row.name} | " + " | ".join(f"{(row.paper or {})[m]:.2f}" for m in measures) + " |"
    if figures.get("grid"):
        yield from ("", "Batch size and learning rate, AUPRC on dev (Table 5):", "")
        yield "| batch | " + " | ".join(f"{rate:g}" for rate in RATES) + " |"
        yield "| ---: |" + " ---: |" * len(RATES)
        for batch in BATCHES:
            cells = [
                _spread([figures["grid"][f"{batch}/{rate:g}"]])
                if f"{batch}/{rate:g}" in figures["grid"]
                else "-"
                for rate in RATES
            ]
            yield f"| {batch} | " + " | ".join(cells) + " |"


def write_table() -> Path:
    """Write the page of tables from the result file."""
    result = json.loads((RESULTS / "gausscse.json").read_text(encoding="utf-8"))
    page = RESULTS / "gausscse.md"
    page.write_text("\n".join(markdown(result)).rstrip() + "\n", encoding="utf-8")
    return page


def _run(given: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    path = RESULTS / "gausscse.json"
    triplets = nli_triplets(pair for file in given.train for pair in read_nli(file).pairs)
    dev = tuple(read_nli(given.dev).pairs)
    on = [_measured(told) for told in given.on]
    rows: dict[str, dict[str, Any]] = {}
    grid: dict[str, float] = {}
    unknown = sorted(set(given.rows or ()) - {row.name for row in ROWS})
    if unknown:
        sys.exit(f"Error: no row is called {unknown[0]!r}; rows are: {', '.join(row.name for row in ROWS)}")
    measured = baselines(on, dev, given.base)

    def write() -> None:
        # What another process has measured in the meantime stays.
        before = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.is_file() else {}
        for name, runs in before.get("rows", {}).items():
            rows[name] = {**runs, **rows.get(name, {})}
        grid.update({**before.get("grid", {}), **grid})
        figures = {
            "base": given.base,
            "data": dict(triplets.to_json()),
            "on": [one.name for one in on],
            "baselines": measured,
            "rows": {name: rows[name] for row in ROWS for name in _names(row) if name in rows},
            "significance": significance(rows),
            "grid": grid,
        }
        write_result(path, figures=figures, seed=None, started=started)

    for row in (row for row in ROWS if not given.rows or row.name in given.rows):
        for seed in given.seeds:
            print(f"{row.name}, seed {seed}", file=sys.stderr)
            told = _as_told(row, given)
            run = _measured_before(told, path, triplets, on, base=given.base, seed=seed, work=given.work)
            run = run or run_row(told, triplets, dev, on, base=given.base, seed=seed, work=given.work)
            rows.setdefault(row.name, {})[str(seed)] = run
            write()
        if given.mean and len(given.seeds) > 1:
            folders = [_folder(row, base=given.base, seed=seed, work=given.work) for seed in given.seeds]
            runs = [rows[row.name][str(seed)] for seed in given.seeds]
            _, name = _names(row)
            print(name, file=sys.stderr)
            rows.setdefault(name, {})["mean"] = run_mean(folders, runs, dev, on, rank=given.mean)
            write()
    if given.grid:
        for batch in BATCHES:
            for rate in RATES:
                name = f"{batch}/{rate:g}"
                print(f"batch {batch}, rate {rate:g}", file=sys.stderr)
                one = Row(f"grid {name}", replace(OURS, batch_size=batch, learning_rate=rate))
                one = _as_told(one, given)
                run = run_row(one, triplets, dev, (), base=given.base, seed=given.seeds[0], work=given.work)
                grid[name] = run["dev"]["AUPRC"]
                write()


def _names(row: Row) -> tuple[str, str]:
    return row.name, f"{row.name}, {MEAN}"


def _as_told(row: Row, given: argparse.Namespace) -> Row:
    told = {name: getattr(given, name) for name in ("epochs", "dropout")}
    changes = {name: value for name, value in told.items() if value is not None}
    return replace(row, config=replace(row.config, **changes))


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=Path, nargs="+", metavar="FILE", help="pairs to learn from")
    parser.add_argument("--dev", type=Path, metavar="FILE", help="pairs to choose weights and threshold on")
    parser.add_argument("--on", nargs="+", default=[], metavar="NAME=FILE[:SPLIT]", help="what is measured")
    parser.add_argument("--base", default="minilm", help="encoder to start from, or a Hub id (minilm)")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="(0)")
    parser.add_argument("--epochs", type=int, help="of every row, where there is no GPU (3, as the paper)")
    parser.add_argument("--dropout", type=float, help="of every row (as the base has it)")
    parser.add_argument(
        "--mean", type=int, metavar="RANK", help="also the mean of a row's seeds, as one adapter of this rank"
    )
    parser.add_argument("--grid", action="store_true", help="also batch sizes and learning rates")
    parser.add_argument("--work", type=Path, default=Path("build/gausscse"), help="folder for weights")
    parser.add_argument("--table", action="store_true", help="measure nothing, only write the tables again")
    given = parser.parse_args()
    if not given.table:
        if not given.train or given.dev is None:
            parser.error("--train and --dev are needed, or --table")
        try:
            _run(given)
        except EntailError as error:
            sys.exit(f"Error: {error}")
    if (RESULTS / "gausscse.json").is_file():
        print(f"wrote {write_table()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
