"""Results of both stages of entailment tuning, and their encoder folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from entail.encoders.catalogue import EncoderEntry
from entail.training.adapters.saving import name_of, save_encoder
from entail.training.loop.fit import Fitted
from entail.training.run import Training
from entail.tuning.config import DprConfig, TuningConfig
from entail.tuning.tower import PassageTower

TUNING = "tuning"
"""Name in `entail.json` of the first stage, masked hypothesis prediction."""

DPR = "dpr"
"""Name in `entail.json` of the second, contrastive stage."""


def save_stage(
    out: Path,
    *,
    method: str,
    config: TuningConfig | DprConfig,
    fitted: Fitted,
    counts: Mapping[str, int],
    data: Sequence[str],
    tower: PassageTower,
    base: EncoderEntry,
    initial: EncoderEntry | None = None,
) -> None:
    """Write an adapter, or with every weight tuned a plain model; a masked-LM head is not kept.

    Args:
        out: The folder; an encoder of this stage that is there already is replaced.
        method: `TUNING` or `DPR`.
        config: The settings.
        fitted: What the training came to.
        counts: What was learnt from.
        data: Names of the data sets, for the card.
        tower: With the weights to keep.
        base: What it was trained on.
        initial: The adapter it went on from.

    Raises:
        TrainingError: If the folder is something else, or cannot be written: the old one is still there.
    """

    def about() -> dict[str, Any]:
        started: dict[str, Any] = {"trained_from": base.name}
        if config.tuning == "lora":
            started = {"base": name_of(base), "base_revision": base.revision}
        before = initial or base
        told = before.card.config if before.card is not None else {}
        if before.method == TUNING:  # what came before belongs to what this encoder is
            started["tuned"] = {"revision": before.revision, "config": dict(told)}
        best = fitted.best
        return {
            "method": method,
            **started,
            "towers": "siamese",
            "figures": {"dev": dict(best.figures), "epoch": best.epoch, "step": best.step} if best else {},
            "config": asdict(config),
            "trained_on": {**counts, **({"data": list(data)} if data else {})},
            "licence": base.licence,
        }

    save_encoder(out, method=method, write=tower.save, about=about)


@dataclass(frozen=True, kw_only=True)
class DprTraining(Training[DprConfig]):
    """Result of a training, with counts of questions, passages, hard negatives and steps."""


@dataclass(frozen=True, kw_only=True)
class TuningTraining(Training[TuningConfig]):
    """Result of a training, with counts of pairs, pairs left out, truncated premises and steps.

    Attributes:
        new_head: Whether the base's checkpoint had no masked-LM head.
    """

    new_head: bool

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {**super().to_json(), "new_head": self.new_head}
