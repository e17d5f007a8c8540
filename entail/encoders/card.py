"""Records next to the weights: `entail.json` (method, base, towers) and `seen.json` (training queries)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from entail.encoders.gaussian.form import HEAD
from entail.encoders.weights import adapter_digest, read_adapter, read_form, read_json
from entail.errors import EncoderError

TowerKind = Literal["siamese", "single", "dual"]
"""Trained towers.

`siamese`: one for both; `single`: the query's, premises are encoded by the base; `dual`: each its own, the
premises' in `premise_tower/`.
"""

PREMISE_TOWER = "premise_tower"
"""Folder of a dual encoder's premise tower, within its own."""

TRAINING_QUERIES = "seen.json"
"""File of the keys of training queries, on which figures are optimistic."""


@dataclass(frozen=True)
class Card:
    """Known fields of `entail.json`; it may hold others.

    An adapter is loaded on no other `base_revision`, and with no other `adapter_digest`, than it was trained
    with. `gaussian`, `scorer`, `judge`, `reranker`, `reader` and `steps` are settings of such a model, else
    empty.
    """

    method: str | None = None
    base: str | None = None
    base_revision: str | None = None
    adapter_digest: str | None = None
    towers: TowerKind = "siamese"
    figures: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    trained_on: Mapping[str, Any] = field(default_factory=dict)
    licence: str | None = None
    gaussian: Mapping[str, Any] = field(default_factory=dict)
    scorer: Mapping[str, Any] = field(default_factory=dict)
    judge: Mapping[str, Any] = field(default_factory=dict)
    reranker: Mapping[str, Any] = field(default_factory=dict)
    reader: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, Any] = field(default_factory=dict)


def read_card(folder: Path, name: str) -> Card | None:
    """Return the card of a folder, None without `entail.json`; a null field has its default.

    Raises:
        EncoderError: If it is no JSON object, a known field is not of its type, or the configuration of an
            adapter was changed since.
    """
    record = read_json(folder / "entail.json", dict[str, Any])
    if record is None:
        return None
    card = read_form(Card, {key: value for key, value in record.items() if value is not None}, name=name)
    if card.adapter_digest and card.adapter_digest != (actual := adapter_digest(folder)):
        raise EncoderError(
            f"{name}: expected adapter_config.json as it was trained ({card.adapter_digest} in entail.json), "
            f"found it changed ({actual}); download the model again, or train it again"
        )
    return card


def check_towers(folder: Path, name: str, card: Card) -> None:
    """Check that an adapter has the parts that its `entail.json` asks for.

    Raises:
        EncoderError: If a premise tower or a head is missing, or there without being asked for.
    """
    premise = read_adapter(folder / PREMISE_TOWER, f"{name}/{PREMISE_TOWER}") is not None
    if premise != (card.towers == "dual"):
        raise EncoderError(
            f"{name}: expected premise_tower/ if and only if entail.json says 'dual', found towers "
            f"{card.towers!r} {'and' if premise else 'without'} premise_tower/adapter_config.json"
        )
    head = (folder / HEAD / "model.safetensors").is_file()
    if card.gaussian and (not head or card.towers != "siamese"):
        raise EncoderError(
            f"{name}: expected one tower (siamese) with {HEAD}/model.safetensors, for entail.json says that "
            f"it makes Gaussians, found towers {card.towers!r} {'with' if head else 'without'} it"
        )


def write_training_queries(folder: Path, keys: Iterable[str]) -> None:
    """Write the premise keys of training queries next to the weights."""
    record = {"queries": sorted(set(keys))}
    (folder / TRAINING_QUERIES).write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")


def read_training_queries(folder: Path) -> frozenset[str]:
    """Return the keys of the training queries of a folder's encoder, none without a readable record."""
    try:
        record = read_json(folder / TRAINING_QUERIES, dict[str, list[str]])
    except EncoderError:  # damaged
        record = None
    return frozenset((record or {}).get("queries", ()))
