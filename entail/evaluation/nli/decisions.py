"""Decisions of an encoder on labelled pairs: entailment, its direction, equivalence.

==============  ==========================================================================================
entailment      a pair entails if sim(h || p) is above a threshold
direction       the premise of an entailment pair entails if sim(h || p) > sim(p || h); by variance, if its
                sum of log sigma is larger; the baseline takes the longer sentence. A tie is wrong.
equivalence     of the pairs that entail one way or both, those with both similarities above the threshold
==============  ==========================================================================================

Where the longer sentence is the entailed one the baseline is wrong every time: accuracy there is what an
encoder knows besides length. Equivalence needs data that label both relations of a pair (SICK).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.encoders.encoder import Encoder
from entail.errors import EncoderError, EvaluationError
from entail.evaluation.nli.pair_similarity import PairEncoder, pair_similarities
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values, auprc, best_threshold, wilson_interval


@dataclass(frozen=True, eq=False, kw_only=True)
class PairEvaluation(ABC):
    """Decisions of an encoder, and the number of truncated sentences (None if unknown)."""

    encoder: str
    revision: str
    truncated: int | None = None

    @property
    @abstractmethod
    def correct(self) -> Booleans:
        """Correct decisions, shape (n,), bool: input of `entail.statistics.classification.mcnemar`."""

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.correct)

    @property
    def accuracy(self) -> float:
        """Share of correct decisions."""
        return float(self.correct.mean())

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        return {
            **_share(self.correct),
            "truncated_sentences": self.truncated,
            "encoder": self.encoder,
            "revision": self.revision,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class NliEvaluation(PairEvaluation):
    """Measures of entailment against neutral and contradiction.

    Attributes:
        threshold: Similarity above which a pair is called entailment.
        threshold_from: Origin of the threshold; `data` means the measured pairs, which is optimistic.
        scores: sim(h || p) of each pair, shape (n,).
        entails: Whether each pair is entailment, shape (n,).
    """

    threshold: float
    threshold_from: Literal["encoder", "dev", "data"]
    scores: Values = field(repr=False)
    entails: Booleans = field(repr=False)

    @property
    def correct(self) -> Booleans:
        """Correct decisions, shape (n,)."""
        right: Booleans = (self.scores > self.threshold) == self.entails
        return right

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        return {
            **super().to_json(),
            "auprc": auprc(self.scores, self.entails),
            "threshold": self.threshold,
            "threshold_from": self.threshold_from,
            "entailment": int(self.entails.sum()),
            "majority": _majority(self.entails),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class DirectionEvaluation(PairEvaluation):
    """Accuracy of an encoder on the direction of entailment, compared with the length baseline.

    Attributes:
        margins: sim(h || p) - sim(p || h) of each pair, shape (n,).
        wider: Sum of the premise's log sigma less that of the hypothesis, shape (n,).
        longer: Characters of the premise less those of the hypothesis, shape (n,).
        bilateral: Pairs left out because each sentence is known to entail the other (SICK).
    """

    margins: Values = field(repr=False)
    wider: Values = field(repr=False)
    longer: Values = field(repr=False)
    bilateral: int

    @property
    def correct(self) -> Booleans:
        """Correct decisions, shape (n,)."""
        right: Booleans = self.margins > 0
        return right

    @property
    def length_baseline(self) -> float:
        """Share of correct decisions by length."""
        return float((self.longer > 0).mean())

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        longer_entailed = self.longer < 0
        by_variance = self.wider > 0
        return {
            **super().to_json(),
            "length_baseline": self.length_baseline,
            "longer_entailed": _share(self.correct[longer_entailed]),
            "by_variance": {
                **_share(by_variance),
                "longer_entailed": _share(by_variance[longer_entailed]),
            },
            "bilateral_left_out": self.bilateral,
        }


def evaluate_nli(
    pairs: Sequence[NliPair],
    encoder: PairEncoder,
    *,
    dev: Sequence[NliPair] | None = None,
    progress: ProgressCallback | None = None,
) -> NliEvaluation:
    """Call each pair entailment if sim(h || p) is above a threshold, and count.

    The threshold is the best on `dev`, else the one stored with the encoder, else the best on `pairs`.

    Raises:
        EvaluationError: If there are no pairs, or a similarity is no number.
        EncoderError: If the encoder cannot be loaded.
    """
    if not pairs or (dev is not None and not dev):
        raise EvaluationError(
            f"expected pairs {'to fit a threshold on' if pairs else 'to measure'}, found none"
        )
    # In one go, so that a sentence of both is encoded once.
    similar = pair_similarities([*pairs, *(dev or ())], encoder, progress=progress)
    scores, entails = similar.forward[: len(pairs)], _entails(pairs)
    stored = getattr(encoder, "threshold", None)
    source: Literal["encoder", "dev", "data"] = "encoder"
    if dev is not None:
        source, threshold = "dev", best_threshold(similar.forward[len(pairs) :], _entails(dev)).value
    elif stored is not None:
        threshold = float(stored)
    else:
        source, threshold = "data", best_threshold(scores, entails).value
    return NliEvaluation(
        encoder=encoder.name,
        revision=encoder.revision,
        threshold=threshold,
        threshold_from=source,
        scores=scores,
        entails=entails,
        truncated=similar.truncated,
    )


def evaluate_direction(
    pairs: Sequence[NliPair], encoder: PairEncoder, *, progress: ProgressCallback | None = None
) -> DirectionEvaluation:
    """Decide for each entailment pair, without the bilateral ones, which sentence entails the other.

    Raises:
        EncoderError: If the encoder makes points, or cannot be loaded.
        EvaluationError: If no entailment pair is left, or a similarity is no number.
    """
    if isinstance(encoder, Encoder):
        raise EncoderError(
            f"{encoder.name}: a point encoder given where a Gaussian one is needed: the similarity of two "
            "points is the same both ways, so it cannot say which sentence entails the other; name one "
            "trained by GaussCSE, such as gausscse-minilm"
        )
    directed, bilateral = direction_pairs(pairs)
    similarities = pair_similarities(directed, encoder, progress=progress)
    assert similarities.backward is not None
    assert similarities.wider is not None
    return DirectionEvaluation(
        encoder=encoder.name,
        revision=encoder.revision,
        margins=similarities.forward - similarities.backward,
        wider=similarities.wider,
        longer=np.array([len(pair.premise) - len(pair.hypothesis) for pair in directed], dtype=np.float64),
        bilateral=bilateral,
        truncated=similarities.truncated,
    )


def direction_pairs(pairs: Sequence[NliPair]) -> tuple[list[NliPair], int]:
    """Return the entailment pairs that have a direction, and how many were left out as bilateral.

    Raises:
        EvaluationError: If none is left.
    """
    entailment = [pair for pair in pairs if pair.label == "entailment"]
    directed = [pair for pair in entailment if not pair.bilateral]
    if not directed:
        raise EvaluationError(
            f"expected an entailment pair with a direction, found none in {len(pairs):,} pairs, "
            f"{len(entailment):,} of them of entailment and bilateral"
        )
    return directed, len(entailment) - len(directed)


def evaluate_equivalence(
    pairs: Sequence[NliPair],
    encoder: PairEncoder,
    *,
    threshold: float,
    progress: ProgressCallback | None = None,
) -> dict[str, Any] | None:
    """Tell equivalent pairs from those that entail one way; None unless there are pairs of both kinds.

    Returns:
        Accuracy, recall and precision of the verdict "equivalent" as shares, the share of the majority, and
        the area under precision over recall by the smaller similarity.

    Raises:
        EncoderError: If the encoder cannot be loaded.
        EvaluationError: If a similarity is no number.
    """
    entailment = [pair for pair in pairs if "entailment" in (pair.forward, pair.backward)]
    equivalent = np.array([pair.bilateral for pair in entailment], dtype=np.bool_)
    if not equivalent.any() or equivalent.all():
        return None
    similarities = pair_similarities(entailment, encoder, progress=progress)
    assert similarities.backward is not None
    lower = np.minimum(similarities.forward, similarities.backward)
    called = lower > threshold
    return {
        **_share(called == equivalent),
        "recall": _share(called[equivalent]),
        "precision": _share(equivalent[called]),
        "majority": _majority(equivalent),
        "auprc": auprc(lower, equivalent),
        "threshold": threshold,
    }


def _entails(pairs: Sequence[NliPair]) -> Booleans:
    return np.array([pair.label == "entailment" for pair in pairs], dtype=np.bool_)


def _majority(truth: Booleans) -> float:
    """Return the accuracy of calling every case what most of them are."""
    return float(max(truth.mean(), 1 - truth.mean()))


def _share(correct: Booleans) -> dict[str, Any]:
    """Return the share of correct decisions, their number and the interval of the share; None without any."""
    interval = wilson_interval(int(correct.sum()), len(correct))
    return {
        "accuracy": float(correct.mean()) if len(correct) else None,
        "n": len(correct),
        "interval": list(interval) if interval else None,
    }
