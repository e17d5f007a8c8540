"""Results of both stages of entailment tuning, and their encoder folders."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from entail.training.adapters.saving import name_of, save_encoder
from entail.training.run import Setup, Training
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.tower import PassageTower


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


def save_stage(out: Path, training: TuningTraining | DprTraining, tower: PassageTower, setup: Setup) -> None:
    """Write an adapter, or a whole model where every weight was trained, without a masked-LM head.

    Raises:
        TrainingError: If `out` holds something else, or cannot be written; its content stays.
    """
    config, best, base = training.config, training.fitted.best, setup.base

    def about() -> dict[str, Any]:
        start: dict[str, Any] = {"trained_from": base.name}
        if config.tuning == "lora":
            start = {"base": name_of(base), "base_revision": base.revision}
        before = setup.initial or base
        if before.method == TuningTraining.METHOD:  # the first stage belongs to the description of this model
            first = before.card.config if before.card is not None else {}
            start["tuned"] = {"revision": before.revision, "config": dict(first)}
        return {
            "method": training.METHOD,
            **start,
            "towers": "siamese",
            "figures": {"dev": dict(best.figures), "epoch": best.epoch, "step": best.step} if best else {},
            "config": asdict(config),
            "trained_on": {**training.counts, **({"data": list(training.data)} if training.data else {})},
            "licence": base.licence,
        }

    save_encoder(out, method=training.METHOD, write=tower.save, about=about)
