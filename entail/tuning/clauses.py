"""Inverted clauses put in the order of a statement: "did the company win" -> "the company won"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from entail.tuning import lexicon
from entail.tuning.gaps import begins_predicate, object_gap
from entail.tuning.predicates import (
    NAMING,
    SUPERLATIVE,
    after_names,
    base_verb,
    is_graded,
    is_relative,
    of_quality,
    participle,
    predicate,
)
from entail.tuning.words import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    HAVE,
    NEGATIONS,
    PERSONAL,
    PREPOSITIONS,
    PRONOUNS,
    STRANDED,
    SUBORDINATORS,
    TIME_ADVERBS,
    Word,
    Words,
    ends_phrase,
    is_adverb,
    is_finite,
    text_of,
)

Gap = Literal["subject", "object", "adjunct"]
"""What of the clause is asked for: who does it, to whom it is done, or when, where, why and how."""

_YEAR = re.compile(r"^1\d\d\d$|^20\d\d$")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in the order of a statement, less what is asked for.

    Attributes:
        text: Its words.
        gap: What is missing in it.
        stranded: Whether it ends in a preposition that lost its noun.
        sure: False where nothing showed the end of the subject, and the verb was put last.
    """

    text: str
    gap: Gap
    stranded: bool = False
    sure: bool = True


def is_auxiliary(word: Word) -> bool:
    """Whether a word is an auxiliary, negated or not."""
    return (
        not word.name
        and not word.sealed
        and (word.low in AUXILIARIES or (word.low.endswith("n't") and len(word.low) > 4))
    )


def has_verb(words: Words) -> bool:
    """Whether any of the words is an auxiliary, or may be a verb in the present or past."""
    return any(is_auxiliary(word) or is_finite(word) for word in words)


def adjunct(words: Words, *, complete: bool = False) -> Clause:
    """Put a clause that lacks nothing in order: after "when", "where", "why", "how", "in which year".

    Args:
        words: The clause from its verb on.
        complete: Whether a predicate must be there: "Is the sky blue", but not "Where is the sky".

    >>> from entail.tuning.words import words_of
    >>> adjunct(words_of("did the Broncos first win the cup")).text
    'the Broncos first won the cup'
    >>> adjunct(words_of("was the treaty signed in Paris")).text
    'the treaty was signed in Paris'
    """
    if not words or not is_auxiliary(words[0]):
        return Clause(text_of(words), "adjunct")
    return _ordered(words[0], words[1:], gap="adjunct", complete=complete)


def core(
    words: Words,
    *,
    person: bool = False,
    attribute: bool = False,
    kindred: bool = False,
    adjoined: bool = False,
) -> Clause:
    """Put a clause that lacks its subject or an object in order: after "who", "what", "which team".

    Args:
        words: The clause from its verb on.
        person: Whether a person is asked for.
        attribute: Whether a quality of the subject is asked for: "What colour is the car".
        kindred: Whether the attribute is a kind, which "the largest" may be, too.
        adjoined: Whether a time or a place is asked for, so that nothing need be missing.

    >>> from entail.tuning.words import words_of
    >>> core(words_of("did the Normans conquer"))
    Clause(text='the Normans conquered', gap='object', stranded=False, sure=True)
    >>> core(words_of("wrote Hamlet")).gap
    'subject'
    """
    if words and words[0].low in (DETERMINERS | PRONOUNS) - {"one", "people", "all", "there", "someone"}:
        return Clause(text_of(words), "object", _stranded(words))
    if not words or not is_auxiliary(words[0]):
        told = adjoined and has_verb(words[1:]) and not (is_finite(words[0]) or is_adverb(words[0]))
        told = told and words[0].low not in SUBORDINATORS
        told = told and lexicon.verb_share(words[0].low) <= 0.1  # "what year | lebron james came"
        return Clause(text_of(words), "object" if told else "subject")
    aux, rest = words[0], words[1:]
    kind = _kind(aux)
    if not rest:
        return Clause(text_of(words), "subject")
    if rest[0].low == "there" and kind == "be":
        tail = rest[1:]
        if tail and tail[0].low == "to":
            return Clause(f"there {aux.text} {text_of(tail)}", "object")
        return Clause(text_of([aux, *tail]) if tail else f"there {aux.text}", "subject")
    if kind == "be":
        if len(rest) == 1 and rest[0].low in _ALONE:
            return Clause(f"{rest[0].text} {aux.text}", "object")
        if begins_predicate(rest, person=person):
            return Clause(text_of(words), "subject")
        place = object_gap(rest)
        if place is None and adjoined:
            place = predicate(rest, locative=False)
        superlative = (
            kindred
            and len(rest) > 1
            and (rest[0].low == "one" or (rest[0].low == "the" and rest[1].low in SUPERLATIVE))
        )
        if place is None and attribute and not superlative:
            place = predicate(rest, locative=False) or len(rest)
        if place is None:
            return Clause(text_of(words), "subject")
        return _join(rest[:place], aux, rest[place:], "object")
    if kind == "have":
        place = participle(rest)
        own = rest[0].low in {"been", "ever", "never", "not", "also", "always"} or (
            not rest[0].name and lexicon.base_of_participle(rest[0].low) is not None
        )
        named = place is not None and (rest[place].low in NAMING or is_graded(rest[place - 1]))
        indefinite = rest[0].low in {"a", "an"} and (person or named)  # "Who had a hit", "had a part called"
        if own or place is None or indefinite or rest[0].low in {"their", "his", "her", "its"}:
            return Clause(text_of(words), "subject")
        return _join(rest[:place], aux, rest[place:], "object")
    negated = rest[1:] if rest[0].low in NEGATIONS else rest if aux.low.endswith("n't") else ()
    if kind == "do" and _verb_next(negated):
        return Clause(text_of(words), "subject")
    first = 0 if kind == "modal" or rest[0].low in {"not"} else 1
    if kind == "modal" and rest[0].low in {"be", "have", "not", "also"}:
        return Clause(text_of(words), "subject")
    verb = lexicon.verb_share(rest[0].low) > 0.1 and not rest[0].name
    if person and kind == "modal" and verb:
        return Clause(text_of(words), "subject")
    if kind == "modal" and is_adverb(rest[0]) and _verb_next(rest):  # "would most likely help"
        return Clause(text_of(words), "subject")
    place = base_verb(rest, first=first)
    if kind == "do" and place is None and rest[0].low in {"a", "an"}:  # "who did a duet with her"
        return Clause(text_of(words), "subject")
    slip = _slip(rest) if kind == "do" and place is None else None
    if slip is not None and not any(word.low in SUBORDINATORS for word in rest[:slip]):
        return _ordered(aux, rest, gap="object")
    if (kind == "modal" and place == 0) or (place is None and (person or kind == "modal" or len(rest) < 3)):
        return Clause(text_of(words), "subject")
    return _ordered(aux, rest, gap="object")


_ALONE = PERSONAL | {"these", "those", "this", "that"}


def _verb_next(words: Words) -> bool:
    """Whether a verb follows, adverbs aside: "did not (formally) sign"."""
    first = next((word for word in words if not is_adverb(word)), None)
    return first is not None and not first.name and lexicon.verb_share(first.low) > 0.1


def _ordered(aux: Word, rest: Words, *, gap: Gap, complete: bool = False) -> Clause:
    aux, rest = _negated(aux, rest)
    kind = _kind(aux)
    if not rest:
        return Clause(aux.text, gap, sure=False)
    if kind == "be":
        place = predicate(rest, nominal=True)
        if place is None and complete:
            place = of_quality(rest) or after_names(rest)
        either = next((at for at, word in enumerate(rest) if word.low == "or" and at > 1), None)
        if either and (place is None or (place > either and not _named_either(rest, either, place))):
            place = either - 1
            while place > 1 and rest[place - 1].comma:
                place -= 1
        if place is None:
            place = _compared(rest)
        if place is None and complete and 1 < len(rest) <= 6:
            place = len(rest) - 1
        if place is None or _of_relative(rest, place):
            return _last(aux, rest, gap)
        return _join(rest[:place], aux, rest[place:], gap)
    if kind == "have":
        place = participle(rest)
        return _last(aux, rest, gap) if place is None else _join(rest[:place], aux, rest[place:], gap)
    place = base_verb(rest)
    if place is None and rest[0].low in PRONOUNS - _COUNTED and rest[0].name == (rest[0].low == "i"):
        place = next((at for at in range(1, len(rest)) if not is_adverb(rest[at])), None)
    if place is None:
        place = _slip(rest)
        if place is not None and aux.low in DO:
            return Clause(text_of(rest), gap, _stranded(rest))
    if place is None:
        place = _unknown_verb(rest)
    if place is None:
        return _last(aux, rest, gap)
    if kind == "modal" or aux.low.endswith("n't"):
        return _join(rest[:place], aux, rest[place:], gap)
    subject, (verb, *tail) = rest[:place], rest[place:]
    if subject[-1].low == "not":
        return _join(subject[:-1], aux, rest[place - 1 :], gap)
    forms = [_inflected(aux, verb)]
    for before, word in zip([verb, *tail], tail, strict=False):
        joined = before.low in {"and", "or"} and (len(forms) == 2 or forms[-1].rstrip(",") == before.text)
        then = before.low == "then" and len(forms) > 1 and forms[-2] == "and"  # "eat it and then sleep"
        joined = (joined and len(forms) <= 2) or then
        if joined and lexicon.verb_share(word.low) >= 0.15 and not word.name:
            forms.append(_inflected(aux, word))
        else:
            forms.append(word.text)
    return Clause(" ".join([text_of(subject), *forms]), gap, _stranded(rest))


def _compared(words: Words) -> int | None:
    """Return where a comparison begins: "is light | than sound", "are some rocks | smoother than others"."""
    place = next((at for at, word in enumerate(words) if at and word.low == "than"), 0)
    while place > 1 and (words[place - 1].low in {"and", "or"} or words[place - 1].low.endswith("er")):
        place -= 1
    return place if place and not any(word.low in SUBORDINATORS for word in words[:place]) else None


def _named_either(words: Words, either: int, place: int) -> bool:
    """Whether "or" joins names in the subject: "Is New York or Los Angeles | the largest city"."""

    def named(at: int) -> bool:
        return words[at + 1 if words[at].low in DETERMINERS else at].name

    names = named(0) and words[either - 1].name and named(either + 1) and words[place - 1].name
    return names and words[place].low in DETERMINERS


_COUNTED = frozenset({"one", "people", "there"})
"""Pronouns that other words may belong to, so that the verb need not follow."""


def _negated(aux: Word, rest: Words) -> tuple[Word, Words]:
    """Join "not" to its auxiliary, for a subject follows: "did not he go", but not "is not eating bad"."""
    follows = rest[1] if len(rest) > 1 else None
    if follows is None or rest[0].low != "not" or lexicon.is_ing(follows.low) or aux.low.endswith("n't"):
        return aux, rest
    return Word(f"{aux.text} {rest[0].text}", f"{aux.low}n't"), rest[1:]


def _inflected(aux: Word, verb: Word) -> str:
    """Return the verb as the auxiliary's tense and person have it, its punctuation kept."""
    start = verb.text.lower().find(verb.low)
    head, tail = verb.text[:start], verb.text[start + len(verb.low) :]
    if aux.low == "did":
        form = lexicon.past(verb.low)
    elif aux.low == "does":
        form = lexicon.third_person(verb.low)
    else:
        form = verb.low
    return f"{head}{form}{tail}"


def _join(subject: Words, aux: Word, rest: Words, gap: Gap) -> Clause:
    """Put subject, auxiliary and predicate together, adverbs at the subject's end after the auxiliary."""
    cut = len(subject)
    while cut > 1 and is_adverb(subject[cut - 1]) and subject[cut - 1].low not in {"all", "both", "each"}:
        cut -= 1
    if cut > 2 and subject[cut - 1].low == "longer" and subject[cut - 2].low == "no":
        cut -= 2
    graded = subject[cut - 1].low in {"better", "best"} and participle([*subject, *rest]) == len(subject)
    if cut > 1 and (graded or subject[cut - 1].low == "rather"):
        cut -= 1  # "is better known", "would rather go"
    while cut > 1 and subject[cut - 1].low == "not":
        cut -= 1
    first, verb = text_of(subject[:cut]), aux.text
    if first.endswith(",") and first.count(",") == 1 and not subject[cut:]:  # "how tall was he, in feet"
        first, verb = first.rstrip(","), f"{verb},"
    words = [first, verb, text_of(subject[cut:]), text_of(rest)]
    text = " ".join(part for part in words if part)
    return Clause(text, gap, _stranded(rest))


def _last(aux: Word, rest: Words, gap: Gap) -> Clause:
    """Put the verb last, before what only says when."""
    cut = len(rest)
    if cut > 1 and (rest[-1].low in TIME_ADVERBS or _YEAR.match(rest[-1].low)):
        cut -= 1
    if (
        cut > 2
        and rest[-2].low in {"this", "last", "next", "right"}
        and rest[-1].low in {"year", "month", "week", "now"}
    ):
        cut -= 2
    if 1 < cut < len(rest) and rest[cut - 1].low in {"in", "during", "on"}:
        cut -= 1
    starts = {"when", "while", "if", "because", "compared", "according", "who", "which"}
    names = [word.name or word.sealed for word in rest]
    cut = next((at for at in range(1, cut) if rest[at].low in starts and not names[at]), cut)
    return Clause(
        " ".join(p for p in (text_of(rest[:cut]), aux.text, text_of(rest[cut:])) if p), gap, sure=False
    )


def _of_relative(words: Words, place: int) -> bool:
    """Whether the verb at a place is that of a relative clause: "the man who recorded it"."""
    start = next((at for at in range(1, place) if is_relative(words[at])), None)
    if start is None or words[place].low in {"born", "located", "held"}:
        return False
    between = [word for word in words[start + 1 : place] if is_finite(word) or is_auxiliary(word)]
    return not between and is_finite(words[place])


def _slip(rest: Words) -> int | None:
    """Return where the verb stands that was given a tense of its own: "did the king died"."""
    return next(
        (
            at
            for at in range(1, len(rest))
            if is_finite(rest[at])
            and lexicon.base_of_past(rest[at].low) != rest[at].low
            and ends_phrase(rest[at - 1])
        ),
        None,
    )


_NO_VERBS = PREPOSITIONS | PRONOUNS | DETERMINERS | CONJUNCTIONS | TIME_ADVERBS | {"here", "there"}


def _unknown_verb(rest: Words) -> int | None:
    """Take for the verb what no list knows: the first such word before another phrase, else the last one."""
    fitting = [
        place
        for place in range(1, len(rest))
        if ends_phrase(rest[place - 1])
        and not (rest[place].name or rest[place].sealed or is_adverb(rest[place]))
        and rest[place].low not in _NO_VERBS
        and rest[place].low.isalpha()
        and not rest[place].low.endswith("s")
    ]
    opening = PREPOSITIONS | DETERMINERS | PRONOUNS
    return next(
        (at for at in fitting if at + 1 < len(rest) and rest[at + 1].low in opening - {"of"}),
        fitting[-1] if fitting else None,
    )


def _stranded(words: Sequence[Word]) -> bool:
    return bool(words) and words[-1].low in STRANDED and not words[-1].sealed and not words[-1].name


def _kind(aux: Word) -> Literal["be", "have", "do", "modal"]:
    low = aux.low.removesuffix("n't")
    if low in BE or aux.low == "ain't":
        return "be"
    if low in HAVE:
        return "have"
    return "do" if low in DO else "modal"
