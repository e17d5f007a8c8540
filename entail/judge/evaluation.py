"""Evaluation of a judge of entailment on labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from entail.data.nli.pairs import LABELS, NliPair
from entail.errors import EvaluationError
from entail.progress import ProgressCallback
from entail.statistics.classification import Values, auprc, wilson_interval


class ThreeWayJudge(Protocol):
    """Protocol of judges that give the probability of each label."""

    @property
    def name(self) -> str:
        """Display name."""
        ...

    @property
    def revision(self) -> str:
        """Revision of the weights."""
        ...

    def probabilities(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return the probability of each label, shape (pairs, 3), in the order of `LABELS`."""
        ...


@dataclass(frozen=True, eq=False)
class JudgeEvaluation:
    """Probabilities that a judge gives to pairs, beside their labels.

    Attributes:
        probabilities: Of each label, shape (pairs, 3), in the order of `LABELS`.
        gold: Position of each pair's label in `LABELS`, shape (pairs,).
    """

    probabilities: Values = field(repr=False)
    gold: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)

    @property
    def right(self) -> int:
        """Pairs whose most probable label is theirs."""
        return int((self.probabilities.argmax(axis=1) == self.gold).sum())

    @property
    def accuracy(self) -> float:
        """Share of right ones."""
        return self.right / len(self.gold)

    @property
    def entailment_accuracy(self) -> float:
        """Share decided rightly between entailment and none, at a probability of one half."""
        called = self.probabilities[:, LABELS.index("entailment")] > 0.5
        return float((called == (self.gold == LABELS.index("entailment"))).mean())

    def to_json(self) -> dict[str, Any]:
        """Return the figures: shares, Wilson's 95 % interval, what is told of each label (rows: gold)."""
        interval = wilson_interval(self.right, len(self.gold))
        counts = np.bincount(self.gold, minlength=len(LABELS))
        said = self.probabilities.argmax(axis=1)
        return {
            "n": len(self.gold),
            "accuracy": self.accuracy,
            "interval": list(interval) if interval else None,
            "majority": float(counts.max() / len(self.gold)),
            "entailment_accuracy": self.entailment_accuracy,
            "entailment_auprc": auprc(
                self.probabilities[:, LABELS.index("entailment")], self.gold == LABELS.index("entailment")
            ),
            "confusion": {
                label: {
                    other: int(((self.gold == row) & (said == column)).sum())
                    for column, other in enumerate(LABELS)
                }
                for row, label in enumerate(LABELS)
            },
        }


def gold_labels(pairs: Sequence[NliPair]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the position of each pair's label in `LABELS`, shape (pairs,)."""
    return np.array([LABELS.index(pair.label) for pair in pairs], dtype=np.int64)


def evaluate_judge(
    pairs: Sequence[NliPair], judge: ThreeWayJudge, *, progress: ProgressCallback | None = None
) -> JudgeEvaluation:
    """Judge pairs whose label is known.

    Raises:
        EvaluationError: If there are none.
        EncoderError: If the judge tells fewer than the three labels.
    """
    if not pairs:
        raise EvaluationError("expected at least one pair to measure on, found none; give another file")
    found = judge.probabilities(
        [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs], progress=progress
    )
    return JudgeEvaluation(found, gold_labels(pairs))
