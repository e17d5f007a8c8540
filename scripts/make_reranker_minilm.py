r"""Train `models/reranker-minilm`, which reads query and premise together, and measure it.

::

    python scripts/make_reranker_minilm.py --corpus premises.txt.gz --train train.jsonl.gz --dev dev.jsonl.gz
    python scripts/make_reranker_minilm.py ... --until choice   # dev stays unread
    python scripts/make_reranker_minilm.py --table              # only the page

A tenth of the training trees is held out. The re-ranker learns from the others. The retriever that ships has
learnt from all of them, so its lists of held-out queries are better than those of new queries. A stand-in
that did not see the held-out trees makes the lists instead. On these the checkpoint, the weight beside the
retriever's score and the number of premises to read are chosen. Dev is read once, with these settings.

What was trained stays in `--work`: a run that was broken off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from entail.aeenc.config import AeencConfig
from entail.aeenc.training import train_aeenc
from entail.cli.console import progress_bar
from entail.data.corpora import read_corpus
from entail.data.entailment_bank.trees import read_trees
from entail.data.records import Corpus, ExplanationTree
from entail.errors import EntailError
from entail.results import provenance

STAND_IN = AeencConfig(
    gold=False,
    rounds=0,
    alpha=0.0,
    loss="softmax",
    temperature=0.03,
    live_k=20_000,
    pool="trees",
    learning_rate=1e-3,
    epochs=8,
)
"""A member of the encoder that ships (`make_aeenc_minilm.py`), with its last stage's temperature."""


@dataclass(frozen=True)
class Data:
    """Trees to learn from, held-out trees to choose on, dev trees to measure on, and the candidates."""

    corpus: Corpus
    learnt: tuple[ExplanationTree, ...]
    held_out: tuple[ExplanationTree, ...]
    dev: tuple[ExplanationTree, ...]

    @classmethod
    def read(cls, corpus: Path, train: Path, dev: Path) -> Data:
        """Read the files and hold out every tenth tree of a seeded permutation."""
        trees = read_trees(train)
        held = set(np.random.default_rng(0).permutation(len(trees))[::10].tolist())
        return cls(
            read_corpus(corpus).corpus,
            tuple(tree for at, tree in enumerate(trees) if at not in held),
            tuple(tree for at, tree in enumerate(trees) if at in held),
            tuple(read_trees(dev)),
        )


def stand_in(data: Data, work: Path) -> Path:
    """Train the stand-in of the retriever into the work folder, or find it there."""
    out, about = work / "stand-in", work / "stand-in.json"
    if about.is_file():
        return out
    with progress_bar() as progress:
        training = train_aeenc(data.corpus, STAND_IN, trees=data.learnt, out=out, progress=progress)
    record = {"config": asdict(STAND_IN), "seconds": training.fitted.seconds, "run": provenance()}
    about.write_text(json.dumps(record, indent=1), encoding="utf-8")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="candidate premises")
    parser.add_argument("--train", type=Path, help="trees to learn from, a tenth held out")
    parser.add_argument("--dev", type=Path, help="trees to measure on")
    parser.add_argument("--work", type=Path, default=Path("build/reranker"), help="folder for the parts")
    parser.add_argument("--until", choices=["stand-in"], help="last part to make")
    given = parser.parse_args(arguments)
    if None in (given.corpus, given.train, given.dev):
        parser.error("--corpus, --train and --dev are needed")
    given.work.mkdir(parents=True, exist_ok=True)
    try:
        data = Data.read(given.corpus, given.train, given.dev)
        stand_in(data, given.work)
    except EntailError as error:
        sys.exit(f"Error: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
