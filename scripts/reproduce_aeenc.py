"""Reproduce Table 1 of the AE-Enc paper, row by row; write figures and a table to docs/results/.

::

    python scripts/reproduce_aeenc.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/reproduce_aeenc.py ... --rows "AE-Enc single" "AE-Enc dual" --seeds 0 1 2
    python scripts/reproduce_aeenc.py ... --seeds 0 1 2 --missing              # what the file does not hold
    python scripts/reproduce_aeenc.py ... --test test.jsonl.gz --split test   # measured on another file
    python scripts/reproduce_aeenc.py ... --base org/model --rows base +TML   # another encoder, by Hub id
    python scripts/reproduce_aeenc.py --table                                # only the table

A base is one model that encodes queries and premises: of a DPR give one in sentence-transformers' format.
Weights are always chosen on dev. What was trained stays in `--work`: a run that was broken off goes on where
it was, and a row of the same base, data, seed and settings is only measured again. Several processes may
write one file; each run in it bears its own commit, processor and time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from aeenc_rows import EVERY, HITS, OURS, PAPER, PAPERS, RANKED, ROWS, SHIPPED, Row, papers
from command_line import make_parser, measure_and_show, slug
from page_text import GPU_NOTE, paragraph, spread, table

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree, gold_children
from entail.encoders.catalogue import resolve
from entail.evaluation.retrieval.effort import measure_effort
from entail.evaluation.retrieval.premises import evaluate_premises
from entail.index.factory import retriever
from entail.results import provenance, write_result

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
PROTOCOLS = ("paper", "query_excluded")


@dataclass(frozen=True)
class Data:
    """Data of all rows."""

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
            # A name that climbs is no encoder's: what was trained has to be found again.
            folder = work.resolve() / f"{slug(called(base))}-{slug(row.name)}-{seed}"
            config = replace(row.config, base=base, seed=seed)
            training = train_aeenc(
                data.corpus,
                config,
                trees=data.train,
                dev=data.dev,
                out=folder,
                progress=progress,
            )
            trained = {**training.to_json(), "config": {**asdict(config), "base": called(base)}}
            del trained["missing"]
            name = str(folder)
        index = retriever(name, data.corpus, progress=progress)
        evaluation = evaluate_premises(data.corpus, data.test, index, progress=progress)
        known_queries = gold_children(data.train)
        unseen = evaluation.figures({query for query in evaluation.queries if query not in known_queries})
        effort = measure_effort(data.corpus, data.test, index, progress=progress).to_json()
    return {
        **evaluation.figures(),
        "unseen": unseen["query_excluded"],
        "effort": effort,
        "trained": trained,
        "run": provenance(),
    }


def called(base: str) -> str:
    """Return the name of a base: of a folder that is given by its path, without the path."""
    return resolve(base).name


def measured_at(rows: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each commit and machine, with the rows whose runs were measured there."""
    origins: dict[str, dict[str, list[str]]] = {}
    for name, runs in rows.items():
        for seed, run in runs.items():
            at = run["run"]
            short = str(at["commit"])[:12] + ("-dirty" if str(at["commit"]).endswith("-dirty") else "")
            origin = f"commit `{short}`, {at['cpu']}, GPUs: {', '.join(at['gpus']) or 'none'}"
            origin += "" if "command" in at else ", command not kept"
            origins.setdefault(origin, {}).setdefault(name, []).append(seed)
    for origin, row_seeds in origins.items():
        labels = [
            name if len(seeds) == len(rows[name]) else f"{name} (seed {', '.join(seeds)})"
            for name, seeds in row_seeds.items()
        ]
        yield f"- {origin}: {'; '.join(labels)}"
    if any(run["run"]["gpus"] for runs in rows.values() for run in runs.values()):
        yield from ("", *paragraph(GPU_NOTE))


def settings_in_words() -> Iterator[str]:
    """Yield what the rows train, and where that differs from the paper."""

    def settings_of(config: AeencConfig) -> str:
        weights = f"LoRA of rank {config.rank}" if config.tuning == "lora" else "every weight"
        return (
            f"{weights}, learning rate {config.learning_rate:g}, margin {config.margin:g}, alpha "
            f"{config.alpha:g}, {config.reduction} over triplets"
        )

    texts = (
        f"""Trainings, unless a row says otherwise: {settings_of(OURS)}, {OURS.k} premises looked up a
        query. The paper: {settings_of(PAPER)} of 32 triplets a step; rows called "the paper's setting" are
        that. So where a row differs from the paper's figure, the setting may be why.""",
        """SCL and TML: contrastive and triplet loss on gold pairs of the trees alone. AE-Enc: pairs
        sampled from what the encoder finds itself (ACS). Single: the query's tower is trained;
        siamese: one tower for both; dual: two. Read per accepted: candidates that a simulated
        author reads for each premise that explains; never found: premises that were in none of the
        lists.""",
        """57 of the 594 queries of dev stand in training trees, too, and are counted here; MAP, unseen, is
        of the others, of the seeds for which it was kept (+TML single and Iterative AE-Enc single: one of
        three). Without them small gains stay as they are, larger ones are .01 to .02 less, and that of what
        ships is .037 less.""",
        """In these rows the query's own sentence is a hard negative wherever it is found, as in the paper,
        although the query excluded counts it nowhere. Trainings that spare it (`spare_equals`) rank better
        with the query excluded in first trials; they are no rows yet. What ships is trained so.""",
        """694 premises differ from another in capitals alone, and the encoders read no capitals. Of such a
        tie the first in the file counts as nearer. On dev that is never the right one, so MAP is a little
        below the mean over random orders.""",
    )
    for text in texts:
        yield from (*paragraph(" ".join(text.split())), "")


def tuning_in_words(rows: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an adapter loses to tuning every weight, where both were measured."""
    for name, runs in rows.items():
        if (whole := rows.get(f"{name}{EVERY}")) is None:
            continue
        (adapter, full), (adapter_paper, full_paper) = (
            [mean(run[protocol]["MAP"] for run in seed_runs.values()) for seed_runs in (runs, whole)]
            for protocol in ("query_excluded", "paper")
        )
        lost = full - adapter
        verdict = "more than 0.01" if lost > 0.01 else "no more than 0.01"
        yield f"**LoRA loses {lost:.3f} MAP to tuning every weight**, {verdict}"
        yield f"({name}: {adapter:.3f} against {full:.3f}, query excluded; by the paper's protocol"
        yield from (f"{adapter_paper:.3f} against {full_paper:.3f}).", "")


def reading_of_dev(rows: Mapping[str, Any]) -> Iterator[str]:
    """Yield where dev chose, and how often it was read."""
    runs = [run for seed_runs in rows.values() for run in seed_runs.values() if run["trained"]]
    times = sum(len(run["trained"]["fitted"]["evaluations"]) for run in runs)
    yield f"Dev chose the weights of every training, after each of its epochs: {len(runs)} trainings,"
    yield f"{times} readings. The settings of our rows were chosen on it, too. Figures on dev are"
    yield "optimistic."
    yield ""


def single_pass_in_words(rows: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the paper reports of one pass, its regulariser and several, and what they give here."""
    names = ("base", "AE-Enc single", "AE-Enc single, no regularisation", "Iterative AE-Enc single")
    if not all(name in rows for name in names):
        return

    def values_of(runs: Mapping[str, Any]) -> list[float]:
        return [mean(run[protocol]["MAP"] for run in runs.values()) for protocol in PROTOCOLS]

    maps = {name: values_of(rows[name]) for name in names}
    theirs = {row.name: (row.paper or {}).get("MAP", 0.0) for row in ROWS if row.name in names}
    base, single, without, several = names
    yield f"**A single pass at alpha {OURS.alpha:g} does not give here what the paper reports.** MAP by the"
    yield "paper's protocol, ours against its own on test, then ours with the query excluded:"
    yield ""
    for words, first, second in (
        ("one pass of ACS over the base", single, base),
        ("the regulariser, in one pass", single, without),
        ("several passes over one", several, single),
    ):
        paper, excluded = (maps[first][at] - maps[second][at] for at in range(2))
        yield f"- {words}: {paper:+.3f} ({theirs[first] - theirs[second]:+.3f} in the paper); {excluded:+.3f}"
    swept = [name for name in rows if name.startswith(f"{single}, alpha ")]
    best = max(swept, key=lambda name: values_of(rows[name])[0], default="")
    for name, words in (
        (best, "dev chose this alpha"),
        (f"{single}{PAPERS}", "every weight, small steps"),
        ("AE-Enc dual", "two towers"),
        ("Iterative AE-Enc dual", "two towers, several passes"),
    ):
        if name in rows:
            gain = [value - before for value, before in zip(values_of(rows[name]), maps[base], strict=True)]
            yield f"- {name}, over the base ({words}): {gain[0]:+.3f}; {gain[1]:+.3f}"
    yield from ("", "Weights of the regulariser that were tried: rows with alpha in their name, and 0.", "")


def markdown(split: str, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a split's table."""
    figures = result["figures"]
    yield from (f"## {split}, base {figures['base']}", "")
    yield f"{figures['trees']:,} trees, {figures['premises']:,} candidate premises; mean ± standard deviation"
    yield "over seeds. The last command, and at which commit and where each row was measured:"
    yield from ("", f"    {result['command']}", "")
    yield from (*measured_at(figures["rows"]), "")
    yield from settings_in_words()
    yield from reading_of_dev(figures["rows"])
    if figures["base"] == "minilm":
        yield from single_pass_in_words(figures["rows"])
    of_paper = papers(figures["base"])
    for protocol, title in (
        ("paper", "Query among the candidates, as in the paper (its own figures, on test, in brackets)"),
        ("query_excluded", "Query excluded"),
    ):
        yield from (f"{title}:", "")
        for measures in (RANKED, HITS):
            rows = []
            for name, runs in figures["rows"].items():
                cells = [spread([run[protocol][m] for run in runs.values()]) for m in measures]
                paper_figures = of_paper.get(name)
                if protocol == "paper" and paper_figures:
                    cells = [
                        f"{cell} ({paper_figures[m]:.3f})" for cell, m in zip(cells, measures, strict=True)
                    ]
                if protocol == "query_excluded" and measures == RANKED:
                    unseen = [run["unseen"]["MAP"] for run in runs.values() if "unseen" in run]
                    cells.insert(0, spread(unseen) if unseen else "")
                rows.append([name, *cells])
            first = ["MAP, unseen"] if len(rows[0]) > len(measures) + 1 else []
            yield from (*table(["row", *first, *measures], rows), "")
    yield from tuning_in_words(figures["rows"])
    yield from ("Effort of the simulated author, and training:", "")
    rows = []
    for name, runs in figures["rows"].items():
        seed_runs = list(runs.values())
        reads = mean(run["effort"]["reads_per_accepted"] for run in seed_runs)
        never = mean(run["effort"]["missing_share"] for run in seed_runs)
        seconds = [run["trained"]["fitted"]["seconds"] for run in seed_runs if run["trained"]]
        spent = f"{mean(seconds):,.0f}" if seconds else ""
        rows.append([name, f"{reads:.2f}", f"{never:.1%}", f"{len(seed_runs)}", spent])
    head = ["row", "read per accepted", "never found", "seeds", "training, s"]
    yield from (*table(head, rows), "")


def page(folder: Path) -> Iterator[str]:
    """Yield the lines of the page, from the result files of a folder."""
    yield "<!-- Made from aeenc_*.json by `python scripts/reproduce_aeenc.py --table`; do not edit. -->"
    yield from ("# AE-Enc, Table 1", "")
    tables: list[str] = []
    for file in sorted(folder.glob("aeenc_table1_*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        split = file.stem.removeprefix("aeenc_table1_").removesuffix(f"_{slug(result['figures']['base'])}")
        tables.extend(markdown(split, result))
    yield from tables[:-1]  # no blank line at the end


def write_table() -> Path:
    """Write the table page from the result files that are there."""
    path = RESULTS / "aeenc.md"
    path.write_text("\n".join(page(RESULTS)) + "\n", encoding="utf-8")
    return path


def _run(options: argparse.Namespace) -> None:
    started = datetime.now(UTC)
    dev = tuple(read_trees(options.dev))
    data = Data(
        read_corpus(options.corpus).corpus,
        tuple(read_trees(options.train)),
        dev,
        tuple(read_trees(options.test)) if options.test else dev,
    )
    base = called(options.base)
    # What ships has its own base, whatever the others start from.
    fitting = [row for row in ROWS if base == "minilm" or row.retriever != SHIPPED]
    names = options.rows or [row.name for row in fitting]
    unknown = sorted(set(names) - {row.name for row in ROWS})
    if unknown:
        sys.exit(f"Error: no row is called {unknown[0]!r}; rows are: {', '.join(row.name for row in ROWS)}")
    suffix = "" if base == "minilm" else f"_{slug(base)}"
    path = RESULTS / f"aeenc_table1_{options.split}{suffix}.json"
    rows: dict[str, dict[str, Any]] = {}
    if path.is_file():
        rows = json.loads(path.read_text(encoding="utf-8"))["figures"]["rows"]
    for row in (row for row in ROWS if row.name in names):
        for seed in options.seeds if row.config else [0]:
            if options.missing and str(seed) in rows.get(row.name, {}):
                continue
            print(f"{row.name}, seed {seed}", file=sys.stderr)
            run = run_row(row, data, base=options.base, seed=seed, work=options.work)
            if path.is_file():  # what another process has measured in the meantime stays
                rows = json.loads(path.read_text(encoding="utf-8"))["figures"]["rows"]
            rows.setdefault(row.name, {})[str(seed)] = run
            ordered = {r.name: rows[r.name] for r in ROWS if r.name in rows} | rows
            write_result(
                path,
                figures={
                    "base": base,
                    "trees": len(data.test),
                    "premises": len(data.corpus),
                    "rows": ordered,
                },
                seed=None,
                started=started,
            )


def main() -> int:
    """Read the command line and do what it says."""
    parser = make_parser(__doc__)
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
    return measure_and_show(parser, _run, lambda _: write_table(), needs=("corpus", "train", "dev"))


if __name__ == "__main__":
    sys.exit(main())
