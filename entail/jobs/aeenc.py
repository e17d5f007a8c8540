"""AE-Enc as a method of the queue."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.aeenc.config import AeencConfig
from entail.aeenc.few_decisions import FEW_DECISIONS
from entail.jobs.method import Method, Preview, Run
from entail.jobs.source import TrainingData, TreeSource
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from entail.evaluation.measured import QueryFigures

ROWS = 500
"""Pairs that a preview shows at most."""


def train(data: TrainingData, config: AeencConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_aeenc`."""
    from entail.aeenc.training import train_aeenc

    return train_aeenc(
        data.corpus,
        config,
        trees=data.trees,
        judgements=data.judgements,
        dev=data.dev,
        dev_corpus=data.given,
        **run.options,
    ).to_json()


def evaluate(
    encoder: str | Path, data: TrainingData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Measure how well an encoder finds the children of every parent of the dev trees."""
    from entail.encoders.biencoder import BiEncoder
    from entail.encoders.catalogue import fetch, resolve
    from entail.evaluation.measured import QueryFigures
    from entail.evaluation.premises import evaluate_premises
    from entail.index.retriever import retriever

    if not data.dev:
        return None
    loaded = BiEncoder(fetch(resolve(encoder)))
    index = retriever(str(encoder), data.given, encoder=loaded, progress=progress)
    measured = evaluate_premises(data.given, data.dev, index, progress=progress)
    split = f"{len(data.dev):,} dev trees over {data.given.name}"
    return QueryFigures.of_premises(measured, split=split)


def preview(source: TreeSource, config: AeencConfig) -> Preview:
    """Count the pairs that are there from the start; rounds of ACS add more."""
    from entail.aeenc.pairs import gold_pairs, judged_pairs

    data = source.read()
    if data.judgements is None:
        pairs = gold_pairs(data.corpus, data.trees)
    else:
        pairs = judged_pairs(data.corpus, data.judgements)
    texts = data.corpus.texts
    rows = (
        (query, texts[position], "explains it" if positive else "does not")
        for query, position, positive in pairs.flat()
    )
    reasons = {
        "missing": "not in the corpus",
        "own_text": "a sentence that would explain itself",
        "both": "explaining and not, at once",
        "without_positive": "rejected for sentences of which nothing is accepted",
    }
    contradictions = len(data.judgements.contradictions) if data.judgements else 0
    left_out = {words: pairs.dropped.get(rule, 0) for rule, words in reasons.items()}
    left_out["accepted and also rejected for the same sentence"] = contradictions
    return Preview(
        counts={**pairs.counts, "premises": len(data.corpus), "dev trees": len(data.dev)},
        left_out={reason: count for reason, count in left_out.items() if count},
        header=("sentence", "premise", "the premise"),
        rows=tuple(itertools.islice(rows, ROWS)),
    )


AEENC = Method(
    name="aeenc",
    title="AE-Enc: learn what explains and what only looks alike",
    config=AeencConfig,
    train=train,
    evaluate=evaluate,
    preview=preview,
    common=(
        *("base", "towers", "tuning", "rank", "loss", "margin"),
        *("rounds", "epochs", "batch_size", "learning_rate"),
    ),
    presets={"As in the paper": AeencConfig(), "For few decisions": FEW_DECISIONS},
    for_decisions="For few decisions",
)
