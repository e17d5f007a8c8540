"""Corpus versions as sets of premise keys, and the exact order of the candidates that a server gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from entail.errors import IndexEngineError, ManifestMismatchError, RetrievalError
from entail.index.engines import Numbers
from entail.index.flat import align
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
        return cls._named(numbers[order], order)

    @classmethod
    def _named(cls, numbers: Numbers, order: Ints) -> Version:
        return cls(numbers, order, sha256(numbers.astype("<u8").tobytes()).hexdigest())

    def __len__(self) -> int:
        return len(self.numbers)

    def change(self, numbers: Numbers) -> Change:
        """Return the change to another version of the corpus, from whose order most can be taken over."""
        sources = align(self.in_order, numbers)
        new = np.flatnonzero(sources < 0)
        new = new[np.argsort(numbers[new])]
        positions = np.full(len(self), -1)
        positions[sources[sources >= 0]] = np.flatnonzero(sources >= 0)
        order = positions[self.order]
        left = order >= 0
        slots = np.searchsorted(self.numbers[left], numbers[new])
        version = Version._named(
            np.insert(self.numbers[left], slots, numbers[new]), np.insert(order[left], slots, new)
        )
        return Change(version, numbers[new], self.numbers[~left])

    @cached_property
    def in_order(self) -> Numbers:
        """Keys in the order of the corpus."""
        in_order = np.empty_like(self.numbers)
        in_order[self.order] = self.numbers
        return in_order

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return 2 * self.numbers.nbytes + self.order.nbytes

    def positions(self, numbers: Numbers) -> Ints:
        """Return the positions of premises; all must be of this version."""
        return self.order[np.searchsorted(self.numbers, numbers)]


@dataclass(frozen=True, eq=False)
class Change:
    """Change from one version of a corpus to another.

    Attributes:
        after: The other version.
        added: Keys of the premises that are new, ascending.
        retired: Keys of those that are gone, ascending.
    """

    after: Version
    added: Numbers
    retired: Numbers


def require_all(count: int, expected: int) -> None:
    """Raise `IndexEngineError` if a server gives fewer premises than expected."""
    if count < expected:
        raise IndexEngineError(
            f"expected {expected} premises from the server, found {count}: it lost some; restart entail, "
            "which loads what is missing",
            reason="incomplete",
        )


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
        require_all(len(numbers), k)
        positions, scores = version.positions(numbers), unit(halves) @ vectors[row]
        best = np.lexsort((positions, -scores))[:k]
        hits.positions[row], hits.scores[row] = positions[best], scores[best]
    return hits
