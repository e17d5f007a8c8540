"""An encoder laid out as it will lie on the Hub: its files, names of the Hub for those of here, a card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from entail.cards.model_card import CARD, model_card
from entail.cards.sources import hub_id
from entail.encoders.catalogue import PREMISE_TOWER, EncoderEntry
from entail.encoders.weights import check_safe, read_json
from entail.errors import HubError
from entail.hub.expected import files_to_push
from entail.hub.export import export_encoder

Form = Literal["adapter", "merged", "both"]
ADAPTER = "adapter"
"""Folder of the adapter in a repository that holds both forms."""


def stage(entry: EncoderEntry, place: Path, *, repo: str, form: Form) -> Path:
    """Write what will be pushed below a scratch folder, and return where it is.

    Args:
        entry: An encoder whose files are here.
        place: An empty folder.
        repo: The Hub id it will have.
        form: The adapter, the whole model that it is once merged, or this with the adapter in `adapter/`. A
            model that is whole has no other form than `merged`.

    Raises:
        HubError: If it has no such form, cannot be used by others, or holds what is not pushed.
        EncoderError: If it cannot be merged, or has no card.
    """
    if entry.kind != "folder" or entry.path is None:
        raise HubError(
            f"{entry.name} came from elsewhere and is not pushed again; push an encoder of your own",
            reason="place",
        )
    if entry.base is None and form != "merged":
        raise HubError(
            f"{entry.name} is a whole model, there is no adapter to push; say --merged", reason="place"
        )
    folder = place / repo.rpartition("/")[2]
    if form != "adapter" and entry.base is not None:
        export_encoder(entry, folder)
        (folder / "README.md").unlink(missing_ok=True)
    else:
        copy_files(entry.path, folder, entry.name)
    if form == "both":
        copy_files(entry.path, folder / ADAPTER, entry.name)
        (folder / ADAPTER / CARD).unlink(missing_ok=True)
    for part in (folder, folder / PREMISE_TOWER, folder / ADAPTER, folder / ADAPTER / PREMISE_TOWER):
        _for_others(part, entry)
    check_safe(folder, entry.name)
    if (folder / "entail.json").is_file():
        also = f"The adapter alone, {_size(folder / ADAPTER)}, is in `{ADAPTER}/`." if form == "both" else ""
        (folder / CARD).write_text(model_card(folder, repo=repo, also=also), encoding="utf-8")
    elif not (folder / CARD).is_file():
        raise HubError(
            f"{entry.name}: expected an entail.json to make a card of, or a {CARD}, found neither; write "
            "one, others must know what it is",
            reason="place",
        )
    files_to_push(folder, entry.name)
    return folder


def copy_files(source: Path, target: Path, name: str) -> None:
    """Copy all files of a folder, if every one is expected.

    Raises:
        HubError: If there is one that is not pushed.
    """
    for file in files_to_push(source, name):
        copied = target / file.relative_to(source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)


def _for_others(folder: Path, entry: EncoderEntry) -> None:
    """Name the base as everybody can find it, and no place of this machine."""
    adapter, told = read_json(folder / "adapter_config.json"), read_json(folder / "entail.json")
    if isinstance(adapter, dict) and entry.base is not None:
        adapter |= {"base_model_name_or_path": public_name(entry.base, entry.name, instead="push it merged")}
        text = json.dumps(adapter, indent=2, sort_keys=True) + "\n"
        (folder / "adapter_config.json").write_text(text, encoding="utf-8")
    if isinstance(told, dict):
        told.pop("hub", None)
        text = json.dumps(without_places(told), indent=2, ensure_ascii=False) + "\n"
        (folder / "entail.json").write_text(text, encoding="utf-8")


def public_name(entry: EncoderEntry, name: str, *, what: str = "its base", instead: str) -> str:
    """Return what everybody can load what an encoder stands on by.

    Args:
        entry: What it stands on.
        name: What messages call the encoder.
        what: What that is to it.
        instead: What a person can do where there is no such name.

    Raises:
        HubError: If there is none.
    """
    found = hub_id(entry)
    if found is None:
        raise HubError(
            f"{name}: {what} {entry.name!r} is on this machine only, so nobody else could load it; {instead}",
            reason="place",
        )
    return found


def without_places(value: Any) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return what JSON says with no place of this machine in it: a path is cut to its last name."""
    if isinstance(value, Mapping):
        return {name: without_places(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_places(inner) for inner in value]
    if isinstance(value, str):
        for kind in (PurePosixPath, PureWindowsPath):
            if kind(value).is_absolute() or value.startswith("~"):
                return kind(value).name
    return value


def _size(folder: Path) -> str:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{size / 1e6:.1f} MB"
