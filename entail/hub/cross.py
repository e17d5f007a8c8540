"""Cross-encoders (scorers and judges) found by name, and laid out for the Hub."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.cross.encoder import CrossParts, cross_folder, cross_folders, cross_parts
from entail.encoders.weights import check_safe, read_json
from entail.errors import EncoderError
from entail.hub.repository import files_to_push
from entail.hub.staging import copy_files, public_name, without_paths
from entail.training.cards.metadata import card_text
from entail.training.cards.template import write_card

_REMEDY = "train one on a base of the Hub"


def find_cross(name: str | Path | EncoderEntry) -> CrossParts | None:
    """Return a cross-encoder by name or folder; None where there is none.

    Raises:
        EncoderError: If its base is not named, missing, or another one than it was trained on.
    """
    folder = None if isinstance(name, EncoderEntry) else cross_folder(name)
    card = read_card(folder, folder.name) if folder is not None else None
    if folder is None or card is None or card_text(card.method).cross_encoder is None:
        return None
    return cross_parts(folder, card)


def cross_encoders() -> dict[str, CrossParts]:
    """Return the cross-encoders under `models/` that can be loaded, by name."""
    found = {}
    for folder in cross_folders():
        with contextlib.suppress(EncoderError):  # reported where it is requested by name
            if parts := find_cross(folder):
                found[folder.name] = parts
    return found


def stage_cross(parts: CrossParts, scratch: Path, *, repo: str) -> Path:
    """Write the files of a push below a scratch folder and return their folder.

    Raises:
        HubError: If its base is on this machine only, or the folder contains unexpected files.
        EncoderError: If the encoder of its explanations is missing.
    """
    name = repo.rpartition("/")[2]
    folder = scratch / name
    copy_files(parts.folder, folder, parts.name)
    card = read_card(parts.folder, parts.name)
    if card is not None and (encoder := card.scorer.get("encoder")):
        public_name(resolve(str(encoder)), parts.name, part="the encoder of its explanations", remedy=_REMEDY)
    if parts.adapter is not None:
        base = public_name(parts.whole, parts.name, remedy=_REMEDY)
        file = folder / parts.adapter.name / "adapter_config.json"
        _write_json(file, {**read_json(file), "base_model_name_or_path": base})
    record = {key: value for key, value in read_json(folder / "entail.json").items() if key != "hub"}
    _write_json(folder / "entail.json", without_paths(record))
    check_safe(folder, parts.name)
    write_card(folder, name=name, repo=repo)
    files_to_push(folder, parts.name)
    return folder


def _write_json(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
