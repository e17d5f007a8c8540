"""An answer as the phrase that a statement takes it in: "1994" -> "in 1994", "Paris" -> "in Paris".

Each function returns None where nothing shows which preposition is right.
"""

from __future__ import annotations

import re

from entail.tuning import lexicon
from entail.tuning.clauses import has_verb, is_auxiliary
from entail.tuning.phrases import NUMBERS, lowered
from entail.tuning.words import (
    DETERMINERS,
    PERSONAL,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    TIME_ADVERBS,
    Words,
    is_adverb,
    is_plural,
    words_of,
)

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_YEAR = r"(?:\d{1,3},)?\d{3,4}(?:\s?(?:BCE?|AD|CE|B\.C\.|A\.D\.))?"
_AGE = r"(?:century|millennium|decade|\d{2,4}s)"

_TIMES = tuple(
    (re.compile(pattern, re.IGNORECASE), preposition)
    for pattern, preposition in (
        (rf"(?:about |around |c\. ?|circa )?{_YEAR}$", "in"),
        (rf"{_MONTH}(?:,? \d{{4}})?$", "in"),
        (r"(?:early|mid|late)[- ](?:\w+ )?\S+$", "in"),
        (r"(?:the )?(?:spring|summer|autumn|fall|winter)(?: of \d{4})?$", "in"),
        (rf"the (?:\S+ ){{0,3}}{_AGE}(?: (?:BCE?|AD|CE))?$", "in"),
        (rf"(?:{_WEEKDAY},? )?{_MONTH} {_DAY}(?:,? \d{{4}})?$", "on"),
        (rf"(?:{_WEEKDAY},? )?(?:the )?{_DAY} (?:of )?{_MONTH},?(?: \d{{4}})?$", "on"),
        (rf"{_WEEKDAY}$", "on"),
        (r"\d{1,2}(?::\d\d)? ?(?:[ap]\.?m\.?|o'clock)$|(?:noon|midnight|dawn|dusk|night)$", "at"),
        (
            r"the .*\b(?:ages?|era|epoch|period|war|renaissance|revolution|dynasty|reign|day|summer|winter"
            r"|cretaceous|jurassic|triassic)$",
            "during",
        ),
    )
)
_BARE_TIME = re.compile(r".* ago$|(?:every|each|once|twice|last|next|this) ", re.IGNORECASE)
_BARE_CENTURY = re.compile(rf"(?:\S+ {_AGE}|\d{{2,4}}s)$", re.IGNORECASE)

_AT = re.compile(
    r".*\b(?:university|college|school|airport|stadium|station|hospital|palace|hall|theatre|theater)$", re.I
)
_ON = re.compile(
    r"(?:mount|mt\.?) |.*\b(?:street|avenue|road|island|islands|coast|surface|ground|floor|roof|table|moon"
    r"|shore|internet|earth|mars|venus|mercury|planet)$",
    re.IGNORECASE,
)
_BARE_PLACE = frozenset(
    {
        "home",
        "abroad",
        "outside",
        "inside",
        "upstairs",
        "downstairs",
        "here",
        "there",
        "everywhere",
        "nowhere",
    }
)
_MOVING = frozenset(
    {"go", "move", "travel", "flee", "return", "send", "sail", "march", "fly", "emigrate", "migrate",
     "lead", "walk", "drive", "bring", "head", "escape", "retreat", "immigrate", "transfer", "ship"}
)  # fmt: skip
_REASONS = frozenset({"because", "since", "due", "so", "to", "as", "owing", "for", "thanks", "out"})
_MANNERS = frozenset({"by", "through", "with", "using", "via", "in", "from", "on", "without", "when"})
_ABOUT = frozenset({"about", "around", "over", "under", "nearly", "almost", "approximately", "roughly",
                    "some", "exactly", "fewer", "less", "more", "up", "at", "between"})  # fmt: skip
BEARINGS = re.compile(r"(?:(?:north|south|east|west)\w*|left|right|up|down|back)")
"""Answers to "which way" that stand behind a clause as they are."""
_NUMBER = re.compile(r"[$€£~<>±]?\s?\d")
_SMALL = NUMBERS | frozenset(
    {"zero", "no", "one", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "twenty", "thirty", "forty",
     "fifty", "sixty", "seventy", "eighty", "ninety", "hundreds", "thousands", "millions", "many"}
)  # fmt: skip


def time_phrase(answer: str) -> str | None:
    """Return an answer to "when" as what stands behind a clause.

    >>> time_phrase("July 4, 1776"), time_phrase("1994"), time_phrase("after the war"), time_phrase("rain")
    ('on July 4, 1776', 'in 1994', 'after the war', None)
    """
    first = answer.split()[0].lower()
    if _BARE_TIME.match(answer) or first in TIME_ADVERBS:
        return answer
    if _begins_bound(answer) or first in {"when", "while", "once", "as"}:
        return _small(answer)
    if _BARE_CENTURY.match(answer) and not answer.lower().startswith("the "):
        return f"in the {answer}"
    fitting = (preposition for pattern, preposition in _TIMES if pattern.match(answer))
    preposition = next(fitting, None)
    return None if preposition is None else f"{preposition} {_small(answer)}"


def place_phrase(answer: str, clause: Words) -> str | None:
    """Return an answer to "where" as what stands behind a clause, "to" it where the clause moves there.

    >>> place_phrase("Paris", words_of("was he born")), place_phrase("Paris", words_of("did he go"))
    ('in Paris', 'to Paris')
    >>> place_phrase("Mount Everest", words_of("is it")), place_phrase("under it", words_of("is it"))
    ('on Mount Everest', 'under it')
    """
    low = answer.split()[0].lower().rstrip(",")
    if low in _BARE_PLACE or _begins_bound(answer):
        return _small(answer)
    if any(_base(word.low) == "come" for word in clause):
        return None  # from there or to there?
    if any(_base(word.low) in _MOVING for word in clause):
        return f"to {_small(answer)}"
    if _AT.match(answer):
        return f"at {_small(answer)}"
    if _ON.match(answer):
        return f"on {_small(answer)}"
    named = all(word[:1].isupper() for word in answer.split(",")[0].split() if len(word) > 3)
    named = named or answer.split()[-1][:1].isupper()  # "southern France"
    return f"in {_small(answer)}" if named or low in DETERMINERS else None


def reason_phrase(answer: str) -> str:
    """Return an answer to "why" as what stands behind a clause.

    >>> reason_phrase("the wind"), reason_phrase("they eat shrimp"), reason_phrase("to save fuel")
    ('because of the wind', 'because they eat shrimp', 'to save fuel')
    """
    words = words_of(answer)
    if words[0].low in _REASONS:
        return _small(answer)
    finite = has_verb(words[1:]) or (words[0].low in _SUBJECTS - {"because"} and len(words) > 1)
    if finite and (len(words) > 2 or words[0].low in PRONOUNS) and not lexicon.is_ing(words[0].low):
        return f"because {_small(answer)}"
    return f"because of {_small(answer)}"


def manner_phrase(answer: str) -> str | None:
    """Return an answer to "how" as what stands behind a clause.

    >>> manner_phrase("melting it"), manner_phrase("with a lever"), manner_phrase("a lever")
    ('by melting it', 'with a lever', None)
    """
    first = words_of(answer)[0]
    if first.low in _MANNERS or (is_adverb(first) and first.low.endswith("ly")):
        return _small(answer)
    return f"by {_small(answer)}" if lexicon.is_ing(first.low) else None


def counts(answer: str) -> bool:
    """Whether an answer says how many, more than one: "42", "about 300", "two".

    >>> counts("about 300"), counts("two"), counts("one"), counts("the sun")
    (True, True, False, False)
    """
    first, *others = answer.lower().split()
    if first in _ABOUT and others:
        return counts(" ".join(word for word in others if word not in {"than", "to", "least", "a"}) or "x")
    return first not in {"1", "one"} and (bool(_NUMBER.match(first)) or first in _SMALL)


_SCALES = frozenset(
    {"hundred", "thousand", "million", "billion", "trillion", "dozen", "percent", "%", "or", "more", "so"}
)


def only_counts(answer: str) -> bool:
    """Whether a number is all that an answer says, so that what is counted can stand behind it.

    >>> only_counts("2.1 million"), only_counts("two main classes")
    (True, False)
    """
    last = answer.lower().split()[-1]
    return bool(_NUMBER.match(last)) or last in _SMALL | _SCALES


def counted(answer: str, noun: str) -> str:
    """Return a number with what it counts.

    >>> counted("five", "boats"), counted("thousands", "years")
    ('five boats', 'thousands of years')
    """
    many = answer.lower().endswith(("dozens", "hundreds", "thousands", "millions", "billions"))
    return f"{answer} of {noun}" if many else f"{answer} {noun}"


def is_many(answer: str) -> bool:
    """Whether a verb after an answer is plural.

    >>> is_many("the sun and the moon"), is_many("the United States"), is_many("plants")
    (True, False, True)
    >>> is_many("to make seeds"), is_many("Mayor W. Haydon Burns")
    (False, False)
    """
    words = words_of(f"x {answer}")[1:]
    if words[:1] and words[0].low == "to":  # a deed
        return False
    if any(word.low == "and" and not word.sealed for word in words[1:]):
        return True
    return is_plural(words) and not any(word.text[:1].isupper() for word in words)


_SUBJECTS = PERSONAL | {"there", "because"}


def is_clause(answer: str) -> bool:
    """Whether an answer is a clause of its own, by a verb in it.

    >>> is_clause("the water boils over"), is_clause("a cup of tea")
    (True, False)
    """
    words = words_of(answer)
    return len(words) > 2 and has_verb(words[1:])


def is_no_phrase(answer: str) -> bool:
    """Whether an answer cannot stand for a noun: it begins as a clause does, or an auxiliary is in it.

    >>> is_no_phrase("it expands"), is_no_phrase("must be announced"), is_no_phrase("laws that were kept")
    (True, True, False)
    """
    words = words_of(answer)
    relative = next((at for at, word in enumerate(words) if word.low in SUBORDINATORS), len(words))
    verbal = any(is_auxiliary(word) and not word.sealed for word in words[:relative])
    return len(words) > 1 and (words[0].low in _SUBJECTS or verbal)


def inside(answer: str) -> str:
    """Return an answer as it stands inside a sentence: without the capital of a word that is no name.

    >>> inside("The Moon"), inside("Behind the Sofa"), inside("By hand")
    ('the Moon', 'Behind the Sofa', 'by hand')
    """
    words = words_of(answer)
    title = words[0].low not in DETERMINERS and any(word.name for word in words[1:])
    return answer if title else lowered(words)


def _small(answer: str) -> str:
    return lowered(words_of(answer))


def _begins_bound(answer: str) -> bool:
    first = words_of(answer)[0]
    return first.low in PREPOSITIONS - {"about", "around", "like", "of"} and len(answer.split()) > 1


def _base(word: str) -> str:
    return (
        lexicon.base_of_past(word)
        or lexicon.base_of_participle(word)
        or lexicon.base_of_third(word)
        or word.removesuffix("ing")
    )


def goes_on(answer: str) -> bool:
    """Whether an answer begins with a verb, behind a text without one: "could be warm", "results in rust"."""
    first = words_of(f"x {answer}")[1]
    return is_auxiliary(first) or lexicon.third_share(first.low) > 0.3


def is_sentence(answer: str) -> bool:
    """Whether an answer is written as one: "It causes rain.", which cannot stand for a noun."""
    return answer.lstrip()[:1].isupper() and answer.rstrip().endswith(".") and is_clause(answer)


def without_stop(answer: str) -> str:
    """Return an answer without its full stop, empty where it says nothing.

    >>> without_stop("A cat. "), without_stop("Acme Inc."), without_stop("...")
    ('A cat', 'Acme Inc.', '')
    """
    text = " ".join(answer.split())
    if not any(character.isalnum() for character in text):
        return ""
    last = text.split()[-1]
    abbreviated = last.count(".") > 1 or last in {"Inc.", "Jr.", "Sr.", "Co.", "Ltd.", "etc."}
    return text if abbreviated else text.rstrip(".! ")
