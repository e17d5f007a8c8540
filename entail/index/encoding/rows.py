"""Rows of premises as a process of its own or a worker of a cluster makes them."""

from __future__ import annotations

from collections.abc import Iterator

from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.index.engines import Numbers
from entail.index.gaussian import GaussianRows
from entail.index.store import Halves

Batches = Iterator[tuple[Numbers, Halves]]
"""Keys of premises and their rows, some at a time."""


def row_encoder(name: str, *, device: str | None) -> tuple[Encoder, str]:
    """Return an encoder of rows by name, and the kind of its rows; see `VectorStore`."""
    if is_gaussian(name):
        return GaussianRows(GaussianEncoder(name, device=device)), "gaussian"
    return BiEncoder(name, device=device), "inner_product"
