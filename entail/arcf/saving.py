"""What ARCF trained as a folder that `entail.arcf.scorer.load_scorer` takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.arcf.scorer_form import METHOD
from entail.arcf.tower import ScorerTower
from entail.encoders.catalogue import EncoderEntry
from entail.training.saving import name_of, save_encoder

if TYPE_CHECKING:
    from entail.arcf.training import ArcfTraining


def save_arcf(out: Path, training: ArcfTraining, tower: ScorerTower, base: EncoderEntry) -> None:
    """Write what was trained: adapter and head, or with every weight tuned a model and head.

    Raises:
        TrainingError: If the folder is something else, or cannot be written: the old one is still there.
    """
    from entail.arcf.card import scorer_card

    save_encoder(
        out, method=METHOD, write=tower.save, about=lambda: card_of(training, base), card=scorer_card
    )


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
