"""Ranking of scores; equal scores in order of position."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from entail.errors import RetrievalError
from entail.index.protocol import Floats, Hits, Ints

_CHUNK = 256
"""Queries whose scores are in memory at once."""


def search_by_scores(
    scores: Callable[[Sequence[str]], Floats], queries: Sequence[str], *, k: int, count: int
) -> Hits:
    """Search by a ranking of all scores."""
    k = checked_k(k, count)
    parts = [top_k(scores(queries[i : i + _CHUNK]), k) for i in range(0, len(queries), _CHUNK)]
    if not parts:
        return Hits(np.empty((0, k), dtype=np.int64), np.empty((0, k), dtype=np.float32))
    return Hits(
        np.concatenate([part.positions for part in parts]), np.concatenate([part.scores for part in parts])
    )


def top_k(scores: Floats, k: int) -> Hits:
    """Return the k best positions of each row of scores, best first; k is cut to the number of columns.

    >>> top_k(np.array([[0.1, 0.9, 0.9, 0.5]], dtype=np.float32), 3).positions
    array([[1, 2, 3]])
    """
    rows, columns = scores.shape
    k = checked_k(k, columns)
    positions: Ints = np.empty((rows, k), dtype=np.int64)
    for row, values in enumerate(scores):
        candidates = np.arange(columns)
        if k < columns:
            # All at or above the k-th score, so that a tie across the cut goes to the first ones.
            cut = np.partition(values, columns - k)[columns - k]
            candidates = np.flatnonzero(values >= cut)
        positions[row] = candidates[np.argsort(-values[candidates], kind="stable")[:k]]
    return Hits(positions, np.take_along_axis(scores, positions, axis=1))


def checked_k(k: int, size: int) -> int:
    """Return k cut to the number of premises; raise `RetrievalError` if it is below 1."""
    if k < 1:
        raise RetrievalError(f"expected k of 1 or more hits, found {k}")
    return min(k, size)


def checked_queries(queries: Sequence[str]) -> Sequence[str]:
    """Return the queries; raise `RetrievalError` if one is blank."""
    if isinstance(queries, str):
        raise TypeError("expected a list of queries, found one text")
    for number, query in enumerate(queries, 1):
        if not query.strip():
            raise RetrievalError(f"query {number} of {len(queries)} is empty; type some words to search for")
    return queries
