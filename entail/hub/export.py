"""Export of an encoder as stock modules that sentence-transformers loads without `entail`.

An adapter is merged into its base, W + s B A. An encoder with one tower becomes a plain model; one with two
becomes a Router with a route for `encode_query` and one for `encode_document`.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entail.encoders.catalogue import EncoderEntry, Tower, fetch, resolve
from entail.encoders.encoder import BiEncoder
from entail.encoders.gaussian.form import HEAD
from entail.encoders.stock import load_adapter, replace_head, sentence_transformer
from entail.encoders.weights import read_json, write_json
from entail.errors import EncoderError
from entail.index.protocol import Floats
from entail.training.adapters.saving import let_read
from entail.training.adapters.tower import save_routes, save_whole
from entail.training.cards.template import CARD, model_card

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TOLERANCE = 1e-5
"""Largest accepted difference of an element from `entail`'s own vectors."""

_PROBES = (
    "gravity pulls objects towards the ground",
    "which force makes a rubber ball fall?",
    "ice",
    "a long sentence about the water cycle: water evaporates, forms clouds, falls as rain, flows to the sea",
)


@dataclass(frozen=True)
class ExportResult:
    """Exported encoder, with the bytes of each file by name.

    Attributes:
        difference: Largest difference from `entail`'s own vectors on some probes.
    """

    folder: Path
    files: dict[str, int]
    difference: float


def export_encoder(encoder: str | Path | EncoderEntry, out: Path) -> ExportResult:
    """Write an encoder as stock modules in safetensors with its card into a new folder, atomically.

    First the files are loaded and their vectors compared with `entail`'s own.

    Raises:
        EncoderError: If the encoder cannot be loaded or merged, `out` is not empty, the folder cannot be
            written, or its vectors differ.
    """
    entry = fetch(encoder if isinstance(encoder, EncoderEntry) else resolve(encoder))
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise EncoderError(f"expected a new folder for the export, found something in {out.name!r}")
    partial = out.with_name(f".{out.name}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        query, premise = _towers(entry)
        for model in (query, premise):
            model.similarity_fn_name = entry.similarity
        if query is premise:
            save_whole(partial, query)
        else:
            save_routes(partial, query, premise)
        _write_card(entry, partial, name=out.name)
        difference = _difference(entry, partial)
        let_read(partial, like=partial / "modules.json")
        partial.replace(out)
    except OSError as error:
        raise EncoderError(
            f"{out.name!r} could not be written: {error.strerror or error}; free disk space and export again"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return ExportResult(out, files_of(out), difference)


def files_of(folder: Path) -> dict[str, int]:
    """Return name -> bytes of every file below a folder, by name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def _towers(entry: EncoderEntry) -> tuple[SentenceTransformer, SentenceTransformer]:
    """Return plain models of queries and premises, the same object for an encoder with one tower."""
    from sentence_transformers import SentenceTransformer

    if entry.base is None:
        model = sentence_transformer(entry, device="cpu")
        routes = getattr(model[0], "sub_modules", None) if len(model) == 1 else None
        if not routes:
            return model, model
        plain = [
            SentenceTransformer(modules=list(routes[name]), device="cpu") for name in ("query", "document")
        ]
        return plain[0], plain[1]
    if not (entry.base.symmetric or entry.own_modules):
        raise EncoderError(
            f"{entry.name}: expected an adapter on a base that encodes queries and premises equally, found "
            f"{entry.base.name!r} with routes or prompts, which a merged folder cannot distinguish"
        )
    query = _merged(entry, entry.adapter("query"))
    same = entry.adapter("premise") == entry.adapter("query")
    return query, query if same else _merged(entry, entry.adapter("premise"))


def _merged(entry: EncoderEntry, adapter: Path | None) -> SentenceTransformer:
    """Return the base merged with an adapter; the base itself for None."""
    model = sentence_transformer(entry, device="cpu", adapted=False)
    if adapter is None:
        return model
    from peft import PeftModel

    checked = sentence_transformer(entry, device="cpu", adapted=False)
    load_adapter(checked, adapter, name=entry.name)
    transformer: Any = model[0]
    try:
        transformer.model = PeftModel.from_pretrained(transformer.model, str(adapter)).merge_and_unload(
            safe_merge=True
        )
    except Exception as error:  # PEFT raises what its kinds of adapters raise
        raise EncoderError(f"{entry.name}: cannot be merged into its base: {error}") from error
    if entry.gaussian is not None:
        return replace_head(model, adapter / HEAD, pooling=entry.gaussian.pooling)
    return model


def _write_card(entry: EncoderEntry, folder: Path, *, name: str) -> None:
    record = read_json(entry.path / "entail.json") if entry.path else None
    if isinstance(record, dict):
        if entry.base is not None:
            record["merged_from"] = entry.revision
            record.pop("adapter_digest", None)
        write_json(folder / "entail.json", record)
        (folder / CARD).write_text(model_card(folder, name=name, location=f"./{name}"), encoding="utf-8")
    elif entry.path is not None and (entry.path / CARD).is_file():
        shutil.copyfile(entry.path / CARD, folder / CARD)


def _difference(entry: EncoderEntry, folder: Path) -> float:
    """Return the largest difference of the folder's vectors from `entail`'s own on some probes."""
    own, exported = (
        BiEncoder(entry, device="cpu", precision="fp32"),
        sentence_transformer(folder, device="cpu"),
    )
    towers: dict[Tower, Any] = {"query": exported.encode_query, "premise": exported.encode_document}
    difference = max(
        float(
            np.abs(
                _unit(own.encode(_PROBES, tower, normalised=False))
                - _unit(encode(list(_PROBES), show_progress_bar=False))
            ).max()
        )
        for tower, encode in towers.items()
    )
    if not difference <= TOLERANCE:
        raise EncoderError(
            f"{entry.name}: expected the exported folder to give the same vectors to {TOLERANCE:g}, found a "
            f"difference of {difference:.2g}; the export was discarded"
        )
    return difference


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
