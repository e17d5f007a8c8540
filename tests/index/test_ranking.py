"""Ranks follow scores, equal scores follow positions; hybrids add scores."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.hybrid import HybridIndex
from entail.index.lexical import Bm25Index, NgramIndex, TfidfIndex
from entail.index.protocol import PremiseIndex
from entail.index.ranking import checked_k, checked_queries, top_k

CORPUS = Corpus.of("tiny", ["ice is cold", "melting ice", "fire is hot", "the sun melts wax"])


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


# --- hybrids -----------------------------------------------------------------------------------------------


def test_hybrid_scores_are_a_weighted_sum() -> None:
    tfidf, ngrams = TfidfIndex(CORPUS), NgramIndex(CORPUS)
    hybrid = HybridIndex(tfidf, ngrams, weight=0.5)
    queries = ["what melts ice", "hot fire"]
    expected = tfidf.scores(queries) + 0.5 * ngrams.scores(queries)
    np.testing.assert_allclose(hybrid.scores(queries), expected)
    assert hybrid.search(queries, k=9).positions[0].tolist() == np.argsort(-expected[0]).tolist()
    np.testing.assert_array_equal(HybridIndex(tfidf, ngrams, weight=0).scores(queries), tfidf.scores(queries))


def test_relative_scores_are_shares_of_the_best_of_their_query() -> None:
    tfidf, bm25 = TfidfIndex(CORPUS), Bm25Index(CORPUS)
    hybrid = HybridIndex(tfidf, bm25, weight=0.5, relative=True)
    queries = ["what melts wax", "nothing known"]
    lexical = bm25.scores(queries)
    assert lexical[0].max() != pytest.approx(1)
    assert not lexical[1].any()  # no share of nothing, and no NaN
    expected = tfidf.scores(queries)
    expected[0] += 0.5 * lexical[0] / lexical[0].max()
    np.testing.assert_allclose(hybrid.scores(queries), expected, rtol=1e-6)
    assert hybrid.scores([]).shape == (0, 4)


def test_a_hybrid_names_both_parts_and_the_weight() -> None:
    hybrid: PremiseIndex = HybridIndex(TfidfIndex(CORPUS), Bm25Index(CORPUS), weight=0.25)
    assert isinstance(hybrid, PremiseIndex)
    assert hybrid.name == "tfidf+bm25"
    assert hybrid.manifest.revision.startswith("tfidf@scikit-learn-")
    assert "+0.25*bm25@" in hybrid.manifest.revision
    assert (hybrid.manifest.count, hybrid.manifest.corpus_hash) == (4, CORPUS.hash)


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (ManifestMismatchError, lambda index: HybridIndex(index, TfidfIndex(Corpus.of("other", ["wax"])))),
        (RetrievalError, lambda index: HybridIndex(index, index, weight=-1.0)),
        (RetrievalError, lambda index: HybridIndex(index, index, weight=float("nan"))),
    ],
)
def test_two_corpora_and_a_negative_weight_are_refused(
    error: type[Exception], make: Callable[[PremiseIndex], object]
) -> None:
    with pytest.raises(error, match="expected"):
        make(TfidfIndex(CORPUS))
