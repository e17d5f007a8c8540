"""Ranks follow scores, and equal scores follow positions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entail.errors import RetrievalError
from entail.index.ranking import checked_k, checked_queries, top_k


def test_best_first_and_ties_by_position() -> None:
    hits = top_k(np.array([[0.2, 0.9, 0.9, 0.1], [5, 5, 5, 5]], dtype=np.float32), 3)
    assert hits.positions.tolist() == [[1, 2, 0], [0, 1, 2]]
    np.testing.assert_array_equal(hits.scores, np.array([[0.9, 0.9, 0.2], [5, 5, 5]], dtype=np.float32))
    assert hits.positions.dtype == np.int64


def test_a_tie_across_the_cut_goes_to_the_first_positions() -> None:
    scores = np.array([[0.0, 1.0, 0.5, 0.5, 0.5, 0.5]], dtype=np.float32)
    assert top_k(scores, 3).positions.tolist() == [[1, 2, 3]]


def test_k_is_cut_to_what_there_is() -> None:
    assert top_k(np.zeros((2, 3), dtype=np.float32), 10).positions.tolist() == [[0, 1, 2]] * 2
    assert top_k(np.zeros((0, 3), dtype=np.float32), 2).positions.shape == (0, 2)
    assert checked_k(7, 5) == 5


@pytest.mark.parametrize("k", [0, -1])
def test_no_hits_cannot_be_asked_for(k: int) -> None:
    with pytest.raises(RetrievalError, match=f"found {k}"):
        top_k(np.zeros((1, 3), dtype=np.float32), k)


def test_an_empty_query_is_named_by_its_number() -> None:
    with pytest.raises(RetrievalError, match="query 2 of 3 is empty"):
        checked_queries(["ice", " \n", "fire"])
    with pytest.raises(TypeError, match="list of queries"):
        checked_queries("ice")


@given(
    arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.sampled_from([0, 1, 2])),
    st.integers(1, 40),
)
def test_it_is_a_stable_sort_cut_at_k(scores: np.ndarray, k: int) -> None:
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert top_k(scores, k).positions.tolist() == expected.tolist()
