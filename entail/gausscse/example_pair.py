"""Gaussians of the example pair, which ship so that the first verdict needs no encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from entail.data.bundled import read_shipped, sample_dir
from entail.encoders.gaussian.distributions import Gaussians

EXAMPLE = ("A girl in a yellow dress is jumping into a swimming pool.", "A girl is jumping into water.")
"""Two sentences of our own, not of the training data."""

FILE = "direction.json"
"""File in the folder of the bundled corpus; `scripts/build_openings.py` writes it."""


@dataclass(frozen=True)
class StoredGaussians:
    """Means and log variances of texts, 2d numbers each, by the encoder of a revision."""

    revision: str
    values: Mapping[str, list[float]]


def find_gaussians(revision: str | None, texts: Sequence[str]) -> Gaussians | None:
    """Return the Gaussians of texts that ship; None unless there is one of each by this revision."""
    stored = read_shipped(sample_dir() / FILE, StoredGaussians)
    if stored is None or stored.revision != revision or not set(texts) <= set(stored.values):
        return None
    rows = np.array([stored.values[text] for text in texts], dtype=np.float32)
    return Gaussians.of(rows, revision=revision)
