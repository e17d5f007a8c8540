"""What has to be known of a judge of entailment beside its weights: `judge` in `entail.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entail.data.nli import LABELS
from entail.errors import EncoderError

METHOD = "judge"
"""As `entail.json` names the method."""

SHIPPED = "nli-minilm"
"""Name of the judge that is taken where none is named."""


@dataclass(frozen=True, kw_only=True)
class JudgeForm:
    """How a judge that was trained here is to be used.

    Attributes:
        longest: Tokens of a premise and a hypothesis together that are read.
        labels: What the outputs of the head stand for, in order.
    """

    longest: int = 256
    labels: tuple[str, ...] = LABELS

    def to_json(self) -> dict[str, Any]:
        """Return what `entail.json` says."""
        return {"longest": self.longest, "labels": list(self.labels)}

    @classmethod
    def read(cls, told: Mapping[str, Any], *, name: str) -> JudgeForm:
        """Take back what `to_json` returned.

        Raises:
            EncoderError: If the labels are not those of natural language inference, or `longest` no number.
        """
        longest, labels = told.get("longest", cls.longest), told.get("labels", list(LABELS))
        if type(longest) is not int or longest < 8:
            raise EncoderError(
                f"{name}: expected a whole number as 'longest' in 'judge' of entail.json, found {longest!r}"
            )
        if not isinstance(labels, list) or sorted(map(str, labels)) != sorted(LABELS):
            raise EncoderError(
                f"{name}: expected the labels {', '.join(LABELS)} in 'judge' of entail.json, found {labels!r}"
            )
        return cls(longest=longest, labels=tuple(labels))
