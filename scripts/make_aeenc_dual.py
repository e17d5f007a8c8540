r"""Train `models/aeenc-dual-minilm`, AE-Enc with a tower of its own for premises, and measure it.

::

    python scripts/make_aeenc_dual.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz \
        --squad-train train-v1.1.json.gz --squad-dev dev-v1.1.json.gz --nli multinli_dev_matched.jsonl.gz \
        --seeds 0 1
    python scripts/make_aeenc_dual.py ... --only seed-1 further-1 &  # in a process of its own
    python scripts/make_aeenc_dual.py --table  # only the page, from the result file

A tenth of the training trees is held out, as for the re-ranker. On their queries two losses of two towers
are compared, and two ways to hold both towers to their base on another domain (replay), from the start and
further from what was trained without: the tower of queries on questions of SQuAD train, that of premises on
parts of its paragraphs, each without every tenth article. With the loss and the way that are best each seed
learns from all training trees, and dev is read once. The first seed ships. What was trained stays in
`--work`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from aeenc_rows import OURS
from command_line import make_parser, measure_and_show
from make_reranker_minilm import KEYWORDS, Data, Remembered, measured
from page_text import paragraph, spread, table
from replay_aeenc import BASE, REPLAYED, evaluate_file, split_by_article
from reranker_tables import shipped
from shipping import ship

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.nli.pairs import read_nli
from entail.data.passages.files import read_passages, read_questions
from entail.data.records import Corpus, ExplanationTree
from entail.encoders.catalogue import resolve
from entail.encoders.cross.reranker import Reranker
from entail.encoders.encoder import BiEncoder
from entail.index.factory import retriever
from entail.index.reranked import RerankedIndex
from entail.index.vectors import premise_vectors
from entail.progress import ProgressCallback
from entail.results import provenance, write_page, write_result
from entail.training.distillation.teachers import Teaching

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "results" / "aeenc_dual.json"
SHIPPED = ROOT / "models" / "aeenc-dual-minilm"
ONE_TOWER = "aeenc-minilm"
RERANKED = "+reranker-minilm"
REPLAY = RESULT.with_name("aeenc_replay.json")
PART = (20, 60)
"""Fewest and most words of the part of a paragraph that is replayed."""

LISTS = ("", KEYWORDS, RERANKED, KEYWORDS + RERANKED)

TWO_TOWERS = replace(OURS, rounds=4, epochs=2, towers="dual", spare_equals=True)
TRIALS = {
    "triplet": TWO_TOWERS,
    "softmax": replace(TWO_TOWERS, loss="softmax", alpha=0.0, reduction="mean", in_batch=True),
}
TRIALS |= {
    "from-start": replace(TRIALS["softmax"], distil=30.0, sentences=24),
    "further": replace(TRIALS["softmax"], rounds=1, epochs=3, distil=60.0, sentences=48),
}
TITLES = {
    "triplet": "two towers, triplet loss, 4 rounds of 2 epochs",
    "softmax": "two towers, softmax over the premises of a batch, 4 rounds of 2 epochs",
    "from-start": "the same with replay, weight 30",
    "further": "softmax, then further by a round of 3 epochs with replay, weight 60",
}
CONFIG = replace(TRIALS["softmax"], epochs=3)
"""Settings of a seed, which `further` then trains further."""
ROWS = {"seed": "two towers before replay", "further": SHIPPED.name}
"""Rows of the tables: what the names of trainings begin with, and what the page calls them."""
OTHERS = ("squad dev", "nli dev")
SHOWN = ("MAP", "NDCG", "Hit@10", "Hit@50")


@dataclass(frozen=True)
class Part:
    """A training, from some trees and from another part of this name, if there is one."""

    config: AeencConfig
    trees: tuple[ExplanationTree, ...]
    after: str = ""


def parts_of(data: Data, seeds: Iterable[int]) -> dict[str, Part]:
    """Return the trainings by name, each behind the one that it begins at."""
    parts = {
        name: Part(config, data.learnt, "softmax" if name == "further" else "")
        for name, config in TRIALS.items()
    }
    for seed in seeds:
        every = (*data.learnt, *data.held_out)
        parts[f"seed-{seed}"] = Part(replace(CONFIG, seed=seed), every)
        parts[f"further-{seed}"] = Part(replace(TRIALS["further"], seed=seed), every, f"seed-{seed}")
    return parts


def trained(name: str, part: Part, data: Data, squad: Path, work: Path) -> dict[str, Any]:
    """Train an encoder into the work folder, or find it there; return its seconds and its run."""
    out, about = work / name, work / f"{name}.json"
    # As a relative path, since the model tells of it.
    config = replace(part.config, initial=os.path.relpath(work / part.after) if part.after else "")
    if not about.is_file():
        with progress_bar() as progress:
            taught = replayed(squad, work, progress) if config.distil else {}
            training = train_aeenc(
                data.corpus,
                config,
                trees=part.trees,
                data=["entailment_bank", *(["squad"] if taught else [])],
                out=out,
                progress=progress,
                **taught,
            )
        record = {"seconds": training.fitted.seconds, "counts": dict(training.counts), "run": provenance()}
        about.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return {"config": asdict(config), **json.loads(about.read_text(encoding="utf-8"))}


def replayed(squad: Path, work: Path, progress: ProgressCallback) -> dict[str, Teaching]:
    """Return questions of SQuAD train and parts of its paragraphs, with their vectors by the base."""
    file, _ = split_by_article(squad, work)
    rng = np.random.default_rng(0)
    questions = rng.permutation([one.text for one in read_questions(file)])[:REPLAYED].tolist()
    parts = []
    for passage in read_passages(file):
        words = passage.whole.split()
        size = int(rng.integers(PART[0], PART[1] + 1))
        start = int(rng.integers(max(1, len(words) - size)))
        parts.append(" ".join(words[start : start + size]))
    found = {}
    for name, texts in (("teaching", questions), ("premise_teaching", parts)):
        premises = Corpus.of(name, texts)
        vectors = premise_vectors(premises, BiEncoder(BASE), cache_dir=work / "vectors", progress=progress)
        found[name] = Teaching(tuple(one.folded for one in premises.premises), vectors, (BASE,))
    return found


def run(given: argparse.Namespace) -> bool:
    """Train what is missing, measure, ship and write the result; False with `--only`."""
    started = datetime.now(UTC)
    work: Path = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    data = Data.read(given.corpus, given.train, given.dev)
    parts = parts_of(data, given.seeds)
    if given.only:
        for name in given.only:
            trained(name, parts[name], data, given.squad_train, work)
        return False
    made = {name: trained(name, part, data, given.squad_train, work) for name, part in parts.items()}
    seeds = {name: one for name, one in made.items() if name not in TRIALS}
    reranker = Remembered(Reranker())
    # Of the held-out trees only what is in no tree to learn from counts.
    held = replace(data, held_out=(), dev=data.held_out)
    _, held_articles = split_by_article(given.squad_train, work)
    figures: dict[str, Any] = {
        "held out": {
            name: made[name]
            | {of: measured(held, retriever(f"{work / name}{of}", data.corpus)) for of in LISTS[:2]}
            | {"squad": evaluate_file(held_articles, work / name, work).to_json()["gold"]}
            for name in TRIALS
        },
        "dev": {name: lists(data, str(work / name), reranker) for name in seeds},
        "seeds": seeds,
        "squad dev": {
            name: evaluate_file(given.squad_dev, work / name, work).to_json()["gold"] for name in seeds
        },
        "nli dev": {
            **{name: premises_of_hypotheses(given.nli, name) for name in (BASE, ONE_TOWER)},
            **{name: premises_of_hypotheses(given.nli, work / name) for name in seeds},
        },
    }
    first = work / f"further-{given.seeds[0]}"
    figures["bytes"] = ship(first, SHIPPED, more={"figures": {"tables": for_card(figures)}})
    figures["revision"] = resolve(SHIPPED).revision
    write_result(RESULT, figures=figures, seed=None, started=started)
    return True


def premises_of_hypotheses(file: Path, encoder: str | Path) -> dict[str, float]:
    """Look up the hypotheses of entailments among all their premises, a domain that no training here had."""
    pairs = [pair for pair in read_nli(file).pairs if pair.label == "entailment"]
    corpus = Corpus.of(file.name, [pair.premise for pair in pairs])
    loaded = BiEncoder(encoder)
    premises = loaded.encode_premises(corpus.texts)
    queries = loaded.encode_queries([pair.hypothesis for pair in pairs])
    own = [corpus.position(pair.premise) for pair in pairs]
    return {
        "R@1": float(np.mean((queries @ premises.T).argmax(axis=1) == own)),
        "hypotheses": len(pairs),
        "premises": len(corpus),
    }


def lists(data: Data, encoder: str, reranker: Remembered) -> dict[str, Any]:
    """Measure the lists of an encoder, with keyword match and re-ranked."""
    form, found = reranker.reranker.form, {}
    for of in LISTS[:2]:
        index = retriever(encoder + of, data.corpus)
        found[of] = measured(data, index)
        over = RerankedIndex(index, data.corpus, reranker, weight=form.weight, depth=form.depth)
        found[of + RERANKED] = measured(data, over)
    return {of: found[of] for of in LISTS}


def one_tower() -> dict[str, Any]:
    """Return what was measured of the lists of `aeenc-minilm`, as `lists` returns it."""
    found = json.loads(RESULT.with_name("reranker_minilm.json").read_text(encoding="utf-8"))["figures"]
    reread = shipped(found)["measured"]
    return {of: found["first"][ONE_TOWER + of] for of in LISTS[:2]} | {
        of + RERANKED: reread[ONE_TOWER + of] for of in LISTS[:2]
    }


def of_seeds(figures: Mapping[str, Any], part: str, of: str = "further") -> list[Any]:
    """Return the figures of the seeds, before replay (`seed`) or after it."""
    return [one for name, one in figures[part].items() if name.startswith(f"{of}-")]


def for_card(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of the card: dev queries that are in no training tree, then all."""
    tables = []
    seeds = of_seeds(figures, "dev")
    for part, words in (("unseen", "unseen queries"), ("all", "queries")):
        kind = "that no training tree has" if part == "unseen" else "in all, training queries among them"
        tables.append(
            {
                "caption": f"{seeds[0][''][words]} queries of EntailmentBank dev {kind}; a query is no "
                f"candidate of its own; mean of {len(seeds)} seeds, of which the first ships:",
                "head": ["list", *SHOWN],
                "rows": [
                    [
                        f"{SHIPPED.name}{of}",
                        *(mean(seed[of][part]["query_excluded"][name] for seed in seeds) for name in SHOWN),
                    ]
                    for of in LISTS
                ],
            }
        )
    return tables


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    figures, hardware = result["figures"], result["hardware"]
    before, replay = one_tower(), json.loads(REPLAY.read_text(encoding="utf-8"))
    seeds = of_seeds(figures, "seeds")
    yield "<!-- Made from aeenc_dual.json by `python scripts/make_aeenc_dual.py --table`; do not edit. -->"
    yield from ("# AE-Enc with a tower for premises: aeenc-dual-minilm", "")
    yield from paragraph(
        "`aeenc-minilm` trains the tower of queries alone, over the base's vectors of premises. Here a "
        "second tower learns how premises are placed: four rounds of active sampling (ACS) of three epochs, "
        f"softmax over the premises of a batch, {seeds[0]['counts']['queries']:,} queries of all training "
        f"trees, two adapters of rank {CONFIG.rank} ({figures['bytes'] / 1e6:.1f} MB). Then both towers are "
        f"trained further for a round of three epochs and held to the base on another domain (replay): that "
        f"of queries on {REPLAYED:,} questions of SQuAD train, that of premises on parts of its paragraphs. "
        "The price: its premise vectors are of no use to another encoder."
    )
    yield ""
    yield from paragraph(
        "Loss and way of replay were chosen on the queries of held-out training trees and on held-out "
        "articles of SQuAD train, every tenth, with two epochs a round at first; three were set without a "
        f"comparison. Dev was read once for each row and seed, of {len(seeds)}; the last weights are kept. "
        "The re-ranker learnt from lists of `aeenc-minilm`. The base lists SQuAD 2.0 and AllNLI among its "
        "own training data, so that its figures on SQuAD and MultiNLI are optimistic."
    )
    yield ""
    runs = [one["run"] for one in (*figures["seeds"].values(), *figures["held out"].values())]
    commits = ", ".join(
        sorted({f"`{run['commit'][:12]}{'-dirty' * run['commit'].endswith('-dirty')}`" for run in runs})
    )
    cpu = f"{hardware['cpu']}, {hardware['cores']} cores"
    yield from paragraph(f"Trained at commit {commits}, measured at `{result['commit'][:12]}`; {cpu}:")
    yield from ("", f"    {result['command']}", "")
    held = figures["held out"]
    yield f"## {next(iter(held.values()))['']['unseen queries']} queries of held-out training trees"
    yield ""
    yield from table(
        ("", *SHOWN, "read per accepted", "never found", "R@1, held-out articles", "training, s"),
        (
            (
                TITLES[name] + (", keyword match" if of else ""),
                *_cells([one[of]], "unseen"),
                *(("", "") if of else (f"{one['squad']['R@1']:.4f}", f"{one['seconds']:,.0f}")),
            )
            for name, one in held.items()
            for of in LISTS[:2]
        ),
    )
    for part, words in (("unseen", "dev queries that no training tree has"), ("all", "dev queries in all")):
        count = before[""]["unseen queries" if part == "unseen" else "queries"]
        yield from ("", f"## {count} {words}, query excluded", "")
        rows = (
            (f"{title}{of}", *_cells(some, part))
            for of in LISTS
            for title, some in (
                (ONE_TOWER, [before[of]]),
                *((words, [one[of] for one in of_seeds(figures, "dev", key)]) for key, words in ROWS.items()),
            )
        )
        yield from table(("", *SHOWN, "read per accepted (all)", "never found (all)"), rows)
    yield from ("", "By the paper's protocol (query among the candidates), all queries, MAP:", "")
    yield f"- {ONE_TOWER}: {before['']['all']['paper']['MAP']:.3f}"
    for key, words in ROWS.items():
        papers = [one[""]["all"]["paper"]["MAP"] for one in of_seeds(figures, "dev", key)]
        yield f"- {words}: {spread(papers)}"
    domains = figures["nli dev"]
    size = domains[BASE]
    yield from ("", "## Other domains, R@1", "")
    yield from paragraph(
        "SQuAD dev: its questions among its paragraphs. MultiNLI dev (matched): "
        f"{size['hypotheses']:,} hypotheses among the {size['premises']:,} premises that entail them, a "
        "domain of which nothing was replayed."
    )
    yield ""
    yield from table(
        ("", "SQuAD dev", "MultiNLI dev"),
        (
            *(
                (name, f"{replay['figures']['squad_dev'][key]['R@1']:.4f}", f"{domains[of]['R@1']:.4f}")
                for name, key, of in (("MiniLM", "base", BASE), (ONE_TOWER, "mean", ONE_TOWER))
            ),
            *(
                (words, *(spread([one["R@1"] for one in of_seeds(figures, part, key)], 4) for part in OTHERS))
                for key, words in ROWS.items()
            ),
        ),
    )


def _cells(found: list[Mapping[str, Any]], part: str) -> Iterator[str]:
    for name in SHOWN:
        yield spread([one[part]["query_excluded"][name] for one in found])
    yield spread([one["effort"]["reads_per_accepted"] for one in found], 2)
    yield spread([100 * one["effort"]["missing_share"] for one in found], 1) + " %"


def main() -> int:
    """Train, measure, ship and write the page, or only the page."""
    parser = make_parser(__doc__)
    for name in ("corpus", "train", "dev", "squad-train", "squad-dev", "nli"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="(0)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="train these parts, and measure nothing")
    parser.add_argument(
        "--work", type=Path, default=Path("build/aeenc-dual"), help="folder of what is trained"
    )
    return measure_and_show(
        parser,
        run,
        lambda _: write_page(RESULT, markdown),
        needs=("corpus", "train", "dev", "squad_train", "squad_dev", "nli"),
    )


if __name__ == "__main__":
    sys.exit(main())
