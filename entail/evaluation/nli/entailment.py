"""Two-way NLI by a threshold on sim(h || p): entailment or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.errors import EvaluationError, SettingsError
from entail.evaluation.nli.pair_similarity import (
    PairEncoder,
    PairEvaluation,
    pair_similarities,
)
from entail.progress import ProgressCallback
from entail.statistics.classification import (
    Booleans,
    Values,
    auprc,
    auprc_stepped,
    best_threshold,
)

ThresholdSource = Literal["given", "encoder", "dev", "data"]
"""Origin of a threshold; `data` means the measured pairs themselves, which is optimistic."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NliEvaluation(PairEvaluation):
    """Measures of entailment against neutral and contradiction.

    Attributes:
        threshold: Similarity above which a pair is called entailment.
        threshold_from: Origin of the threshold.
        scores: sim(h || p) of each pair, shape (n,).
        entails: Whether each pair is entailment, shape (n,).
    """

    threshold: float
    threshold_from: ThresholdSource
    scores: Values = field(repr=False)
    entails: Booleans = field(repr=False)

    @property
    def correct(self) -> Booleans:
        """Correct decisions, shape (n,)."""
        right: Booleans = (self.scores > self.threshold) == self.entails
        return right

    @property
    def majority(self) -> float:
        """Accuracy of calling every pair what most of them are."""
        share = float(self.entails.mean())
        return max(share, 1 - share)

    @property
    def auprc(self) -> float | None:
        """Exact area under precision over recall; None if no pair is entailment."""
        return auprc(self.scores, self.entails)

    @property
    def auprc_stepped(self) -> float | None:
        """The same by thresholds in steps of 0.001, as the paper has it."""
        return auprc_stepped(self.scores, self.entails)

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        return {
            **super().to_json(),
            "auprc": self.auprc,
            "auprc_stepped": self.auprc_stepped,
            "threshold": self.threshold,
            "threshold_from": self.threshold_from,
            "entailment": int(self.entails.sum()),
            "majority": self.majority,
        }


def evaluate_nli(
    pairs: Sequence[NliPair],
    encoder: PairEncoder,
    *,
    threshold: float | None = None,
    dev: Sequence[NliPair] | None = None,
    progress: ProgressCallback | None = None,
) -> NliEvaluation:
    """Call each pair entailment if sim(h || p) is above a threshold, and count.

    Args:
        pairs: Pairs to measure on.
        encoder: Gaussian or of points (cosine).
        threshold: The threshold; default: the best on `dev`, else the one stored with the encoder, else the
            best on `pairs` themselves.
        dev: Pairs to fit the threshold on.
        progress: Callback of encoding.

    Raises:
        EvaluationError: If there are no pairs, or a similarity is no number.
        SettingsError: If both a threshold and dev pairs are given, or it is no finite number.
        EncoderError: If the encoder cannot be loaded.
    """
    if threshold is not None and dev is not None:
        raise SettingsError("expected a threshold or dev pairs to fit one on, found both; leave one out")
    if threshold is not None and not np.isfinite(threshold):
        raise SettingsError(f"expected a finite number as threshold, found {threshold}")
    if not pairs or (dev is not None and not dev):
        requirement = "dev pair to fit a threshold on" if pairs else "pair to measure on"
        raise EvaluationError(f"expected at least one {requirement}, found none")
    # In one go, so that a sentence of both is encoded once.
    similar = pair_similarities([*pairs, *(dev or ())], encoder, progress=progress)
    scores = similar.forward
    entails = _entails(pairs)
    stored = getattr(encoder, "threshold", None)
    source: ThresholdSource = "given"
    if threshold is None and dev is not None:
        source, threshold = "dev", best_threshold(scores[len(pairs) :], _entails(dev)).value
    elif threshold is None and stored is not None:
        source, threshold = "encoder", float(stored)
    elif threshold is None:
        source, threshold = "data", best_threshold(scores[: len(pairs)], entails).value
    return NliEvaluation(
        encoder=encoder.name,
        revision=encoder.revision,
        threshold=threshold,
        threshold_from=source,
        scores=scores[: len(pairs)],
        entails=entails,
        truncated=similar.truncated,
    )


def _entails(pairs: Sequence[NliPair]) -> Booleans:
    return np.array([pair.label == "entailment" for pair in pairs], dtype=np.bool_)
