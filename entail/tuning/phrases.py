"""Noun phrases of a question as phrases of its claim: "two countries" -> "two known countries"."""

from __future__ import annotations

import re

from entail.tuning import lexicon
from entail.tuning.words import (
    ADVERBS,
    ARTICLES,
    CONJUNCTIONS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    Word,
    Words,
    is_adverb,
    is_plural,
    text_of,
)

MASS = lexicon.word_class("mass")
NUMBERS = lexicon.word_class("numbers")
ADJOINED = {
    noun: preposition
    for preposition in ("in", "on", "at", "for", "to")
    for noun in lexicon.word_class(f"adjoined_{preposition}")
}
"""Noun -> how what happens is bound to it: a year *in* which."""
PLACES = lexicon.word_class("places")
AT_A_PLACE = lexicon.word_class("at_a_place")
ATTRIBUTES = lexicon.word_class("attributes")
KINDS = lexicon.word_class("kinds")
PARTICLES = lexicon.word_class("particles")


_INVARIANT = lexicon.word_class("invariant")
_PLURAL_VERBS = frozenset({"are", "were", "do", "have", "aren't", "weren't", "don't", "haven't"})


def known(noun: Words, verb: str = "") -> str:
    """Say that what a noun phrase names exists and is known.

    Args:
        noun: The noun phrase.
        verb: The verb whose subject it is: it tells the number of "species" and the like.

    >>> from entail.tuning.words import words_of
    >>> known(words_of("two countries")), known(words_of("other team"))
    ('There exist two known countries', 'There exists another known team')
    >>> known(words_of("species"), "are"), known(words_of("species"), "is")
    ('There exist known species', 'There exists a known species')
    """
    phrase, many = named(noun, many=verb in _PLURAL_VERBS and head_of(noun) in _INVARIANT)
    return f"There {'exist' if many else 'exists'} {phrase}"


_COUNT = re.compile(r"[2-9]$|[1-9]\d$")
"""A number of things; of more digits it may be a year."""


def _asked_once(noun: Words) -> list[Word]:
    """Take a second question word out of a phrase: "year and (in what) month"."""
    words: list[Word] = []
    for word in noun:
        if word.low in {"what", "which"} and not word.sealed and words:
            bound = len(words) > 1 and words[-1].low in PREPOSITIONS
            if words[-1 - bound].low in {"and", "or"}:
                words = words[:-1] if bound else words
                continue
        words.append(word)
    return words


def named(noun: Words, *, many: bool = False) -> tuple[str, bool]:
    """Return a noun phrase as something known, and whether it is plural: `many` where that is sure."""
    words = _asked_once(noun)
    while len(words) > 1 and words[0].low in ARTICLES:
        words = words[1:]
    if words[0].low == "another" and len(words) > 1:
        return f"another known {text_of(words[1:])}", False
    if words[0].low in {"of", "among"}:
        return f"a known one {text_of(words)}", False
    if words[0].low == "one" and len(words) > 1 and words[1].low != "of":
        return f"one known {text_of(words[1:])}", False
    other = [word for word in words[:2] if word.low == "other"]
    number = [word for word in words[:2] if word.low in NUMBERS]
    if not number and len(words) > 1 and _COUNT.match(words[0].low) and is_plural(words):
        number = [words[0]]
    tail = [word for at, word in enumerate(words) if at > 1 or (word not in other and word not in number)]
    many = many or bool(number) or is_plural(words)
    if not tail:
        return f"a known {text_of(words)}", False
    said = text_of(tail)
    if number:
        return " ".join([number[0].low, *(["other"] if other else []), "known", said]), True
    if other:
        return (f"other known {said}", True) if many else (f"another known {said}", False)
    if many or head_of(words) in MASS:
        return f"known {said}", many
    return f"a known {said}", False


def head_of(noun: Words) -> str:
    """Return the head of a noun phrase: its last word before a preposition."""
    cut = next((at for at, word in enumerate(noun) if at and word.low in PREPOSITIONS), len(noun))
    return noun[cut - 1].low if noun else ""


def spaced(words: Words) -> str:
    """Return words to go on with: after a space, or nothing."""
    return f" {text_of(words)}" if words else ""


def lowered(words: Words) -> str:
    """Write words as the middle of a sentence: without the capital of the first, if it is no name."""
    if not words:
        return ""
    first = words[0]
    small = (
        DETERMINERS
        | PREPOSITIONS
        | CONJUNCTIONS
        | SUBORDINATORS
        | ADVERBS
        | (PRONOUNS - {"i"})
        | {
            "as",
            "approximately",
            "prior",
            "according",
            "because",
            "one",
            "many",
            "once",
            "due",
            "other",
            "most",
        }
    )
    if (first.low in small or is_adverb(first)) and not first.sealed and first.text[:1].isupper():
        return " ".join([first.text[:1].lower() + first.text[1:], *(word.text for word in words[1:])])
    return text_of(words)
