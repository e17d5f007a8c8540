"""Searches of several requests over HTTP together: one product of matrices for the queries of all clients."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from entail.index.gaussian import Direction, GaussianIndex
from entail.index.protocol import Hits, PremiseIndex
from entail.runtime.batching import Batcher, current_call

SEARCHES = "search by "
"""Beginning of the name of the batches of an index."""


class Depth(NamedTuple):
    """Options of a search that queries of one batch share."""

    k: int
    direction: Direction = "entailing"


_lock = threading.Lock()
_batchers: WeakKeyDictionary[PremiseIndex, Batcher[Depth, Hits]] = WeakKeyDictionary()


def search_now(index: PremiseIndex, queries: Sequence[str], depth: Depth) -> Hits:
    """Return the nearest premises of each query, shape (queries, k); see `PremiseIndex.search`."""
    if isinstance(index, GaussianIndex):
        return index.search(queries, k=depth.k, direction=depth.direction)
    return index.search(queries, k=depth.k)


def search_together(index: PremiseIndex, queries: Sequence[str], depth: Depth) -> Hits:
    """Return the same with the queries of other requests to the index.

    Raises:
        ServingError: If too many queries wait, or the request is cancelled or past its deadline.
    """
    with _lock:
        batcher = _batchers.setdefault(index, Batcher(f"{SEARCHES}{index.name}"))
    return current_call.get().result(batcher.submit(queries, depth, partial(search_now, index)))
