"""Re-rankers: cross-encoders that read a query and one of its nearest premises together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entail.encoders.card import read_card
from entail.encoders.cross.encoder import (
    HEAD,
    CrossParts,
    cross_folder,
    cross_folders,
    cross_parts,
    load_cross,
)
from entail.encoders.cross.pairs import cut_pairs
from entail.encoders.device import device_name
from entail.encoders.weights import check_safe, open_tensors
from entail.errors import EncoderError, UnknownEncoderError
from entail.progress import Meter, ProgressCallback

Floats = NDArray[np.float32]

METHOD = "reranker"
"""Name of the method in `entail.json`."""

SHIPPED = "reranker-minilm"
"""Packaged re-ranker, the default."""

_AT_ONCE = 512
"""Pairs between two reports of progress."""


@dataclass(frozen=True, kw_only=True)
class RerankerForm:
    """Settings of a re-ranker.

    Attributes:
        max_length: Maximum number of tokens of premise and query together.
        weight: Weight of its score relative to the retriever's.
        depth: Number of nearest premises that it reads.
    """

    max_length: int = 128
    weight: float = 0.015
    depth: int = 50

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `entail.json`."""
        return asdict(self)

    @classmethod
    def read(cls, entry: Mapping[str, Any], *, name: str) -> RerankerForm:
        """Read an entry of `entail.json`.

        Raises:
            EncoderError: If a value is not of its type or out of range.
        """
        fields = {key: entry[key] for key in ("max_length", "weight", "depth") if key in entry}
        for key, least in (("max_length", 8), ("depth", 1)):
            value = fields.get(key, least)
            if type(value) is not int or value < least:
                raise EncoderError(
                    f"{name}: expected a whole number of at least {least} as {key!r} in 'reranker' of "
                    f"entail.json, found {value!r}"
                )
        weight = fields.get("weight", cls.weight)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise EncoderError(
                f"{name}: expected a number of at least 0 as 'weight' in 'reranker' of entail.json, found "
                f"{weight!r}"
            )
        return cls(**fields)


class Reranker:
    """Scorer of premises for one query.

    Any number of threads may use it.

    Args:
        model: Name under `models/`, or a folder.
        device: `auto`, `cpu`, `cuda` ...; default: `ENTAIL_DEVICE`.

    Raises:
        UnknownEncoderError: If there is no such folder.
        EncoderError: If it is no re-ranker, or cannot be loaded safely.
        SettingsError: If the device is not available.
    """

    def __init__(self, model: str | Path = SHIPPED, *, device: str | None = None) -> None:
        import torch

        folder = cross_folder(model)
        if folder is None:
            raise UnknownEncoderError(
                f"no re-ranker is called {str(model)!r}; here are: {', '.join(list_rerankers()) or 'none'}. "
                "Train one: entail train reranker"
            )
        self.name = folder.name
        card = read_card(folder, self.name)
        if card is None or card.method != METHOD or not card.reranker:
            raise EncoderError(
                f"{self.name}: expected a re-ranker, found a judge, a scorer of facts or something else; "
                f"take one of: {', '.join(list_rerankers()) or 'none'}"
            )
        check_safe(folder, self.name)
        self.form, torch_device = RerankerForm.read(card.reranker, name=self.name), device_name(device)
        parts = cross_parts(folder, card)
        with open_tensors(folder / HEAD, name=self.name, device=torch_device, dtype=torch.float32) as tensors:
            head = tensors.get("weight", 1, parts.dimension), tensors.get("bias", 1)
        self.revision = _revision(parts, self.form)
        self._cross = load_cross(
            parts, head, max_length=self.form.max_length, device=torch_device, dtype=torch.float32
        )

    def __repr__(self) -> str:
        return f"Reranker({self.revision!r})"

    def score(
        self, query: str, premises: Sequence[str], *, progress: ProgressCallback | None = None
    ) -> Floats:
        """Return how much each premise explains a query, shape (premises,): a log-odds up to a constant.

        Scores of one query compare, those of two queries do not.
        """
        cross, parts = self._cross, []
        meter = Meter(len(premises), f"reading by {self.name}", unit="premises", report=progress)
        for start in range(0, len(premises), _AT_ONCE):
            batch = premises[start : start + _AT_ONCE]
            pairs, _ = cut_pairs(
                cross.tokenize, cross.frame, batch, [query] * len(batch), max_length=cross.max_length
            )
            parts.append(cross.score(pairs))
            meter.add(len(batch))
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)


def list_rerankers() -> list[str]:
    """Return the names of the re-rankers under `models/`, the packaged one first, without loading any."""
    return list(reranker_revisions())


def reranker_revisions() -> dict[str, str]:
    """Return re-ranker -> revision, the packaged one first; damaged ones are left out.

    The revision is empty until a base on the Hub was fetched.
    """
    revisions = {}
    for folder in cross_folders():
        try:
            card = read_card(folder, folder.name)
            if card is not None and card.method == METHOD:
                form = RerankerForm.read(card.reranker, name=folder.name)
                parts = cross_parts(folder, card, download=False)
                revisions[folder.name] = _revision(parts, form) if parts.whole.revision else ""
        except (EncoderError, OSError):
            continue  # it is being replaced, or its base is gone
    return dict(sorted(revisions.items(), key=lambda item: (item[0] != SHIPPED, item[0])))


def _revision(parts: CrossParts, form: RerankerForm) -> str:
    """Return the revision of weights and settings: both change the order of a list."""
    return f"{parts.revision}-{form.weight:g}-{form.depth}"
