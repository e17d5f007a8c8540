"""Form of a Gaussian encoder: its settings in `entail.json` under `gaussian`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from entail.encoders.weights import read_form

SimilarityKind = Literal["kl", "kl_mean", "kl_per_dim"]
"""Similarities from KL(first || second) = sum over d dimensions of KL_i.

`kl`: 1 / (1 + KL), eq. 2 of the paper; `kl_mean`: 1 / (1 + KL / d), the same ranking; `kl_per_dim`: the mean
of 1 / (1 + KL_i), as in the authors' code.
"""

Pooling = Literal["mean", "cls"]

HEAD = "head"
"""Folder of the head of an adapter, within its own: a linear map from d hidden to 2 d numbers."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Logistic curve from a score x to a probability, 1 / (1 + exp(-(slope x + intercept)))."""

    slope: float
    intercept: float


@dataclass(frozen=True, kw_only=True)
class GaussianForm:
    """Settings of a Gaussian encoder, without its weights.

    Attributes:
        similarity: Similarity of the training.
        pooling: Pooling of the tokens' hidden vectors.
        tanh: Whether tanh is applied to means, as in the authors' code.
        threshold: Similarity sim(h || p) above which the premise p entails h; None if not fitted.
        entailment: From sim(h || p) to the probability that p entails h.
        direction: From sim(h || p) - sim(p || h), in logits, to the probability that p entails h, given that
            exactly one entails the other.
    """

    similarity: SimilarityKind = "kl_mean"
    pooling: Pooling = "mean"
    tanh: bool = False
    threshold: float | None = None
    entailment: Calibration | None = None
    direction: Calibration | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the record in `entail.json`."""
        return asdict(self)

    @classmethod
    def read(cls, record: Mapping[str, Any], *, name: str) -> GaussianForm:
        """Return the form of a record made by `to_json`; unknown fields are ignored.

        Raises:
            EncoderError: If a value is invalid.
        """
        return read_form(cls, record, name=name, entry="gaussian")
