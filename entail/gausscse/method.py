"""GaussCSE as a method: training, evaluation and preview."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.gausscse.config import PAPER, GausscseConfig
from entail.progress import ProgressCallback
from entail.training.method import CardText, Method, Preview, Run
from entail.training.nli_source import SAMPLE, PairData, PairSource

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures


def train(data: PairData, config: GausscseConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_gausscse`."""
    from entail.gausscse.training import train_gausscse

    return train_gausscse(data.triplets, config, dev=data.dev, run=run).to_json()


def evaluate(encoder: str | Path, data: PairData, progress: ProgressCallback | None) -> QueryFigures | None:
    """Measure the accuracy of direction on the dev entailments; None without them, or for points."""
    import numpy as np

    from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
    from entail.evaluation.nli.decisions import direction_pairs, evaluate_direction
    from entail.evaluation.retrieval.paired import QueryFigures

    if not data.dev or not is_gaussian(encoder):
        return None
    loaded = GaussianEncoder(encoder)
    measured = evaluate_direction(data.dev, loaded, progress=progress)
    pairs, _ = direction_pairs(data.dev)
    right = measured.correct.astype(np.float64)
    longer = np.array([len(pair.premise) > len(pair.hypothesis) for pair in pairs])
    return QueryFigures(
        encoder=loaded.name,
        revision=loaded.revision,
        split=f"{len(pairs):,} entailments of {data.split}",
        queries=tuple(f"{pair.premise}\t{pair.hypothesis}" for pair in pairs),
        primary="Direction",
        values={"Direction": (right, np.ones(len(right)))},
        rivals={"the longer sentence entails": longer.astype(np.float64)},
    )


def preview(data: PairData, config: GausscseConfig) -> Preview:
    """Count the triplets."""
    counts = data.triplets.to_json()
    rows = data.triplets.draw(seed=config.seed, epoch=0)
    left_out = {
        "rows with another label or that cannot be read": data.skipped,
        "pairs that were there before": counts["duplicates"],
        "pairs of two equal sentences": counts["equal"],
        "contradictions that the same premise also entails": counts["both"],
    }
    return Preview.of(
        counts={
            "triplets": counts["triplets"],
            "premises": counts["premises"],
            "with a contradiction": counts["with_contradiction"],
            "dev pairs": len(data.dev),
        },
        left_out=left_out,
        header=("premise", "entails", "contradicts"),
        rows=((premise, entailed, other or "") for premise, entailed, other in rows),
    )


CARD = CardText(
    title="Gaussian sentence embedding (GaussCSE)",
    idea="tells which of two sentences entails the other",
    citation="Yoda et al.: Sentence Representations via Gaussian Embedding. arXiv:2305.12990, 2023.",
    tags=("natural-language-inference", "gaussian-embedding"),
)

GAUSSCSE = Method(
    name="gausscse",
    title="GaussCSE: learn which sentence entails which",
    card=CARD,
    config=GausscseConfig,
    train=train,
    evaluate=evaluate,
    presets={"paper": PAPER, "sample": GausscseConfig(epochs=5, batch_size=16)},
    source=PairSource,
    sample=SAMPLE,
    preview=preview,
    role="direction",
    common=("base", "tuning", "rank", "sets", "epochs", "batch_size", "learning_rate", "temperature"),
)
