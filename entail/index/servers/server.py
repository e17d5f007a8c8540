"""Index servers: what is the same whichever server keeps the vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

import numpy as np

from entail.errors import IndexEngineError, RetrievalError
from entail.index.engines import Engine, Numbers, PremiseVectors, ReadVectors
from entail.index.protocol import Floats, Hits, Ints
from entail.index.ranking import checked_k
from entail.index.servers.versions import (
    Candidates,
    Change,
    Version,
    checked_vectors,
    rank,
    require_all,
)
from entail.index.vectors import unit
from entail.masking import mask_secrets
from entail.progress import ProgressCallback

LINKS, BREADTH, SEARCH_BREADTH = 16, 200, 400
"""HNSW: links of a node, candidates when it is linked and when it is searched."""

REMEDIES: Mapping[str, str] = {
    "down": (
        "it does not answer; see that it runs, that ENTAIL_INDEX_URL is right, and that no other process has "
        "opened a file of Milvus Lite"
    ),
    "slow": (
        "it did not answer in time; see that the index fits into its memory and that no other process loads "
        "vectors into it, then try again"
    ),
    "full": "it has no room left; make room on its disk or in its memory, then try again",
    "permission": (
        "it refuses the user; see user and password in ENTAIL_INDEX_URL, and grant CREATE on a database of "
        "PostgreSQL"
    ),
    "version": "it needs pgvector 0.8 (then ALTER EXTENSION vector UPDATE) or Milvus 2.6; update it",
    "unexpected": "it gave an error that is not expected; see the server's log",
}
"""`IndexEngineError.reason` -> what to do."""


@dataclass(frozen=True, eq=False)
class ServerIndex:
    """Premise vectors of one corpus version on a server; this process holds their keys alone.

    Attributes:
        server: The server's vectors of the encoder revision.
        version: The premises.
        line: Line of versions that were made from one another.
        number: Number of the version in its line.
    """

    server: VectorServer
    version: Version
    line: str | int
    number: int
    exact: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes in the memory of this process."""
        return self.version.size_bytes

    def search(self, vectors: Floats, *, k: int) -> Hits:
        """Return the k nearest premises of each query vector; see `VectorIndex.search`.

        Twice as many come from the server and are ranked by their stored vectors.

        Raises:
            RetrievalError: If k is above what the server gives.
            IndexEngineError: If the server does not answer, or lost premises.
        """
        size, most = len(self.version), self.server.most
        k = checked_k(k, size)
        if k > most:
            raise RetrievalError(f"the index server gives at most {most:,} premises, found k = {k:,}")
        vectors = checked_vectors(vectors, self.server.dimension)
        wide = min(size, 2 * k + 10, most)
        candidates = self.server.nearest(self, vectors, k, wide) if len(vectors) else []
        return rank(self.version, vectors, candidates, k)

    def read(self, positions: Ints) -> Floats:
        """Return vectors by position, as the server has stored them."""
        numbers, at = np.unique(self.version.in_order[positions], return_inverse=True)
        stored, halves = self.server.read(self, numbers)
        require_all(len(stored), len(numbers))
        return unit(halves[np.argsort(stored)][at])

    def updated(self, numbers: Numbers, vectors: ReadVectors) -> ServerIndex | None:
        """Return the index of another version of the corpus; see `VectorIndex.updated`."""
        change = self.version.change(numbers)
        return self.server.index(change.after, vectors, change=(self, change))


@dataclass(frozen=True)
class VectorServer(ABC):
    """Premise vectors of one encoder revision on a server."""

    url: str
    revision: str
    dimension: int

    most: ClassVar[int] = 2**31
    """Most hits of a search."""

    @property
    def slug(self) -> str:
        """Part of a name on the server, different for different revisions."""
        return sha256(f"{self.revision} {self.dimension}".encode()).hexdigest()[:16]

    @abstractmethod
    def lacking(self, numbers: Numbers) -> Numbers:
        """Return the premises whose vectors `index` would read, of those of a version."""

    @abstractmethod
    def read(self, index: ServerIndex, numbers: Numbers) -> Candidates:
        """Return the stored vectors of premises of an index, in any order."""

    @abstractmethod
    def index(
        self,
        version: Version,
        vectors: ReadVectors,
        *,
        change: tuple[ServerIndex, Change] | None = None,
        progress: ProgressCallback | None = None,
    ) -> ServerIndex | None:
        """Return the index of a version; write what the server lacks of it.

        With `change`, None where the version cannot follow that index.
        """

    @abstractmethod
    def nearest(self, index: ServerIndex, vectors: Floats, k: int, wide: int) -> list[Candidates]:
        """Return some `wide` candidates of each query; where these are fewer than k, of all vectors."""


def failure(url: str, reason: str, text: object) -> IndexEngineError:
    """Return the error for a reason, with its remedy and the words of the client."""
    words = mask_secrets(" ".join(str(text).split()))[:300]
    return IndexEngineError(
        f"the index server {mask_secrets(url.partition('?')[0])} cannot be used: {REMEDIES[reason]}, or set "
        f"ENTAIL_INDEX=flat, which searches in memory ({words})",
        reason=reason,
    )


class ServerEngine(Engine):
    """Engine whose indexes are on a server; they are not exact."""

    exact = False
    widest: ClassVar[int]
    server: ClassVar[type[VectorServer]]

    @abstractmethod
    def url(self) -> str:
        """Return the URL of the server."""

    def supports(self, premises: PremiseVectors) -> bool:
        """Return whether the server holds vectors of this length."""
        return 2 <= premises.dimension <= self.widest

    def lacking(self, premises: PremiseVectors) -> Ints:
        """Return the positions of the premises that the server lacks; see `Engine`."""
        lacking = self._server(premises).lacking(premises.numbers)
        positions: Ints = np.flatnonzero(np.isin(premises.numbers, lacking))
        return positions

    def build(self, premises: PremiseVectors, progress: ProgressCallback | None = None) -> ServerIndex:
        """Return the index of a corpus version; nothing is written that the server has already."""
        version = Version.of(premises.numbers)
        index = self._server(premises).index(version, premises.read, progress=progress)
        assert index is not None  # as it follows no other
        return index

    def _server(self, premises: PremiseVectors) -> VectorServer:
        return self.server(self.url(), premises.revision, premises.dimension)
