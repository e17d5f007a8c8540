"""The judge of entailment as a method of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from entail.jobs.method import Method, Preview, Run
from entail.jobs.nli_source import PairData, PairSource, require_some
from entail.jobs.passage_source import evenly
from entail.progress import ProgressCallback
from entail.tuning.judge_config import JudgeConfig

if TYPE_CHECKING:
    from entail.evaluation.measured import QueryFigures

ROWS = 500
"""Pairs that a preview shows at most."""


@dataclass(frozen=True, kw_only=True)
class JudgeSource(PairSource):
    """Pairs of every label; those that stand in dev are left out of what is learnt from."""

    limit: Annotated[int | None, "so many of the pairs, evenly from all; default: all"] = None

    def __post_init__(self) -> None:
        """Check that something is learnt from."""
        PairSource.__post_init__(self)
        require_some(self.limit)

    def read(self, *, keep: Path | None = None) -> PairData:
        """Return the data; files are taken as they are.

        Raises:
            EntailError: If a file or a data set cannot be read, or has no such split.
        """
        data = self.read_pairs()
        return replace(data, pairs=evenly(data.pairs, self.limit))

    def __str__(self) -> str:
        return (f"{self.limit:,} pairs of " if self.limit else "") + PairSource.__str__(self)


def train(data: PairData, config: JudgeConfig, run: Run) -> Mapping[str, Any]:
    """Train; see `train_judge`."""
    from entail.tuning.judge_training import train_judge

    return train_judge(data.pairs, config, dev=data.dev, **run.options).to_json()


def evaluate(encoder: str | Path, data: PairData, progress: ProgressCallback | None) -> QueryFigures | None:
    """Return None: a judge stands beside encoders, it takes the place of none.

    What it is worth its training measures on dev, and `entail evaluate judge` on any pairs.
    """
    return None


def preview(source: JudgeSource, config: JudgeConfig) -> Preview:
    """Count the pairs of each label."""
    from entail.data.nli import LABELS
    from entail.tuning.judge_training import learnable

    data = source.read()
    learnt = learnable(data.pairs, data.dev)
    left_out = {
        "rows with another label or that cannot be read": data.skipped,
        "pairs that were there before": learnt.counts["repeated"],
        "pairs with two labels": learnt.counts["with two labels"],
        "pairs that stand in dev, too": learnt.counts["pairs of dev"],
    }
    return Preview(
        counts={
            "pairs": learnt.counts["pairs"],
            **{label: learnt.counts[label] for label in LABELS},
            "dev pairs": len(data.dev),
        },
        left_out={reason: count for reason, count in left_out.items() if count},
        header=("premise", "hypothesis", "label"),
        rows=tuple((pair.premise, pair.hypothesis, pair.label) for pair in learnt.pairs[:ROWS]),
    )


JUDGE = Method(
    name="judge",
    title="Judge of entailment: learn to say what a passage entails",
    config=JudgeConfig,
    train=train,
    evaluate=evaluate,
    source=JudgeSource,
    preview=preview,
    encodes=False,
    makes="a judge of entailment",
    use="the Claims page judges passages by it, and `entail evaluate judge` measures it",
    common=("base", "tuning", "rank", "epochs", "batch_size", "learning_rate", "longest"),
)
