"""Re-rankers: cross-encoders that read a query and one of its nearest premises together."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import NDArray

from entail.encoders.cross.encoder import CrossParts, cross_parts, list_cross, load_cross, open_cross
from entail.encoders.cross.pairs import cut_pairs
from entail.encoders.device import device_name
from entail.encoders.weights import read_form
from entail.errors import EncoderError
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
    """Settings of a re-ranker: most tokens of a pair, weight of its score, premises that it reads."""

    max_length: Annotated[int, Ge(8)] = 128
    weight: Annotated[float, Ge(0), Lt(math.inf)] = 0.015
    depth: Annotated[int, Ge(1)] = 50

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `entail.json`."""
        return asdict(self)


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
        parts, card = open_cross(model, METHOD, first=SHIPPED)
        self.name = parts.name
        self.form = read_form(RerankerForm, card.reranker, name=self.name, entry="reranker")
        self.revision = _revision(parts, self.form)
        self._cross = load_cross(parts, max_length=self.form.max_length, device=device_name(device))

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
    for folder, card in list_cross(METHOD, first=SHIPPED):
        with contextlib.suppress(EncoderError, OSError):  # it is being replaced, or its base is gone
            form = read_form(RerankerForm, card.reranker, name=folder.name, entry="reranker")
            parts = cross_parts(folder, card, download=False)
            revisions[folder.name] = _revision(parts, form) if parts.whole.revision else ""
    return revisions


def _revision(parts: CrossParts, form: RerankerForm) -> str:
    """Return the revision of weights and settings: both change the order of a list."""
    return f"{parts.revision}-{form.weight:g}-{form.depth}"
