"""Questions whose question word stands in the place of what is asked for: "Tesla was born in what year"."""

from __future__ import annotations

from entail.tuning import lexicon
from entail.tuning.clauses import adjunct, has_verb, is_auxiliary
from entail.tuning.phrases import known, lowered, named, spaced
from entail.tuning.predicates import is_verb
from entail.tuning.question_phrase import Asked
from entail.tuning.words import (
    ARTICLES,
    CONJUNCTIONS,
    POSSESSIVES,
    PREPOSITIONS,
    Word,
    Words,
    is_finite,
    text_of,
)

_MANNERS = lexicon.word_class("manners")
_SAYING = lexicon.word_class("saying")


def in_place(parts: Asked) -> str:
    """Say in its place that what is asked for is known: "Tesla was born in a known year"."""
    noun, rest = parts.noun, parts.rest
    if noun and (
        noun[0].low in PREPOSITIONS - {"of"} or noun[0].low in CONJUNCTIONS | {"to", "when", "alone"}
    ):
        noun, rest = (), noun + rest
    before = [*parts.before, *parts.front]
    if names_a_manner(parts):
        return known([*before, Word(parts.wh, parts.wh), *noun, *rest])
    if before and before[-1].low in ARTICLES:
        before = before[:-1]
    if noun and noun[0].low == "else":
        other = {
            "who": "another known person",
            "where": "at another known place",
            "when": "at another known time",
        }
        return (
            f"{lowered(before)} {other.get(parts.wh, 'another known thing')}{spaced(noun[1:])}{spaced(rest)}"
        )
    kinds = {
        "when": "at a known time", "where": "at a known place", "why": "for a known reason",
        "how": "in a known way",
        "who": "a known person", "whom": "a known person", "whence": "a known place",
    }  # fmt: skip
    if parts.wh == "how degree":
        statement = f"It is known {lowered(parts.front)} how".replace("  ", " ")
        return f"{statement} {text_of(noun)} {lowered(parts.before)}{spaced(rest)}"
    if parts.wh in {"how many", "how much"}:
        said = f"a known {'number' if parts.wh == 'how many' else 'amount'}"
        said += ("" if noun[0].low == "of" else " of") + spaced(noun) if noun else ""
    elif parts.wh == "whose":
        said = f"a known person's {text_of(noun)}"
    elif parts.wh in kinds:
        said = kinds[parts.wh] + spaced(noun)
        if parts.front and parts.wh in {"when", "where"}:
            said = said.removeprefix("at ")
    else:
        owned = bool(before) and before[-1].low in POSSESSIVES
        said = named(noun)[0] if noun else "known thing" if owned else "something known"
    stated = bool(parts.before and before) and not parts.front
    asserted = stated and (is_finite(before[-1]) or is_base(before[-1]))
    if asserted and before[-1].low not in _SAYING and rest and is_auxiliary(rest[0]):
        said = f"{said.removesuffix(' that')} that"
    if before and is_auxiliary(before[0]):
        return f"It is known whether {adjunct(before).text} {said}{spaced(rest)}"
    return f"{lowered(before)} {said}{spaced(rest)}".strip()


def names_a_manner(parts: Asked) -> bool:
    """Whether a text is the name of a topic: "the process by which plants make food"."""
    lows = [word.low for word in parts.before]
    named = len(lows) == 2 and lows[0] in ARTICLES and lows[1] in _MANNERS
    return named and parts.wh == "which" and len(parts.front) == 1


def bare_in_place(words: Words) -> str | None:
    """Say that who, when or where it was is known, in the place of the word; None where it may be a relative.

    >>> from entail.tuning.words import words_of
    >>> bare_in_place(words_of("Bell trained who in Boston"))
    'Bell trained a known person in Boston'
    >>> bare_in_place(words_of("Bell met a man who worked")) is None
    True
    """
    found = [at for at, word in enumerate(words) if word.low in _BARE and not (word.name or word.sealed)]
    if len(found) != 1 or found[0] < 2 or not has_verb(words[: found[0]]):
        return None
    at = found[0]
    before, after = words[at - 1], words[at + 1].low if at + 1 < len(words) else ""
    if words[at].low == "who":
        placed = is_verb(before) or before.low in PREPOSITIONS | {"that"}
    else:
        placed = not after or after in PREPOSITIONS
    if not placed or before.comma:
        return None
    return " ".join([text_of(words[:at]), _BARE[words[at].low], text_of(words[at + 1 :])]).strip()


_BARE = {"who": "a known person", "when": "at a known time", "where": "at a known place"}


def is_base(word: Word) -> bool:
    """Whether a word may be a verb in its base form."""
    return lexicon.verb_share(word.low) > 0 and not word.name
