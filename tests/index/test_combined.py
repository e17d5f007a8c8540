"""Lists that a re-ranker reads again: what moves, what stays, and how such an index is named."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.encoders.cross.reranker import Reranker, list_rerankers
from entail.errors import EncoderError, RetrievalError
from entail.index.combined import HybridIndex, RerankedIndex
from entail.index.dense import DenseIndex
from entail.index.factory import retriever
from entail.index.gaussian import GaussianIndex
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.index.protocol import Floats, PremiseIndex
from entail.index.ranking import top_k
from tests.index.test_gaussian_index import CountingGaussians

TEXTS = ["ba be", "ba be bi", "ba du", "fa fe", "ga ge"]
CORPUS = Corpus.of("five", TEXTS)
Write = Callable[..., Path]


class Longest:
    """A re-ranker that prefers long premises; its scores are below 0, those of a retriever above."""

    name, revision = "longest", "longest@1"

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, premises: Sequence[str]) -> Floats:
        self.asked.append((query, list(premises)))
        return np.array([len(text) - 100 for text in premises], dtype=np.float32)


def test_the_first_premises_are_read_and_the_others_stay_behind() -> None:
    first, reader = TfidfIndex(CORPUS), Longest()
    index = RerankedIndex(first, CORPUS, reader, weight=10.0, depth=3)
    assert isinstance(index, PremiseIndex)
    assert "longest@1" in index.manifest.revision
    before = first.search(["ba be"], k=5).positions[0].tolist()
    after = index.search(["ba be"], k=5).positions[0].tolist()
    assert reader.asked == [("ba be", [TEXTS[at] for at in before[:3]])]
    assert sorted(after[:3]) == sorted(before[:3])
    assert after[:3] == [1, 0, 2]
    assert after[3:] == before[3:]
    scores = index.scores(["ba be"])[0]
    assert scores[after[2]] > max(scores[at] for at in after[3:])
    assert first.search(["ba be"], k=5).positions[0].tolist() == before


def test_hybrid_scores_add_shares_of_the_best_of_their_query() -> None:
    first, words = TfidfIndex(CORPUS), Bm25Index(CORPUS)
    hybrid: PremiseIndex = HybridIndex(first, words, weight=0.5)
    assert isinstance(hybrid, PremiseIndex)
    queries = ["ba bi", "nothing known"]
    lexical, expected = words.scores(queries), first.scores(queries)
    assert lexical[0].max() != pytest.approx(1)
    assert not lexical[1].any()  # no share of nothing, and no NaN
    expected[0] += 0.5 * lexical[0] / lexical[0].max()
    np.testing.assert_allclose(hybrid.scores(queries), expected, rtol=1e-6)
    assert hybrid.search(queries, k=9).positions[0][0] == int(expected[0].argmax())
    assert hybrid.scores([]).shape == (0, 5)
    assert (hybrid.name, hybrid.manifest.corpus_hash) == ("tfidf+bm25", CORPUS.hash)
    assert "+0.5*bm25@" in hybrid.manifest.revision


def test_a_reranker_is_asked_for_by_name(write_reranker: Write) -> None:
    write_reranker("reader", depth=3)
    index = retriever("bm25+reader", CORPUS)
    assert (index.name, index.manifest.count) == ("bm25+reader", 5)
    reader = Reranker("reader")
    first = retriever("bm25", CORPUS).search(["ba be"], k=3)
    expected = first.scores[0] + reader.score("ba be", [TEXTS[at] for at in first.positions[0]])
    hits = index.search(["ba be"], k=3)
    assert hits.scores[0] == pytest.approx(sorted(expected, reverse=True), abs=1e-5)
    with pytest.raises(RetrievalError):
        retriever("bm25+nobody", CORPUS)


@pytest.mark.parametrize(
    "form", [{"depth": 0}, {"depth": "4"}, {"weight": -1}, {"weight": True}, {"max_length": 2}]
)
def test_settings_out_of_range_are_refused(write_reranker: Write, form: dict[str, object]) -> None:
    folder = write_reranker("reader", **form)
    with pytest.raises(EncoderError):
        Reranker(folder)
    assert list_rerankers() == []


def dense(encoder: Any) -> DenseIndex:
    return DenseIndex(encoder, LONG, np.stack([encoder.vector(text) for text in LONG.texts]))


LONG = Corpus.of("long", [f"{' '.join(f'w{word}' for word in range(at % 7))} fact {at}" for at in range(300)])


@pytest.mark.parametrize("kind", ["dense", "gaussian", "tfidf"])
def test_a_hybrid_combines_lists_and_ranks_as_by_all_scores(
    kind: str, encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entail.index.combined.DEPTH", 12)
    if kind == "dense":
        first: PremiseIndex = dense(encoder)
    elif kind == "gaussian":
        gaussians = CountingGaussians()
        first = GaussianIndex(gaussians, LONG, gaussians.of(LONG.texts))
    else:
        first = TfidfIndex(LONG)
    hybrid = HybridIndex(first, Bm25Index(LONG), weight=0.3)
    queries = ["w1 w2 fact 7", "nothing known", "fact 250 w5"]
    for k in (1, 10, 40, 999):
        hits = hybrid.search(queries, k=k)
        expected = top_k(hybrid.scores(queries), k)
        np.testing.assert_allclose(hits.scores, expected.scores, rtol=1e-5, atol=1e-6)
        assert hits.positions[:, :1].tolist() == expected.positions[:, :1].tolist()
        assert [len(set(row)) for row in hits.positions.tolist()] == [min(k, 300)] * 3


def test_a_hybrid_of_vectors_scores_no_premise_in_vain(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entail.index.combined.DEPTH", 20)
    first = dense(encoder)
    monkeypatch.setattr(first, "scores", lambda queries: pytest.fail("scored all"))
    hybrid = HybridIndex(first, Bm25Index(LONG), weight=0.1)
    assert hybrid.search(["w1 fact 7"], k=5).positions.shape == (1, 5)
    reader = Longest()
    index = RerankedIndex(hybrid, LONG, reader, weight=1.0, depth=9)
    assert len(set(index.search(["w1 fact 7"], k=15).positions[0])) == 15
    assert [len(texts) for _, texts in reader.asked] == [9]


def test_a_hybrid_of_a_large_corpus_ends_at_its_depth(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dense(encoder)
    monkeypatch.setattr(first, "scores", lambda queries: pytest.fail("scored all"))
    monkeypatch.setattr("entail.index.combined.ALL_SCORED", 100)
    monkeypatch.setattr("entail.index.combined.DEPTH", 12)
    monkeypatch.setattr("entail.index.combined.DEEPEST", 50)
    hybrid = HybridIndex(first, Bm25Index(LONG), weight=9.0)  # so that no list is certain
    assert len(set(hybrid.search(["w1 fact 7"], k=10).positions[0])) == 10


@pytest.mark.parametrize("k", [1, 3, 30, 300])
def test_a_reranked_search_is_the_ranking_of_its_scores(k: int) -> None:
    index = RerankedIndex(TfidfIndex(LONG), LONG, Longest(), weight=0.01, depth=20)
    queries = ["w1 w2 fact 7", "fact 250 w5"]
    hits, expected = index.search(queries, k=k), top_k(index.scores(queries), k)
    assert hits.positions.tolist() == expected.positions.tolist()
    np.testing.assert_allclose(hits.scores, expected.scores, rtol=1e-5, atol=1e-6)
