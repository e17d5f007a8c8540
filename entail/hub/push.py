"""Push of local models to the Hub, private by default.

An encoder is pushed as its adapter or merged into its base; a scorer or a judge as its folder.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from entail.encoders.card import PREMISE_TOWER, read_card
from entail.encoders.catalogue import EncoderEntry, fetch, resolve
from entail.encoders.cross.encoder import CrossParts, cross_folder, cross_folders, cross_parts
from entail.encoders.weights import check_safe, read_object, write_json
from entail.errors import EncoderError, HubError
from entail.hub.export import export_encoder
from entail.hub.repository import PushResult, check_repo, files_to_push, is_of_weights, push_folder
from entail.training.cards.metadata import card_text
from entail.training.cards.sources import hub_id
from entail.training.cards.template import CARD, write_card


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
    loadable = {}
    for folder in cross_folders():
        with contextlib.suppress(EncoderError):  # reported when it is requested by name
            if parts := find_cross(folder):
                loadable[folder.name] = parts
    return loadable


def push_encoder(
    encoder: str | Path | EncoderEntry,
    repo: str,
    *,
    merged: bool = False,
    private: bool = True,
    dry_run: bool = False,
) -> PushResult:
    """Push a model with its card in one commit.

    Unexpected files and pickles are refused. Model files of an earlier push that this one lacks are deleted;
    other files of the repository stay.

    Args:
        encoder: Name under `models/`, a folder, or an entry; also a scorer or a judge.
        repo: The Hub id, `name/of-it`.
        merged: Whether an adapter is merged into its base.
        private: Whether a new repository is private.
        dry_run: Return the plan without contacting the Hub; needs no token.

    Raises:
        HubError: If there is no token, the Hub refuses or cannot be reached, or the folder contains
            unexpected files.
        EncoderError: If the encoder cannot be loaded or merged.
    """
    check_repo(repo)
    model: CrossParts | EncoderEntry = find_cross(encoder) or fetch(
        encoder if isinstance(encoder, EncoderEntry) else resolve(encoder)
    )
    with tempfile.TemporaryDirectory(prefix="entail-push-") as scratch:
        folder = Path(scratch) / repo.rpartition("/")[2]
        try:
            if isinstance(model, CrossParts):
                _stage_cross(model, folder)
            else:
                _stage_encoder(model, folder, merged=merged)
            if (folder / "entail.json").is_file():
                record = read_object(folder / "entail.json")
                record.pop("hub", None)
                write_json(folder / "entail.json", _without_paths(record))
                write_card(folder, name=folder.name, repo=repo)
            check_safe(folder, model.name)
            files_to_push(folder, model.name)
        except OSError as error:
            raise HubError(
                f"{model.name}: could not be copied for the push: {error.strerror or error}; free disk space",
                reason="disk",
            ) from error
        return push_folder(
            folder,
            repo,
            kind="model",
            private=private,
            message=f"Push {model.name}, {model.revision}",
            is_own=is_of_weights,
            dry_run=dry_run,
        )


def _stage_encoder(entry: EncoderEntry, folder: Path, *, merged: bool) -> None:
    """Write an encoder's files, with the Hub id of its base, into a new folder."""
    if entry.kind != "folder" or entry.path is None:
        raise HubError(f"{entry.name} is no local model; push a model of your own", reason="place")
    if merged and entry.base is not None:
        export_encoder(entry, folder)
        return
    _copy_files(entry.path, folder, entry.name)
    if entry.base is not None:
        base = _public_name(entry.base, entry.name, remedy="push it merged into its base")
        for part in (folder, folder / PREMISE_TOWER):
            if (part / "adapter_config.json").is_file():
                _set_base(part / "adapter_config.json", base)
    if not any((folder / name).is_file() for name in ("entail.json", CARD)):
        raise HubError(
            f"{entry.name}: expected an entail.json or a {CARD}, found neither; write a model card",
            reason="place",
        )


def _stage_cross(parts: CrossParts, folder: Path) -> None:
    """Write a cross-encoder's files, with the Hub id of its base, into a new folder."""
    remedy = "train one on a base of the Hub"
    _copy_files(parts.folder, folder, parts.name)
    card = read_card(parts.folder, parts.name)
    if card is not None and (encoder := card.scorer.get("encoder")):
        _public_name(resolve(str(encoder)), parts.name, part="the encoder of its explanations", remedy=remedy)
    if parts.adapter is not None:
        base = _public_name(parts.whole, parts.name, remedy=remedy)
        _set_base(folder / parts.adapter.name / "adapter_config.json", base)


def _copy_files(source: Path, target: Path, name: str) -> None:
    for file in files_to_push(source, name):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _set_base(file: Path, base: str) -> None:
    write_json(file, {**read_object(file), "base_model_name_or_path": base})


def _public_name(entry: EncoderEntry, name: str, *, part: str = "its base", remedy: str) -> str:
    """Return the Hub id of a part of a model; raise `HubError` if the part is on this machine only."""
    public = hub_id(entry)
    if public is None:
        raise HubError(
            f"{name}: {part} {entry.name!r} is on this machine only, so others could not load it; {remedy}",
            reason="place",
        )
    return public


def _without_paths(value: Any) -> Any:
    """Return a JSON value whose absolute paths are cut to their last name."""
    if isinstance(value, dict):
        return {name: _without_paths(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_paths(inner) for inner in value]
    if isinstance(value, str):
        for kind in (PurePosixPath, PureWindowsPath):
            if kind(value).is_absolute() or value.startswith("~"):
                return kind(value).name
    return value
