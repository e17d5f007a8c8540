"""Lexical retrieval: TF-IDF of words or stems (scikit-learn), and BM25 (bm25s)."""

from __future__ import annotations

import copy
import logging
import math
import os
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np

from entail.cancellation import cancellable
from entail.data.records import Corpus
from entail.errors import CorpusError
from entail.index.flat import SHARE, align
from entail.index.protocol import Floats, Hits, Ints, Manifest
from entail.index.ranking import checked_queries, search_by_scores

_WORD = re.compile(r"\w\w+")
_compose = partial(unicodedata.normalize, "NFC")
_stemmer_lock = threading.Lock()  # a stemmer serves one thread at a time


UPDATED_FROM = 20_000
"""Premises from which the index of another version is made from the one before: building takes seconds."""

MOST_LATE = 2048
"""Premises added since an index was built, at most; above, it is built."""


class _LexicalIndex(ABC):
    """Base of the lexical indexes: a search ranks all scores.

    The index of another version of a large corpus has the statistics of words of the one that was built.
    """

    def __init__(self, corpus: Corpus, *, name: str, revision: str, metric: str) -> None:
        if not len(corpus):
            raise CorpusError(f"corpus {corpus.name!r} holds no premises; add some before searching it")
        self.name = name
        self._set_corpus(corpus, revision, metric)
        self._built = len(corpus)
        self._late: tuple[str, ...] = ()
        self._rows: Ints | None = None

    def _set_corpus(self, corpus: Corpus, revision: str, metric: str) -> None:
        self._corpus = corpus
        self.manifest = Manifest(revision, 0, metric, len(corpus), corpus.hash)

    def of_version(self, corpus: Corpus) -> Self | None:
        """Return the index of another version of the corpus, None if it must be built."""
        if min(self._built, len(corpus)) < UPDATED_FROM:
            return None
        sources = align(self._corpus.numbers, corpus.numbers)
        new = np.flatnonzero(sources < 0)
        late = len(self._late) + len(new)
        if late > MOST_LATE or SHARE * (self._built + late - len(corpus)) > self._built:
            return None
        other = copy.copy(self)
        other._set_corpus(corpus, self.manifest.revision, self.manifest.metric)
        other._rows = sources if self._rows is None else self._rows[sources]
        other._rows[new] = self._built + len(self._late) + np.arange(len(new))
        other._late = (*self._late, *(corpus.texts[position] for position in new.tolist()))
        other._add(other._late)
        return other

    def search(self, queries: Sequence[str], *, k: int) -> Hits:
        """Return the k nearest premises of each query, shape (queries, k); see `PremiseIndex`."""
        return search_by_scores(self.scores, queries, k=k, count=len(self._corpus))

    def scores(self, queries: Sequence[str]) -> Floats:
        """Return the similarity of every query to every premise, shape (queries, premises)."""
        checked_queries(queries)
        scores = np.zeros((len(queries), self._built + len(self._late)), dtype=np.float32)
        # A query at a time: faster over a large corpus than all at once, and ends when it is cancelled.
        if queries:
            for row, own in enumerate(cancellable(self._score(queries))):
                scores[row] = own
        return scores if self._rows is None else scores[:, self._rows]

    @abstractmethod
    def _add(self, late: Sequence[str]) -> None:
        """Take texts into account that come after those that the index was built of."""

    @abstractmethod
    def _score(self, queries: Sequence[str]) -> Iterator[Floats]:
        """Yield for each query the scores of the texts that the index was built of, then of the late ones."""


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
        self._late_premises: Any = None
        # scikit-learn refuses a corpus without a single word of two letters.
        if any(map(self._vectorizer.build_analyzer(), corpus.texts)):
            self._premises = self._vectorizer.fit_transform(
                map(_compose, cancellable(corpus.texts))
            ).T.tocsr()

    def _add(self, late: Sequence[str]) -> None:
        if self._premises is not None:
            self._late_premises = self._vectorizer.transform(map(_compose, late)).T.tocsr()

    def _score(self, queries: Sequence[str]) -> Iterator[Floats]:
        if self._premises is None:
            yield from np.zeros((len(queries), self._built + len(self._late)), dtype=np.float32)
            return
        vectors = self._vectorizer.transform(map(_compose, cancellable(queries)))
        for vector in vectors:
            scores = (vector @ self._premises).toarray()[0]
            if self._late:
                scores = np.concatenate([scores, (vector @ self._late_premises).toarray()[0]])
            yield scores


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


def load_bm25s() -> Any:
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
        self._k1, self._b = k1, b
        words = _tokenize(texts)
        self._mean_length = sum(map(len, words)) / max(1, self.size)
        self._ranker: Any = None
        if any(words):  # bm25s fails without a single word
            self._ranker = load_bm25s().BM25(k1=k1, b=b, method="lucene")
            self._ranker.index(words, show_progress=False)

    def scores(self, queries: Sequence[str]) -> Iterator[Floats]:
        """Yield the scores of all texts, shape (texts,), for each query; 0 without a common word."""
        for words in _tokenize(queries):
            ids = self._ranker.get_tokens_ids(words) if self._ranker is not None else ()
            yield self._ranker.get_scores_from_ids(ids) if ids else np.zeros(self.size, dtype=np.float32)

    def weights(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return what each word adds to the score of further texts, by the statistics of these texts."""
        weights = []
        for words in _tokenize(texts):
            norm = self._k1 * (1 - self._b + self._b * len(words) / self._mean_length) if words else 0.0
            counts = Counter(words)
            weights.append(
                {word: self._rarity(word) * count / (count + norm) for word, count in counts.items()}
            )
        return weights

    def _rarity(self, word: str) -> float:
        """Return Lucene's idf of a word."""
        row = self._ranker.vocab_dict.get(word) if self._ranker is not None else None
        starts = self._ranker.scores["indptr"] if row is not None else (0, 0)
        texts = 0 if row is None else int(starts[row + 1] - starts[row])
        return math.log(1 + (self.size - texts + 0.5) / (texts + 0.5))


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
        self._weights: list[dict[str, float]] = []

    def _add(self, late: Sequence[str]) -> None:
        self._weights = self._words.weights(late)

    def _score(self, queries: Sequence[str]) -> Iterator[Floats]:
        scores = self._words.scores(queries)
        if not self._weights:
            yield from scores
            return
        for words, own in zip(_tokenize(queries), scores, strict=True):
            late = [sum(weights.get(word, 0.0) for word in words) for weights in self._weights]
            yield np.concatenate([own, np.array(late, dtype=np.float32)])
