"""TF-IDF of stemmed words without stop words: the baseline of WorldTree, the metric of its neighbourhoods."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, ClassVar

from entail.index.lexical import TfidfIndex

_WORD = re.compile(r"\w\w+")
_lock = threading.Lock()


@lru_cache(maxsize=1 << 15)  # the same facts and questions are looked at again and again
def stemmed_words(text: str) -> tuple[str, ...]:
    """Return a text's words but for stop words (NLTK's English ones), stemmed by Snowball, in order.

    >>> stemmed_words("The melting of ice in the suns")
    ('melt', 'ice', 'sun')
    """
    stemmer, stop_words = _english()
    words = [word for word in _WORD.findall(text.lower()) if word not in stop_words]
    with _lock:  # a stemmer serves one thread at a time
        return tuple(stemmer.stemWords(words))


class StemmedIndex(TfidfIndex):
    """Cosine of TF-IDF vectors of `stemmed_words`, fitted on the corpus.

    >>> from entail.data.records import Corpus
    >>> index = StemmedIndex(Corpus.of("tiny", ["melting is a change", "fire is hot"]))
    >>> index.search(["ice melts"], k=1).positions
    array([[0]])
    """

    NAME: ClassVar[str] = "stemmed"
    OPTIONS: ClassVar[Mapping[str, Any]] = {"analyzer": stemmed_words}


@cache
def _english() -> tuple[Any, frozenset[str]]:
    import Stemmer
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return Stemmer.Stemmer("english"), frozenset(STOPWORDS_EN_PLUS)
