"""What has to be known of a scorer beside its weights: what `entail.json` says under `scorer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from entail.errors import EncoderError

METHOD = "arcf"
"""As `entail.json` names the method."""

SHARED_PIECES, POWER, SIMILARITY = "log_shared_pieces", "log_power", "log_similarity"
"""The logarithms of the weights of what is known without reading, among the head's tensors.

A step of an optimiser then changes them by a share of what they are, whatever their size.
"""


@dataclass(frozen=True, kw_only=True)
class ScorerForm:
    """How a scorer was trained, and is to be used.

    Attributes:
        scheme: `arcf`: facts in the light of those before; `single-fact`: each alone.
        longest: Tokens of a row.
        k: Neighbours that were visible while it was trained.
        metric: What nearness was.
        stop: Whether it learnt when to stop.
        reading: `joint`: prefix and candidate read each other; `split`, `apart`: see `entail.arcf.split`.
        alone: Split: layers in which a candidate reads itself alone; apart: all.
        shared_pieces: Whether the overlap of prefix and candidate is a term of its scores.
        encoder: What made the vectors of explained questions, where the explanatory power of facts is a term
            of its scores; empty where it is none.
        similarity: Whether the similarity of question and fact by their words is a term of its scores.
    """

    scheme: str = "arcf"
    longest: int = 256
    k: int = 180
    metric: str = "tfidf"
    stop: bool = True
    reading: str = "joint"
    alone: int = 0
    shared_pieces: bool = False
    encoder: str = ""
    similarity: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what `entail.json` says."""
        return asdict(self)

    @classmethod
    def read(cls, told: Mapping[str, Any], *, name: str) -> ScorerForm:
        """Take back what `to_json` returned; fields that are not known are left out.

        Raises:
            EncoderError: If a value is of another type.
        """
        known = {field.name: told[field.name] for field in fields(cls) if field.name in told}
        default = cls()
        for key, value in known.items():
            kind = type(getattr(default, key))
            if type(value) is not kind:
                raise EncoderError(
                    f"{name}: expected {kind.__name__} as {key!r} in 'scorer' of entail.json, found {value!r}"
                )
        return cls(**known)
