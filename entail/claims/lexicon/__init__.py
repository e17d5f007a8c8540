"""Lexicon of claims: verbs with their forms, adjectives and classes of words, read from data files.

Words are looked up in lower case. Forms of verbs are listed in `verbs.tsv`; a verb is a line.

>>> inflect("win", "past"), inflect("panic", "past"), base_form("began", "past")
('won', 'panicked', 'begin')
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Literal, NamedTuple

Form = Literal["third", "past", "participle", "ing"]
FORMS: tuple[Form, ...] = ("third", "past", "participle", "ing")

_ADJECTIVE_ENDINGS = ("able", "ible", "less", "proof", "genic", "iest", "worthy")


class Verb(NamedTuple):
    """Verb: probabilities that a word so written, or with -s, is a verb; spellings of its forms."""

    share: float
    third_share: float
    forms: Mapping[Form, tuple[str, ...]]


def _lines(name: str) -> list[str]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _read_classes() -> Mapping[str, frozenset[str]]:
    paragraphs = (block.split() for block in "\n".join(_lines("words.txt")).split("\n\n"))
    return {name.rstrip(":"): frozenset(words) for name, *words in filter(None, paragraphs)}


def _read_verbs() -> Mapping[str, Verb]:
    verbs = {}
    for line in _lines("verbs.tsv"):
        base, share, third_share, *forms = line.split("\t")
        spellings = dict(zip(FORMS, (tuple(cell.split("/")) for cell in forms), strict=True))
        verbs[base] = Verb(int(share) / 10, int(third_share) / 10, spellings)
    return verbs


CLASSES = _read_classes()
"""Class of words by name."""

_VERBS = _read_verbs()
_BASES: Mapping[Form, Mapping[str, str]] = {  # the likelier verb wins
    form: {
        spelling: base
        for base, verb in sorted(_VERBS.items(), key=lambda item: (item[1].share, item[0]))
        for spelling in verb.forms[form]
    }
    for form in FORMS
}
_ADJECTIVES = frozenset(word for line in _lines("adjectives.txt") for word in line.split())


def verb_share(word: str) -> float:
    """Return the probability that a word is a verb in its base form, 0 for unknown words."""
    return _VERBS[word].share if word in _VERBS else 0.0


def third_share(word: str) -> float:
    """Return the probability that a word with -s is a verb in the third person."""
    base = _BASES["third"].get(word)
    return _VERBS[base].third_share if base else 0.0


def base_form(word: str, form: Form) -> str | None:
    """Return the base form of a verb's form, None if the word is no such form."""
    return _BASES[form].get(word)


def inflect(base: str, form: Form) -> str:
    """Return the usual spelling of a verb's form, the word itself if it is no verb of the list."""
    return _VERBS[base].forms[form][0] if base in _VERBS else base


def is_adjective(word: str) -> bool:
    """Return whether a word may stand after "is" as an adjective."""
    return word in _ADJECTIVES or (len(word) > 6 and word.endswith(_ADJECTIVE_ENDINGS))
