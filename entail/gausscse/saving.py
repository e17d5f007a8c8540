"""What GaussCSE trained as a folder that `GaussianEncoder` takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.encoders.catalogue import EncoderEntry
from entail.gausscse.tower import GaussianTower
from entail.training.saving import name_of, save_encoder

if TYPE_CHECKING:
    from entail.gausscse.training import GausscseTraining

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
