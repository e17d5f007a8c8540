"""What the rules of claims know of English words: verbs with their forms, adjectives.

A word is looked up in lower case. No model is behind it: three word lists and the spelling of endings.

>>> past("win"), past("stop"), third_person("carry"), base_of_past("began")
('won', 'stopped', 'carries', 'begin')
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

_VOWELS = frozenset("aeiou")

_ADJECTIVE_ENDINGS = ("able", "ible", "less", "proof", "genic", "iest", "worthy")


@lru_cache(maxsize=1)
def _classes() -> Mapping[str, frozenset[str]]:
    text = resources.files(__package__).joinpath("classes.txt").read_text(encoding="utf-8")
    paragraphs = [block.split() for block in text.split("\n\n") if not block.startswith("#")]
    return {name.rstrip(":"): frozenset(words) for name, *words in paragraphs}


def word_class(name: str) -> frozenset[str]:
    """Return the words of a class of `classes.txt`.

    >>> "whose" in word_class("determiners")
    True
    """
    return _classes()[name]


_STRESSED_LAST = word_class("stressed_last")
"""Verbs of several syllables that double their last letter: "occurred"."""
_NO_VERB = word_class("no_verb")
_NO_PAST = word_class("no_past")
_NO_ING = word_class("no_ing")
_NOUN_ING = word_class("noun_ing")


def _rows(name: str) -> list[list[str]]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


@lru_cache(maxsize=1)
def _verbs() -> Mapping[str, tuple[float, float]]:
    """Base form -> how often a word so written is a verb, in the base form and with -s."""
    found = {base: (int(own) / 10, int(third) / 10) for base, own, third in _rows("verbs.txt")}
    for base in _irregular():
        found.setdefault(base, (0.6, 0.6))
    return found


@lru_cache(maxsize=1)
def _irregular() -> Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Base form -> forms of the past, participles."""
    return {
        base: (tuple(pasts.split("/")), tuple(parts.split("/")))
        for base, pasts, parts in _rows("irregular_verbs.txt")
    }


@lru_cache(maxsize=1)
def _forms() -> tuple[dict[str, str], dict[str, str], dict[str, str], dict[str, str]]:
    """Return, each to its base form, pasts, participles, forms with -s and with -ing."""
    pasts: dict[str, str] = {"was": "be", "were": "be"}
    participles: dict[str, str] = {"been": "be"}
    thirds = {"is": "be"}
    ings: dict[str, str] = {}
    for base in sorted(_verbs(), key=lambda verb: (verb in _irregular(), verb)):
        ings |= dict.fromkeys(_with_ing(base), base)
        if base == "be":
            continue
        own = _irregular().get(base)
        regular = (_with_ed(base, doubled=False), _with_ed(base, doubled=True))
        pasts |= dict.fromkeys(own[0] if own else regular, base)
        participles |= dict.fromkeys(own[1] if own else regular, base)
        thirds[third_person(base)] = base
    return pasts, participles, thirds, ings


def verb_share(word: str) -> float:
    """Return how likely a word in its base form is a verb, 0 for what is none."""
    known = _verbs().get(word)
    if known:
        return known[0]
    if word in _NO_VERB:
        return 0.0
    if word.startswith(("re", "un", "de", "over", "out", "mis")) and not _verbs().get(word):
        rest = next(word[len(p) :] for p in ("re", "un", "de", "over", "out", "mis") if word.startswith(p))
        if len(rest) > 3 and _verbs().get(rest.lstrip("-"), (0.0,))[0] >= 0.5:
            return 0.6
    return 0.6 if len(word) > 5 and word.endswith(("ize", "ise", "ify", "ate")) else 0.0


def third_share(word: str) -> float:
    """Return how likely a word with -s is a verb in the third person."""
    base = _forms()[2].get(word)
    return _verbs()[base][1] if base is not None and base in _verbs() else 0.0


def base_of_third(word: str) -> str | None:
    """Return the base form of a verb in the third person, None if it is none."""
    return _forms()[2].get(word)


def base_of_past(word: str) -> str | None:
    """Return the base form of a past, None if it is none."""
    return _forms()[0].get(word) or _regular_past(word)


def base_of_participle(word: str) -> str | None:
    """Return the base form of a past participle, None if it is none."""
    return _forms()[1].get(word) or _regular_past(word)


def is_regular_guess(word: str) -> bool:
    """Whether a word is taken for a past only because it ends in -ed."""
    return word not in _forms()[0] and word not in _forms()[1]


def is_ing(word: str) -> bool:
    """Whether a word is a verb with -ing."""
    return word in _forms()[3] and word not in _NO_ING


def is_often_noun(word: str) -> bool:
    """Whether a word with -ing is more often a noun: "building"."""
    return word in _NOUN_ING


@lru_cache(maxsize=1)
def _adjectives() -> frozenset[str]:
    return frozenset(word for row in _rows("adjectives.txt") for word in row)


def is_adjective(word: str) -> bool:
    """Whether a word may stand after "is" as an adjective."""
    return word in _adjectives() or (len(word) > 6 and word.endswith(_ADJECTIVE_ENDINGS))


def is_compared(word: str) -> bool:
    """Whether a word is an adjective that compares: "older", "oldest"."""
    return word.endswith(("er", "est")) and is_adjective(word)


def past(base: str) -> str:
    """Return the past of a verb."""
    if base == "be":
        return "was"
    if base in _irregular():
        return _irregular()[base][0][0]
    prefix = next((p for p in ("re", "un", "over", "out", "mis", "fore") if base.startswith(p)), "")
    if prefix and base.removeprefix(prefix) in _irregular() and base not in _verbs():
        return prefix + _irregular()[base.removeprefix(prefix)][0][0]
    return _with_ed(base, doubled=_doubles(base))


def third_person(base: str) -> str:
    """Return the form of a verb after "it"."""
    special = {"be": "is", "have": "has"}.get(base)
    if special:
        return special
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return f"{base[:-1]}ies"
    if base.endswith("z") and not base.endswith("zz"):
        return f"{base}zes"
    return f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{base}s"


def _doubles(base: str) -> bool:
    if base in _STRESSED_LAST:
        return True
    closed = len(base) > 2 and base[-1] not in "aeiouwxyh" and base[-2] in _VOWELS and base[-3] not in _VOWELS
    return (closed and sum(letter in "aeiouy" for letter in base) == 1) or base in {"quiz", "quit"}


def _with_ed(base: str, *, doubled: bool) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return f"{base[:-1]}ied"
    return f"{base}{base[-1]}ed" if doubled and base[-1] not in "aeiouwxy" else f"{base}ed"


def _with_ing(base: str) -> set[str]:
    if base.endswith("ie"):
        return {f"{base[:-2]}ying"}
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return {f"{base[:-1]}ing"}
    return {f"{base}ing", f"{base}{base[-1]}ing"} if _doubles(base) else {f"{base}ing"}


def _regular_past(word: str) -> str | None:
    if len(word) < 5 or not word.endswith("ed") or word in _NO_PAST:
        return None
    return word[:-2]
