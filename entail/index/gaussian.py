"""Search by direction: which premises entail a sentence, and which it entails."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from entail.data.records import Corpus
from entail.data.text import premise_key
from entail.encoders.gaussian.distributions import (
    EncodesGaussians,
    Floats64,
    Gaussians,
    from_divergence,
    similarity,
)
from entail.errors import CorpusError, EncoderError, ManifestMismatchError, RetrievalError
from entail.index.lifted import Direction, LiftedGaussians
from entail.index.protocol import Floats, Hits, Ints, Manifest
from entail.index.queries import QueryVectors
from entail.index.ranking import checked_k, checked_queries
from entail.index.vectors import premise_rows
from entail.progress import ProgressCallback

RESCORED = 1000
"""Nearest by `kl` that are ranked again by `kl_per_dim`, which is no inner product."""

_LARGEST_HALF = 65_504.0


class GaussianRows:
    """An encoder of Gaussians as one of rows of 2d numbers, so that what keeps vectors keeps Gaussians.

    Args:
        encoder: What it stands for.

    Raises:
        EncoderError: If that makes points and no Gaussians.
    """

    symmetric = True

    def __init__(self, encoder: EncodesGaussians) -> None:
        checked_encoder(encoder)
        self.gaussian = encoder
        self.name = encoder.name
        self.revision = self.premise_revision = encoder.revision
        self.dimension = 2 * encoder.dimension

    def encode_queries(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return d means and d log variances a text, shape (texts, 2d)."""
        found = self.gaussian.encode(texts, progress=progress)
        if found.mean.shape != (len(texts), self.dimension // 2):
            raise EncoderError(
                f"{self.name}: expected {len(texts)} Gaussians of dimension {self.dimension // 2}, "
                f"found {len(found)} of dimension {found.dimension}"
            )
        return found.values

    def encode_premises(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Floats:
        """Return the same as `encode_queries`, of numbers that can be kept in fp16."""
        values = self.encode_queries(texts, progress=progress)
        if np.abs(values).max(initial=0) > _LARGEST_HALF:
            raise EncoderError(
                f"{self.name}: expected means within {_LARGEST_HALF:g} of 0, which are kept in fp16, found "
                f"one {np.abs(values).max():g} away; its weights are broken"
            )
        return values


def checked_encoder(encoder: object) -> EncodesGaussians:
    """Return the encoder, which makes Gaussians.

    Raises:
        EncoderError: If it makes points, which say nothing of direction.
    """
    if not isinstance(encoder, EncodesGaussians):
        name = getattr(encoder, "name", type(encoder).__name__)
        raise EncoderError(
            f"expected an encoder of Gaussians, found {name!r}, which makes points: they say nothing of "
            "direction. Choose one that was trained by `entail train gausscse`"
        )
    return encoder


def premise_gaussians(
    corpus: Corpus,
    encoder: EncodesGaussians,
    *,
    cache_dir: Path,
    progress: ProgressCallback | None = None,
) -> Gaussians:
    """Return the Gaussians of a corpus, in its order, encoding only what no entry of the cache holds.

    They are kept as premise vectors are, in fp16: a mean or a log variance is off by at most 0.05 %.

    Raises:
        CorpusError: If the corpus is empty.
        ManifestMismatchError: If the entry in this corpus's place holds something else.
        EncoderError: If the encoder makes points, or something has to be encoded and it cannot.
    """
    rows = GaussianRows(encoder)
    held = premise_rows(corpus, rows, cache_dir=cache_dir, metric="gaussian", progress=progress)
    return Gaussians.of(held.astype(np.float32), revision=rows.revision)


class GaussianIndex:
    """A `PremiseIndex` over Gaussians; the score is the encoder's similarity, sim(h || p).

    Searched as it is, it brings the premises that entail the query; asked for `entailed`, those that the
    query entails. By `kl` and `kl_mean` the hits are the ranking in double precision, certified (see
    `LiftedGaussians`); by `kl_per_dim` the nearest `RESCORED` by `kl` are ranked again, and `overlap` says
    how much of the true ranking that brings. A query's own text is a premise like any other.

    What a direction is searched by is made when it is first asked for, or by `prepare`. Threads take turns,
    one lock a direction.

    Args:
        encoder: What encodes queries; touched only for a query that is not known.
        corpus: The premises, in the order of `gaussians`.
        gaussians: From `premise_gaussians`; neither copied nor to be changed. Of bare numbers nobody can say
            whose they are: those without a revision are taken for the encoder's.
        queries: Queries shared with other indexes of this encoder, `QueryVectors(GaussianRows(encoder))`;
            default: its own.

    Raises:
        CorpusError: If the corpus is empty.
        EncoderError: If the encoder makes points.
        ManifestMismatchError: If there are not as many Gaussians as premises, they are not of the
            encoder's dimension, or they or the queries are another encoder's; names both sides.
    """

    def __init__(
        self,
        encoder: EncodesGaussians,
        corpus: Corpus,
        gaussians: Gaussians,
        *,
        queries: QueryVectors | None = None,
    ) -> None:
        rows = GaussianRows(encoder)
        expected = (len(corpus), encoder.dimension)
        if gaussians.mean.shape != expected:
            raise ManifestMismatchError(
                f"expected Gaussians of shape {expected} (premises of {corpus.name!r}, dimension of "
                f"{encoder.revision}), found {gaussians.mean.shape}; encode this corpus with this encoder"
            )
        if gaussians.revision not in (None, encoder.revision):
            raise ManifestMismatchError(
                f"expected Gaussians of {encoder.revision}, found those of {gaussians.revision}; encode this "
                "corpus with this encoder"
            )
        if not len(corpus):
            raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
        if queries is not None and (queries.encoder.revision, queries.encoder.dimension) != (
            rows.revision,
            rows.dimension,
        ):
            raise ManifestMismatchError(
                f"expected queries of {rows.revision} (rows of {rows.dimension}), found those of "
                f"{queries.encoder.revision} (rows of {queries.encoder.dimension})"
            )
        self._encoder = encoder
        self._corpus = corpus
        self._gaussians = gaussians
        self._queries = QueryVectors(rows) if queries is None else queries
        self._locks: dict[Direction, threading.Lock] = {
            "entailing": threading.Lock(),
            "entailed": threading.Lock(),
        }
        self._lifted: dict[Direction, LiftedGaussians] = {}
        self._manifest = Manifest(
            revision=encoder.revision,
            dimension=encoder.dimension,
            metric=encoder.kind,
            count=len(corpus),
            corpus_hash=corpus.hash,
        )

    def __repr__(self) -> str:
        return f"GaussianIndex({self.name!r}, {len(self._corpus)} premises of {self._corpus.name!r})"

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self._encoder.name

    @property
    def manifest(self) -> Manifest:
        """Encoder revision, dimension d, kind of similarity, count and corpus hash."""
        return self._manifest

    @property
    def size_bytes(self) -> int:
        """Bytes of the Gaussians and of the inner-product index of either direction, made or not yet."""
        gaussians = self._gaussians.mean.nbytes + self._gaussians.log_variance.nbytes
        return 3 * int(gaussians)

    def prepare(self, direction: Direction) -> None:
        """Make now what a direction is searched by: a million premises take seconds.

        Raises:
            RetrievalError: If there is no such direction, or a mean lies beyond all reason.
        """
        self._side(checked_direction(direction))

    def search(self, queries: Sequence[str], *, k: int, direction: Direction = "entailing") -> Hits:
        """Return the k premises that entail each query most, or that it entails; shape (queries, k).

        Raises:
            RetrievalError: If k is below 1, a query is empty, or there is no such direction.
            EncoderError: If a query has to be encoded and the encoder cannot.
        """
        checked_k(k, len(self._corpus))
        return self.search_gaussians(self.encode(queries), k=k, direction=direction)

    def scores(self, queries: Sequence[str], *, direction: Direction = "entailing") -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises).

        Each is worked out by itself, in double precision: some 100 ms a query for 16,000 premises.

        Raises:
            RetrievalError: If a query is empty, or there is no such direction.
            EncoderError: If a query has to be encoded and the encoder cannot.
        """
        gaussians = self.encode(queries)
        found = np.empty((len(queries), len(self._corpus)), dtype=np.float32)
        for row in range(len(queries)):
            found[row] = self._similarities(gaussians[row], slice(None), checked_direction(direction))
        return found

    def encode(self, queries: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        """Return the Gaussians of queries, encoding only what is not known.

        A query that is a premise of the corpus has the premise's Gaussian.

        Raises:
            RetrievalError: If a query is empty.
            EncoderError: If a query has to be encoded and the encoder cannot.
        """
        checked_queries(queries)
        places = ((premise_key(query), self._corpus.position(query)) for query in queries)
        also = {key: self._gaussians[place].values[0] for key, place in places if place is not None}
        found = self._queries.encode(queries, also=also, progress=progress)
        return Gaussians.of(found, revision=self._manifest.revision)

    def search_gaussians(self, queries: Gaussians, *, k: int, direction: Direction = "entailing") -> Hits:
        """Return the k nearest premises of each Gaussian, shape (queries, k); see `search`.

        Raises:
            RetrievalError: If k is below 1, there is no such direction, or the Gaussians are not of the
                index's dimension or lie beyond all reason.
            ManifestMismatchError: If they are another encoder's; names both.
        """
        k = checked_k(k, len(self._corpus))
        checked_direction(direction)
        if queries.revision not in (None, self._manifest.revision):
            raise ManifestMismatchError(
                f"expected queries of {self._manifest.revision}, found those of {queries.revision}; encode "
                "them with this index"
            )
        if queries.dimension != self._gaussians.dimension:
            raise RetrievalError(
                f"expected Gaussians of dimension {self._gaussians.dimension}, found {queries.dimension}"
            )
        lifted, kind = self._side(direction), self._encoder.kind
        if kind != "kl_per_dim":
            nearest = lifted.nearest(queries, k=k)
            scores = from_divergence(nearest.divergences, dimension=queries.dimension, kind=kind)
            return Hits(nearest.positions, scores.astype(np.float32))
        candidates = lifted.nearest(queries, k=min(max(k, RESCORED), len(lifted))).positions
        hits = Hits(np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32))
        for row, positions in enumerate(candidates):
            similarities = self._similarities(queries[row], positions, direction)
            best = np.lexsort((positions, -similarities))[:k]
            hits.positions[row], hits.scores[row] = positions[best], similarities[best]
        return hits

    def overlap(self, queries: Gaussians, *, k: int, direction: Direction = "entailing") -> Floats64:
        """Return which share of the k most similar of all premises `search_gaussians` brings, a query each.

        The whole corpus is compared one by one, in double precision. By `kl` and `kl_mean` it is 1.

        Raises:
            RetrievalError: As for `search_gaussians`.
        """
        hits = self.search_gaussians(queries, k=k, direction=direction)
        shares = np.empty(len(queries))
        for row, found in enumerate(hits.positions):
            similarities = self._similarities(queries[row], slice(None), direction)
            least = np.partition(similarities, len(similarities) - len(found))[len(similarities) - len(found)]
            shares[row] = (similarities[found] >= least).mean()
        return shares

    def _side(self, direction: Direction) -> LiftedGaussians:
        with self._locks[direction]:
            if direction not in self._lifted:
                self._lifted[direction] = LiftedGaussians(self._gaussians, direction)
            return self._lifted[direction]

    def _similarities(self, query: Gaussians, rows: Ints | slice, direction: Direction) -> Floats64:
        premises, kind = self._gaussians[rows], self._encoder.kind
        if direction == "entailing":
            return similarity(query, premises, kind=kind)
        return similarity(premises, query, kind=kind)


def checked_direction(direction: Direction) -> Direction:
    """Return the direction, which is one of the two.

    Raises:
        RetrievalError: If it is not.
    """
    if direction not in ("entailing", "entailed"):
        raise RetrievalError(f"expected the direction 'entailing' or 'entailed', found {direction!r}")
    return direction
