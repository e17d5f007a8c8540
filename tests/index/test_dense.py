"""Dense search is exact, says what it holds, and leaves the encoder alone where it can."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.flat import DenseIndex
from entail.index.protocol import Manifest, PremiseIndex
from entail.index.queries import QueryVectors

TEXTS = [f"fact number {i}" for i in range(60)]
CORPUS = Corpus.of("facts", TEXTS)


def _index(encoder: Any, corpus: Corpus = CORPUS, **options: Any) -> DenseIndex:
    vectors = np.stack([encoder.vector(text) for text in corpus.texts])
    return DenseIndex(encoder, corpus, vectors, **options)


def _of(vectors: list[list[float]]) -> DenseIndex:
    """An index over given vectors, with an encoder that is never asked."""

    class Silent:
        name, revision, symmetric = "silent", "silent@1", False
        premise_revision = revision
        dimension = len(vectors[0])

        def encode_queries(self, texts: object, **_: object) -> Any:
            raise AssertionError("asked to encode")

        encode_premises = encode_queries

    corpus = Corpus.of("given", [f"p{i}" for i in range(len(vectors))])
    return DenseIndex(Silent(), corpus, np.array(vectors, dtype=np.float32))


def test_the_best_come_first_with_their_cosines(encoder: Any) -> None:
    index = _index(encoder)
    hits = index.search(["a query", "another"], k=5)
    cosines = (
        np.stack([encoder.vector(q) for q in ("a query", "another")])
        @ np.stack([encoder.vector(text) for text in TEXTS]).T
    )
    expected = np.argsort(-cosines, axis=1)[:, :5]
    assert hits.positions.tolist() == expected.tolist()
    np.testing.assert_allclose(hits.scores, np.take_along_axis(cosines, expected, axis=1), atol=1e-6)
    np.testing.assert_allclose(index.scores(["a query", "another"]), cosines, atol=1e-6)
    assert isinstance(index, PremiseIndex)


def test_many_queries_at_once_rank_as_one_by_one(encoder: Any) -> None:
    index = _index(encoder)
    queries = [f"query {i}" for i in range(100)]  # past the number from which FAISS multiplies by BLAS
    together = index.search(queries, k=7)
    for row, query in enumerate(queries):
        assert index.search([query], k=7).positions[0].tolist() == together.positions[row].tolist()


def test_equal_scores_stand_in_order_of_position() -> None:
    index = _of([[0, 1], [1, 0], [0, 1], [1, 0], [1, 0], [1, 0]])
    query = np.array([[1, 0]], dtype=np.float32)
    for k in range(1, 7):
        assert index.search_vectors(query, k=k).positions.tolist() == [[1, 3, 4, 5, 0, 2][:k]]


def test_a_tie_far_past_the_cut_is_broken_by_position() -> None:
    index = _of([[0, 1]] * 40 + [[1, 0]] + [[0, 1]] * 40)
    hits = index.search_vectors(np.array([[0, 1], [1, 0.5]], dtype=np.float32), k=3)
    assert hits.positions.tolist() == [[0, 1, 2], [40, 0, 1]]
    assert hits.scores.tolist() == [[1, 1, 1], [1, 0.5, 0.5]]


@given(
    arrays(np.int8, st.tuples(st.integers(1, 25), st.just(3)), elements=st.integers(-1, 1)),
    st.integers(1, 30),
)
def test_search_is_a_stable_sort_of_the_scores(vectors: np.ndarray, k: int) -> None:
    index = _of(vectors.tolist())
    queries = np.array([[1, 2, -1], [0, 0, 0], [1, 1, 1]], dtype=np.float32)
    scores = queries @ vectors.astype(np.float32).T
    hits = index.search_vectors(queries, k=k)
    assert hits.positions.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    assert hits.scores.tolist() == (-np.sort(-scores, axis=1)[:, :k]).tolist()


def test_k_is_cut_to_the_corpus_and_must_be_above_0(encoder: Any) -> None:
    index = _index(encoder)
    assert index.search(["q"], k=1000).positions.shape == (1, 60)
    assert sorted(index.search(["q"], k=1000).positions[0]) == list(range(60))
    for k in (0, -3):
        with pytest.raises(RetrievalError, match=f"found {k}"):
            index.search(["q"], k=k)
        with pytest.raises(RetrievalError, match=f"found {k}"):
            index.search_vectors(np.zeros((1, 16), dtype=np.float32), k=k)


def test_no_queries_are_no_hits(encoder: Any) -> None:
    index = _index(encoder)
    assert index.search([], k=4).positions.shape == (0, 4)
    assert index.scores([]).shape == (0, 60)
    assert encoder.queries == []


def test_an_empty_query_is_refused(encoder: Any) -> None:
    with pytest.raises(RetrievalError, match="query 1 of 1 is empty"):
        _index(encoder).search(["  "], k=3)
    with pytest.raises(RetrievalError, match="query 2 of 2 is empty"):
        _index(encoder).scores(["a", ""])


def test_a_premise_as_query_needs_no_encoder(encoder: Any) -> None:
    index = _index(encoder)
    hits = index.search(["fact  number 7"], k=1)
    assert hits.positions.tolist() == [[7]]
    assert encoder.queries == []


def test_a_premise_as_query_of_another_tower_is_encoded(asymmetric_encoder: Any) -> None:
    index = _index(asymmetric_encoder)
    found = index.encode(["fact number 7"])
    assert asymmetric_encoder.queries == ["fact number 7"]
    np.testing.assert_array_equal(found[0], asymmetric_encoder.vector("query: fact number 7"))


def test_indexes_share_query_vectors(encoder: Any, other_encoder: Any) -> None:
    queries = QueryVectors(encoder)
    _index(encoder, queries=queries).search(["a query"], k=1)
    _index(encoder, Corpus.of("other", TEXTS[:5]), queries=queries).search(["a query"], k=1)
    assert encoder.queries == ["a query"]
    with pytest.raises(ManifestMismatchError, match="vectors of other@1, found those of stub@1"):
        _index(other_encoder, queries=queries)


def test_the_manifest_says_what_is_held(encoder: Any) -> None:
    index = _index(encoder)
    assert index.manifest == Manifest("stub@1", 16, "inner_product", 60, CORPUS.hash)
    assert index.name == "stub"


@pytest.mark.parametrize("shape", [(59, 16), (60, 15), (60,), (0, 16)])
def test_vectors_that_do_not_fit_are_refused_with_both_sides(encoder: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(ManifestMismatchError) as caught:
        DenseIndex(encoder, CORPUS, np.ones(shape, dtype=np.float32))
    assert str((60, 16)) in str(caught.value)
    assert str(shape) in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(encoder: Any, value: float) -> None:
    vectors = np.ones((60, 16), dtype=np.float32)
    index = DenseIndex(encoder, CORPUS, vectors)
    vectors[3, 3] = value
    with pytest.raises(RetrievalError, match="finite premise vectors"):
        DenseIndex(encoder, CORPUS, vectors)
    with pytest.raises(RetrievalError, match="finite query vectors"):
        index.search_vectors(vectors[3:4], k=1)


@pytest.mark.parametrize("shape", [(16,), (2, 15), (1, 2, 16)])
def test_query_vectors_of_another_shape_are_refused_with_both_sides(
    encoder: Any, shape: tuple[int, ...]
) -> None:
    with pytest.raises(RetrievalError) as caught:
        _index(encoder).search_vectors(np.ones(shape, dtype=np.float32), k=1)
    assert "16" in str(caught.value)
    assert str(shape) in str(caught.value)


def test_the_index_keeps_its_own_vectors(encoder: Any) -> None:
    vectors = np.stack([encoder.vector(text) for text in TEXTS])
    index = DenseIndex(encoder, CORPUS, vectors)
    before = index.scores(["q"])
    vectors[:] = 0
    np.testing.assert_array_equal(index.scores(["q"]), before)


def test_threads_get_the_same_hits(encoder: Any) -> None:
    index = _index(encoder)
    queries = [f"query {i}" for i in range(20)]
    expected = index.search(queries, k=9)
    wrong: list[str] = []

    def work(number: int) -> None:
        for query in range(number, 20, 2):
            for _ in range(20):
                hits = index.search([queries[query]], k=9)
                if hits.positions.tolist() != [expected.positions[query].tolist()]:
                    wrong.append(queries[query])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_searching_leaves_the_threads_of_others_alone(encoder: Any) -> None:
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        _index(encoder).search(["q"], k=1)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_another_query_tower_ranks_the_same_vectors(encoder: Any, asymmetric_encoder: Any) -> None:
    index = _index(encoder)
    asymmetric_encoder.premises_by = encoder.revision
    other = index.by(asymmetric_encoder)
    assert other._index is index._index
    assert other._vectors is index._vectors
    assert other._lock is index._lock
    assert (index.name, other.name) == ("stub", "routed")
    queries = np.stack([asymmetric_encoder.vector("query: a query")])
    np.testing.assert_allclose(other.scores(["a query"]), queries @ index._vectors.T, atol=1e-6)
    assert (
        other.search(["a query"], k=3).positions.tolist() != index.search(["a query"], k=3).positions.tolist()
    )
    assert (other.manifest.revision, other.manifest.premise_revision) == ("routed@1", "stub@1")
    assert (index.manifest.revision, index.manifest.premise_revision) == ("stub@1", "stub@1")


def test_an_encoder_with_another_premise_tower_is_refused_with_both(encoder: Any, other_encoder: Any) -> None:
    with pytest.raises(ManifestMismatchError, match=r"stub@1 \(dimension 16\), found 'other'.*other@1"):
        _index(encoder).by(other_encoder)


def test_an_encoder_of_another_dimension_is_refused_with_both(encoder: Any, other_encoder: Any) -> None:
    other_encoder.premises_by, other_encoder.dimension = encoder.revision, 8
    with pytest.raises(ManifestMismatchError, match=r"\(dimension 16\), found 'other'.*\(dimension 8\)"):
        _index(encoder).by(other_encoder)


def test_query_vectors_of_another_encoder_are_refused_there_too(
    encoder: Any, asymmetric_encoder: Any
) -> None:
    asymmetric_encoder.premises_by = encoder.revision
    with pytest.raises(
        ManifestMismatchError, match="expected query vectors of routed@1, found those of stub@1"
    ):
        _index(encoder).by(asymmetric_encoder, queries=QueryVectors(encoder))
