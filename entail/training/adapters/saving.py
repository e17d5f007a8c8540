"""Folders of trained models, written in one move."""

from __future__ import annotations

import contextlib
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from entail.encoders.card import read_card
from entail.encoders.catalogue import EncoderEntry, resolve
from entail.encoders.weights import adapter_digest, write_json
from entail.errors import DataError, EncoderError, TrainingError
from entail.index.factory import is_reserved
from entail.settings import load_settings
from entail.training.cards.template import write_card


def require_destination(out: Path, *, method: str) -> None:
    """Check that a folder is free for a model: absent, empty, or trained by the same method.

    Raises:
        TrainingError: If it holds anything else, or a folder under `models/` could not be found by its name.
    """
    if is_reserved(out.name) and out.parent.resolve() in map(Path.resolve, load_settings().model_dirs):
        raise TrainingError(
            f"expected a free name for the model, found {out.name!r}, which stands for a retriever "
            f"without a folder; give another folder, such as {out.parent.name}/my-{out.name}"
        )
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
    about: Mapping[str, Any],
) -> None:
    """Write a model, `entail.json` and its card into a hidden folder, then move that to `out`.

    A model of this method there is replaced. `write` writes the weights into a new folder; `about` is the
    content of `entail.json` (`entail.encoders.card.Card`).

    Raises:
        TrainingError: If `out` holds anything else, or cannot be written; its content stays.
    """
    require_destination(out, method=method)
    partial, old = (out.with_name(f".{out.name}.{part}") for part in ("partial", "old"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for left_over in (partial, old):
            shutil.rmtree(left_over, ignore_errors=True)
        write(partial)
        digest = adapter_digest(partial)
        write_json(partial / "entail.json", {**about, **({"adapter_digest": digest} if digest else {})})
        let_read(partial, like=partial / "entail.json")
        with contextlib.suppress(EncoderError, DataError):  # a card can be written later
            write_card(partial, name=out.name)
        if out.exists():
            out.replace(old)
        partial.replace(out)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if old.exists() and not out.exists():
            old.replace(out)
        shutil.rmtree(partial, ignore_errors=True)
        raise TrainingError(
            f"the model {out.name!r} could not be written: {error}; free space, then run the same command "
            "again: it continues from the checkpoint"
        ) from error


def let_read(folder: Path, *, like: Path) -> None:
    """Give the tensors below a folder the mode of another file; safetensors lets only the owner read them."""
    mode = stat.S_IMODE(like.stat().st_mode)  # os.umask cannot be read without changing it
    for path in folder.rglob("*.safetensors"):
        path.chmod(mode)


def name_of(base: EncoderEntry) -> str:
    """Return the name of a base, or the path of a folder outside `models/`."""
    try:
        if base.kind != "folder" or resolve(base.name).revision == base.revision:
            return base.name
    except EncoderError:
        pass
    return str(base.path)
