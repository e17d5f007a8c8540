"""Corpus versions as sets of premise keys, and the exact order of the candidates that a server gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from entail.errors import IndexEngineError, ManifestMismatchError, RetrievalError
from entail.index.engines import Numbers
from entail.index.protocol import Floats, Hits, Ints
from entail.index.store import Halves
from entail.index.vectors import unit

Candidates = tuple[Numbers, Halves]
"""Keys of some premises and their stored vectors, in the same order."""


@dataclass(frozen=True, eq=False)
class Version:
    """Premises of one corpus version, found by key.

    Attributes:
        numbers: Their keys, ascending.
        order: Position in the corpus of each of `numbers`.
        name: Hash of the set of keys: versions that differ in their order alone share what a server holds.
    """

    numbers: Numbers
    order: Ints
    name: str

    @classmethod
    def of(cls, numbers: Numbers) -> Version:
        """Return the version with the keys `numbers`, in the order of the corpus."""
        order = np.argsort(numbers)
        ascending = numbers[order]
        return cls(ascending, order, sha256(ascending.astype("<u8").tobytes()).hexdigest())

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return self.numbers.nbytes + self.order.nbytes

    def positions(self, numbers: Numbers) -> Ints:
        """Return the positions of premises; all must be of this version."""
        return self.order[np.searchsorted(self.numbers, numbers)]


def without(numbers: Numbers, others: Numbers) -> Numbers:
    """Return those of ascending numbers that other ascending numbers lack.

    >>> without(np.array([1, 2, 5], np.uint64), np.array([2, 3], np.uint64)).tolist()
    [1, 5]
    """
    if not others.size:
        return numbers
    at = np.minimum(np.searchsorted(others, numbers), len(others) - 1)
    lacking: Numbers = numbers[others[at] != numbers]
    return lacking


def checked_vectors(vectors: Floats, dimension: int) -> Floats:
    """Return query vectors; raise where they are not finite or of another width."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise ManifestMismatchError(
            f"expected query vectors of {dimension} numbers, as the premises have, found the shape "
            f"{vectors.shape}; encode the queries with the encoder of the premises"
        )
    if not np.isfinite(vectors).all():
        raise RetrievalError("expected finite query vectors, found NaN or infinity")
    return vectors


def rank(version: Version, vectors: Floats, candidates: Sequence[Candidates], k: int) -> Hits:
    """Return the k best candidates of each query by the inner product with their stored vectors.

    Raises:
        IndexEngineError: If a query has fewer than k candidates: a list is never shorter without a word.
    """
    hits = Hits(np.empty((len(vectors), k), np.int64), np.empty((len(vectors), k), np.float32))
    for row, (numbers, halves) in enumerate(candidates):
        if len(numbers) < k:
            raise IndexEngineError(
                f"expected {k} premises from the server, found {len(numbers)}: it lost some; restart entail, "
                "which loads what is missing",
                reason="incomplete",
            )
        positions, scores = version.positions(numbers), unit(halves) @ vectors[row]
        best = np.lexsort((positions, -scores))[:k]
        hits.positions[row], hits.scores[row] = positions[best], scores[best]
    return hits
