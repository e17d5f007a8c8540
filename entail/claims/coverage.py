"""Coverage of a question by its claim: the words that a claim dropped."""

from __future__ import annotations

import re
from functools import lru_cache

from entail.claims import lexicon
from entail.claims.lexicon import CLASSES
from entail.claims.tags import AUXILIARIES, CONJUNCTIONS, DETERMINERS, PREPOSITIONS
from entail.claims.tokens import tokenize

_EMPTY = AUXILIARIES | CONJUNCTIONS | DETERMINERS | PREPOSITIONS | CLASSES["asking"]
_CLITIC = re.compile(r"'(?:s|ve|re|d|ll)$")


def missing_words(question: str, claim: str) -> list[str]:
    """Return the words of a question that its claim lacks in any form; function words are left out.

    >>> missing_words("when did the ship sink", "when the ship sank"), missing_words("who won it", "who won")
    ([], [])
    """
    kept = {form for word in _content(claim) for form in _possible_bases(word)}
    return [word for word in _content(question) if word not in _EMPTY and not _possible_bases(word) & kept]


def _content(text: str) -> list[str]:
    text = re.sub(r"[?,_]|(?<=\w)[\u2013\u2014](?=\w)", " ", text)
    words = (token.low.strip("'\"$%#&/+<>=_~`^|@\\") for token in tokenize(text))
    return [bare for word in words if (bare := _CLITIC.sub("", word))]


@lru_cache(maxsize=1 << 12)
def _possible_bases(word: str) -> frozenset[str]:
    bases = {base for form in lexicon.FORMS if (base := lexicon.base_form(word, form))}
    bases |= {word.removesuffix(ending) for ending in ("s", "es", "d", "ed")}
    return frozenset({word, *bases})
