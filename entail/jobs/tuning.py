"""Entailment tuning and the contrastive stage after it (DPR) as methods of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.jobs.method import Method, Preview, Run
from entail.jobs.passage_source import PassageData, PassageSource, with_mined
from entail.progress import ProgressCallback
from entail.tuning.config import DprConfig, TuningConfig

if TYPE_CHECKING:
    from entail.evaluation.measured import QueryFigures

ROWS = 500
"""Questions that a preview shows at most."""


def train_masked(data: PassageData, config: TuningConfig, run: Run) -> Mapping[str, Any]:
    """Tune; see `train_tuning`."""
    from entail.tuning.examples import entailed_pairs
    from entail.tuning.training import train_tuning

    return train_tuning(
        entailed_pairs(data.examples, data.nli, words=config.words),
        config,
        dev=entailed_pairs(data.dev, words=config.words) if data.dev else (),
        **run.options,
    ).to_json()


def train_contrast(data: PassageData, config: DprConfig, run: Run) -> Mapping[str, Any]:
    """Mine hard negatives and train; see `train_dpr`."""
    from entail.tuning.dpr import train_dpr

    mined = with_mined(data, depth=config.depth, progress=run.progress) if config.negatives else data
    return train_dpr(
        mined.examples,
        config,
        dev=mined.dev,
        **run.options,
    ).to_json()


def evaluate(
    encoder: str | Path, data: PassageData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Measure how well an encoder finds the gold passages of the dev questions in the whole pool.

    None without dev questions.
    """
    import numpy as np

    from entail.evaluation.measured import QueryFigures
    from entail.evaluation.passages import Judged, evaluate_passages

    asked = tuple(one for one in data.dev_questions if one.gold)
    if not asked:
        return None
    found = evaluate_passages(data.examples.store, Judged(asked), encoder=str(encoder), progress=progress)
    ranks = np.array(found.first_hits, dtype=np.float64)
    weight = np.ones(len(ranks))
    reciprocal = np.divide(1.0, ranks, out=np.zeros(len(ranks)), where=ranks > 0)
    hits = {f"R@{k}": ((ranks > 0) & (ranks <= k)).astype(np.float64) for k in (1, 5, 20, 100)}
    return QueryFigures(
        encoder=found.retriever,
        revision=found.revision,
        split=f"{len(asked):,} questions of {data.split}, {found.passages:,} passages",
        queries=tuple(one.text for one in asked),
        primary="MRR",
        values={"MRR": (reciprocal, weight), **{name: (hit, weight) for name, hit in hits.items()}},
    )


def preview(source: PassageSource, config: TuningConfig | DprConfig) -> Preview:
    """Count questions and passages, and show what is claimed."""
    from entail.tuning.claims import claim
    from entail.tuning.examples import excerpt

    data = source.read()
    examples = data.examples
    counts = {
        "questions": len(examples),
        "passages": len(examples.store),
        "dev questions": len(data.dev or ()),
    }
    if isinstance(config, TuningConfig):
        counts["entailments of other pairs"] = len(data.nli)
    left_out = {
        "questions without a gold passage in the pool": examples.without_gold,
        "dev questions without one": data.dev.without_gold if data.dev else 0,
    }
    return Preview(
        counts=counts,
        left_out={reason: count for reason, count in left_out.items() if count},
        header=("question", "claim", "passage"),
        rows=tuple(
            (
                one.question,
                claim(one.question).text,
                excerpt(examples.store[one.gold[0]].whole, words=config.words, answers=one.answers),
            )
            for one in examples.examples[:ROWS]
        ),
    )


TUNING = Method(
    name="tuning",
    title="Entailment tuning: learn to predict what passages entail, as a start for DPR",
    config=TuningConfig,
    train=train_masked,
    evaluate=evaluate,
    source=PassageSource,
    preview=preview,
    common=(
        *("base", "prompt", "beta", "tuning", "rank", "words"),
        *("epochs", "batch_size", "learning_rate", "longest"),
    ),
)

DPR = Method(
    name="dpr",
    title="DPR: learn which passages answer a question",
    config=DprConfig,
    train=train_contrast,
    evaluate=evaluate,
    source=PassageSource,
    preview=preview,
    common=(
        *("base", "initial", "tuning", "rank", "negatives", "temperature", "words"),
        *("epochs", "batch_size", "learning_rate", "longest"),
    ),
)
