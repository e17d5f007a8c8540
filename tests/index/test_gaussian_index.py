"""A corpus is searched by direction, says what it holds, and encodes nothing twice."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.encoders.gaussian.distributions import Gaussians, similarity
from entail.encoders.gaussian.form import SimilarityKind
from entail.errors import RetrievalError
from entail.index.factory import retriever
from entail.index.gaussian import GaussianIndex
from entail.index.protocol import PremiseIndex
from entail.progress import Meter, ProgressCallback

TEXTS = [f"fact number {i}" for i in range(120)]
CORPUS = Corpus.of("facts", TEXTS)
QUERIES = ["a query", "another"]
KINDS: Any = ["kl", "kl_mean", "kl_per_dim"]
DIRECTIONS: Any = ["entailing", "entailed"]


class CountingGaussians:
    """Gaussians drawn from a text's letters; notes what it was asked to encode."""

    def __init__(self, name: str = "gauss", *, kind: SimilarityKind = "kl_mean", dimension: int = 8) -> None:
        self.name, self.revision = name, f"{name}@1"
        self.kind = kind
        self.dimension = dimension
        self.asked: list[str] = []
        self.scale = 1.0

    def values(self, text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        numbers = np.random.default_rng(seed).normal(size=2 * self.dimension) * self.scale
        # Numbers that fp16 holds whole, so that what comes out of the cache is what was encoded.
        return numbers.astype(np.float16).astype(np.float32)

    def of(self, texts: Sequence[str]) -> Gaussians:
        return Gaussians.of(np.stack([self.values(text) for text in texts]))

    def encode(self, texts: Sequence[str], *, progress: ProgressCallback | None = None) -> Gaussians:
        self.asked += texts
        meter = Meter(len(texts), "encoding", unit="sentences", report=progress, interval=0)
        meter.add(len(texts))
        return self.of(texts)


def _index(encoder: CountingGaussians, corpus: Corpus = CORPUS) -> GaussianIndex:
    return GaussianIndex(encoder, corpus, encoder.of(corpus.texts))


def _expected(encoder: CountingGaussians, query: str, direction: str, corpus: Corpus = CORPUS) -> np.ndarray:
    single, many = encoder.of([query]), encoder.of(corpus.texts)
    pair = (single, many) if direction == "entailing" else (many, single)
    return similarity(*pair, kind=encoder.kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_most_similar_come_first_by_direction(kind: Any) -> None:
    encoder = CountingGaussians(kind=kind)
    index = _index(encoder)
    for direction in DIRECTIONS:
        similarities = np.stack([_expected(encoder, query, direction) for query in QUERIES])
        best = np.argsort(-similarities, axis=1, kind="stable")[:, :9]
        hits = index.search(QUERIES, k=9, direction=direction)
        assert hits.positions.tolist() == best.tolist()
        np.testing.assert_allclose(hits.scores, np.take_along_axis(similarities, best, axis=1), rtol=1e-6)
        assert hits.scores.dtype == np.float32
        np.testing.assert_allclose(index.scores(QUERIES, direction=direction), similarities, rtol=1e-6)
    assert index.scores([]).shape == (0, 120)
    index.search(["a  query"], k=1)
    assert encoder.asked == QUERIES  # once
    # by default as any index of premises
    assert isinstance(index, PremiseIndex)
    np.testing.assert_array_equal(index.scores(QUERIES), index.scores(QUERIES, direction="entailing"))
    entailing = index.search(QUERIES, k=5, direction="entailing").positions
    assert index.search(QUERIES, k=5).positions.tolist() == entailing.tolist()
    assert entailing.tolist() != index.search(QUERIES, k=5, direction="entailed").positions.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_limits_of_k_and_of_queries(kind: Any) -> None:
    index = _index(CountingGaussians(kind=kind))
    assert sorted(index.search(["q"], k=1000).positions[0]) == list(range(120))
    for direction in DIRECTIONS:
        assert index.search([], k=4, direction=direction).positions.shape == (0, 4)
    with pytest.raises(RetrievalError):
        index.search(["q"], k=0)
    with pytest.raises(RetrievalError):
        index.search(["a", " "], k=3)
    with pytest.raises(RetrievalError):
        index.scores([""])
    small_index = _index(CountingGaussians(kind=kind), Corpus.of("one", ["a fact"]))
    assert small_index.search(["q"], k=3, direction="entailed").positions.tolist() == [[0]]


def test_the_factory_shares_gaussians_in_memory(cache_dir: Path) -> None:
    encoder = CountingGaussians()
    index = retriever("gauss", CORPUS, encoder=encoder, cache_dir=cache_dir)
    assert isinstance(index, GaussianIndex)
    assert encoder.asked == TEXTS
    index.search(QUERIES[:1], k=5)
    options: Any = {"cache_dir": cache_dir, "existing": [retriever("bm25", CORPUS), index]}
    assert retriever("gauss", CORPUS, encoder=CountingGaussians(), **options) is index
    assert retriever("other", CORPUS, encoder=CountingGaussians("other"), **options) is not index
    assert retriever("gauss", Corpus.of("few", TEXTS[:3]), encoder=encoder, **options) is not index


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_index_of_another_version_ranks_as_one_that_is_built(cache_dir: Path, direction: Any) -> None:
    encoder = CountingGaussians()
    index: PremiseIndex = retriever("gauss", CORPUS, encoder=encoder, cache_dir=cache_dir)
    assert isinstance(index, GaussianIndex)
    index.prepare(direction)
    texts = TEXTS
    for step in range(6):
        texts = [*texts[:step], *texts[step + 1 :], f"another fact {step}"]
        corpus = Corpus.of("facts", texts)
        before = index
        encoder.asked.clear()
        index = retriever("gauss", corpus, encoder=encoder, cache_dir=cache_dir, existing=[before])
        assert isinstance(index, GaussianIndex)
        assert isinstance(before, GaussianIndex)
        assert encoder.asked == texts[-1:]
        hits = index.search(QUERIES, k=9, direction=direction)
        expected = _index(encoder, corpus).search(QUERIES, k=9, direction=direction)
        assert hits.positions.tolist() == expected.positions.tolist()
        np.testing.assert_array_equal(hits.scores, expected.scores)
        vectors = [version._lifted[direction].vectors for version in (before, index)]
        assert vectors[0].parts[0] is vectors[1].parts[0]  # type: ignore[attr-defined]  # flat ones
