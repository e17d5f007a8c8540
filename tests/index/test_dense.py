"""Dense search is exact, checks its vectors, and encodes only unknown queries; ranks of equal scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entail.data.records import Corpus
from entail.errors import RetrievalError
from entail.index.dense import DenseIndex
from entail.index.protocol import Manifest, PremiseIndex
from entail.index.ranking import checked_queries, top_k
from tests.index.conftest import CountingEncoder

TEXTS = [f"fact number {i}" for i in range(60)]
CORPUS = Corpus.of("facts", TEXTS)


def _index(encoder: Any) -> DenseIndex:
    return DenseIndex(encoder, CORPUS, np.stack([encoder.vector(text) for text in TEXTS]))


def test_the_best_come_first_with_their_cosines(encoder: Any) -> None:
    index, queries = _index(encoder), ["a query", "another"]
    hits = index.search(queries, k=5)
    cosines = np.stack([encoder.vector(q) for q in queries]) @ np.stack([encoder.vector(t) for t in TEXTS]).T
    expected = np.argsort(-cosines, axis=1)[:, :5]
    assert hits.positions.tolist() == expected.tolist()
    np.testing.assert_allclose(hits.scores, np.take_along_axis(cosines, expected, axis=1), atol=1e-6)
    np.testing.assert_allclose(index.scores(queries), cosines, atol=1e-6)
    assert encoder.queries == queries  # once
    assert isinstance(index, PremiseIndex)
    assert index.manifest == Manifest("stub@1", 16, "inner_product", 60, CORPUS.hash)
    assert index.name == "stub"


@given(
    arrays(np.int8, st.tuples(st.integers(1, 25), st.just(3)), elements=st.integers(-1, 1)),
    st.integers(1, 30),
)
def test_search_is_a_stable_sort_of_the_scores(vectors: np.ndarray, k: int) -> None:
    corpus = Corpus.of("points", [f"p{number}" for number in range(len(vectors))])
    index = DenseIndex(CountingEncoder(dimension=3), corpus, vectors.astype(np.float32))
    queries = np.array([[1, 2, -1], [0, 0, 0], [1, 1, 1]], dtype=np.float32)
    scores = queries @ vectors.astype(np.float32).T
    hits = index.search_vectors(queries, k=k)
    assert hits.positions.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    assert hits.scores.tolist() == (-np.sort(-scores, axis=1)[:, :k]).tolist()


def test_limits_of_k_and_of_queries(encoder: Any) -> None:
    index = _index(encoder)
    assert index.search([], k=4).positions.shape == (0, 4)
    assert index.scores([]).shape == (0, 60)
    assert encoder.queries == []
    assert sorted(index.search(["q"], k=1000).positions[0]) == list(range(60))
    with pytest.raises(RetrievalError):
        index.search(["q"], k=0)
    with pytest.raises(RetrievalError):
        index.search_vectors(np.zeros((1, 16), dtype=np.float32), k=-3)
    for refused in (index.scores, lambda queries: index.search(queries, k=3)):
        with pytest.raises(RetrievalError):
            refused(["a", " "])


def test_a_premise_as_query_needs_no_encoder_if_the_towers_are_one(
    encoder: Any, asymmetric_encoder: Any
) -> None:
    assert _index(encoder).search(["fact  number 7"], k=1).positions.tolist() == [[7]]
    assert encoder.queries == []
    vector = _index(asymmetric_encoder).encode(["fact number 7"])[0]
    assert asymmetric_encoder.queries == ["fact number 7"]
    np.testing.assert_array_equal(vector, asymmetric_encoder.vector("query: fact number 7"))


def test_vectors_that_are_not_finite_are_refused(encoder: Any) -> None:
    vectors = np.ones((60, 16), dtype=np.float32)
    index = DenseIndex(encoder, CORPUS, vectors)
    before = index.scores(["q"])
    vectors[3, 3] = np.nan
    np.testing.assert_array_equal(index.scores(["q"]), before)  # the index has a copy
    with pytest.raises(RetrievalError):
        DenseIndex(encoder, CORPUS, vectors)
    with pytest.raises(RetrievalError):
        index.search_vectors(vectors[3:4], k=1)


@given(
    arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.sampled_from([0, 1, 2])),
    st.integers(1, 40),
)
def test_top_k_is_a_stable_sort_cut_at_k(scores: np.ndarray, k: int) -> None:
    hits = top_k(scores, k)
    assert hits.positions.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    assert hits.scores.tolist() == (-np.sort(-scores, axis=1)[:, :k]).tolist()


def test_an_empty_query_is_named_by_its_number() -> None:
    with pytest.raises(RetrievalError, match="query 2 of 3"):
        checked_queries(["ice", " \n", "fire"])
    with pytest.raises(TypeError, match="list of queries"):
        checked_queries("ice")
