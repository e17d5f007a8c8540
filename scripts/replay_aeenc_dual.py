r"""Train the two towers of `make_aeenc_dual.py` further, so that passages of another domain lose little.

::

    python scripts/replay_aeenc_dual.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz \
        --squad-train train-v1.1.json.gz --squad-dev dev-v1.1.json.gz --nli multinli_dev_matched.jsonl.gz \
        --work build/aeenc-dual --seeds 0 1
    python scripts/replay_aeenc_dual.py ... --only further-1 &  # in a process of its own
    python scripts/replay_aeenc_dual.py --table  # only the page, from the result file

The folder `--work` has what `make_aeenc_dual.py` trained. Both towers are held to their base (replay): that
of queries on questions of SQuAD train, that of premises on parts of its paragraphs, each without every tenth
article. With a tenth of the training trees held out, three ways are compared: replay from the start; a round
of it behind what was trained without; and the mean of before and after, with the share of after that keeps
most of the R@1 of the held-out articles. So each seed is trained further from all training trees, and dev is
read once. The mean of all ships.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from aeenc_dual_tables import ONE_TOWER, RESULT, SHARE, SHARES, SHIPPED, WAYS, for_card, markdown
from command_line import make_parser, measure_and_show
from make_aeenc_dual import LISTS, TRIALS, lists
from make_reranker_minilm import Data, Remembered, measured
from replay_aeenc import BASE, REPLAYED, evaluate_file, split_by_article
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
from entail.index.vectors import premise_vectors
from entail.progress import ProgressCallback
from entail.results import provenance, write_page, write_result
from entail.training.adapters.averaging import average_adapters
from entail.training.distillation.teachers import Teaching

PART = (20, 60)
"""Fewest and most words of the part of a paragraph that is replayed."""
FROM_START = replace(TRIALS["softmax"], distil=30.0, sentences=24)
FURTHER = replace(TRIALS["softmax"], rounds=1, epochs=3, distil=60.0, sentences=48)
RANK = 24
"""Rank of the mean of all: it loses 2 % of the squared norm."""


@dataclass(frozen=True)
class Part:
    """A training, from some trees and from what `make_aeenc_dual.py` trained under a name."""

    config: AeencConfig
    trees: tuple[ExplanationTree, ...]
    after: str = ""


def trained(name: str, part: Part, data: Data, squad: Path, work: Path) -> dict[str, Any]:
    """Train an encoder into the work folder, or find it there; return its seconds and its run."""
    out, about = work / name, work / f"{name}.json"
    # As a relative path, since the model tells of it.
    config = replace(part.config, initial=os.path.relpath(work / part.after) if part.after else "")
    if not about.is_file():
        with progress_bar() as progress:
            training = train_aeenc(
                data.corpus,
                config,
                trees=part.trees,
                data=["entailment_bank", "squad"],
                out=out,
                progress=progress,
                **teachings(squad, work, progress),
            )
        record = {"seconds": training.fitted.seconds, "counts": dict(training.counts), "run": provenance()}
        about.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return {"config": asdict(config), **json.loads(about.read_text(encoding="utf-8"))}


def teachings(squad: Path, work: Path, progress: ProgressCallback) -> dict[str, Teaching]:
    """Return questions of SQuAD train and parts of its paragraphs, with their vectors by the base."""
    file, _ = split_by_article(squad, work)
    rng = np.random.default_rng(0)
    questions = rng.permutation([question.text for question in read_questions(file)])[:REPLAYED].tolist()
    parts = []
    for passage in read_passages(file):
        words = passage.whole.split()
        size = int(rng.integers(PART[0], PART[1] + 1))
        start = int(rng.integers(max(1, len(words) - size)))
        parts.append(" ".join(words[start : start + size]))
    replays = {}
    for name, texts in (("teaching", questions), ("premise_teaching", parts)):
        sentences = Corpus.of(name, texts)
        vectors = premise_vectors(sentences, BiEncoder(BASE), cache_dir=work / "vectors", progress=progress)
        replays[name] = Teaching(tuple(premise.folded for premise in sentences.premises), vectors, (BASE,))
    return replays


def run(options: argparse.Namespace) -> bool:
    """Train what is missing, measure, ship and write the result; False with `--only`."""
    started = datetime.now(UTC)
    work: Path = options.work.resolve()
    data = Data.read(options.corpus, options.train, options.dev)
    every = (*data.learnt, *data.held_out)
    parts = {"from-start": Part(FROM_START, data.learnt), "further": Part(FURTHER, data.learnt, "softmax")}
    parts |= {f"further-{s}": Part(replace(FURTHER, seed=s), every, f"seed-{s}") for s in options.seeds}
    if options.only:
        for name in options.only:
            trained(name, parts[name], data, options.squad_train, work)
        return False
    trainings = {name: trained(name, part, data, options.squad_train, work) for name, part in parts.items()}
    rows = mix(work, options.seeds)
    reranker = Remembered(Reranker())
    # Of the held-out trees only what is in no tree to learn from counts.
    held_out_data = replace(data, held_out=(), dev=data.held_out)
    _, articles = split_by_article(options.squad_train, work)
    encoders = [str(work / name) for name in rows]
    figures: dict[str, Any] = {
        "trained": trainings,
        "held out": {
            name: {
                of: measured(held_out_data, retriever(f"{work / name}{of}", data.corpus)) for of in LISTS[:2]
            }
            for name in WAYS
        },
        "held-out articles": {
            name: evaluate_file(articles, encoder, work).to_json()["gold"]["R@1"]
            for name, encoder in {BASE: BASE, **{name: work / name for name in WAYS}}.items()
        },
        "dev": {name: lists(data, str(work / name), reranker) for name in rows},
        "squad dev": {
            Path(encoder).name: evaluate_file(options.squad_dev, encoder, work).to_json()["gold"]["R@1"]
            for encoder in encoders
        },
        "nli dev": {
            Path(encoder).name: premises_of_hypotheses(options.nli, encoder)
            for encoder in (BASE, ONE_TOWER, *encoders)
        },
    }
    figures["rank"] = RANK
    figures["bytes"] = ship(work / "mean", SHIPPED, more={"figures": {"tables": for_card(figures)}})
    figures["revision"] = resolve(SHIPPED).revision
    write_result(RESULT, figures=figures, seed=None, started=started)
    return True


def mix(work: Path, seeds: list[int]) -> list[str]:
    """Write the means of before and after replay, and of all seeds; return the names of those for dev."""

    def write(name: str, shares: Mapping[str, float], rank: int = FURTHER.rank) -> str:
        folders = [work / source for source in shares]
        average_adapters(folders, work / name, weights=list(shares.values()), rank=rank)
        return name

    for share in SHARES:
        write(f"mean-{share:g}", {"softmax": 1 - share, "further": share})
    before = {f"seed-{seed}": (1 - SHARE) / len(seeds) for seed in seeds}
    after = {f"further-{seed}": SHARE / len(seeds) for seed in seeds}
    return [
        *(write(f"mixed-{s}", {f"seed-{s}": 1 - SHARE, f"further-{s}": SHARE}) for s in seeds),
        write("mean", before | after, RANK),
    ]


def premises_of_hypotheses(file: Path, encoder: str) -> dict[str, float]:
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


def main() -> int:
    """Train, measure, ship and write the page, or only the page."""
    parser = make_parser(__doc__)
    for name in ("corpus", "train", "dev", "squad-train", "squad-dev", "nli"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1], metavar="N", help="(0 1)")
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
