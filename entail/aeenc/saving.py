"""A trained encoder as a folder that `entail.load` takes: written whole, or not at all."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entail.aeenc.config import AeencConfig
from entail.cards.model_card import CARD, model_card
from entail.data.text import premise_key
from entail.encoders.card import read_card
from entail.encoders.catalogue import PREMISE_TOWER, EncoderEntry, resolve
from entail.encoders.seen import write_seen
from entail.encoders.stock import sentence_transformer
from entail.errors import EncoderError, TrainingError
from entail.training.tower import Tower, save_routes

if TYPE_CHECKING:
    from entail.aeenc.training import AeencTraining

METHOD = "aeenc"


def require_place(out: Path) -> None:
    """Check that a folder is free for an encoder: not there, empty, or one that this method trained.

    Raises:
        TrainingError: If something else is there.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        card = read_card(out, out.name) if out.is_dir() else None
    except EncoderError:
        card = None
    if card is None or card.method != METHOD:
        raise TrainingError(
            f"expected a new folder for the encoder, or one that AE-Enc trained, found something else in "
            f"{out.name!r}; give another folder"
        )


def save_aeenc(out: Path, training: AeencTraining, towers: Mapping[str, Tower], base: EncoderEntry) -> None:
    """Write what was trained and `entail.json` beside its place, then move it there.

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
    require_place(out)
    partial, old = (out.with_name(f".{out.name}.{part}") for part in ("partial", "old"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for left_over in (partial, old):
            shutil.rmtree(left_over, ignore_errors=True)
        _write_towers(partial, training.config, towers, base)
        about = json.dumps(card_of(training, base), indent=2, ensure_ascii=False)
        (partial / "entail.json").write_text(about + "\n", encoding="utf-8")
        write_seen(partial, map(premise_key, training.pairs.queries))
        with contextlib.suppress(EncoderError):  # a card can be written later, a training not be had again
            (partial / CARD).write_text(model_card(partial, name=out.name), encoding="utf-8")
        if out.exists():
            out.replace(old)
        partial.replace(out)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if old.exists() and not out.exists():
            old.replace(out)
        shutil.rmtree(partial, ignore_errors=True)
        raise TrainingError(
            f"the encoder {out.name!r} could not be written: {error}; make room, then run the same again: it "
            "goes on from the checkpoint"
        ) from error


def card_of(training: AeencTraining, base: EncoderEntry) -> dict[str, Any]:
    """Return what `entail.json` says; see `entail.encoders.card.Card`."""
    best = training.fitted.best
    return {
        "method": METHOD,
        "base": _name_of(base),
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


def _name_of(base: EncoderEntry) -> str:
    """Return what leads to a base again: its name, or the place of a folder that is not under `models/`."""
    try:
        if base.kind != "folder" or resolve(base.name).revision == base.revision:
            return base.name
    except EncoderError:
        pass
    return str(base.path)
