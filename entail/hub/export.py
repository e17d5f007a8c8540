"""An encoder as a folder of stock modules, which plain sentence-transformers loads without `entail`.

An adapter is merged into its base, W + s B A. Where query and premise go the same way that is one plain
model; for towers of their own a Router, by whose routes `encode_query` and `encode_document` go.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.cards.model_card import CARD, model_card, route_card
from entail.encoders.biencoder import BiEncoder
from entail.encoders.catalogue import TOWERS, EncoderEntry, Tower, fetch, resolve
from entail.encoders.gaussian_form import HEAD
from entail.encoders.stock import sentence_transformer, with_head
from entail.encoders.weights import read_json
from entail.errors import EncoderError
from entail.index.protocol import Floats
from entail.training.saving import let_read
from entail.training.tower import save_routes, save_whole

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TOLERANCE = 1e-5
"""Largest difference of a vector's element to what `entail` itself makes."""

_PROBES = (
    "gravity pulls objects towards the ground",
    "which force makes a rubber ball fall?",
    "ice",
    "a long sentence about the water cycle: water evaporates, forms clouds, falls as rain, flows to the sea",
)


@dataclass(frozen=True)
class Exported:
    """A folder that was written.

    Attributes:
        folder: The whole encoder.
        routes: Query and premise route as folders of their own; empty where that was not asked for, or
            both are one.
        files: Name -> bytes of each file of `folder`, in order of name.
        difference: Largest difference to `entail`'s own vectors that was found on some probes.
    """

    folder: Path
    routes: tuple[Path, ...]
    files: dict[str, int]
    difference: float

    @property
    def size(self) -> int:
        """Bytes of `folder` in all."""
        return sum(self.files.values())


def export_encoder(encoder: str | Path | EncoderEntry, out: Path, *, routes: bool = False) -> Exported:
    """Write an encoder as stock modules, all safetensors, with its card; whole or not at all.

    What was written is loaded again and compared with `entail`'s own vectors before it is put in its place.

    Args:
        encoder: A catalogue name, a folder, or an entry.
        out: A folder that is not there, or empty.
        routes: Where the towers differ, also write each as a plain model of its own, `OUT-query` and
            `OUT-premise`: for servers that know no routes, such as Text Embeddings Inference.

    Raises:
        EncoderError: If the encoder cannot be loaded or merged, something is in the way, the folder cannot
            be written, or gives other vectors.
    """
    entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
    split = routes and not (entry.towers == "siamese" and entry.symmetric)
    places = [out, *(out.with_name(f"{out.name}-{tower}") for tower in TOWERS if split)]
    for place in places:
        if place.exists() and not (place.is_dir() and not any(place.iterdir())):
            raise EncoderError(f"expected a new folder for the export, found something in {place.name!r}")
    partial = [place.with_name(f".{place.name}.partial") for place in places]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for folder in partial:
            shutil.rmtree(folder, ignore_errors=True)
        models = _towers(entry)
        difference = _write(entry, models, partial[0], name=out.name)
        for folder, tower in zip(partial[1:], TOWERS, strict=False):
            save_whole(folder, models[tower])
            (folder / CARD).write_text(route_card(partial[0] / CARD, out.name, tower), encoding="utf-8")
        for folder, place in zip(partial, places, strict=True):
            let_read(folder, like=folder / "modules.json")
            folder.replace(place)
    except OSError as error:
        raise EncoderError(
            f"{out.name!r} could not be written: {error.strerror or error}; make room, then export again"
        ) from error
    finally:
        for folder in partial:
            shutil.rmtree(folder, ignore_errors=True)
    return Exported(out, tuple(places[1:]), files_of(out), difference)


def files_of(folder: Path) -> dict[str, int]:
    """Return name -> bytes of every file below a folder, in order of name."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in found}


def _towers(entry: EncoderEntry) -> dict[Tower, SentenceTransformer]:
    """Return a plain model for each tower, one and the same where both are one."""
    if entry.base is None:
        model = sentence_transformer(entry, device="cpu")
        routes = getattr(model[0], "sub_modules", None) if len(model) == 1 else None
        return {
            "query": _plain(routes["query"]) if routes else model,
            "premise": _plain(routes["document"]) if routes else model,
        }
    if not entry.base.symmetric:
        raise EncoderError(
            f"{entry.name}: expected an adapter on a base that encodes queries and premises alike, found "
            f"{entry.base.name!r} with routes or prompts, which a merged folder cannot keep apart"
        )
    query = _merged(entry, entry.adapter("query"))
    same = entry.adapter("premise") == entry.adapter("query")
    return {"query": query, "premise": query if same else _merged(entry, entry.adapter("premise"))}


def _plain(modules: Any) -> SentenceTransformer:  # noqa: ANN401 - what a Router holds
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(modules=list(modules), device="cpu")


def _merged(entry: EncoderEntry, adapter: Path | None) -> SentenceTransformer:
    """Return the base with what an adapter adds; the base itself for none."""
    assert entry.base is not None
    model = sentence_transformer(entry.base, device="cpu")
    if adapter is None:
        return model
    from peft import PeftModel

    transformer: Any = model[0]
    try:
        transformer.model = PeftModel.from_pretrained(transformer.model, str(adapter)).merge_and_unload(
            safe_merge=True
        )
    except Exception as error:  # PEFT raises what its kinds of adapters raise
        raise EncoderError(f"{entry.name}: cannot be merged into its base: {error}") from error
    if entry.gaussian is not None:
        return with_head(model, adapter / HEAD, pooling=entry.gaussian.pooling)
    return model


def _write(
    entry: EncoderEntry, models: dict[Tower, SentenceTransformer], folder: Path, *, name: str
) -> float:
    if models["query"] is models["premise"]:
        save_whole(folder, models["query"])
    else:
        save_routes(folder, models["query"], models["premise"])
    told = read_json(entry.path / "entail.json") if entry.path else None
    if isinstance(told, dict):
        if entry.base is not None:
            told["merged_from"] = entry.revision
        about = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
        (folder / "entail.json").write_text(about, encoding="utf-8")
        (folder / CARD).write_text(model_card(folder, name=name, beside=True), encoding="utf-8")
    elif entry.path is not None and (entry.path / CARD).is_file():
        shutil.copyfile(entry.path / CARD, folder / CARD)
    return _difference(entry, folder)


def _difference(entry: EncoderEntry, folder: Path) -> float:
    ours = BiEncoder(entry, device="cpu", precision="fp32")
    theirs = sentence_transformer(folder, device="cpu")
    pairs = [
        (
            ours.encode(_PROBES, "query", normalised=False),
            theirs.encode_query(list(_PROBES), show_progress_bar=False),
        ),
        (
            ours.encode(_PROBES, "premise", normalised=False),
            theirs.encode_document(list(_PROBES), show_progress_bar=False),
        ),
    ]
    found = max(float(np.abs(_unit(one) - _unit(other)).max()) for one, other in pairs)
    if not found <= TOLERANCE:
        raise EncoderError(
            f"{entry.name}: expected the exported folder to give the same vectors to {TOLERANCE:g}, found a "
            f"difference of {found:.2g}; it was not kept"
        )
    return found


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
