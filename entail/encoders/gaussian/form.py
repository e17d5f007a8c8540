"""Form of a Gaussian encoder: its settings in `entail.json` under `gaussian`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from entail.errors import EncoderError

SimilarityKind = Literal["kl", "kl_mean", "kl_per_dim"]
"""Similarities from KL(first || second) = sum over d dimensions of KL_i.

`kl`: 1 / (1 + KL), eq. 2 of the paper; `kl_mean`: 1 / (1 + KL / d), which ranks alike; `kl_per_dim`: the mean
of 1 / (1 + KL_i), as in the authors' code.
"""

Pooling = Literal["mean", "cls"]

HEAD = "head"
"""Folder of the head of an adapter, within its own: a linear map from d hidden to 2 d numbers."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    r"""A logistic curve from a score to a probability, :math:`1 / (1 + e^{-(a x + b)})`, fitted on dev.

    Attributes:
        slope: a.
        intercept: b.
    """

    slope: float
    intercept: float


@dataclass(frozen=True, kw_only=True)
class GaussianForm:
    """Settings of a Gaussian encoder beside its weights.

    Attributes:
        similarity: Which similarity it was trained by, see `entail.encoders.gaussian.distributions`.
        pooling: How a sentence's hidden vector is made of its tokens'.
        tanh: Whether means go through tanh, as in the authors' code.
        threshold: Above which similarity sim(h || p) the premise p is said to entail h; None if not fitted.
        entailment: From sim(h || p) to the probability that p entails h.
        direction: From sim(h || p) - sim(p || h), in logits, to the probability that the entailment runs
            from p to h where it runs one way.
    """

    similarity: SimilarityKind = "kl_mean"
    pooling: Pooling = "mean"
    tanh: bool = False
    threshold: float | None = None
    entailment: Calibration | None = None
    direction: Calibration | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what `entail.json` says."""
        return asdict(self)

    @classmethod
    def read(cls, told: Mapping[str, Any], *, name: str) -> GaussianForm:
        """Take back what `to_json` returned; fields that are not known are left out.

        Raises:
            EncoderError: If a value cannot be.
        """
        known = {field.name: told[field.name] for field in fields(cls) if field.name in told}
        try:
            for part in ("entailment", "direction"):
                if known.get(part) is not None:
                    known[part] = Calibration(**{key: float(value) for key, value in known[part].items()})
            if known.get("threshold") is not None:
                known["threshold"] = float(known["threshold"])
        except (TypeError, ValueError, AttributeError) as error:
            raise EncoderError(
                f"{name}: expected numbers in 'gaussian' of entail.json, found {error}"
            ) from error
        form = cls(**known)
        for part, choices in (("similarity", SimilarityKind), ("pooling", Pooling)):
            if getattr(form, part) not in get_args(choices):
                raise EncoderError(
                    f"{name}: expected {part} to be one of {', '.join(get_args(choices))} in 'gaussian' of "
                    f"entail.json, found {getattr(form, part)!r}"
                )
        return form
