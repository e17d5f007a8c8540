r"""Train AE-Enc with a tower of its own for premises, and measure it.

::

    python scripts/make_aeenc_dual.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz \
        --squad-dev dev-v1.1.json.gz --seeds 0 1
    python scripts/make_aeenc_dual.py ... --only triplet &  # in a process of its own: a trial, or `seed-1`
    python scripts/make_aeenc_dual.py --table  # only the page, from the result file

A tenth of the training trees is held out, as for the re-ranker. On their queries two losses of two towers are
compared. With the better one each seed learns from all training trees, and dev is read
once. What was trained stays in `--work`; `replay_aeenc_dual.py` trains it further into what ships.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aeenc_rows import OURS
from command_line import make_parser, measure_and_show
from make_reranker_minilm import KEYWORDS, Data, Remembered, measured
from page_text import paragraph, spread, table
from replay_aeenc import evaluate_file
from reranker_tables import shipped

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.records import ExplanationTree
from entail.encoders.cross.reranker import Reranker
from entail.index.factory import retriever
from entail.index.reranked import RerankedIndex
from entail.results import provenance, write_page, write_result

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "results" / "aeenc_dual.json"
BEFORE = "two towers"
ONE_TOWER = "aeenc-minilm"
RERANKED = "+reranker-minilm"
REPLAY = RESULT.with_name("aeenc_replay.json")
KNOWN = {"MiniLM": "base", ONE_TOWER: "mean"}
"""Encoder -> its name among the figures of replay."""

LISTS = ("", KEYWORDS, RERANKED, KEYWORDS + RERANKED)

TWO_TOWERS = replace(OURS, rounds=4, epochs=2, towers="dual", spare_equals=True)
TRIALS = {
    "triplet": TWO_TOWERS,
    "softmax": replace(TWO_TOWERS, loss="softmax", alpha=0.0, reduction="mean", in_batch=True),
}
CONFIG = replace(TRIALS["softmax"], epochs=3)
TITLES = {
    "triplet": "two towers, triplet loss, 4 rounds of 2 epochs",
    "softmax": "two towers, softmax over the premises of a batch, 4 rounds of 2 epochs",
}
SHOWN = ("MAP", "NDCG", "Hit@10", "Hit@50")


def trained(
    name: str, config: AeencConfig, data: Data, trees: tuple[ExplanationTree, ...], work: Path
) -> dict[str, Any]:
    """Train an encoder into the work folder, or find it there; return its seconds and its run."""
    out, about = work / name, work / f"{name}.json"
    if not about.is_file():
        with progress_bar() as progress:
            training = train_aeenc(
                data.corpus, config, trees=trees, data=["entailment_bank"], out=out, progress=progress
            )
        record = {"seconds": training.fitted.seconds, "counts": dict(training.counts), "run": provenance()}
        about.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return {"config": asdict(config), **json.loads(about.read_text(encoding="utf-8"))}


def run(options: argparse.Namespace) -> bool:
    """Train what is missing, measure and write the result; False with `--only`."""
    started = datetime.now(UTC)
    work: Path = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    data = Data.read(options.corpus, options.train, options.dev)
    every = (*data.learnt, *data.held_out)
    tasks = {name: (name, config, data, data.learnt) for name, config in TRIALS.items()} | {
        f"seed-{seed}": (f"seed-{seed}", replace(CONFIG, seed=seed), data, every) for seed in options.seeds
    }
    if options.only:
        trained(*tasks[options.only], work)
        return False
    trainings = {name: trained(*task, work) for name, task in tasks.items()}
    seeds = {name: training for name, training in trainings.items() if name.startswith("seed")}
    reranker = Remembered(Reranker())
    # Of the held-out trees only what is in no tree to learn from counts.
    held_out_data = replace(data, held_out=(), dev=data.held_out)
    figures: dict[str, Any] = {
        "held out": {
            name: trainings[name]
            | {of: measured(held_out_data, retriever(f"{work / name}{of}", data.corpus)) for of in LISTS[:2]}
            for name in TRIALS
        },
        "dev": {name: lists(data, str(work / name), reranker) for name in seeds},
        "seeds": seeds,
        "squad dev": {
            name: evaluate_file(options.squad_dev, work / name, work).to_json()["gold"] for name in seeds
        },
    }
    write_result(RESULT, figures=figures, seed=None, started=started)
    return True


def lists(data: Data, encoder: str, reranker: Remembered) -> dict[str, Any]:
    """Measure the lists of an encoder, with keyword match and re-ranked."""
    form, figures = reranker.reranker.form, {}
    for of in LISTS[:2]:
        index = retriever(encoder + of, data.corpus)
        figures[of] = measured(data, index)
        over = RerankedIndex(index, data.corpus, reranker, weight=form.weight, depth=form.depth)
        figures[of + RERANKED] = measured(data, over)
    return {of: figures[of] for of in LISTS}


def one_tower() -> dict[str, Any]:
    """Return what was measured of the lists of `aeenc-minilm`, as `lists` returns it."""
    figures = json.loads(RESULT.with_name("reranker_minilm.json").read_text(encoding="utf-8"))["figures"]
    reread = shipped(figures)["measured"]
    return {of: figures["first"][ONE_TOWER + of] for of in LISTS[:2]} | {
        of + RERANKED: reread[ONE_TOWER + of] for of in LISTS[:2]
    }


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    seeds, before, replay = list(figures["dev"]), one_tower(), json.loads(REPLAY.read_text(encoding="utf-8"))
    counts = figures["seeds"][seeds[0]]["counts"]
    yield "<!-- Made from aeenc_dual.json by `python scripts/make_aeenc_dual.py --table`; do not edit. -->"
    yield from ("# AE-Enc with a tower for premises", "")
    yield from paragraph(
        "`aeenc-minilm` trains the tower of queries alone, over the base's vectors of premises. Here a "
        "second tower learns how premises are placed: four rounds of active sampling (ACS) of three epochs, "
        f"softmax over the premises of a batch, {counts['queries']:,} queries of all training trees, two "
        f"adapters of rank {CONFIG.rank}. The price: its premise vectors are of no use to another encoder, "
        "and it was not held to its base on another domain (last table). What ships was "
        "[trained further](aeenc_dual_replay.md) for that."
    )
    yield ""
    yield from paragraph(
        "The loss was chosen on the queries of held-out training trees, with two epochs a round; three "
        f"were set without a comparison. Dev was read once for each of {len(seeds)} seeds; the last weights "
        "are kept. The re-ranker learnt from lists of `aeenc-minilm`."
    )
    yield ""
    runs = [training["run"] for training in (*figures["seeds"].values(), *figures["held out"].values())]
    commits = ", ".join(
        sorted({f"`{run['commit'][:12]}{'-dirty' * run['commit'].endswith('-dirty')}`" for run in runs})
    )
    cpu = f"{hardware['cpu']}, {hardware['cores']} cores"
    yield from paragraph(f"Trained at commit {commits}, measured at `{result['commit'][:12]}`; {cpu}:")
    yield from ("", f"    {result['command']}", "")
    held_out = figures["held out"]
    yield f"## {next(iter(held_out.values()))['']['unseen queries']} queries of held-out training trees"
    yield ""
    yield from table(
        ("", *SHOWN, "read per accepted", "never found", "training, s"),
        (
            (
                TITLES[name] + (", keyword match" if of else ""),
                *cells([trial[of]], "unseen"),
                _seconds(trial, of),
            )
            for name, trial in held_out.items()
            for of in LISTS[:2]
        ),
    )
    for part, words in (("unseen", "dev queries that no training tree has"), ("all", "dev queries in all")):
        count = before[""]["unseen queries" if part == "unseen" else "queries"]
        yield from ("", f"## {count} {words}, query excluded", "")
        rows = (
            (f"{title}{of}", *cells(encoders, part))
            for of in LISTS
            for title, encoders in (
                (ONE_TOWER, [before[of]]),
                (BEFORE, [figures["dev"][name][of] for name in seeds]),
            )
        )
        yield from table(("", *SHOWN, "read per accepted (all)", "never found (all)"), rows)
    yield from ("", "By the paper's protocol (query among the candidates), all queries, MAP:", "")
    papers = [figures["dev"][name][""]["all"]["paper"]["MAP"] for name in seeds]
    yield f"- {ONE_TOWER}: {before['']['all']['paper']['MAP']:.3f}"
    yield f"- {BEFORE}: {spread(papers)}"
    yield from ("", "## Another domain: R@1 of SQuAD dev's passages", "")
    squad = {name: [replay["figures"]["squad_dev"][key]["R@1"]] for name, key in KNOWN.items()}
    squad[BEFORE] = [figures["squad dev"][name]["R@1"] for name in seeds]
    yield from table(("", "R@1"), ((name, spread(values, 4)) for name, values in squad.items()))


def cells(found: list[Mapping[str, Any]], part: str) -> Iterator[str]:
    """Yield the cells of a row of encoders: ranking, then the author's effort."""
    for name in SHOWN:
        yield spread([encoder[part]["query_excluded"][name] for encoder in found])
    yield spread([encoder["effort"]["reads_per_accepted"] for encoder in found], 2)
    yield spread([100 * encoder["effort"]["missing_share"] for encoder in found], 1) + " %"


def _seconds(trial: Mapping[str, Any], of: str) -> str:
    return "" if of else f"{trial['seconds']:,.0f}"


def main() -> int:
    """Train, measure and write the page, or only the page."""
    parser = make_parser(__doc__)
    for name in ("corpus", "train", "dev", "squad-dev"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="(0)")
    parser.add_argument("--only", metavar="NAME", help="train one part, and measure nothing")
    parser.add_argument(
        "--work", type=Path, default=Path("build/aeenc-dual"), help="folder of what is trained"
    )
    return measure_and_show(
        parser, run, lambda _: write_page(RESULT, markdown), needs=("corpus", "train", "dev", "squad_dev")
    )


if __name__ == "__main__":
    sys.exit(main())
