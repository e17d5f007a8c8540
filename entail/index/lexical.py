"""Lexical retrieval: TF-IDF of words or stems (scikit-learn), and BM25 (bm25s)."""

from __future__ import annotations

import logging
import os
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from entail.cancellation import cancellable
from entail.data.records import Corpus
from entail.errors import CorpusError
from entail.index.protocol import Floats, Hits, Manifest
from entail.index.ranking import checked_queries, search_by_scores

_WORD = re.compile(r"\w\w+")
_compose = partial(unicodedata.normalize, "NFC")
_stemmer_lock = threading.Lock()  # a stemmer serves one thread at a time


class _LexicalIndex(ABC):
    """Base of the lexical indexes: a search ranks all scores."""

    def __init__(self, corpus: Corpus, *, name: str, revision: str, metric: str) -> None:
        if not corpus.premises:
            raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
        self._corpus = corpus
        self.name = name
        self.manifest = Manifest(revision, 0, metric, len(corpus), corpus.hash)

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        return search_by_scores(self.scores, queries, k=k, count=len(self._corpus))

    @abstractmethod
    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises)."""


class TfidfIndex(_LexicalIndex):
    """Cosine of TF-IDF vectors, `TfidfVectorizer` with scikit-learn's defaults, fitted on the corpus.

    A query without a word of the corpus scores 0 everywhere.

    >>> index = TfidfIndex(Corpus.of("tiny", ["ice is cold", "fire is hot"]))
    >>> index.search(["how cold is ice"], k=1).positions
    array([[0]])

    Raises:
        CorpusError: If the corpus is empty.
    """

    NAME: ClassVar[str] = "tfidf"
    OPTIONS: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, corpus: Corpus) -> None:
        import sklearn
        from sklearn.feature_extraction.text import TfidfVectorizer

        revision = f"{self.NAME}@scikit-learn-{sklearn.__version__}"
        super().__init__(corpus, name=self.NAME, revision=revision, metric="tfidf_cosine")
        self._vectorizer: Any = TfidfVectorizer(**self.OPTIONS)
        self._premises: Any = None
        # scikit-learn refuses a corpus without a single word of two letters.
        if any(map(self._vectorizer.build_analyzer(), corpus.texts)):
            self._premises = self._vectorizer.fit_transform(
                map(_compose, cancellable(corpus.texts))
            ).T.tocsr()

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the cosine of every query to every premise, shape (queries, premises)."""
        checked_queries(queries)
        scores: Floats = np.zeros((len(queries), len(self._corpus)), dtype=np.float32)
        if self._premises is not None and queries:
            vectors = self._vectorizer.transform(map(_compose, cancellable(queries)))
            # A query at a time: faster over a large corpus than all at once, and ends when it is cancelled.
            for row in cancellable(range(len(queries))):
                scores[row] = (vectors[row] @ self._premises).toarray()
        return scores


@lru_cache(maxsize=1 << 15)  # facts and questions recur
def stemmed_words(text: str) -> tuple[str, ...]:
    """Return a text's words without stop words (NLTK's English ones), stemmed by Snowball, in order.

    >>> stemmed_words("The melting of ice in the suns")
    ('melt', 'ice', 'sun')
    """
    stemmer, stop_words = _english()
    words = [word for word in _WORD.findall(text.lower()) if word not in stop_words]
    with _stemmer_lock:
        return tuple(stemmer.stemWords(words))


@cache
def _english() -> tuple[Any, frozenset[str]]:
    import Stemmer
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return Stemmer.Stemmer("english"), frozenset(STOPWORDS_EN_PLUS)


class StemmedIndex(TfidfIndex):
    """Cosine of TF-IDF vectors of `stemmed_words`, fitted on the corpus.

    >>> index = StemmedIndex(Corpus.of("tiny", ["melting is a change", "fire is hot"]))
    >>> index.search(["ice melts"], k=1).positions
    array([[0]])
    """

    NAME: ClassVar[str] = "stemmed"
    OPTIONS: ClassVar[Mapping[str, Any]] = {"analyzer": stemmed_words}


def load_bm25s() -> Any:  # noqa: ANN401 - a module without types
    """Import bm25s and silence its logger."""
    # It starts JAX where that is installed, which would take three quarters of a GPU from torch.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # importing it sets DEBUG
    return bm25s


class Bm25Words:
    """BM25 of texts as in Lucene, words stemmed by Snowball, without English stop words."""

    def __init__(self, texts: Sequence[str], *, k1: float, b: float) -> None:
        self.size = len(texts)
        words = _tokenize(texts)
        self._ranker: Any = None
        if any(words):  # bm25s fails without a single word
            self._ranker = load_bm25s().BM25(k1=k1, b=b, method="lucene")
            self._ranker.index(words, show_progress=False)

    def scores(self, queries: Sequence[str]) -> Iterator[Floats]:
        """Yield the scores of all texts, shape (texts,), for each query; 0 without a common word."""
        for words in _tokenize(queries):
            ids = self._ranker.get_tokens_ids(words) if self._ranker is not None else ()
            yield self._ranker.get_scores_from_ids(ids) if ids else np.zeros(self.size, dtype=np.float32)


def _tokenize(texts: Sequence[str]) -> list[list[str]]:
    stemmer, _ = _english()
    with _stemmer_lock:
        words: list[list[str]] = load_bm25s().tokenize(
            list(map(_compose, texts)), stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
    return words


class Bm25Index(_LexicalIndex):
    """BM25 (`Bm25Words`, k1 1.5, b 0.75).

    >>> index = Bm25Index(Corpus.of("tiny", ["ice is cold", "fires burn hot"]))
    >>> index.search(["burning fire"], k=1).positions
    array([[1]])

    Raises:
        CorpusError: If the corpus is empty.
    """

    def __init__(self, corpus: Corpus) -> None:
        revision = f"bm25@bm25s-{load_bm25s().__version__}"
        super().__init__(corpus, name="bm25", revision=revision, metric="bm25")
        self._words = Bm25Words(corpus.texts, k1=1.5, b=0.75)

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the BM25 score of every query against every premise, shape (queries, premises)."""
        rows = list(cancellable(self._words.scores(checked_queries(queries)))) if queries else []
        return np.array(rows, dtype=np.float32).reshape(len(queries), len(self._corpus))
