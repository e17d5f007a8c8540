"""Questions as they are typed, written out: "who's" as "who is", "whats" as "what is", "What 's" joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from entail.tuning.words import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    MODALS,
    PREPOSITIONS,
    PRONOUNS,
    WH,
    Word,
)

_SLIPS = {
    "whats": "what's", "whos": "who's", "wheres": "where's", "whens": "when's", "hows": "how's",
    "wat": "what", "waht": "what", "wht": "what", "whcih": "which", "wich": "which", "whic": "which",
    "whe": "when", "hwo": "how",
    "wheich": "which", "whcich": "which", "whath": "what", "whta": "what", "wherre": "where", "hoe": "how",
}  # fmt: skip
_GRAMMAR = (
    WH
    | AUXILIARIES
    | CONJUNCTIONS
    | DETERMINERS
    | PREPOSITIONS
    | PRONOUNS
    | frozenset({"to", "many", "much", "not"})
)


_QUOTES = (re.compile(r"`` ?(.+?) ?\'\'"), re.compile(r"(?<!\S)` (.+?) \'(?!\w)"))
_CLITIC = re.compile(r"(?<=\w) (?=(?:n['\u2019]t|['\u2019](?:s|re|ll|d|ve|m))(?![\w'\u2019]))", re.IGNORECASE)


def untokenized(text: str) -> str:
    """Join what the Penn Treebank's tokens part, as the questions of TREC have it.

    >>> untokenized("What 's the origin of the name ` Scarlett ' ?"), untokenized("Who sang `` Hello ''")
    ("What's the origin of the name 'Scarlett' ?", 'Who sang "Hello"')
    """
    for quotes, mark in zip(_QUOTES, "\"'", strict=True):
        text = quotes.sub(rf"{mark}\1{mark}", text)
    text = _CLITIC.sub("", text)
    return re.sub(r"(?<=s) ' (?=\w)", "' ", text) if text.count("'") == 1 else text


def expanded(words: Sequence[Word]) -> list[Word]:
    """Write contractions with "is" and slips of the question word out: "who's", "whats".

    Of a question all in capitals the words of its grammar are made small: what is a name nothing shows.

    >>> from entail.tuning.words import text_of, words_of
    >>> text_of(expanded(words_of("who's been there"))), text_of(expanded(words_of("whats that")))
    ('who has been there', 'what is that')
    """
    out: list[Word] = []
    shouted = len(words) > 1 and all(word.text.isupper() or not word.low.isalpha() for word in words)
    for at, (word, after) in enumerate(zip_longest(words, words[1:])):
        if shouted and word.low in _GRAMMAR:
            out.append(replace(word, text=word.text.lower(), name=False))
            continue
        low = _SLIPS.get(word.low, word.low) if not word.name and not word.sealed else word.low
        stem, _, tail = low.partition("'")
        behind = words[at + 2].low if at + 2 < len(words) else ""
        if low == "who's" and behind in DO | MODALS and not word.sealed:  # a slip: "who's car did he drive"
            out.append(Word("whose", "whose"))
            continue
        if stem in WH and tail in {"s", "re", "d", "ll", "ve"} and not word.sealed and not word.name:
            verb = {"s": "is", "re": "are", "d": "did", "ll": "will", "ve": "have"}[tail]
            verb = "has" if verb == "is" and after is not None and after.low == "been" else verb
            out += [Word(stem, stem), Word(verb, verb)]
        elif low != word.low:
            out.append(Word(low, low))
        else:
            out.append(word)
    return out
