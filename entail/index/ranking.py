"""Ranking of scores; equal scores in order of position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from entail.cancellation import cancellable
from entail.errors import RetrievalError
from entail.index.protocol import Floats, Hits, Ints, PremiseIndex

SCORES_AT_ONCE = 1 << 23
"""Scores of one block of queries: 32 MB, and well under a second of inner products."""

ALL_SCORED = 200_000
"""Premises up to which a comparison or a measure scores all of a corpus."""

LISTED = 1000
"""First premises of each query that have a score and a rank in a larger corpus."""


def scores_of(index: PremiseIndex, queries: Sequence[str]) -> Floats:
    """Return scores, shape (queries, premises): in a large corpus -inf beyond the first `LISTED`."""
    count = index.manifest.count
    if count <= ALL_SCORED:
        return index.scores(queries)
    hits = index.search(queries, k=LISTED)
    scores = np.full((len(queries), count), -np.inf, dtype=np.float32)
    np.put_along_axis(scores, hits.positions, hits.scores, axis=1)
    return scores


def search_by_scores(
    scores: Callable[[Sequence[str]], Floats], queries: Sequence[str], *, k: int, count: int
) -> Hits:
    """Search by a ranking of all scores."""
    k = checked_k(k, count)
    parts = [top_k(scores(queries[rows]), k) for rows in query_blocks(len(queries), count)]
    if not parts:
        return Hits(np.empty((0, k), dtype=np.int64), np.empty((0, k), dtype=np.float32))
    return Hits(
        np.concatenate([part.positions for part in parts]), np.concatenate([part.scores for part in parts])
    )


def query_blocks(queries: int, scores: int) -> Iterator[slice]:
    """Yield blocks of queries, with some scores each, of at most `SCORES_AT_ONCE` scores.

    A search that is cancelled ends before the next block.

    >>> list(query_blocks(5, SCORES_AT_ONCE // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    size = max(1, SCORES_AT_ONCE // scores)
    for start in cancellable(range(0, queries, size)):
        yield slice(start, start + size)


def top_k(scores: Floats, k: int) -> Hits:
    """Return the k best positions of each row of scores, best first; k is cut to the number of columns.

    >>> top_k(np.array([[0.1, 0.9, 0.9, 0.5]], dtype=np.float32), 3).positions
    array([[1, 2, 3]])
    """
    rows, columns = scores.shape
    k = checked_k(k, columns)
    positions: Ints = np.empty((rows, k), dtype=np.int64)
    for row, values in enumerate(cancellable(scores)):
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
