"""Decisions of an encoder on labelled pairs: entailment and its direction.

==============  ==========================================================================================
entailment      a pair entails if sim(h || p) is above a threshold
direction       the premise of an entailment pair entails if sim(h || p) > sim(p || h); by variance, if its
                sum of log sigma is larger; the baseline takes the longer sentence. A tie is wrong.
==============  ==========================================================================================

Where the longer sentence is the entailed one the baseline is wrong every time: accuracy there is what an
encoder knows besides length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.distributions import EncodesGaussians, encode_pairs, similarity
from entail.errors import EncoderError, EvaluationError
from entail.index.protocol import Floats
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values, auprc, best_threshold, wilson_interval

PairEncoder = EncodesGaussians | Encoder
"""Encoders that can judge pairs: of Gaussians, or of points (by cosine)."""


@dataclass(frozen=True, eq=False)
class PairSimilarities:
    """Similarities of an encoder for n pairs.

    Attributes:
        forward: sim(h || p), how much the premise entails the hypothesis, shape (n,).
        backward: sim(p || h), shape (n,); None of points, which know no direction.
        wider: Sum of the premise's log sigma less that of the hypothesis, shape (n,); None of points.
    """

    forward: Values
    backward: Values | None = None
    wider: Values | None = None


def pair_encoder(name: str | Path) -> PairEncoder:
    """Return the encoder of this name, Gaussian or not, as its `entail.json` says.

    Raises:
        EncoderError: If the name leads nowhere, or the weights cannot be loaded.
    """
    entry = fetch(resolve(name))
    if entry.gaussian is None:
        return BiEncoder(entry)
    from entail.encoders.gaussian.encoder import GaussianEncoder

    return GaussianEncoder(entry)


def pair_similarities(
    pairs: Sequence[NliPair], encoder: PairEncoder, *, progress: ProgressCallback | None = None
) -> PairSimilarities:
    """Compare the sentences of each pair.

    Points are compared by their cosine: the hypothesis by the query tower, the premise by the premise tower.

    Raises:
        EncoderError: If the encoder cannot be loaded.
        EvaluationError: If there is no pair, or a similarity is no number.
    """
    if not pairs:
        raise EvaluationError("expected at least one pair to measure on, found none")
    premises, hypotheses = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    backward = wider = None
    if isinstance(encoder, Encoder):
        first_vectors = _encode_once(premises, encoder.encode_premises, progress)
        second_vectors = _encode_once(hypotheses, encoder.encode_queries, progress)
        forward: Values = np.einsum("ij,ij->i", first_vectors, second_vectors, dtype=np.float64)
    else:
        first, second = encode_pairs(
            lambda texts: encoder.encode(texts, progress=progress), premises, hypotheses
        )
        forward = similarity(second, first, kind=encoder.kind)
        backward = similarity(first, second, kind=encoder.kind)
        wider = (first.log_variance.astype(np.float64) - second.log_variance).sum(axis=1) / 2
    for values in (forward, backward):
        if values is not None and not np.isfinite(values).all():
            raise EvaluationError(
                f"{encoder.name}: expected finite similarities, found "
                f"{int((~np.isfinite(values)).sum())} of {len(values)} that are not; its weights are broken"
            )
    return PairSimilarities(forward, backward, wider)


def _encode_once(
    texts: Sequence[str], encode: Callable[..., Floats], progress: ProgressCallback | None
) -> Floats:
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    return encode(list(rows), progress=progress)[[rows[text] for text in texts]]


@dataclass(frozen=True, eq=False)
class PairEvaluation:
    """Decisions of an encoder.

    Attributes:
        correct: Correct decisions, shape (n,): for paired tests.
        figures: Further figures of the task.
    """

    encoder: str
    revision: str
    correct: Booleans = field(repr=False)
    figures: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the figures, as shares, in a JSON-serialisable dict."""
        return {
            **_share(self.correct),
            "encoder": self.encoder,
            "revision": self.revision,
            **self.figures,
        }


def evaluate_nli(
    pairs: Sequence[NliPair],
    encoder: PairEncoder,
    *,
    dev: Sequence[NliPair] | None = None,
    progress: ProgressCallback | None = None,
) -> PairEvaluation:
    """Call each pair entailment if sim(h || p) is above a threshold, and count.

    The threshold is the best on `dev`, else the one stored with the encoder, else the best on `pairs` (`data`
    as `threshold_from`), which is optimistic.

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
    if dev is not None:
        source, threshold = "dev", best_threshold(similar.forward[len(pairs) :], _entails(dev)).value
    elif stored is not None:
        source, threshold = "encoder", float(stored)
    else:
        source, threshold = "data", best_threshold(scores, entails).value
    figures = {
        "auprc": auprc(scores, entails),
        "threshold": threshold,
        "threshold_from": source,
        "entailment": int(entails.sum()),
        "majority": float(max(entails.mean(), 1 - entails.mean())),
    }
    right = (scores > threshold) == entails
    return PairEvaluation(encoder.name, encoder.revision, right, figures)


def evaluate_direction(
    pairs: Sequence[NliPair], encoder: PairEncoder, *, progress: ProgressCallback | None = None
) -> PairEvaluation:
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
    similar = pair_similarities(directed, encoder, progress=progress)
    assert similar.backward is not None
    assert similar.wider is not None
    right, by_variance = similar.forward > similar.backward, similar.wider > 0
    longer = np.array([len(pair.premise) - len(pair.hypothesis) for pair in directed])
    figures = {
        "length_baseline": float((longer > 0).mean()),
        "longer_entailed": _share(right[longer < 0]),
        "by_variance": {**_share(by_variance), "longer_entailed": _share(by_variance[longer < 0])},
        "bilateral_left_out": bilateral,
    }
    return PairEvaluation(encoder.name, encoder.revision, right, figures)


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


def _entails(pairs: Sequence[NliPair]) -> Booleans:
    return np.array([pair.label == "entailment" for pair in pairs], dtype=np.bool_)


def _share(correct: Booleans) -> dict[str, Any]:
    """Return the share of correct decisions, their number and the interval of the share; None without any."""
    interval = wilson_interval(int(correct.sum()), len(correct))
    return {
        "accuracy": float(correct.mean()) if len(correct) else None,
        "n": len(correct),
        "interval": list(interval) if interval else None,
    }
