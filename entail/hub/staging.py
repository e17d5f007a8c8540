"""Layout of an encoder on the Hub: its files, Hub ids instead of local names, a card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from entail.encoders.catalogue import PREMISE_TOWER, EncoderEntry
from entail.encoders.weights import check_safe, read_json
from entail.errors import HubError
from entail.hub.export import export_encoder
from entail.hub.repository import files_to_push
from entail.training.cards.sources import hub_id
from entail.training.cards.template import CARD, model_card

Form = Literal["adapter", "merged", "both"]
ADAPTER = "adapter"
"""Folder of the adapter in a repository that holds both forms."""


def stage(entry: EncoderEntry, scratch: Path, *, repo: str, form: Form) -> Path:
    """Write the files of a push below a scratch folder and return their folder.

    Args:
        entry: An encoder with local files.
        scratch: An empty folder.
        repo: Its future Hub id.
        form: The adapter, the merged model, or both with the adapter in `adapter/`. A whole model has only
            the form `merged`.

    Raises:
        HubError: If it lacks this form, its base is local only, or the folder contains unexpected files.
        EncoderError: If it cannot be merged, or has no card.
    """
    if entry.kind != "folder" or entry.path is None:
        raise HubError(
            f"{entry.name} is no local model; push a model of your own",
            reason="place",
        )
    if entry.base is None and form != "merged":
        raise HubError(
            f"{entry.name} is a whole model, so there is no adapter to push; use --merged", reason="place"
        )
    folder = scratch / repo.rpartition("/")[2]
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
        extra = f"The adapter alone, {_size(folder / ADAPTER)}, is in `{ADAPTER}/`." if form == "both" else ""
        (folder / CARD).write_text(model_card(folder, repo=repo, extra=extra), encoding="utf-8")
    elif not (folder / CARD).is_file():
        raise HubError(
            f"{entry.name}: expected an entail.json or a {CARD}, found neither; write a model card",
            reason="place",
        )
    files_to_push(folder, entry.name)
    return folder


def copy_files(source: Path, target: Path, name: str) -> None:
    """Copy all files of a folder.

    Raises:
        HubError: If the folder contains unexpected files.
    """
    for file in files_to_push(source, name):
        copied = target / file.relative_to(source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)


def _for_others(folder: Path, entry: EncoderEntry) -> None:
    """Replace local names and paths by Hub ids."""
    adapter, record = read_json(folder / "adapter_config.json"), read_json(folder / "entail.json")
    if isinstance(adapter, dict) and entry.base is not None:
        adapter |= {"base_model_name_or_path": public_name(entry.base, entry.name, remedy="push it merged")}
        text = json.dumps(adapter, indent=2, sort_keys=True) + "\n"
        (folder / "adapter_config.json").write_text(text, encoding="utf-8")
    if isinstance(record, dict):
        record.pop("hub", None)
        text = json.dumps(without_paths(record), indent=2, ensure_ascii=False) + "\n"
        (folder / "entail.json").write_text(text, encoding="utf-8")


def public_name(entry: EncoderEntry, name: str, *, part: str = "its base", remedy: str) -> str:
    """Return the Hub id of a part of a model.

    Args:
        entry: The part, such as the base.
        name: Name of the model for messages.
        part: Name of the part for messages.
        remedy: Advice where there is no Hub id.

    Raises:
        HubError: If the part is on this machine only.
    """
    found = hub_id(entry)
    if found is None:
        raise HubError(
            f"{name}: {part} {entry.name!r} is on this machine only, so nobody else could load it; {remedy}",
            reason="place",
        )
    return found


def without_paths(value: Any) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return a JSON value whose absolute paths are cut to their last name."""
    if isinstance(value, Mapping):
        return {name: without_paths(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_paths(inner) for inner in value]
    if isinstance(value, str):
        for kind in (PurePosixPath, PureWindowsPath):
            if kind(value).is_absolute() or value.startswith("~"):
                return kind(value).name
    return value


def _size(folder: Path) -> str:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{size / 1e6:.1f} MB"
