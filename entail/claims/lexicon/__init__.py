"""Lexicon of claims: verbs with their forms, adjectives and classes of words, read from data files.

Words are looked up in lower case. Forms of verbs come from a list that `scripts/build_lexicon.py` generates.

>>> inflect("win", "past"), inflect("panic", "past"), base_form("began", "past")
('won', 'panicked', 'begin')
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Literal

Form = Literal["third", "past", "participle", "ing"]
FORMS: tuple[Form, ...] = ("third", "past", "participle", "ing")

_ADJECTIVE_ENDINGS = ("able", "ible", "less", "proof", "genic", "iest", "worthy")


def _lines(name: str) -> list[str]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _read_classes() -> Mapping[str, frozenset[str]]:
    paragraphs = (block.split() for block in "\n".join(_lines("words.txt")).split("\n\n"))
    return {name.rstrip(":"): frozenset(words) for name, *words in filter(None, paragraphs)}


CLASSES = _read_classes()
"""Class of words by name."""


@lru_cache(maxsize=1)
def _verbs() -> Mapping[str, tuple[float, float, Mapping[Form, tuple[str, ...]]]]:
    """Return base form -> shares of verbs among words like it and among words with -s, and the spellings."""
    found = {}
    for line in _lines("verbs.tsv"):
        base, share, third_share, *forms = line.split("\t")
        spellings = (tuple(cell.split("/")) for cell in forms)
        found[base] = (int(share) / 10, int(third_share) / 10, dict(zip(FORMS, spellings, strict=True)))
    return found


@lru_cache(maxsize=1)
def _bases() -> Mapping[Form, Mapping[str, str]]:
    """Return, for each form, spelling -> base form; the likelier verb wins."""
    ranked = sorted(_verbs().items(), key=lambda item: (item[1][0], item[0]))
    return {form: {spelling: base for base, verb in ranked for spelling in verb[2][form]} for form in FORMS}


def verb_share(word: str) -> float:
    """Return the probability that a word is a verb in its base form, 0 for unknown words."""
    return _verbs()[word][0] if word in _verbs() else 0.0


def third_share(word: str) -> float:
    """Return the probability that a word with -s is a verb in the third person."""
    base = _bases()["third"].get(word)
    return _verbs()[base][1] if base else 0.0


def base_form(word: str, form: Form) -> str | None:
    """Return the base form of a verb's form, None if the word is no such form."""
    return _bases()[form].get(word)


def inflect(base: str, form: Form) -> str:
    """Return the usual spelling of a verb's form, the word itself if it is no verb of the list."""
    return _verbs()[base][2][form][0] if base in _verbs() else base


@lru_cache(maxsize=1)
def _adjectives() -> frozenset[str]:
    return frozenset(word for line in _lines("adjectives.txt") for word in line.split())


def is_adjective(word: str) -> bool:
    """Return whether a word may stand after "is" as an adjective."""
    return word in _adjectives() or (len(word) > 6 and word.endswith(_ADJECTIVE_ENDINGS))
