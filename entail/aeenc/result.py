"""Result of an AE-Enc training, and its encoder folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from entail.aeenc.config import AeencConfig
from entail.aeenc.pairs import TrainingPairs
from entail.aeenc.sampling import SampleReport
from entail.data.text import premise_key
from entail.encoders.catalogue import PREMISE_TOWER, EncoderEntry
from entail.encoders.stock import sentence_transformer
from entail.encoders.training_queries import write_seen
from entail.training.adapters.saving import name_of, save_encoder
from entail.training.adapters.tower import (
    Tower,
    save_routes,
)
from entail.training.run import Training

METHOD = "aeenc"


def save_aeenc(out: Path, training: AeencTraining, towers: Mapping[str, Tower], base: EncoderEntry) -> None:
    """Write what was trained; see `save_encoder`.

    Adapters stay adapters: the query tower's, and for dual the premise tower's in `premise_tower/`. With
    every weight tuned siamese is a plain model; single and dual are a Router, whose document route is the
    base or the premise tower.

    Args:
        out: The folder; an encoder of this method that is there already is replaced.
        training: What `entail.json` tells.
        towers: `queries`, and for dual `premises`, with the weights to keep.
        base: What they were trained on.

    Raises:
        TrainingError: If the folder is something else, or cannot be written: the old one is still there.
    """

    def write(folder: Path) -> None:
        _write_towers(folder, training.config, towers, base)
        write_seen(folder, map(premise_key, training.pairs.queries))

    save_encoder(out, method=METHOD, write=write, about=lambda: card_of(training, base))


def card_of(training: AeencTraining, base: EncoderEntry) -> dict[str, Any]:
    """Return what `entail.json` says; see `entail.encoders.card.Card`."""
    best = training.fitted.best
    return {
        "method": METHOD,
        "base": name_of(base),
        "base_revision": base.revision,
        "towers": training.config.towers,
        "figures": {"dev": dict(best.figures), "epoch": best.epoch} if best else {},
        "config": asdict(training.config),
        "trained_on": {
            **training.counts,
            "missing": len(training.missing),
            **({"data": list(training.data)} if training.data else {}),
            **(
                {"sentences": training.sentences, "teachers": list(training.teachers)}
                if training.teachers
                else {}
            ),
        },
        "licence": base.licence,
    }


def _write_towers(folder: Path, config: AeencConfig, towers: Mapping[str, Tower], base: EncoderEntry) -> None:
    if config.tuning == "full" and config.towers != "siamese":
        learnt = towers.get("premises")
        premises = learnt.model if learnt else sentence_transformer(base, device="cpu")
        save_routes(folder, towers["queries"].model, premises)
        return
    towers["queries"].save(folder)
    if "premises" in towers:
        towers["premises"].save(folder / PREMISE_TOWER)


@dataclass(frozen=True, kw_only=True)
class AeencTraining(Training[AeencConfig]):
    """Result of a training, with the final counts of queries, positives, negatives and triplets.

    Attributes:
        pairs: The pairs that it ended with, those of all rounds.
        samples: The report of each round's ACS pass.
        teachers: Whom it also learnt from.
        sentences: How many sentences they taught.
    """

    pairs: TrainingPairs
    samples: tuple[SampleReport, ...]
    teachers: tuple[str, ...] = ()
    sentences: int = 0

    @property
    def dropped(self) -> Mapping[str, int]:
        """Rule -> pairs that were left out, see `TrainingPairs`."""
        return self.pairs.dropped

    @property
    def missing(self) -> tuple[str, ...]:
        """Gold premises that the corpus lacks."""
        return self.pairs.missing

    def to_json(self) -> dict[str, Any]:
        """Return it of JSON's types, without the pairs' texts and the folder's place."""
        return {
            **super().to_json(),
            "dropped": dict(self.dropped),
            "missing": {"count": len(self.missing), "texts": list(self.missing)},
            "samples": [report.to_json() for report in self.samples],
        }
