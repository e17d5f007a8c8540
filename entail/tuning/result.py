"""Results of both stages of entailment tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from entail.training.run import Setup, Training
from entail.tuning.config import DprConfig, TuningConfig


@dataclass(frozen=True, kw_only=True)
class TuningTraining(Training[TuningConfig]):
    """Result of the first stage, with counts of pairs, pairs left out, truncated premises and steps.

    Attributes:
        new_head: Whether the base's checkpoint had no masked-LM head.
    """

    METHOD: ClassVar = "tuning"

    new_head: bool

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the path of the folder."""
        return {**super().to_json(), "new_head": self.new_head}


@dataclass(frozen=True, kw_only=True)
class DprTraining(Training[DprConfig]):
    """Result of the second stage, with counts of questions, passages, hard negatives and steps."""

    METHOD: ClassVar = "dpr"


def stage_entries(setup: Setup) -> dict[str, Any]:
    """Return the entries of `entail.json` of both stages; a first stage is part of the second one's."""
    entries: dict[str, Any] = {"towers": "siamese"}
    start = setup.initial or setup.base
    if start.method == TuningTraining.METHOD:
        config = start.card.config if start.card is not None else {}
        entries["tuned"] = {"revision": start.revision, "config": dict(config)}
    return entries
