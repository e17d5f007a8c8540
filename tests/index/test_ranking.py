"""Ranks follow scores, equal scores follow positions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entail.errors import RetrievalError
from entail.index.ranking import checked_k, checked_queries, top_k


@given(
    arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.sampled_from([0, 1, 2])),
    st.integers(1, 40),
)
def test_top_k_is_a_stable_sort_cut_at_k(scores: np.ndarray, k: int) -> None:
    hits = top_k(scores, k)
    assert hits.positions.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    assert hits.scores.tolist() == (-np.sort(-scores, axis=1)[:, :k]).tolist()


def test_limits_of_k() -> None:
    assert top_k(np.zeros((0, 3), dtype=np.float32), 2).positions.shape == (0, 2)
    assert checked_k(7, 5) == 5
    for k in (0, -1):
        with pytest.raises(RetrievalError, match=f"found {k}"):
            top_k(np.zeros((1, 3), dtype=np.float32), k)


def test_an_empty_query_is_named_by_its_number() -> None:
    with pytest.raises(RetrievalError, match="query 2 of 3"):
        checked_queries(["ice", " \n", "fire"])
    with pytest.raises(TypeError, match="list of queries"):
        checked_queries("ice")
