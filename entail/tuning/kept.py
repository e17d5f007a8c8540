"""Whether a claim has kept what its question says: every word that means something, in some form."""

from __future__ import annotations

import re
from functools import lru_cache

from entail.tuning import lexicon
from entail.tuning.words import AUXILIARIES, CONJUNCTIONS, DETERMINERS, PREPOSITIONS, words_of

_ASKING = lexicon.word_class("asking")
_EMPTY = AUXILIARIES | CONJUNCTIONS | DETERMINERS | PREPOSITIONS | _ASKING


def lost(question: str, said: str) -> list[str]:
    """Return the words of a question that its claim lacks, in any form; auxiliaries and their like left out.

    >>> lost("when did the ship sink", "a time when the ship sank"), lost("who won the cup", "who won")
    ([], ['cup'])
    """
    kept = {form for word in _content(said) for form in _forms(word)}
    return [word for word in _content(question) if word not in _EMPTY and not _forms(word) & kept]


def _content(text: str) -> list[str]:
    lows = (word.low for word in words_of(re.sub(r"[?,_]|(?<=\w)[\u2013\u2014](?=\w)", " ", text)))
    return [stripped for low in lows if (stripped := re.sub(r"^\W+|'s$|\W+$", "", low))]


@lru_cache(maxsize=1 << 12)
def _forms(word: str) -> frozenset[str]:
    """Return a word and the bases that it may be a form of."""
    past, part, third = (
        lexicon.base_of_past(word),
        lexicon.base_of_participle(word),
        lexicon.base_of_third(word),
    )
    bases = {base for base in (past, part, third) if base}
    bases |= {
        re.sub("ie[sd]$", "y", word),
        re.sub(r"([bdgklmnprtz])\1ed$", r"\1", word),
    }  # "carried", "stunned"
    bases |= {*(word.removesuffix(ending) for ending in ("s", "es", "d", "ed"))}
    return frozenset({word, *bases, *(f"{base}e" for base in bases)})
