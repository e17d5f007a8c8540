"""ARCF as a method of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.arcf.card import scorer_text
from entail.arcf.config import ArcfConfig
from entail.arcf.source import WorldtreeData, WorldtreeSource
from entail.progress import ProgressCallback
from entail.training.card_text import CardText
from entail.training.method import Method, Preview, Run

if TYPE_CHECKING:
    from entail.evaluation.retrieval.paired import QueryFigures

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
        run=run,
    ).to_json()


def evaluate(
    encoder: str | Path, data: WorldtreeData, progress: ProgressCallback | None
) -> QueryFigures | None:
    """Return None: a scorer stands beside encoders, it takes the place of none.

    What it is worth `entail evaluate chains` measures.
    """
    return None


def preview(data: WorldtreeData, config: ArcfConfig) -> Preview:
    """Count questions and facts."""
    from entail.data.worldtree.questions import missing_gold

    missing = missing_gold(data.questions, data.facts)
    gold = [(q, uid, role) for q in data.questions for uid, role in q.gold.items()]
    positions = data.facts.positions
    taken = data.reading.explained if data.unscored else data.reading.scored
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


CARD = CardText(
    title="Autoregressive reasoning over chains of facts (ARCF)",
    idea="chooses the facts that explain an answer one after another, each given those before",
    citation=r"""@inproceedings{cartuyvels2020autoregressive,
  title     = {Autoregressive Reasoning over Chains of Facts with Transformers},
  author    = {Cartuyvels, Ruben and Spinks, Graham and Moens, Marie-Francine},
  booktitle = {Proceedings of COLING},
  year      = {2020}
}""",
    tags=("worldtree",),
    losses={
        "ranknet": "pairs of a positive and a negative after one prefix, -log sigma(s_p - s_n)",
        "bxent": "binary cross-entropy of each fact",
        "nce": "noise-contrastive: one positive among all negatives of a prefix",
    },
    cross_encoder=scorer_text,
)

ARCF = Method(
    name="arcf",
    title="ARCF: learn to choose the facts that explain an answer, one after another",
    card=CARD,
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
