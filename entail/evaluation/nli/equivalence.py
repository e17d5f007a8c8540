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
        mask: Booleans = self.lower > self.threshold
        return mask

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        called, equivalent = self.called, self.equivalent
        return {
            **correct_share(called == equivalent),
            "recall": correct_share(called[equivalent]),
            "precision": correct_share(equivalent[called]),
            "majority": float(max(equivalent.mean(), 1 - equivalent.mean())),
            "auprc": auprc(self.lower, equivalent),
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
    entailment_pairs = [pair for pair in pairs if "entailment" in (pair.forward, pair.backward)]
    equivalent = np.array([pair.bilateral for pair in entailment_pairs], dtype=np.bool_)
    if not equivalent.any() or equivalent.all():
        return None
    similarities = pair_similarities(entailment_pairs, encoder, progress=progress)
    assert similarities.backward is not None
    return EquivalenceEvaluation(
        threshold=threshold,
        lower=np.minimum(similarities.forward, similarities.backward),
        equivalent=equivalent,
    )
