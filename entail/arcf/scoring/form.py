"""Form of a scorer: its settings beside the weights, stored in `entail.json` under `scorer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

from entail.arcf.config import Reading
from entail.errors import EncoderError
from entail.training.fields import current_names

METHOD = "arcf"
"""Name of the method in `entail.json`."""

SHARED_PIECES, POWER, SIMILARITY = "log_shared_pieces", "log_power", "log_similarity"
"""Tensors of the head: logarithms of the weights of the terms, so that a step changes them by a share."""


@dataclass(frozen=True, kw_only=True)
class ScorerForm:
    """Settings that a scorer was trained with and is to be used with.

    Attributes:
        scheme: `arcf`: premises given those before; `single-fact`: each by itself.
        max_length: Maximum number of tokens of a row.
        k: Neighbours that were visible in training.
        metric: Similarity of premises.
        stop: Whether it was trained to stop.
        reading: `joint`: a cross-encoder reads prefix and candidate; `apart`: a bi-encoder.
        shared_pieces: Whether the overlap of prefix and candidate is a term of its scores.
        encoder: Encoder of explained questions, where explanatory power is a term; else empty.
        similarity: Whether the word similarity of question and premise is a term.
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
        """Return the entry of `entail.json`."""
        return asdict(self)

    @classmethod
    def read(cls, entry: Mapping[str, Any], *, name: str) -> ScorerForm:
        """Read an entry of `entail.json`, of earlier versions too; unknown fields are ignored.

        Raises:
            EncoderError: If a value has another type, or the reading no longer exists.
        """
        types = {field.name: type(field.default) for field in fields(cls)}
        entry = current_names(entry, known=list(types))
        values = {key: value for key, value in entry.items() if key in types}
        for key, value in values.items():
            if type(value) is not types[key]:
                raise EncoderError(
                    f"{name}: expected {types[key].__name__} as {key!r} in 'scorer' of entail.json, "
                    f"found {value!r}"
                )
        form = cls(**values)
        if form.reading not in get_args(Reading):
            raise EncoderError(
                f"{name}: expected 'reading' in entail.json to be {' or '.join(get_args(Reading))}, found "
                f"{form.reading!r}; train the scorer again with reading=apart"
            )
        return form
