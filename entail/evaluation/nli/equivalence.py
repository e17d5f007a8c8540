"""Evaluation of equivalence: of the pairs that entail, those that entail both ways.

A pair is called equivalent if both similarities are above the encoder's threshold, as in a verdict. The data
have to label both relations of a pair (SICK).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.evaluation.nli.pair_similarity import PairEncoder, correct_share, pair_similarities
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values, auprc


@dataclass(frozen=True, eq=False, kw_only=True)
class EquivalenceEvaluation:
    """Accuracy of the verdict "equivalent" on pairs that entail one way or both.

    Attributes:
        threshold: Similarity above which a sentence entails another.
        lower: The smaller similarity of each pair, shape (n,).
        equivalent: Whether each pair is known to entail both ways, shape (n,).
    """

    threshold: float
    lower: Values = field(repr=False)
    equivalent: Booleans = field(repr=False)

    @property
    def called(self) -> Booleans:
        """Pairs that are called equivalent, shape (n,)."""
        found: Booleans = self.lower > self.threshold
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        called, known = self.called, self.equivalent
        return {
            **correct_share(called == known),
            "recall": correct_share(called[known]),
            "precision": correct_share(known[called]),
            "majority": float(max(known.mean(), 1 - known.mean())),
            "auprc": auprc(self.lower, known),
            "threshold": self.threshold,
        }


def evaluate_equivalence(
    pairs: Sequence[NliPair],
    encoder: PairEncoder,
    *,
    threshold: float,
    progress: ProgressCallback | None = None,
) -> EquivalenceEvaluation | None:
    """Tell equivalent pairs from those that entail one way; None unless there are pairs of both kinds.

    Raises:
        EncoderError: If the encoder cannot be loaded.
        EvaluationError: If a similarity is no number.
    """
    taken = [pair for pair in pairs if "entailment" in (pair.forward, pair.backward)]
    known = np.array([pair.bilateral for pair in taken], dtype=np.bool_)
    if not known.any() or known.all():
        return None
    found = pair_similarities(taken, encoder, progress=progress)
    assert found.backward is not None
    return EquivalenceEvaluation(
        threshold=threshold, lower=np.minimum(found.forward, found.backward), equivalent=known
    )
