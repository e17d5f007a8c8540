"""Vectors that ship with the bundled sample, so that its first page needs no encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from entail.data.bundled import sample_dir

Halves = NDArray[np.float16]


@dataclass(frozen=True)
class ShippedVectors:
    """Unit vectors of one encoder revision, rounded to fp16, by premise key.

    Attributes:
        revision: The encoder's.
        premises: Of the bundled facts; each of shape (d,).
        queries: Of the bundled hypotheses and intermediate conclusions; each of shape (d,).
    """

    revision: str
    premises: Mapping[str, Halves]
    queries: Mapping[str, Halves]


def shipped_vectors(revision: str) -> ShippedVectors | None:
    """Return the vectors that ship for an encoder revision, None if there are none for it."""
    shipped = _read(sample_dir())
    return shipped if shipped is not None and shipped.revision == revision else None


def write_shipped(
    folder: Path,
    *,
    revision: str,
    premises: Mapping[str, NDArray[np.float32]],
    queries: Mapping[str, NDArray[np.float32]],
) -> None:
    """Write vectors to ship into a folder: `vectors.json` says what the two arrays hold."""
    told = {"revision": revision, "dtype": "float16"}
    for name, vectors in (("premise", premises), ("query", queries)):
        np.save(folder / f"{name}_vectors.npy", np.stack(list(vectors.values())).astype(np.float16))
    keys = {"premise_keys": list(premises), "query_keys": list(queries)}
    (folder / "vectors.json").write_text(json.dumps({**told, **keys}, indent=0) + "\n", encoding="utf-8")


@cache
def _read(folder: Path) -> ShippedVectors | None:
    parts = []
    try:
        told = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
        for name in ("premise", "query"):
            vectors = np.load(folder / f"{name}_vectors.npy", allow_pickle=False)
            parts.append(dict(zip(told[f"{name}_keys"], vectors, strict=True)))
    except (OSError, ValueError, KeyError):  # not there or torn: the encoder answers instead
        return None
    return ShippedVectors(told["revision"], premises=parts[0], queries=parts[1])
