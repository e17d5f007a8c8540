"""Reproduce Table 1 of the AE-Enc paper, row by row; write figures and a table to docs/results/.

::

    python scripts/reproduce_aeenc.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/reproduce_aeenc.py ... --rows "AE-Enc single" "AE-Enc dual" --seeds 0 1 2
    python scripts/reproduce_aeenc.py ... --seeds 0 1 2 --missing              # what the file does not hold
    python scripts/reproduce_aeenc.py ... --test test.jsonl.gz --split test   # measured on another file
    python scripts/reproduce_aeenc.py ... --base org/model --rows base +TML   # another encoder, by Hub id
    python scripts/reproduce_aeenc.py --table                                # only the table

Weights are always chosen on dev. What was trained stays in `--work`: a run that was broken off goes on where
it was, and a row of the same base, data, seed and settings is only measured again. Several processes may
write one file; each run in it bears its own commit, processor and time.
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

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank import read_trees
from entail.data.records import Corpus, ExplanationTree
from entail.errors import EntailError
from entail.evaluation.effort import measure_effort
from entail.evaluation.premises import evaluate_premises
from entail.index.retriever import retriever
from entail.results import provenance, write_result

SHIPPED = "aeenc-minilm"
RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
MEASURES = ("MAP", "NDCG", "NDCG@10", "NDCG@50", "Hit@10", "Hit@20", "Hit@50")


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        name: As the paper calls it, or ours.
        config: Its training; None for a retriever that needs none.
        retriever: That retriever.
        paper: The paper's figures on test (its Table 1), by measure; none for a row of ours.
        subset: Trees it learns from on two cores, None for all.
    """

    name: str
    config: AeencConfig | None = None
    retriever: str | None = None
    paper: Mapping[str, float] | None = None
    subset: int | None = None


def _paper(*figures: float) -> dict[str, float]:
    return dict(zip(MEASURES, figures, strict=True))


# The paper's 1e-5 is for every weight and thousands of steps; an adapter that sees all negatives of a query
# at once takes 123 steps an epoch. Chosen on dev.
_OURS = AeencConfig(
    learning_rate=5e-4, alpha=0.02, margin=0.2, reduction="sum", epochs=3, rounds=0, live_k=0, k=30
)
_GOLD = replace(_OURS, epochs=5)
ROWS = (
    Row("TF-IDF", retriever="tfidf", paper=_paper(0.335, 0.525, 0.446, 0.496, 0.628, 0.726, 0.810)),
    Row("BM25", retriever="bm25"),
    Row("base", retriever="base", paper=_paper(0.356, 0.546, 0.470, 0.521, 0.666, 0.763, 0.845)),
    Row(
        "+SCL single",
        replace(_GOLD, loss="contrastive"),
        paper=_paper(0.388, 0.574, 0.505, 0.552, 0.701, 0.787, 0.869),
    ),
    Row("+TML single", _GOLD, paper=_paper(0.376, 0.563, 0.491, 0.545, 0.708, 0.818, 0.901)),
    Row(
        "+TML siamese",
        replace(_GOLD, towers="siamese"),
        paper=_paper(0.372, 0.560, 0.491, 0.542, 0.713, 0.814, 0.896),
        subset=300,
    ),
    Row(
        "+TML dual",
        replace(_GOLD, towers="dual"),
        paper=_paper(0.366, 0.555, 0.483, 0.534, 0.710, 0.811, 0.900),
        subset=300,
    ),
    Row(
        "AE-Enc single",
        replace(_OURS, rounds=1, epochs=5),
        paper=_paper(0.447, 0.617, 0.550, 0.600, 0.724, 0.824, 0.902),
    ),
    Row("AE-Enc dual", replace(_OURS, rounds=1, epochs=5, towers="dual"), subset=300),
    Row(
        "AE-Enc single, no regularisation",
        replace(_OURS, rounds=1, epochs=5, alpha=0.0),
        paper=_paper(0.346, 0.527, 0.439, 0.493, 0.606, 0.698, 0.798),
    ),
    Row(
        "Iterative AE-Enc single",
        replace(_OURS, rounds=4),
        paper=_paper(0.451, 0.622, 0.562, 0.608, 0.758, 0.842, 0.920),
    ),
    Row("Iterative AE-Enc dual", replace(_OURS, rounds=4, towers="dual"), subset=300),
    Row(
        "AE-Enc single, every weight",
        replace(_OURS, rounds=1, epochs=5, tuning="full", learning_rate=3e-5),
    ),
    Row(f"models/{SHIPPED}", retriever=SHIPPED),
)


@dataclass(frozen=True)
class Data:
    """What every row is trained and measured on."""

    corpus: Corpus
    train: tuple[ExplanationTree, ...]
    dev: tuple[ExplanationTree, ...]
    test: tuple[ExplanationTree, ...]


def run_row(row: Row, data: Data, *, base: str, seed: int, work: Path) -> dict[str, Any]:
    """Train a row, if it needs training, and measure it by both protocols and by effort."""
    trained: dict[str, Any] = {}
    with progress_bar() as progress:
        if row.config is None:
            name = base if row.retriever == "base" else str(row.retriever)
        else:
            folder = work / f"{_slug(base)}-{_slug(row.name)}-{seed}"
            config = replace(row.config, base=base, seed=seed)
            training = train_aeenc(
                data.corpus,
                config,
                trees=data.train[: row.subset],
                dev=data.dev,
                out=folder,
                progress=progress,
            )
            trained = {**training.to_json(), "config": asdict(config)}
            del trained["missing"]
            name = str(folder)
        index = retriever(name, data.corpus, progress=progress)
        figures = evaluate_premises(data.corpus, data.test, index, progress=progress).figures()
        effort = measure_effort(data.corpus, data.test, index, progress=progress).to_json()
    return {**figures, "effort": effort, "trained": trained, "trees": row.subset, "run": provenance()}


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower()).strip("-")


def summarised(runs: Mapping[str, Any], protocol: str, measure: str) -> str:
    """Return the mean over seeds, and the spread where there are several."""
    values = [run[protocol][measure] for run in runs.values()]
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def markdown(split: str, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a split's table."""
    figures = result["figures"]
    yield from (f"## {split}, base {figures['base']}", "")
    hardware = result["hardware"]
    yield f"{figures['trees']:,} trees, {figures['premises']:,} candidate premises; mean ± standard deviation"
    yield f"over seeds. Commit `{result['commit']}`,"
    yield f"{hardware['cpu']}, {hardware['cores']} cores, GPUs: {', '.join(hardware['gpus']) or 'none'}:"
    yield from ("", f"    {result['command']}", "")
    papers = {row.name: row.paper for row in ROWS}
    for protocol, title in (
        ("paper", "Query among the candidates, as in the paper (its own figures, on test, in brackets)"),
        ("query_excluded", "Query excluded"),
    ):
        yield from (f"{title}:", "")
        yield "| row | " + " | ".join(MEASURES) + " |"
        yield "| --- |" + " ---: |" * len(MEASURES)
        for name, runs in figures["rows"].items():
            cells = [summarised(runs, protocol, m) for m in MEASURES]
            paper = papers.get(name)
            if protocol == "paper" and paper:
                cells = [f"{cell} ({paper[m]:.3f})" for cell, m in zip(cells, MEASURES, strict=True)]
            yield f"| {name} | " + " | ".join(cells) + " |"
        yield ""
    yield from ("Effort of the simulated author, and training:", "")
    yield "| row | read per accepted | never found | seeds | trees | training, s |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, runs in figures["rows"].items():
        some = list(runs.values())
        reads = mean(run["effort"]["reads_per_accepted"] for run in some)
        never = mean(run["effort"]["missing_share"] for run in some)
        seconds = [run["trained"]["fitted"]["seconds"] for run in some if run["trained"]]
        trees = some[0]["trees"] or ("all" if seconds else "")
        yield (
            f"| {name} | {reads:.2f} | {never:.1%} | {len(some)} | {trees} | "
            f"{f'{mean(seconds):,.0f}' if seconds else ''} |"
        )
    yield ""


def write_table() -> Path:
    """Write the table page from the result files that are there."""
    lines = [
        "<!-- Made from aeenc_*.json by `python scripts/reproduce_aeenc.py --table`; do not edit. -->",
        "# AE-Enc, Table 1",
        "",
    ]
    for file in sorted(RESULTS.glob("aeenc_table1_*.json")):
        split = file.stem.removeprefix("aeenc_table1_")
        lines.extend(markdown(split, json.loads(file.read_text(encoding="utf-8"))))
    path = RESULTS / "aeenc.md"
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return path


def _run(given: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    dev = tuple(read_trees(given.dev))
    data = Data(
        read_corpus(given.corpus).corpus,
        tuple(read_trees(given.train)),
        dev,
        tuple(read_trees(given.test)) if given.test else dev,
    )
    # What ships has its own base, whatever the others start from.
    fitting = [row for row in ROWS if given.base == "minilm" or row.retriever != SHIPPED]
    names = given.rows or [row.name for row in fitting]
    unknown = sorted(set(names) - {row.name for row in ROWS})
    if unknown:
        sys.exit(f"Error: no row is called {unknown[0]!r}; rows are: {', '.join(row.name for row in ROWS)}")
    suffix = "" if given.base == "minilm" else f"_{_slug(given.base)}"
    path = RESULTS / f"aeenc_table1_{given.split}{suffix}.json"
    rows: dict[str, dict[str, Any]] = {}
    if path.is_file():
        rows = json.loads(path.read_text(encoding="utf-8"))["figures"]["rows"]
    for row in (row for row in ROWS if row.name in names):
        for seed in _seeds(row, given.seeds):
            if given.missing and str(seed) in rows.get(row.name, {}):
                continue
            print(f"{row.name}, seed {seed}", file=sys.stderr)
            run = run_row(row, data, base=given.base, seed=seed, work=given.work)
            if path.is_file():  # what another process has measured in the meantime stays
                rows = json.loads(path.read_text(encoding="utf-8"))["figures"]["rows"]
            rows.setdefault(row.name, {})[str(seed)] = run
            ordered = {r.name: rows[r.name] for r in ROWS if r.name in rows}
            write_result(
                path,
                figures={
                    "base": given.base,
                    "trees": len(data.test),
                    "premises": len(data.corpus),
                    "rows": ordered,
                },
                seed=None,
                started=started,
            )


def _seeds(row: Row, seeds: Sequence[int]) -> Sequence[int]:
    if row.config is None:
        return [0]
    return seeds[:1] if row.subset else seeds


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--train", type=Path, help="trees to learn from")
    parser.add_argument("--dev", type=Path, help="trees to choose the weights on")
    parser.add_argument("--test", type=Path, help="trees to measure on (default: dev)")
    parser.add_argument("--split", default="dev", help="name of the measured split in the file's name (dev)")
    parser.add_argument("--base", default="minilm", help="encoder to start from, or a Hub id (minilm)")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N", help="of trained rows (0)")
    parser.add_argument("--missing", action="store_true", help="only rows and seeds not measured yet")
    parser.add_argument("--work", type=Path, default=Path("build/aeenc"), help="folder for weights")
    parser.add_argument("--table", action="store_true", help="measure nothing, only write the table again")
    given = parser.parse_args()
    if not given.table:
        if None in (given.corpus, given.train, given.dev):
            parser.error("--corpus, --train and --dev are needed, or --table")
        try:
            _run(given)
        except EntailError as error:
            sys.exit(f"Error: {error}")
    print(f"wrote {write_table()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
