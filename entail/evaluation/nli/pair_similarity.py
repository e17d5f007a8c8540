"""Similarities sim(h || p) and sim(p || h) of the premise and hypothesis of each pair, by any encoder.

Every distinct sentence is encoded once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.distributions import EncodesGaussians, encode_pairs, similarity
from entail.errors import EncoderError, EvaluationError
from entail.progress import ProgressCallback
from entail.statistics.classification import Booleans, Values, wilson_interval

PairEncoder = EncodesGaussians | Encoder
"""Encoders that can judge pairs: of Gaussians, or of points (by cosine)."""


@dataclass(frozen=True, eq=False)
class PairSimilarities:
    """Similarities of an encoder for n pairs.

    Attributes:
        forward: sim(h || p), how much the premise entails the hypothesis, shape (n,).
        backward: sim(p || h), shape (n,); None of points, which know no direction.
        wider: Sum of the premise's log sigma less that of the hypothesis, shape (n,); None of points.
        truncated: Number of truncated distinct sentences; None if unknown.
    """

    forward: Values
    backward: Values | None = None
    wider: Values | None = None
    truncated: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class PairEvaluation(ABC):
    """Decisions of an encoder on labelled pairs.

    Attributes:
        encoder: Name of the encoder.
        revision: Revision of its weights.
        truncated: Number of truncated sentences; None if unknown.
    """

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
            **correct_share(self.correct),
            "truncated_sentences": self.truncated,
            "encoder": self.encoder,
            "revision": self.revision,
        }


def correct_share(correct: Booleans) -> dict[str, Any]:
    """Return the share of correct decisions, their number and the interval of the share; None without any."""
    interval = wilson_interval(int(correct.sum()), len(correct))
    return {
        "accuracy": float(correct.mean()) if len(correct) else None,
        "n": len(correct),
        "interval": list(interval) if interval else None,
    }


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


def require_direction(encoder: PairEncoder) -> None:
    """Refuse points where Gaussians are needed.

    Raises:
        EncoderError: If the encoder makes points.
    """
    if isinstance(encoder, Encoder):
        raise EncoderError(
            f"{encoder.name}: a point encoder given where a Gaussian one is needed: the similarity of two "
            "points is the same both ways, so it cannot say which sentence entails the other; name one "
            "trained by GaussCSE, such as gausscse-minilm"
        )


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
    if isinstance(encoder, Encoder):
        similarities = PairSimilarities(_cosines(premises, hypotheses, encoder, progress))
    else:
        similarities = _of_gaussians(premises, hypotheses, encoder, progress)
    for values in (similarities.forward, similarities.backward):
        if values is not None and not np.isfinite(values).all():
            raise EvaluationError(
                f"{encoder.name}: expected finite similarities, found "
                f"{int((~np.isfinite(values)).sum())} of {len(values)} that are not; its weights are broken"
            )
    return replace(similarities, truncated=_truncated([*premises, *hypotheses], encoder))


def _truncated(texts: Sequence[str], encoder: PairEncoder) -> int | None:
    cut = getattr(encoder, "cut", None)
    return None if cut is None else int(sum(cut(list(_row_of_text(texts)))))


def _of_gaussians(
    premises: Sequence[str],
    hypotheses: Sequence[str],
    encoder: EncodesGaussians,
    progress: ProgressCallback | None,
) -> PairSimilarities:
    first, second = encode_pairs(lambda texts: encoder.encode(texts, progress=progress), premises, hypotheses)
    spread_first, spread_second = (
        gaussians.log_variance.astype(np.float64).sum(axis=1) / 2 for gaussians in (first, second)
    )
    return PairSimilarities(
        forward=similarity(second, first, kind=encoder.kind),
        backward=similarity(first, second, kind=encoder.kind),
        wider=spread_first - spread_second,
    )


def _cosines(
    premises: Sequence[str], hypotheses: Sequence[str], encoder: Encoder, progress: ProgressCallback | None
) -> Values:
    if encoder.symmetric:
        rows = _row_of_text([*premises, *hypotheses])
        vectors = encoder.encode_premises(list(rows), progress=progress)
        first, second = (vectors[[rows[text] for text in texts]] for texts in (premises, hypotheses))
    else:
        first, second = (
            encode(list(rows), progress=progress)[[rows[text] for text in texts]]
            for texts, encode in ((premises, encoder.encode_premises), (hypotheses, encoder.encode_queries))
            for rows in [_row_of_text(texts)]
        )
    cosines: Values = np.einsum("ij,ij->i", first, second, dtype=np.float64)
    return cosines


def _row_of_text(texts: Sequence[str]) -> dict[str, int]:
    return {text: row for row, text in enumerate(dict.fromkeys(texts))}


class Judge(Protocol):
    """Protocol of models that give the probability of an entailment."""

    @property
    def name(self) -> str:
        """Display name."""
        ...

    def entailment(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        progress: ProgressCallback | None = None,
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,)."""
        ...
