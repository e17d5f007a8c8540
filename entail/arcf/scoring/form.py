"""Form of a scorer: its settings beside the weights, stored in `entail.json` under `scorer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

from entail.arcf.config import Reading
from entail.errors import EncoderError
from entail.training.fields import current_names

METHOD = "arcf"
"""As `entail.json` names the method."""

SHARED_PIECES, POWER, SIMILARITY = "log_shared_pieces", "log_power", "log_similarity"
"""The logarithms of the weights of what is known without reading, among the head's tensors.

A step of an optimiser then changes them by a share of what they are, whatever their size.
"""


@dataclass(frozen=True, kw_only=True)
class ScorerForm:
    """Settings that a scorer was trained with and is to be used with.

    Attributes:
        scheme: `arcf`: facts in the light of those before; `single-fact`: each alone.
        max_length: Tokens of a row.
        k: Neighbours that were visible while it was trained.
        metric: What nearness was.
        stop: Whether it learnt when to stop.
        reading: `joint`: a cross-encoder reads prefix and candidate; `apart`: a bi-encoder.
        shared_pieces: Whether the overlap of prefix and candidate is a term of its scores.
        encoder: What made the vectors of explained questions, where the explanatory power of facts is a term
            of its scores; empty where it is none.
        similarity: Whether the similarity of question and fact by their words is a term of its scores.
    """

    scheme: str = "arcf"
    max_length: int = 256
    k: int = 180
    metric: str = "tfidf"
    stop: bool = True
    reading: str = "joint"
    shared_pieces: bool = False
    encoder: str = ""
    similarity: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what `entail.json` says."""
        return asdict(self)

    @classmethod
    def read(cls, told: Mapping[str, Any], *, name: str) -> ScorerForm:
        """Read the result of `to_json`, of earlier versions too; unknown fields are ignored.

        Raises:
            EncoderError: If a value is of another type, or the reading is one that no longer exists.
        """
        default, names = cls(), [field.name for field in fields(cls)]
        known = {key: told for key, told in current_names(told, known=names).items() if key in names}
        for key, value in known.items():
            kind = type(getattr(default, key))
            if type(value) is not kind:
                raise EncoderError(
                    f"{name}: expected {kind.__name__} as {key!r} in 'scorer' of entail.json, found {value!r}"
                )
        form = cls(**known)
        if form.reading not in get_args(Reading):
            raise EncoderError(
                f"{name}: expected 'reading' in entail.json to be {' or '.join(get_args(Reading))}, found "
                f"{form.reading!r}; train the scorer again with reading=apart"
            )
        return form
