"""Evaluation of a judge of entailment on labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entail.data.nli.pairs import LABELS, NliPair
from entail.errors import EvaluationError
from entail.index.protocol import Floats
from entail.judge.judges import THRESHOLD, NliJudge
from entail.progress import ProgressCallback
from entail.statistics.classification import Values, auprc, wilson_interval


@dataclass(frozen=True, eq=False)
class JudgeEvaluation:
    """Probabilities of labels (pairs, 3) by a judge, and gold labels (pairs,) as positions in `LABELS`."""

    probabilities: Values = field(repr=False)
    gold: np.ndarray[Any, np.dtype[np.int64]] = field(repr=False)

    @property
    def right(self) -> int:
        """Number of pairs whose most probable label is gold."""
        return int((self.probabilities.argmax(axis=1) == self.gold).sum())

    @property
    def accuracy(self) -> float:
        """Share of pairs whose most probable label is gold."""
        return self.right / len(self.gold)

    @property
    def entailment_accuracy(self) -> float:
        """Accuracy of entailment against the other labels, at a probability of one half."""
        called = self.probabilities[:, LABELS.index("entailment")] >= THRESHOLD
        return float((called == (self.gold == LABELS.index("entailment"))).mean())

    def to_json(self) -> dict[str, Any]:
        """Return the figures: accuracies, Wilson's 95 % interval, the confusion matrix (rows: gold)."""
        from sklearn.metrics import confusion_matrix

        interval = wilson_interval(self.right, len(self.gold))
        entailment = LABELS.index("entailment")
        confusion = confusion_matrix(self.gold, self.probabilities.argmax(axis=1), labels=range(len(LABELS)))
        return {
            "n": len(self.gold),
            "accuracy": self.accuracy,
            "interval": list(interval) if interval else None,
            "majority": float(confusion.sum(axis=1).max() / len(self.gold)),
            "entailment_accuracy": self.entailment_accuracy,
            "entailment_auprc": auprc(self.probabilities[:, entailment], self.gold == entailment),
            "confusion": {
                label: dict(zip(LABELS, row.tolist(), strict=True))
                for label, row in zip(LABELS, confusion, strict=True)
            },
        }


def evaluate_outputs(outputs: Floats, pairs: Sequence[NliPair]) -> JudgeEvaluation:
    """Return the evaluation of a head's outputs on labelled pairs, shape (pairs, 3)."""
    from scipy.special import softmax

    return JudgeEvaluation(softmax(outputs.astype(np.float64), axis=1), gold_labels(pairs))


def gold_labels(pairs: Sequence[NliPair]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the position of each pair's label in `LABELS`, shape (pairs,)."""
    return np.array([LABELS.index(pair.label) for pair in pairs], dtype=np.int64)


def evaluate_judge(
    pairs: Sequence[NliPair], judge: NliJudge, *, progress: ProgressCallback | None = None
) -> JudgeEvaluation:
    """Evaluate a judge on labelled pairs.

    Raises:
        EvaluationError: If there are none.
        EncoderError: If the judge has other labels.
    """
    if not pairs:
        raise EvaluationError("expected at least one pair to measure on, found none; give another file")
    probabilities = judge.probabilities(
        [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs], progress=progress
    )
    return JudgeEvaluation(probabilities, gold_labels(pairs))
