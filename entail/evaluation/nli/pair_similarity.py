"""Similarities sim(h || p) and sim(p || h) of the premise and hypothesis of each pair, by any encoder.

Every distinct sentence is encoded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from entail.data.nli.pairs import NliPair
from entail.encoders.catalogue import fetch, resolve
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.distributions import EncodesGaussians, encode_pairs, similarity
from entail.errors import EvaluationError
from entail.progress import ProgressCallback
from entail.statistics.classification import Values

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
        forward = _cosines(premises, hypotheses, encoder, progress)
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
    cut = getattr(encoder, "cut", None)
    truncated = None if cut is None else sum(cut(list(_row_of_text([*premises, *hypotheses]))))
    return PairSimilarities(forward, backward, wider, truncated)


def _cosines(
    premises: Sequence[str], hypotheses: Sequence[str], encoder: Encoder, progress: ProgressCallback | None
) -> Values:
    premise_rows, hypothesis_rows = _row_of_text(premises), _row_of_text(hypotheses)
    if encoder.symmetric:
        premise_rows = hypothesis_rows = _row_of_text([*premises, *hypotheses])
    premise_vectors = encoder.encode_premises(list(premise_rows), progress=progress)
    hypothesis_vectors = premise_vectors
    if not encoder.symmetric:
        hypothesis_vectors = encoder.encode_queries(list(hypothesis_rows), progress=progress)
    first = premise_vectors[[premise_rows[text] for text in premises]]
    second = hypothesis_vectors[[hypothesis_rows[text] for text in hypotheses]]
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
        self, premises: Sequence[str], hypotheses: Sequence[str], *, progress: ProgressCallback | None = None
    ) -> Values:
        """Return P(premise entails hypothesis) of each pair, shape (pairs,)."""
        ...
