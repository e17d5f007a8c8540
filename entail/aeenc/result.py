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
from entail.encoders.card import write_training_queries
from entail.encoders.catalogue import PREMISE_TOWER, EncoderEntry
from entail.encoders.stock import sentence_transformer
from entail.training.adapters.saving import name_of, save_encoder
from entail.training.adapters.tower import Tower, save_routes
from entail.training.run import Training

METHOD = "aeenc"


def save_aeenc(out: Path, training: AeencTraining, towers: Mapping[str, Tower], base: EncoderEntry) -> None:
    """Write the towers `queries` and, for dual, `premises`.

    Adapters are written as such, the premise tower's into `premise_tower/`. With every weight trained,
    siamese is a plain model; single and dual are a Router, whose document route is the base or the premise
    tower.

    Raises:
        TrainingError: If `out` holds something else, or cannot be written; its content stays.
    """

    def write(folder: Path) -> None:
        premises = towers.get("premises")
        if training.config.tuning == "full" and training.config.towers != "siamese":
            documents = premises.model if premises else sentence_transformer(base, device="cpu")
            save_routes(folder, towers["queries"].model, documents)
        else:
            towers["queries"].save(folder)
            if premises:
                premises.save(folder / PREMISE_TOWER)
        write_training_queries(folder, map(premise_key, training.pairs.queries))

    save_encoder(out, method=METHOD, write=write, about=lambda: card_of(training, base))


def card_of(training: AeencTraining, base: EncoderEntry) -> dict[str, Any]:
    """Return the content of `entail.json`; see `entail.encoders.card.Card`."""
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


@dataclass(frozen=True, kw_only=True)
class AeencTraining(Training[AeencConfig]):
    """Result of a training, with the final counts of queries, positives, negatives and triplets.

    Attributes:
        pairs: Training pairs of all rounds.
        samples: Report of each round's ACS pass.
        teachers: Names of the teachers.
        sentences: Number of distilled sentences.
    """

    pairs: TrainingPairs
    samples: tuple[SampleReport, ...]
    teachers: tuple[str, ...] = ()
    sentences: int = 0

    @property
    def dropped(self) -> Mapping[str, int]:
        """Rule -> number of pairs left out, see `TrainingPairs`."""
        return self.pairs.dropped

    @property
    def missing(self) -> tuple[str, ...]:
        """Gold premises that the corpus lacks."""
        return self.pairs.missing

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, without the pairs and the path of the folder."""
        return {
            **super().to_json(),
            "dropped": dict(self.dropped),
            "missing": {"count": len(self.missing), "texts": list(self.missing)},
            "samples": [report.to_json() for report in self.samples],
        }
