"""Reproduce Tables 1 to 5 of the GaussCSE paper on data at hand; write figures and tables to docs/results/.

::

    python scripts/reproduce_gausscse.py --train snli_train.jsonl mnli_train.jsonl --dev snli_dev.jsonl \
        --on snli-dev=snli_dev.jsonl mnli-dev=mnli_dev.jsonl sick-train=SICK.txt:TRAIN --seeds 0 1 2
    python scripts/reproduce_gausscse.py ... --rows ent+con+rev kl_per_dim   # some rows alone
    python scripts/reproduce_gausscse.py ... --epochs 1 --seeds 1 &          # several processes, one file
    python scripts/reproduce_gausscse.py ... --rows ent+con+rev --seeds 0 1 2 --mean 40  # and of their mean
    python scripts/reproduce_gausscse.py ... --rows --grid 4000              # Table 5 alone, of 4,000
    python scripts/reproduce_gausscse.py --table                             # only the tables

Weights, thresholds and curves are chosen on `--dev` alone; `--on` names what is measured, any number of
files. What was trained stays in `--work`: a run that was broken off goes on where it was, and what was
measured there by the same settings is not measured again. A result file holds one base, one training set
and the sets it began with: for others give `--name`. Files, or names of data sets on the Hub.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from command_line import make_parser, measure_and_show, named_pairs, slug
from gausscse_rows import MEAN, OURS, ROWS, Row
from gausscse_simcse import train_simcse
from gausscse_tables import BATCHES, RATES, markdown

from entail.cli.console import progress_bar
from entail.data.nli.pairs import NliPair
from entail.data.nli.triplets import NliTriplets, nli_triplets
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.evaluation.nli.direction import direction_pairs, evaluate_direction, length_ratios
from entail.evaluation.nli.entailment import evaluate_nli
from entail.evaluation.nli.sources import load_nli
from entail.gausscse.calibration import calibrate
from entail.gausscse.training import train_gausscse
from entail.index.gaussian import GaussianIndex
from entail.results import provenance, write_page, write_result
from entail.statistics.classification import best_threshold
from entail.training.adapters.averaging import average_adapters
from entail.tuning.config import DprConfig

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
PAPERS = RESULTS / "papers"

ASKED, NEAREST = 200, 10
"""Queries, and hits of each, by which what a search brings of a `kl_per_dim` ranking is measured."""


@dataclass(frozen=True)
class Measured:
    """Evaluation set: a name, its pairs."""

    name: str
    pairs: tuple[NliPair, ...]


def fingerprint(pairs: Iterable[NliPair]) -> str:
    """Return what tells one list of pairs from another."""
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(
            f"{pair.premise}\t{pair.hypothesis}\t{pair.label}\n".encode("utf-8", "backslashreplace")
        )
    return digest.hexdigest()[:16]


def figures_of(encoder: GaussianEncoder, on: Sequence[Measured]) -> dict[str, Any]:
    """Measure NLI, with the encoder's threshold and with one of the set's own, and direction, on each set."""
    figures: dict[str, Any] = {}
    for dataset in on:
        direction = evaluate_direction(dataset.pairs, encoder)
        figures[dataset.name] = nli_figures(encoder, dataset) | {
            "direction": direction.to_json(),
            "right": _marks(direction.margins > 0),
        }
    return figures


def nli_figures(
    encoder: GaussianEncoder | BiEncoder, one: Measured, dev: Sequence[NliPair] | None = None
) -> dict[str, Any]:
    """Measure NLI with the encoder's threshold, for points that of their cosine on dev, and the set's own."""
    nli = evaluate_nli(one.pairs, encoder, dev=dev)
    return {
        "nli": nli.to_json(),
        "nli, own threshold": best_threshold(nli.scores, nli.entails).accuracy,
        "nli right": _marks(nli.correct),
    }


def _marks(right: Iterable[bool]) -> str:
    return "".join("1" if correct else "0" for correct in right)


def overlap_of(encoder: GaussianEncoder, one: Measured) -> dict[str, Any]:
    """Return which share of its true ranking a search brings that is exact by `kl` only."""
    corpus = Corpus.of(one.name, [pair.premise for pair in one.pairs])
    index = GaussianIndex(encoder, corpus, encoder.encode(list(corpus.texts)))
    queries = [pair.hypothesis for pair in one.pairs[:ASKED]]
    k = min(NEAREST, len(corpus))
    hits, scores = index.search(queries, k=k), index.scores(queries)
    least = np.partition(scores, len(corpus) - k, axis=1)[:, len(corpus) - k]
    shares = (np.take_along_axis(scores, hits.positions, axis=1) >= least[:, None]).mean(axis=1)
    about = {"set": one.name, "premises": len(corpus), "queries": len(queries), "k": NEAREST}
    return {**about, "mean": float(shares.mean()), "least": float(shares.min())}


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
    more: dict[str, Any] = {}
    with progress_bar() as progress:
        if isinstance(config, DprConfig):
            fitted = train_simcse(triplets, config, out=folder, progress=progress).fitted
            measured = {dataset.name: nli_figures(BiEncoder(folder), dataset, dev) for dataset in on}
        else:
            fitted = train_gausscse(triplets, config, dev=dev, out=folder, progress=progress).fitted
            encoder = GaussianEncoder(folder)
            measured = figures_of(encoder, on)
            if on and config.similarity == "kl_per_dim":
                more["overlap"] = overlap_of(encoder, on[0])
    return {
        "config": asdict(config),
        "seconds": fitted.seconds,
        "dev": dict(fitted.best.figures) if fitted.best else {},
        "on": measured,
        **more,
        "run": provenance(),
    }


def _folder(row: Row, *, base: str, seed: int, work: Path) -> Path:
    return work / f"{slug(f'{base} {row.name}')}-{seed}"


def _measured_before(row: Row, path: Path, *, base: str, seed: int, work: Path) -> dict[str, Any] | None:
    """Return a run of the result file, where its weights are still there and nothing else is asked."""
    if not path.is_file() or not (_folder(row, base=base, seed=seed, work=work) / "entail.json").is_file():
        return None
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    run: dict[str, Any] | None = figures["rows"].get(row.name, {}).get(str(seed))
    settings = asdict(replace(row.config, base=base, seed=seed))
    # A run of an earlier version has not all of today's settings.
    return run if run is not None and settings | run["config"] == settings else None


def require_same(path: Path, asked: Mapping[str, Any]) -> None:
    """Leave a result file alone that holds figures of another base, of other data or sets."""
    if not path.is_file():
        return
    before = json.loads(path.read_text(encoding="utf-8"))["figures"]
    for name, value in asked.items():
        if name in before and before[name] != value:
            sys.exit(
                f"Error: {path.name} holds figures of another {name}: {json.dumps(before[name])}, not "
                f"{json.dumps(value)}; give --name for a file of its own"
            )


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
    """Measure what needs no training: the base's cosine by two thresholds of its own, the longer sentence."""
    encoder = BiEncoder(base)
    figures = {}
    for dataset in on:
        cosine, (directed, _) = evaluate_nli(dataset.pairs, encoder, dev=dev), direction_pairs(dataset.pairs)
        figures[dataset.name] = {
            "cosine": cosine.to_json(),
            "cosine, own threshold": best_threshold(cosine.scores, cosine.entails).accuracy,
            "length": sum(len(pair.premise) > len(pair.hypothesis) for pair in directed) / len(directed),
            "ratios": length_ratios(dataset.pairs).to_json(),
        }
    return figures


def _run(options: argparse.Namespace) -> None:
    from filelock import FileLock

    started = datetime.now(UTC)
    path = RESULTS / f"{options.name}.json"
    pairs = [pair for file in options.train for pair in load_nli(file).pairs]
    triplets, inferred = nli_triplets(pairs), nli_triplets(pairs, infer=True)
    dev = tuple(load_nli(options.dev, split=options.dev_split).pairs)
    on = [Measured(*named_pairs(argument)) for argument in options.on]
    rows: dict[str, dict[str, Any]] = {}
    grid: dict[str, Any] = {}
    unknown = sorted(set(options.rows or ()) - {row.name for row in ROWS})
    if unknown:
        sys.exit(f"Error: no row is called {unknown[0]!r}; rows are: {', '.join(row.name for row in ROWS)}")
    inputs: dict[str, Any] = {
        "base": options.base,
        "data": dict(triplets.to_json()),
        "on": [dataset.name for dataset in on],
        "read": {
            "train": fingerprint(pairs),
            "dev": fingerprint(dev),
            **{dataset.name: fingerprint(dataset.pairs) for dataset in on},
        },
    }
    require_same(path, inputs)
    options.work.mkdir(parents=True, exist_ok=True)
    earlier_figures = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.is_file() else {}
    measured = earlier_figures.get("baselines") or baselines(on, dev, options.base)

    def write() -> None:
        with FileLock(options.work / f"{options.name}.lock"):
            # What another process has measured in the meantime stays.
            before = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.is_file() else {}
            for name, runs in before.get("rows", {}).items():
                rows[name] = dict(sorted({**runs, **rows.get(name, {})}.items()))
            grid.update({**before.get("grid", {}), **grid})
            figures = {
                **inputs,
                "baselines": measured,
                "rows": {name: rows[name] for row in ROWS for name in _names(row) if name in rows},
                "grid": grid,
            }
            write_result(path, figures=figures, seed=None, started=started)

    for row in (row for row in ROWS if options.rows is None or row.name in options.rows):
        for seed in options.seeds:
            print(f"{row.name}, seed {seed}", file=sys.stderr)
            final_row = _as_told(row, options)
            run = _measured_before(final_row, path, base=options.base, seed=seed, work=options.work)
            examples = inferred if row.infer else triplets
            run = run or run_row(
                final_row, examples, dev, on, base=options.base, seed=seed, work=options.work
            )
            rows.setdefault(row.name, {})[str(seed)] = run
            write()
        if options.mean and len(options.seeds) > 1:
            folders = [
                _folder(row, base=options.base, seed=seed, work=options.work) for seed in options.seeds
            ]
            runs = [rows[row.name][str(seed)] for seed in options.seeds]
            _, name = _names(row)
            print(name, file=sys.stderr)
            rows.setdefault(name, {})["mean"] = run_mean(folders, runs, dev, on, rank=options.mean)
            write()
    if options.grid is not None:
        examples = triplets.part(options.grid or len(triplets), seed=0)
        for batch in BATCHES:
            for rate in RATES:
                name = f"{batch}/{rate:g}"
                print(f"batch {batch}, rate {rate:g}", file=sys.stderr)
                grid_row = Row(f"grid {name}", replace(OURS, batch_size=batch, learning_rate=rate))
                grid_row = _as_told(grid_row, options)
                run = run_row(
                    grid_row, examples, dev, (), base=options.base, seed=options.seeds[0], work=options.work
                )
                record = {name: run[name] for name in ("config", "seconds", "run")}
                grid[name] = {**record, "triplets": len(examples), **run["dev"]}
                write()


def _names(row: Row) -> tuple[str, str]:
    return row.name, f"{row.name}, {MEAN}"


def _as_told(row: Row, options: argparse.Namespace) -> Row:
    overrides = {name: getattr(options, name) for name in ("epochs", "dropout")}
    changes = {name: value for name, value in overrides.items() if value is not None}
    if row.taught_by:
        trained = [
            str(folder)
            for teacher in ROWS
            if teacher.name in row.taught_by
            for seed in range(row.teachers)
            if (
                (folder := _folder(teacher, base=options.base, seed=seed, work=options.work)) / "entail.json"
            ).is_file()
        ]
        if len(trained) != row.teachers:
            sys.exit(
                f"Error: {row.name} has {row.teachers} teachers, found {len(trained)} in {options.work}; "
                f"train seeds of {' and '.join(row.taught_by)} first"
            )
        changes["teachers"] = ",".join(trained)
    return replace(row, config=replace(row.config, **changes))


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
    parser.add_argument("--train", nargs="+", metavar="FILE", help="pairs to learn from")
    parser.add_argument("--dev", metavar="FILE", help="pairs to choose weights and threshold on")
    parser.add_argument("--dev-split", help="part of these, for data sets of the Hub")
    parser.add_argument("--on", nargs="+", default=[], metavar="NAME=FILE[:SPLIT]", help="what is measured")
    parser.add_argument("--base", default="minilm", help="encoder to start from, or a Hub id (minilm)")
    parser.add_argument("--rows", nargs="*", metavar="NAME", help="only these rows; without a name: none")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="(0)")
    parser.add_argument("--epochs", type=int, help="of every row, where there is no GPU (3, as the paper)")
    parser.add_argument("--dropout", type=float, help="of every row (as the base has it)")
    parser.add_argument(
        "--mean", type=int, metavar="RANK", help="also the mean of a row's seeds, as one adapter of this rank"
    )
    parser.add_argument(
        "--grid",
        nargs="?",
        type=int,
        const=0,
        metavar="N",
        help="also batch sizes and learning rates; on N triplets, the same each time (all)",
    )
    parser.add_argument("--work", type=Path, default=Path("build/gausscse"), help="folder for weights")
    parser.add_argument("--name", default="gausscse", help="of the result file and its page (gausscse)")
    return measure_and_show(
        parser,
        _run,
        lambda options: write_page(
            RESULTS / f"{options.name}.json", partial(markdown, file=options.name, papers=PAPERS)
        ),
        needs=("train", "dev"),
    )


if __name__ == "__main__":
    sys.exit(main())
