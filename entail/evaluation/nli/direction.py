"""Evaluation of the direction of entailment, on pairs of which the first sentence entails the second.

Three rules, a tie being wrong in each:

=================  ======================================================================================
similarity         the premise entails if sim(h || p) > sim(p || h)
variance           the sentence with the larger sum of log sigma entails
length             the longer sentence entails, in characters: the baseline, which knows no meaning
=================  ======================================================================================

Where the longer sentence is the entailed one the baseline is wrong every time: accuracy there is what an
encoder knows besides length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.errors import EvaluationError
from entail.evaluation.nli.pair_similarity import (
    PairEncoder,
    PairEvaluation,
    correct_share,
    pair_similarities,
    require_direction,
)
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectionEvaluation(PairEvaluation):
    """Accuracy of an encoder on the direction of entailment, compared with the length baseline.

    Attributes:
        margins: sim(h || p) - sim(p || h) of each pair, shape (n,).
        wider: Sum of the premise's log sigma less that of the hypothesis, shape (n,).
        longer: Characters of the premise less those of the hypothesis, shape (n,).
        bilateral: Pairs left out because each sentence is known to entail the other (SICK).
        equal: Pairs of two equal sentences, which no rule can decide; they are among the n, as wrong.
    """

    margins: Values = field(repr=False)
    wider: Values = field(repr=False)
    longer: Values = field(repr=False)
    bilateral: int
    equal: int

    @property
    def correct(self) -> Booleans:
        """Correct decisions, shape (n,)."""
        right: Booleans = self.margins > 0
        return right

    @property
    def length_baseline(self) -> float:
        """Share of correct decisions by length."""
        return float((self.longer > 0).mean())

    @property
    def longer_entailed(self) -> Booleans:
        """Mask of pairs whose hypothesis is longer than their premise, shape (n,)."""
        which: Booleans = self.longer < 0
        return which

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        right = self.wider > 0
        longer = correct_share(right[self.longer_entailed])
        return {
            **super().to_json(),
            "ties": int((self.margins == 0).sum()),
            "length_baseline": self.length_baseline,
            "longer_entailed": correct_share(self.correct[self.longer_entailed]),
            "same_length": int((self.longer == 0).sum()),
            "by_variance": {**correct_share(right), "longer_entailed": longer},
            "equal_sentences": self.equal,
            "bilateral_left_out": self.bilateral,
        }


def evaluate_direction(
    pairs: Sequence[NliPair], encoder: PairEncoder, *, progress: ProgressCallback | None = None
) -> DirectionEvaluation:
    """Decide for each entailment pair, without the bilateral ones, which sentence entails the other.

    Raises:
        EncoderError: If the encoder makes points, or cannot be loaded.
        EvaluationError: If no entailment pair is left, or a similarity is no number.
    """
    require_direction(encoder)
    directed_pairs, bilateral = direction_pairs(pairs)
    similarities = pair_similarities(directed_pairs, encoder, progress=progress)
    assert similarities.backward is not None
    assert similarities.wider is not None
    return DirectionEvaluation(
        encoder=encoder.name,
        revision=encoder.revision,
        margins=similarities.forward - similarities.backward,
        wider=similarities.wider,
        longer=np.array(
            [len(pair.premise) - len(pair.hypothesis) for pair in directed_pairs], dtype=np.float64
        ),
        bilateral=bilateral,
        equal=sum(pair.premise == pair.hypothesis for pair in directed_pairs),
        truncated=similarities.truncated,
    )


def direction_pairs(pairs: Sequence[NliPair]) -> tuple[list[NliPair], int]:
    """Return the entailment pairs that have a direction, and how many were left out as bilateral.

    Raises:
        EvaluationError: If none is left.
    """
    entailment = [pair for pair in pairs if pair.label == "entailment"]
    directed_pairs = [pair for pair in entailment if not pair.bilateral]
    if not directed_pairs:
        raise EvaluationError(
            f"expected an entailment pair with a direction, found none in {len(pairs):,} pairs, "
            f"{len(entailment):,} of them of entailment and bilateral"
        )
    return directed_pairs, len(entailment) - len(directed_pairs)
