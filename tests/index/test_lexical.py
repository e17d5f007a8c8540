"""TF-IDF and BM25 count words as they should, whatever the corpus and the query hold."""

import math
from typing import Any

import numpy as np
import pytest

from entail.data.records import Corpus
from entail.errors import CorpusError, RetrievalError
from entail.index.lexical import Bm25Index, TfidfIndex
from entail.index.protocol import PremiseIndex

CORPUS = Corpus.of("tiny", ["ice is cold", "fire is hot", "the moon is a cold rock", "ice  melts , slowly"])
EACH = pytest.mark.parametrize("kind", [TfidfIndex, Bm25Index])


def test_bm25_is_lucenes_formula() -> None:
    index = Bm25Index(Corpus.of("two", ["ice cold", "fire hot burning"]))
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    weight = 1 / (1 + 1.5 * (1 - 0.75 + 0.75 * 2 / 2.5))
    np.testing.assert_allclose(
        index.scores(["ice", "ice cold"])[:, 0], [idf * weight, 2 * idf * weight], rtol=1e-5
    )


def test_bm25_meets_words_by_their_stems() -> None:
    index = Bm25Index(CORPUS)
    assert index.search(["the melting of ice"], k=1).positions.tolist() == [[3]]
    assert not index.scores(["the is a"]).any()


@EACH
@pytest.mark.parametrize("word", ["caf\xe9", "cafe\u0301"])
def test_a_word_is_found_composed_and_decomposed(kind: Any, word: str) -> None:
    for stored in ("caf\xe9", "cafe\u0301"):
        scores = kind(Corpus.of("c", ["ice is cold", f"the {stored} is warm"])).scores([word])[0]
        assert scores[1] > 0 == scores[0]


@EACH
def test_search_ranks_the_scores_with_ties_by_position(kind: Any, capfd: pytest.CaptureFixture[str]) -> None:
    index = kind(CORPUS)
    assert isinstance(index, PremiseIndex)
    queries = ["cold ice", "hot", "zebra"]
    scores = index.scores(queries)
    assert (scores.shape, scores.dtype) == ((3, 4), np.float32)
    hits = index.search(queries, k=3)
    assert hits.positions.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :3].tolist()
    assert (hits.positions[0][0], hits.positions[1][0]) == (0, 1)
    assert hits.positions[2].tolist() == [0, 1, 2]
    assert not hits.scores[2].any()
    many = ["fire" if i % 3 else "moon" for i in range(600)]  # more than a chunk
    assert index.search(many, k=1).positions[:, 0].tolist() == [1 if i % 3 else 2 for i in range(600)]
    np.testing.assert_array_equal(index.scores(["ice melts, slowly"]), index.scores(["ice melts ,  slowly "]))
    assert index.search([], k=9).positions.shape == (0, 4)
    assert index.scores([]).shape == (0, 4)
    assert index.search(["ice"], k=9).positions.shape == (1, 4)
    for refused, k in ((["ice"], 0), ([], 0), (["ice", "\t"], 1)):
        with pytest.raises(RetrievalError):
            index.search(refused, k=k)
    with pytest.raises(CorpusError):
        kind(Corpus.of("none", []))
    assert capfd.readouterr() == ("", "")


@EACH
@pytest.mark.parametrize("texts", [["a"], ["the"], ["...", "!!"], ["ice is cold", "a"]])
def test_texts_without_words_are_never_found_and_do_no_harm(kind: Any, texts: list[str]) -> None:
    index = kind(Corpus.of("odd", texts))
    scores = index.scores(["cold ice", "... a"])
    assert np.isfinite(scores).all()
    assert scores[0].tolist() == [
        s if t == "ice is cold" else 0 for s, t in zip(scores[0], texts, strict=True)
    ]
    assert not scores[1].any()


@EACH
def test_the_index_of_another_version_has_the_words_of_the_one_before(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'ice' if at % 3 else 'fire'} number{at} is word{at % 17}" for at in range(200)]
    index = kind(Corpus.of("facts", texts))
    assert index.of_version(Corpus.of("facts", texts[1:])) is None  # a small one is built
    monkeypatch.setattr("entail.index.lexical.UPDATED_FROM", 100)
    monkeypatch.setattr("entail.index.lexical.MOST_LATE", 5)
    queries = ["ice word3 word3", "a meteor", "nothing known", "number150 fire"]
    for step in range(5):
        texts = [*texts[:step], *texts[step + 1 :], f"a meteor number{step} of ice"]
        corpus = Corpus.of("facts", texts)
        index = index.of_version(corpus)
        built = kind(corpus)
        assert index.manifest == built.manifest
        # Statistics differ by a few premises of 200; TF-IDF does not count words that are new.
        count = 200 if kind is Bm25Index else 195
        scores, expected = (version.scores(queries)[:, :count] for version in (index, built))
        np.testing.assert_allclose(scores[[0, 3]], expected[[0, 3]], rtol=0.1)
        assert index.search(queries[3:], k=1).positions == built.search(queries[3:], k=1).positions
        assert not index.scores(queries[2:3]).any()
    if kind is Bm25Index:
        assert index.search(queries[1:2], k=1).positions[0, 0] >= 195
    assert index.of_version(Corpus.of("facts", [*texts, "one too many"])) is None
