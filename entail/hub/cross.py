"""Scorers of facts and judges of entailment on the Hub: as they lie here, each with its card."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from entail.arcf.card import scorer_card
from entail.arcf.scorer_form import METHOD as SCORER
from entail.cards.facts import replace_text
from entail.cards.measured_chains import remember_chains
from entail.cards.model_card import CARD
from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.cross import CrossParts, cross_folder, cross_folders, cross_parts
from entail.encoders.weights import check_safe, read_json
from entail.errors import EncoderError
from entail.hub.expected import files_to_push
from entail.hub.staging import copy_files, public_name, without_places
from entail.tuning.judge_card import judge_card
from entail.tuning.judge_form import METHOD as JUDGE


class _Card(Protocol):
    def __call__(self, folder: Path, *, name: str, repo: str | None = None) -> str: ...


_CARDS: Mapping[str, _Card] = {SCORER: scorer_card, JUDGE: judge_card}


_INSTEAD = "train one on a base of the Hub"


def find_cross(name: str | Path | EncoderEntry) -> CrossParts | None:
    """Return a cross-encoder of this name, or in this folder; None where there is none.

    Raises:
        EncoderError: If its base is not named, nowhere, or another one than it was trained on.
    """
    folder = None if isinstance(name, EncoderEntry) else cross_folder(name)
    card = read_card(folder, folder.name) if folder is not None else None
    if folder is None or card is None or card.method not in _CARDS:
        return None
    return cross_parts(folder, card)


def cross_encoders() -> dict[str, CrossParts]:
    """Return those under `models/` that can be loaded, by name."""
    found = {}
    for folder in cross_folders():
        with contextlib.suppress(EncoderError):  # whoever asks for it by name is told what is wrong
            if parts := find_cross(folder):
                found[folder.name] = parts
    return found


def write_cross_card(folder: Path, *, name: str | None = None, repo: str | None = None) -> Path:
    """Write a cross-encoder's card to its `README.md`, in one move, and return where it is.

    Args:
        folder: Its own.
        name: What to call it; default: as the folder is called.
        repo: Its Hub id; None for one that is only here.

    Raises:
        EncoderError: If it cannot be written.
    """
    made = _CARDS[str(read_json(folder / "entail.json")["method"])]
    replace_text(folder / CARD, made(folder, name=name or folder.resolve().name, repo=repo))
    return folder / CARD


def remember_cross(parts: CrossParts, results: Sequence[Path]) -> None:
    """Write figures of result files to a scorer's `entail.json`; none leave it as it is.

    Raises:
        EncoderError: If it is no scorer of facts, or a file does not hold its figures: nothing was changed.
    """
    if not results:
        return
    card = read_card(parts.folder, parts.name)
    if card is None or card.method != SCORER:
        raise EncoderError(
            f"{parts.name}: expected a scorer of facts beside result files, found a judge, which has its "
            "figures from its training; leave them out"
        )
    remember_chains(parts.folder, results, revision=parts.revision)


def stage_cross(parts: CrossParts, place: Path, *, repo: str) -> Path:
    """Write what will be pushed below a scratch folder, and return where it is.

    Raises:
        HubError: If what it stands on is on this machine only, or it holds what is not pushed.
        EncoderError: If the encoder of its explanations leads nowhere.
    """
    folder = place / repo.rpartition("/")[2]
    copy_files(parts.folder, folder, parts.name)
    card = read_card(parts.folder, parts.name)
    if card is not None and (encoder := card.scorer.get("encoder")):
        public_name(
            resolve(str(encoder)), parts.name, what="the encoder of its explanations", instead=_INSTEAD
        )
    if parts.adapter is not None:
        base = public_name(parts.whole, parts.name, instead=_INSTEAD)
        file = folder / parts.adapter.name / "adapter_config.json"
        _write(file, {**read_json(file), "base_model_name_or_path": base})
    told = {key: value for key, value in read_json(folder / "entail.json").items() if key != "hub"}
    _write(folder / "entail.json", without_places(told))
    check_safe(folder, parts.name)
    write_cross_card(folder, name=repo.rpartition("/")[2], repo=repo)
    files_to_push(folder, parts.name)
    return folder


def _write(file: Path, told: object) -> None:
    file.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
