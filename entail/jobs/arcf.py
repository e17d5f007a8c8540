"""ARCF as a method of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.arcf.config import ArcfConfig
from entail.jobs.method import Method, Preview, Run
from entail.jobs.worldtree_source import WorldtreeData, WorldtreeSource
from entail.progress import ProgressCallback

if TYPE_CHECKING:
    from entail.evaluation.measured import QueryFigures

ROWS = 500
"""Gold facts that a preview shows at most."""


def train(data: WorldtreeData, config: ArcfConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_arcf`."""
    from entail.arcf.training import train_arcf

    return train_arcf(
        data.questions,
        data.facts,
        config,
        dev=data.dev,
        **run.options,
    ).to_json()


def evaluate(
    encoder: str | Path, data: WorldtreeData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Return None: a scorer stands beside encoders, it takes the place of none.

    What it is worth `entail evaluate chains` measures.
    """
    return None


def preview(source: WorldtreeSource, config: ArcfConfig) -> Preview:
    """Count questions and facts."""
    from entail.data.worldtree import missing_gold

    data = source.read()
    missing = missing_gold(data.questions, data.facts)
    gold = [(q, uid, role) for q in data.questions for uid, role in q.gold.items()]
    positions = data.facts.positions
    taken = data.reading.explained if source.unscored else data.reading.scored
    left_out = {
        "questions without a usable explanation": len(data.reading.questions) - len(taken),
        "rows of questions that cannot be read": len(data.reading.problems),
        "rows of facts that cannot be read": len(data.facts.problems),
        "rows of facts whose uid was there before": len(data.facts.repeats),
        "gold facts that are in no table": len(missing),
    }
    known = [(q, positions[uid], role) for q, uid, role in gold if uid in positions]
    return Preview(
        counts={
            "questions": len(data.questions),
            "gold facts": len(known),
            "facts": len(data.facts),
            "dev questions": len(data.dev),
        },
        left_out={reason: count for reason, count in left_out.items() if count},
        header=("question", "answer", "fact", "role"),
        rows=tuple((q.stem, q.answer, data.facts.texts[at], role) for q, at, role in known[:ROWS]),
    )


ARCF = Method(
    name="arcf",
    title="ARCF: learn to choose the facts that explain an answer, one after another",
    config=ArcfConfig,
    train=train,
    evaluate=evaluate,
    source=WorldtreeSource,
    preview=preview,
    encodes=False,
    role="chains",
    makes="a scorer of facts",
    use="the Chains page builds chains by it, and so does `entail rank`",
    common=(
        *("base", "scheme", "loss", "tuning", "rank", "k"),
        *("epochs", "batch_tokens", "token_budget", "learning_rate", "noise"),
    ),
)
