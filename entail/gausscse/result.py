"""Result of a GaussCSE training, and its encoder folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from entail.encoders.catalogue import EncoderEntry
from entail.encoders.gaussian.form import GaussianForm
from entail.gausscse.config import GausscseConfig
from entail.gausscse.tower import GaussianTower
from entail.training.adapters.saving import name_of, save_encoder
from entail.training.run import Training

METHOD = "gausscse"


def save_gausscse(out: Path, training: GausscseTraining, tower: GaussianTower, base: EncoderEntry) -> None:
    """Write what was trained: adapter and head, or with every weight tuned a plain model; see `save_encoder`.

    Raises:
        TrainingError: If the folder is something else, or cannot be written: the old one is still there.
    """
    save_encoder(out, method=METHOD, write=tower.save, about=lambda: card_of(training, base))


def card_of(training: GausscseTraining, base: EncoderEntry) -> dict[str, Any]:
    """Return what `entail.json` says; see `entail.encoders.card.Card`."""
    best = training.fitted.best
    started: dict[str, Any] = {"trained_from": base.name}
    if training.config.tuning == "lora":
        started = {"base": name_of(base), "base_revision": base.revision}
    counts = dict(training.counts)
    if not training.config.ranking:
        del counts["unentailed"]  # nothing was learnt from them
    return {
        "method": METHOD,
        **started,
        "towers": "siamese",
        "gaussian": training.form.to_json(),
        "figures": {"dev": dict(best.figures), "epoch": best.epoch, "step": best.step} if best else {},
        "config": asdict(training.config),
        "trained_on": {
            **counts,
            **({"data": list(training.data)} if training.data else {}),
        },
        "licence": base.licence,
    }


@dataclass(frozen=True, kw_only=True)
class GausscseTraining(Training[GausscseConfig]):
    """Result of a training; its counts are of triplets used and left out, see `NliTriplets`.

    Attributes:
        form: Similarity, threshold and curves, as fitted on dev.
    """

    form: GaussianForm

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the folder's place."""
        return {**super().to_json(), "gaussian": self.form.to_json()}
