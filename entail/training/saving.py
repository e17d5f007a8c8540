"""A trained encoder as a folder that `entail.load` takes: written whole, or not at all."""

from __future__ import annotations

import contextlib
import json
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from entail.cards.model_card import CARD, model_card
from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.errors import EncoderError, TrainingError


def require_place(out: Path, *, method: str) -> None:
    """Check that a folder is free for an encoder: not there, empty, or one that the same method trained.

    Raises:
        TrainingError: If something else is there.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        card = read_card(out, out.name) if out.is_dir() else None
    except EncoderError:
        card = None
    if card is None or card.method != method:
        raise TrainingError(
            f"expected a new folder for the encoder, or one that {method} trained, found something else in "
            f"{out.name!r}; give another folder"
        )


def save_encoder(
    out: Path,
    *,
    method: str,
    write: Callable[[Path], None],
    about: Callable[[], Mapping[str, Any]],
    card: Callable[..., str] = model_card,
) -> None:
    """Write an encoder, `entail.json` and its card beside their place, then move them there.

    Args:
        out: The folder; an encoder of this method that is there already is replaced.
        method: As `entail.json` names it.
        write: Writes the weights, and whatever stands beside them, into a folder that is not there yet.
        about: Returns what `entail.json` says; see `entail.encoders.card.Card`.
        card: Makes the card of a folder, `card(folder, name=...)`.

    Raises:
        TrainingError: If the folder is something else, or cannot be written: the old one is still there.
    """
    require_place(out, method=method)
    partial, old = (out.with_name(f".{out.name}.{part}") for part in ("partial", "old"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for left_over in (partial, old):
            shutil.rmtree(left_over, ignore_errors=True)
        write(partial)
        told = json.dumps(dict(about()), indent=2, ensure_ascii=False)
        (partial / "entail.json").write_text(told + "\n", encoding="utf-8")
        let_read(partial, like=partial / "entail.json")
        with contextlib.suppress(EncoderError):  # a card can be written later, a training not be had again
            (partial / CARD).write_text(card(partial, name=out.name), encoding="utf-8")
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


def let_read(folder: Path, *, like: Path) -> None:
    """Let whoever may read another file read the tensors below a folder; safetensors writes for the owner.

    Raises:
        OSError: If a mode cannot be changed.
    """
    mode = stat.S_IMODE(like.stat().st_mode)  # not by os.umask, which is told only by changing it
    for path in folder.rglob("*.safetensors"):
        path.chmod(mode)


def name_of(base: EncoderEntry) -> str:
    """Return what leads to a base again: its name, or the place of a folder that is not under `models/`."""
    try:
        if base.kind != "folder" or resolve(base.name).revision == base.revision:
            return base.name
    except EncoderError:
        pass
    return str(base.path)
