"""Protocol of indexes of premises, their manifest and their hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of an index's content, so that a mismatch is refused (design decision 7).

    Attributes:
        revision: Revision of the encoder that ranks, or name and settings of a lexical retriever.
        dimension: Length of a vector; 0 for a lexical index.
        metric: `inner_product`, `tfidf_cosine` or `bm25`; `kl`, `kl_mean` or `kl_per_dim` of Gaussians.
        count: Number of premises.
        corpus_hash: `Corpus.hash` of the corpus.
        premise_revision: Revision of the premise vectors, by default `revision`; encoders that differ in
            their query tower alone share it.
    """

    revision: str
    dimension: int
    metric: str
    count: int
    corpus_hash: str
    premise_revision: str = ""

    def __post_init__(self) -> None:
        if not self.premise_revision:
            object.__setattr__(self, "premise_revision", self.revision)


@dataclass(frozen=True)
class Hits:
    """The nearest premises of each query, best first; equal scores in order of position.

    Attributes:
        positions: Positions in the corpus, shape (queries, k).
        scores: Similarities (higher is closer), same shape.
    """

    positions: Ints
    scores: Floats

    def __getitem__(self, rows: slice) -> Hits:
        """Return the hits of some queries."""
        return Hits(self.positions[rows], self.scores[rows])


@runtime_checkable
class PremiseIndex(Protocol):
    """Premises of one corpus, searchable by text."""

    @property
    def name(self) -> str:
        """Display name of the retriever: `tfidf`, `bm25`, `minilm` ..."""

    @property
    def manifest(self) -> Manifest:
        """Description of its content."""

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query; k is cut to the size of the corpus.

        Raises:
            RetrievalError: If k is below 1.
        """

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises)."""


@runtime_checkable
class ScoresPositions(Protocol):
    """An index that scores some premises without scoring all."""

    def score_positions(self, queries: Sequence[str], positions: Ints) -> Floats:
        """Return the similarity of each query to its premises; positions have the shape (queries, n)."""
