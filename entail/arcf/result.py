"""Result of an ARCF training, and its scorer folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from entail.arcf.config import ArcfConfig
from entail.arcf.scoring.form import METHOD, ScorerForm
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import EncoderEntry
from entail.training.adapters.saving import name_of, save_encoder
from entail.training.run import Training


def save_arcf(out: Path, training: ArcfTraining, tower: ScorerTower, base: EncoderEntry) -> None:
    """Write what was trained: adapter and head, or with every weight tuned a model and head.

    Raises:
        TrainingError: If the folder is something else, or cannot be written: the old one is still there.
    """
    save_encoder(out, method=METHOD, write=tower.save, about=lambda: card_of(training, base))


def card_of(training: ArcfTraining, base: EncoderEntry) -> dict[str, Any]:
    """Return what `entail.json` says; see `entail.encoders.card.Card`."""
    best = training.fitted.best
    started: dict[str, Any] = {"trained_from": base.name}
    if training.config.tuning == "lora":
        started = {"base": name_of(base), "base_revision": base.revision}
    return {
        "method": METHOD,
        **started,
        "scorer": training.form.to_json(),
        "figures": {"dev": dict(best.figures), "epoch": best.epoch, "step": best.step} if best else {},
        "config": asdict(training.config),
        "trained_on": {
            **training.counts,
            **({"data": list(training.data)} if training.data else {}),
        },
        "base_licence": base.licence,
    }


@dataclass(frozen=True, kw_only=True)
class ArcfTraining(Training[ArcfConfig]):
    """Result of a training, with counts of questions, gold premises, premises and steps.

    Attributes:
        form: How the scorer is to be used.
    """

    form: ScorerForm

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {**super().to_json(), "scorer": self.form.to_json()}
