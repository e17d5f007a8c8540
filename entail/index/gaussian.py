"""Search by entailment direction: premises that entail a sentence, and premises that it entails.

Gaussians are lifted to vectors of 2d + 1 numbers, whose inner products rank as divergences do. Up to a
constant of h, -2 KL(h || p) is an inner product (v the variance)::

    <[v_h + mu_h^2, 2 mu_h, -1], [-1/v_p, mu_p/v_p, sum(mu_p^2/v_p + log v_p)]>      which p entail h
    <[-1/v_q, 2 mu_q/v_q, 1],    [v_c + mu_c^2, mu_c, sum(log v_c)]>                 which c does q entail

so a search is one by inner product.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from entail.cancellation import cancellable
from entail.data.records import Corpus
from entail.encoders.encoder import BiEncoder, Encoder
from entail.encoders.gaussian.distributions import (
    LOG_VARIANCE_LIMIT,
    EncodesGaussians,
    Floats64,
    Gaussians,
    divergence,
    from_divergence,
    similarity,
)
from entail.encoders.gaussian.encoder import GaussianEncoder, is_gaussian
from entail.errors import EncoderError, RetrievalError
from entail.index.engines import Numbers, PremiseVectors, engine_of
from entail.index.protocol import Floats, Hits, Ints, Manifest
from entail.index.ranking import checked_k, top_k
from entail.index.vectors import PremiseRows, QueryVectors
from entail.progress import ProgressCallback

Direction = Literal["entailing", "entailed"]
"""Premises p that entail the query q, by KL(q || p), or premises that the query entails, by KL(p || q)."""

MEAN_LIMIT = 1e6
"""Greatest distance of a mean from the corpus's; beyond it float32 inner products are meaningless."""

_MARGIN = 16
"""Candidates fetched beyond k, at least."""

_SAMPLE = 4096
_ROWS = 4096


@dataclass(frozen=True)
class Nearest:
    """Premises of least divergence for each query, least first; equal ones in order of position.

    Attributes:
        positions: Shape (queries, k).
        divergences: KL in double precision, by `divergence`, same shape.
    """

    positions: Ints
    divergences: Floats64


class LiftedGaussians:
    """Exact search of Gaussians in one direction; any number of threads may search.

    An engine compares in float32, but the result is the ranking by divergences in double precision: an inner
    product of n = 2d + 1 rounded numbers is off by at most

        E = g (|D x| max_p |y_p / D|) + tiny parts,    g = (n + 8) u / (1 - (n + 8) u),  u = 2^-24

    in any order of summation (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1;
    Cauchy-Schwarz, D any positive scale). So every premise of the true first k scores at least the k-th best
    score less 2 E. If the fetched candidates reach below that, no other can be better; otherwise more are
    fetched. Candidates are ranked by `divergence`.

    Centring keeps E small without changing the ranking: means are relative to the corpus's mean, and the mean
    of every lifted column of the premises is subtracted. The engine has y / D. Where variances differ by many
    orders of magnitude, most of the corpus is a candidate, and a search takes as long as comparing all pairs.

    It holds (2d + 1) * 4 bytes a premise. The Gaussians are not copied.

    Args:
        premises: The Gaussians.
        direction: Which of the two directions.
        numbers: Keys of the premises; default: their positions.
        progress: Receives the progress of building.

    Raises:
        RetrievalError: If a mean is further than `MEAN_LIMIT` from their mean.
    """

    def __init__(
        self,
        premises: PremiseGaussians,
        direction: Direction,
        *,
        numbers: Numbers | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.premises = premises
        self.direction = direction
        count, width = len(premises), 2 * premises.dimension + 1
        # Any centre and any scale are valid; those of a sample suffice.
        sample = premises[np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64)]
        self._centre: Floats64 = sample.mean.mean(axis=0, dtype=np.float64)
        columns = self._lift(sample, premise=True)
        self._offset: Floats64 = columns.mean(axis=0)
        queries = self._lift(sample, premise=False)
        self._scale = np.sqrt(_spread(columns - self._offset) / _spread(queries))
        self._furthest: Floats64 = np.zeros(width)
        self._length = 0.0
        numbers = np.arange(count, dtype=np.uint64) if numbers is None else numbers
        vectors = PremiseVectors(
            f"lifted/{direction}", width, numbers, self._vectors, (queries * self._scale).astype(np.float32)
        )
        self.vectors = engine_of(vectors, exact=True).build(vectors, progress)

    def __len__(self) -> int:
        return len(self.premises)

    def updated(self, premises: PremiseGaussians, numbers: Numbers) -> LiftedGaussians | None:
        """Return the search of another version of the corpus, None if it must be built."""
        other = copy.copy(self)
        other.premises = premises
        vectors = self.vectors.updated(numbers, other._vectors)
        if vectors is None:
            return None
        other.vectors = vectors
        return other

    def nearest(self, queries: Gaussians, *, k: int) -> Nearest:
        """Return the k premises of least divergence for each query."""
        count, size = len(queries), len(self)
        lifted = self._lift(queries, premise=False)
        nearest = Nearest(np.empty((count, k), np.int64), np.empty((count, k)))
        fetch = k + max(k // 4, _MARGIN)
        if fetch >= size:
            everything = np.arange(size)
            for row in cancellable(range(count)):
                self._rank(nearest, row, queries, everything)
            return nearest
        vectors = (lifted * self._scale).astype(np.float32)
        hits = self.vectors.search(vectors, k=fetch)
        errors = self._errors(lifted)
        for row in cancellable(range(count)):
            scores, positions = hits.scores[row], hits.positions[row]
            self._rank(nearest, row, queries, positions)
            # The rounding of the divergences themselves.
            own = 1e-11 * nearest.divergences[row, -1]
            least = float(scores[k - 1]) - 2 * errors[row] - own
            while float(scores[-1]) >= least and len(scores) < size:
                wide = self.vectors.search(vectors[row : row + 1], k=min(size, 8 * len(scores)))
                scores, positions = wide.scores[0], wide.positions[0]
            if len(scores) > fetch:
                self._rank(nearest, row, queries, np.sort(positions[scores >= least]))
        return nearest

    def divergences(self, queries: Gaussians, row: int, positions: Ints) -> Floats64:
        """Return the divergence of one query and some premises, in the direction's order."""
        query = queries[row]
        parts = [positions[start : start + _ROWS] for start in range(0, len(positions), _ROWS)]
        if self.direction == "entailing":
            return np.concatenate([divergence(query, self.premises[part]) for part in parts])
        return np.concatenate([divergence(self.premises[part], query) for part in parts])

    def _rank(self, nearest: Nearest, row: int, queries: Gaussians, positions: Ints) -> None:
        divergences = self.divergences(queries, row, positions)
        best = np.lexsort((positions, divergences))[: nearest.positions.shape[1]]
        nearest.positions[row], nearest.divergences[row] = positions[best], divergences[best]

    def _vectors(self, positions: Ints) -> Floats:
        """Return the vectors of premises; what they reach goes into the bounds of `_errors`."""
        vectors = np.empty((len(positions), len(self._offset)), dtype=np.float32)
        for start in range(0, len(positions), _ROWS):
            rows = slice(start, start + _ROWS)
            lifted = self._lift(self.premises[positions[rows]], premise=True)
            self._furthest = np.maximum(self._furthest, np.abs(lifted).max(axis=0))
            lifted -= self._offset
            lifted /= self._scale
            self._length = max(self._length, float(np.sqrt((lifted**2).sum(axis=1).max())))
            vectors[rows] = lifted
        return vectors

    def _lift(self, gaussians: Gaussians, *, premise: bool) -> Floats64:
        """Return vectors of 2d + 1 numbers, their columns not centred."""
        mean = gaussians.mean - self._centre
        if np.abs(mean).max(initial=0) > MEAN_LIMIT:
            raise RetrievalError(
                f"expected means within {MEAN_LIMIT:g} of the corpus's, found one "
                f"{np.abs(mean).max():g} away; the encoder's weights are broken, or it is another one's"
            )
        logs = gaussians.log_variance.astype(np.float64)
        lifted = np.empty((len(mean), 2 * gaussians.dimension + 1))
        first, second = lifted[:, : gaussians.dimension], lifted[:, gaussians.dimension : -1]
        if premise == (self.direction == "entailing"):
            precision = np.exp(-logs)
            np.negative(precision, out=first)
            np.multiply(precision, mean if premise else 2 * mean, out=second)
            lifted[:, -1] = (mean * second + logs).sum(axis=1) if premise else 1
        else:
            np.add(np.exp(logs), mean**2, out=first)
            np.multiply(mean, 1 if premise else 2, out=second)
            lifted[:, -1] = logs.sum(axis=1) if premise else -1
        return lifted

    def _errors(self, lifted: Floats64) -> Floats64:
        """Return the error bound E of an inner product with each query."""
        terms = (lifted.shape[1] + 8) * 2.0**-24
        scaled = lifted * self._scale
        rounding = np.sqrt((scaled**2).sum(axis=1)) * self._length
        # Rounding in double precision, where centring the columns may have cancelled digits ...
        furthest = self._furthest.copy()
        furthest[-1] += LOG_VARIANCE_LIMIT * self.premises.dimension
        doubles: Floats64 = np.abs(lifted) @ furthest * 2.0**-40
        # ... and products too small for float32.
        largest = 1 + np.abs(scaled).max(axis=1) + self._length
        tiny = lifted.shape[1] * np.finfo(np.float32).tiny * largest
        total: Floats64 = terms / (1 - terms) * rounding + doubles + tiny
        return total


def _spread(columns: Floats64) -> Floats64:
    """Return the root mean square of each column, bounded from below for division."""
    squares: Floats64 = np.sqrt((columns**2).mean(axis=0))
    return np.maximum(squares, 1e-6 * squares.mean() or 1.0)


_LARGEST_HALF = 65_504.0


class GaussianRows:
    """Adapter from an encoder of Gaussians to an `Encoder` of rows of 2d numbers, for vector caches."""

    symmetric = True

    def __init__(self, encoder: EncodesGaussians) -> None:
        self.gaussian = encoder
        self.name = encoder.name
        self.revision = self.premise_revision = encoder.revision
        self.dimension = 2 * encoder.dimension

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return d means and d log variances a text, shape (texts, 2d)."""
        return self.gaussian.encode(texts, progress=progress).values

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return the rows of `encode_queries`; raise `EncoderError` for numbers beyond the range of fp16."""
        values = self.encode_queries(texts, progress=progress)
        if np.abs(values).max(initial=0) > _LARGEST_HALF:
            raise EncoderError(
                f"{self.name}: expected means within {_LARGEST_HALF:g} of 0, which are cached in fp16, found "
                f"one {np.abs(values).max():g} away; its weights are broken"
            )
        return values


def row_encoder(name: str, *, device: str | None) -> tuple[Encoder, str]:
    """Return an encoder of rows by name, and the kind of its rows; see `VectorStore`."""
    if is_gaussian(name):
        return GaussianRows(GaussianEncoder(name, device=device)), "gaussian"
    return BiEncoder(name, device=device), "inner_product"


class StoredGaussians:
    """Gaussians of a corpus in the cache of premise rows; read when they are used.

    In fp16 a mean or a log variance is off by at most 0.05 %.
    """

    def __init__(self, corpus: Corpus, encoder: EncodesGaussians, *, cache_dir: Path | None) -> None:
        self.rows = PremiseRows(corpus, GaussianRows(encoder), cache_dir=cache_dir, metric="gaussian")
        self.revision, self.dimension = encoder.revision, encoder.dimension

    def __len__(self) -> int:
        return len(self.rows.numbers)

    def __getitem__(self, rows: Any) -> Gaussians:
        """Return the Gaussians of positions, a slice, or one position; those that are missing are encoded."""
        positions = np.arange(len(self))[rows].reshape(-1)
        return Gaussians.of(self.rows.read(positions).astype(np.float32), revision=self.revision)


PremiseGaussians = Gaussians | StoredGaussians
"""Gaussians of premises by position, in memory or in a store."""


class GaussianIndex:
    """A `PremiseIndex` over Gaussians; the score is the encoder's similarity, sim(h || p).

    Hits are premises that entail the query, or with direction `entailed` those that it entails. They are the
    ranking in double precision, certified (see `LiftedGaussians`). `kl_per_dim` is no inner product, so every
    pair is compared.

    The index of a direction is built on first use, or by `prepare`. Threads take turns to build it.

    Args:
        encoder: The encoder of unknown queries.
        corpus: The premises, in the order of `gaussians`.
        gaussians: Their Gaussians; not copied.
    """

    def __init__(self, encoder: EncodesGaussians, corpus: Corpus, gaussians: PremiseGaussians) -> None:
        self._encoder = encoder
        self._corpus = corpus
        self._gaussians = gaussians
        self._queries = QueryVectors(GaussianRows(encoder))
        self._locks = {"entailing": threading.Lock(), "entailed": threading.Lock()}
        self._lifted: dict[Direction, LiftedGaussians] = {}
        self.name = encoder.name
        self.manifest = Manifest(
            revision=encoder.revision,
            dimension=encoder.dimension,
            metric=encoder.kind,
            count=len(corpus),
            corpus_hash=corpus.hash,
        )

    def of_version(self, encoder: EncodesGaussians, gaussians: StoredGaussians) -> GaussianIndex | None:
        """Return the index of another version of the corpus, None if it can share no direction's vectors."""
        other = GaussianIndex(encoder, gaussians.rows.corpus, gaussians)
        for direction, side in list(self._lifted.items()):
            if updated := side.updated(gaussians, gaussians.rows.numbers):
                other._lifted[direction] = updated
        return other if other._lifted else None

    @property
    def size_bytes(self) -> int:
        """Bytes of the vectors of each direction that is built."""
        return sum(side.vectors.size_bytes for side in list(self._lifted.values()))

    def prepare(self, direction: Direction, *, progress: ProgressCallback | None = None) -> LiftedGaussians:
        """Return the index of a direction; to build it takes a minute for a million premises."""
        with self._locks[direction]:
            if direction not in self._lifted:
                self._lifted[direction] = LiftedGaussians(
                    self._gaussians, direction, numbers=self._corpus.numbers, progress=progress
                )
            return self._lifted[direction]

    def search(self, queries: Sequence[str], *, k: int, direction: Direction = "entailing") -> Hits:
        """Return the k premises that entail each query most, or that it entails; shape (queries, k)."""
        k = checked_k(k, len(self._corpus))
        gaussians, kind = self._encode(queries), self._encoder.kind
        if kind == "kl_per_dim":
            return top_k(self._score_all(gaussians, direction), k)
        nearest = self.prepare(direction).nearest(gaussians, k=k)
        scores = from_divergence(nearest.divergences, dimension=gaussians.dimension, kind=kind)
        return Hits(nearest.positions, scores.astype(np.float32))

    def scores(self, queries: Sequence[str], *, direction: Direction = "entailing") -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises).

        Each pair is compared in double precision: about 100 ms a query for 16,000 premises.
        """
        return self._score_all(self._encode(queries), direction)

    def score_positions(self, queries: Sequence[str], positions: Ints) -> Floats:
        """Return the similarity of each query to the premises at its row of positions."""
        gaussians, kind = self._encode(queries), self._encoder.kind
        rows = [
            similarity(gaussians[row], self._gaussians[own], kind=kind) for row, own in enumerate(positions)
        ]
        return np.array(rows, dtype=np.float32).reshape(positions.shape)

    def _encode(self, queries: Sequence[str]) -> Gaussians:
        """Return the Gaussians of queries, encoding only those that are no premises and unknown."""
        rows = self._queries.encode_over(
            self._corpus, queries, lambda position: self._gaussians[position].values[0]
        )
        return Gaussians.of(rows, revision=self.manifest.revision)

    def _score_all(self, queries: Gaussians, direction: Direction) -> Floats:
        scores = np.empty((len(queries), len(self._gaussians)), dtype=np.float32)
        for start in cancellable(range(0, len(self._gaussians), _ROWS)):
            block = slice(start, start + _ROWS)
            premises = self._gaussians[block]
            for row in cancellable(range(len(queries))):
                pair = (queries[row], premises) if direction == "entailing" else (premises, queries[row])
                scores[row, block] = similarity(*pair, kind=self._encoder.kind)
        return scores
