"""A hybrid adds a share of one index's scores to the other's."""

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.errors import ManifestMismatchError, RetrievalError
from entail.index.hybrid import HybridIndex
from entail.index.lexical import Bm25Index, NgramIndex, TfidfIndex
from entail.index.protocol import PremiseIndex

CORPUS = Corpus.of("tiny", ["ice is cold", "melting ice", "fire is hot", "the sun melts wax"])


def test_scores_are_added_by_weight() -> None:
    one, two = TfidfIndex(CORPUS), NgramIndex(CORPUS)
    hybrid = HybridIndex(one, two, weight=0.5)
    queries = ["what melts ice", "hot fire"]
    expected = one.scores(queries) + 0.5 * two.scores(queries)
    np.testing.assert_allclose(hybrid.scores(queries), expected)
    hits = hybrid.search(queries, k=9)
    assert hits.positions.shape == (2, 4)
    assert hits.positions[0].tolist() == np.argsort(-expected[0], kind="stable").tolist()
    np.testing.assert_array_equal(HybridIndex(one, two, weight=0).scores(queries), one.scores(queries))


def test_scores_without_bounds_are_shares_of_the_best_of_their_query() -> None:
    one, two = TfidfIndex(CORPUS), Bm25Index(CORPUS)
    hybrid = HybridIndex(one, two, weight=0.5, relative=True)
    queries = ["what melts wax", "nothing known"]
    lexical = two.scores(queries)
    assert lexical[0].max() != pytest.approx(1)
    assert not lexical[1].any()  # no share of nothing, and no NaN
    expected = one.scores(queries)
    expected[0] += 0.5 * lexical[0] / lexical[0].max()
    np.testing.assert_allclose(hybrid.scores(queries), expected, rtol=1e-6)
    assert hybrid.manifest.revision != HybridIndex(one, two, weight=0.5).manifest.revision
    assert hybrid.scores([]).shape == (0, 4)


def test_it_says_what_it_is_made_of() -> None:
    hybrid = HybridIndex(TfidfIndex(CORPUS), Bm25Index(CORPUS), weight=0.25)
    assert isinstance(hybrid, PremiseIndex)
    assert hybrid.name == "tfidf+bm25"
    assert hybrid.manifest.revision.startswith("tfidf@scikit-learn-")
    assert "+0.25*bm25@" in hybrid.manifest.revision
    assert (hybrid.manifest.count, hybrid.manifest.corpus_hash) == (4, CORPUS.hash)


def test_two_corpora_and_a_negative_weight_are_refused() -> None:
    other = TfidfIndex(Corpus.of("other", ["wax is soft"]))
    with pytest.raises(ManifestMismatchError, match="one corpus"):
        HybridIndex(TfidfIndex(CORPUS), other)
    for weight in (-1.0, float("nan")):
        with pytest.raises(RetrievalError, match="0 or more"):
            HybridIndex(TfidfIndex(CORPUS), TfidfIndex(CORPUS), weight=weight)
