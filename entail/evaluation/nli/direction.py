"""Evaluation of the direction of entailment, on pairs of which the first sentence entails the second.

Three rules, a tie being wrong in each:

=================  ======================================================================================
similarity         the premise entails if sim(h || p) > sim(p || h)
variance           the sentence with the larger sum of log sigma entails
length             the longer sentence entails, in characters: the baseline, which knows no meaning
=================  ======================================================================================

Where the longer sentence is the entailed one the baseline is wrong every time: accuracy there is what an
encoder knows beside length.
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
    encoder_name,
    encoder_revision,
    pair_similarities,
    require_direction,
)
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values, wilson_interval

RATIO_WIDTH = 0.25
"""Width of a bin of `length_ratios`."""

RATIO_LIMIT = 8.0
"""Ratios from here on are counted together."""


@dataclass(frozen=True)
class LengthRatios:
    """Histogram of the ratio of premise length to hypothesis length (Figure 2 of the paper).

    Attributes:
        width: Bin i holds the ratios from i * width up to, but not with, (i + 1) * width.
        counts: Pairs of each bin.
        beyond: Pairs with a ratio past the last bin.
        median: Median ratio.
    """

    width: float
    counts: tuple[int, ...]
    beyond: int
    median: float

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types."""
        return {
            "width": self.width,
            "counts": list(self.counts),
            "beyond": self.beyond,
            "median": self.median,
        }


@dataclass(frozen=True, eq=False)
class DirectionEvaluation:
    """Accuracy of an encoder in telling which sentence entails the other, beside the length baseline.

    Attributes:
        encoder: Its name.
        revision: Its weights, None where it does not say.
        margins: sim(h || p) - sim(p || h) of each pair, shape (n,).
        wider: Sum of the premise's log sigma less that of the hypothesis, shape (n,); None without variances.
        longer: Characters of the premise less those of the hypothesis, shape (n,).
        bilateral: Pairs left out because each sentence is known to entail the other (SICK).
        equal: Pairs of two equal sentences, which no rule can decide; they are among the n, as wrong.
        ratios: Histogram of lengths.
        truncated: Sentences of which only the beginning was read; None if the encoder does not say.
    """

    encoder: str
    revision: str | None
    margins: Values = field(repr=False)
    wider: Values | None = field(repr=False)
    longer: Values = field(repr=False)
    bilateral: int
    equal: int
    ratios: LengthRatios
    truncated: int | None = None

    @property
    def n(self) -> int:
        """Pairs."""
        return len(self.margins)

    @property
    def correct(self) -> Booleans:
        """Correct decisions, shape (n,), bool: input of `entail.statistics.classification.mcnemar`."""
        right: Booleans = self.margins > 0
        return right

    @property
    def accuracy(self) -> float:
        """Share decided rightly."""
        return float(self.correct.mean())

    @property
    def length_baseline(self) -> float:
        """Share that length decides rightly."""
        return float((self.longer > 0).mean())

    @property
    def longer_entailed(self) -> Booleans:
        """Mask of pairs whose hypothesis is longer than their premise, shape (n,)."""
        which: Booleans = self.longer < 0
        return which

    def to_json(self) -> dict[str, Any]:
        """Return the figures, of JSON's types; shares, not percentages."""
        by_variance = None
        if self.wider is not None:
            right = self.wider > 0
            by_variance = {**_share(right), "longer_entailed": _share(right[self.longer_entailed])}
        return {
            **_share(self.correct),
            "ties": int((self.margins == 0).sum()),
            "length_baseline": self.length_baseline,
            "longer_entailed": _share(self.correct[self.longer_entailed]),
            "same_length": int((self.longer == 0).sum()),
            "by_variance": by_variance,
            "equal_sentences": self.equal,
            "bilateral_left_out": self.bilateral,
            "truncated_sentences": self.truncated,
            "length_ratios": self.ratios.to_json(),
            "encoder": self.encoder,
            "revision": self.revision,
        }


def evaluate_direction(
    pairs: Sequence[NliPair], encoder: PairEncoder, *, progress: ProgressCallback | None = None
) -> DirectionEvaluation:
    """Decide for each entailment pair which sentence entails the other, and count.

    Args:
        pairs: Pairs of any label; those of entailment are taken, without the bilateral ones.
        encoder: Gaussian, or with similarities of its own.
        progress: Told as sentences are encoded.

    Raises:
        EncoderError: If the encoder makes points, or cannot be loaded.
        EvaluationError: If no entailment pair is left, or a similarity is no number.
    """
    require_direction(encoder)
    taken, bilateral = direction_pairs(pairs)
    found = pair_similarities(taken, encoder, progress=progress)
    if found.backward is None:
        raise EvaluationError(f"{encoder_name(encoder)}: expected similarities both ways, found one way only")
    return DirectionEvaluation(
        encoder=encoder_name(encoder),
        revision=encoder_revision(encoder),
        margins=found.forward - found.backward,
        wider=found.wider,
        longer=np.array([len(pair.premise) - len(pair.hypothesis) for pair in taken], dtype=np.float64),
        bilateral=bilateral,
        equal=sum(pair.premise == pair.hypothesis for pair in taken),
        ratios=length_ratios(taken),
        truncated=found.truncated,
    )


def direction_pairs(pairs: Sequence[NliPair]) -> tuple[list[NliPair], int]:
    """Return the entailment pairs that have a direction, and how many were left out as bilateral.

    Raises:
        EvaluationError: If none is left.
    """
    entailment = [pair for pair in pairs if pair.label == "entailment"]
    taken = [pair for pair in entailment if not pair.bilateral]
    if not taken:
        raise EvaluationError(
            f"expected at least one entailment pair with a direction, found none in {len(pairs):,} pairs, "
            f"{len(entailment):,} of them of entailment and all of these bilateral"
            if entailment
            else f"expected at least one entailment pair, found none in {len(pairs):,} pairs"
        )
    return taken, len(entailment) - len(taken)


def length_baseline(pairs: Sequence[NliPair]) -> float:
    """Return the share of entailment pairs in which the premise is the longer sentence, in characters.

    >>> length_baseline([NliPair("two dogs", "dogs", "entailment"), NliPair("ice", "ice", "entailment")])
    0.5

    Raises:
        EvaluationError: As `direction_pairs`.
    """
    taken, _ = direction_pairs(pairs)
    return sum(len(pair.premise) > len(pair.hypothesis) for pair in taken) / len(taken)


def length_ratios(
    pairs: Sequence[NliPair], *, width: float = RATIO_WIDTH, limit: float = RATIO_LIMIT
) -> LengthRatios:
    """Count pairs by how many times as long as the hypothesis the premise is, in characters.

    >>> some = [NliPair("four", "to", "neutral"), NliPair("a", "four", "neutral")]
    >>> length_ratios(some, width=1, limit=3).counts
    (1, 0, 1)

    Raises:
        EvaluationError: If there is no pair, or the bins cannot be.
    """
    bins = round(limit / width) if width > 0 else 0
    if not pairs or bins < 1:
        raise EvaluationError(
            f"expected pairs and at least one bin, found {len(pairs)} pairs, width {width}, limit {limit}"
        )
    # An empty hypothesis is shorter than any other by any factor.
    lengths = np.array([[len(pair.premise), len(pair.hypothesis)] for pair in pairs], dtype=np.float64)
    premise, hypothesis = lengths[:, 0], lengths[:, 1]
    ratios = np.divide(premise, hypothesis, out=np.full(len(pairs), np.inf), where=hypothesis > 0)
    inside = ratios[ratios < bins * width]
    places = np.minimum((inside / width).astype(np.int64), bins - 1)  # a quotient may be rounded up
    counts = np.bincount(places, minlength=bins)
    return LengthRatios(
        width=width,
        counts=tuple(counts.tolist()),
        beyond=len(ratios) - len(inside),
        median=float(np.median(ratios)),
    )


def _share(right: Booleans) -> dict[str, Any]:
    interval = wilson_interval(int(right.sum()), len(right))
    return {
        "accuracy": float(right.mean()) if len(right) else None,
        "n": len(right),
        "interval": list(interval) if interval else None,
    }
