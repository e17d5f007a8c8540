"""Questions that are joined: to another by "and", to what was said before by "so", "but" or a full stop."""

from __future__ import annotations

import re

from entail.tuning import lexicon
from entail.tuning.asking import asked
from entail.tuning.clauses import has_verb, is_auxiliary
from entail.tuning.expanded import expanded
from entail.tuning.predicates import is_verb
from entail.tuning.words import (
    BE,
    CONJUNCTIONS,
    DO,
    MODALS,
    PERSONAL,
    PREPOSITIONS,
    SUBORDINATORS,
    WH,
    Word,
    Words,
    is_finite,
    text_of,
    words_of,
)

OPENINGS = (CONJUNCTIONS - {"nor", "&"}) | {"so", "yet", "well", "ok", "okay"}
"""How a question goes on from what was said before; none of them asks."""

ASKED_FOR = lexicon.word_class("asked_for")
"""How somebody is told to say something: "Name", "Explain"."""

_GRADES = lexicon.word_class("grades")
_BOUND = PREPOSITIONS | SUBORDINATORS | {"once", "unless", "even"}
_STOPS = re.compile(r"[.!;][\"\u201d')]*\s+")
_ABBREVIATIONS = lexicon.word_class("abbreviations")


def after_statements(question: str) -> tuple[str, str]:
    """Part what a question is asked about, statements before it, from the question.

    >>> after_statements("A student drops a ball. Which force makes it fall")
    ('A student drops a ball.', 'Which force makes it fall')
    >>> after_statements("Who wrote to Dr. Watson")
    ('', 'Who wrote to Dr. Watson')

    Returns:
        Statements, empty where there are none, and the question.
    """
    cased = question != question.lower()
    for stop in _STOPS.finditer(question):
        before, rest = question[: stop.end()].rstrip(), question[stop.end() :]
        apart = stop[0][0] == ";"  # two clauses of one sentence
        words, told = words_of(rest), words_of(before)
        if not words or words[0].sealed or told[-1].sealed or _abbreviated(told[-1].text, words):
            continue
        if (cased and not apart and rest[:1].islower()) or _asks_first(told):
            continue
        verbal = has_verb(told) or any(lexicon.third_share(word.low) > 0.1 for word in told[1:])
        stated = verbal if apart else len(told) > 1
        told_to = words[0].low in ASKED_FOR and rest[:1].isupper()
        if stated and (begins_asking(words) or told_to or (not apart and _asks_later(words))):
            return before, rest
    return "", question


def _abbreviated(last: str, words: Words) -> bool:
    """Whether a full stop only shortens the word before it: "Dr. Watson", "the U.S. Army"."""
    bare = last.strip("\"'\u201c\u201d().!;").lower()
    inverted = words[0].low in WH and len(words) > 1 and is_auxiliary(words[1])
    return "." in last and (len(bare) < 2 or bare in _ABBREVIATIONS or ("." in bare and not inverted))


def begins_asking(words: Words) -> bool:
    """Whether words begin as a question does.

    >>> begins_asking(words_of("in which year was it")), begins_asking(words_of("in time it was"))
    (True, False)
    """
    first = expanded(words[:1])[0]
    bound = first.low in PREPOSITIONS and len(words) > 1 and words[1].low in WH
    return (first.low in WH and not first.name) or is_auxiliary(first) or bound


def _asks_later(words: Words) -> bool:
    """Whether a question follows a phrase that says when or where: "If it rains, what ..."."""
    first = words[0].low
    bound = first in _BOUND or lexicon.base_of_participle(first) is not None
    if not bound or any(word.text.endswith(".") for word in words[:-1]):
        return False
    return any(word.comma and begins_asking(words[at:]) for at, word in enumerate(words[:-1], 1))


def _asks_first(words: Words) -> bool:
    """Whether words begin as a question does, and not as "When ice melts, it ..."."""
    first = words[0].low
    clause = first in {"when", "where"} and len(words) > 1 and not is_auxiliary(words[1])
    return begins_asking(words) and not (clause and any(word.comma for word in words))


def opening(words: Words) -> int:
    """Return how many words only join a question to what was said before: "So", "OK, but".

    >>> from entail.tuning.words import words_of
    >>> opening(words_of("So what is a quark")), opening(words_of("So long was the war"))
    (1, 0)
    """
    end = next((at for at, word in enumerate(words) if word.low not in OPENINGS or word.sealed), len(words))
    if end == len(words):
        return 0
    return end if begins_asking(words[end:]) else 0


def labelled(words: Words) -> int:
    """Return how many words only say where a question belongs: "ELI5: why ...", "History test: who ...".

    >>> from entail.tuning.words import words_of
    >>> labelled(words_of("ELI5: Why do cats purr")), labelled(words_of("Who wrote Alien: Covenant"))
    (1, 0)
    """
    end = next((at for at, word in enumerate(words[:16], 1) if word.text.endswith(":")), 0)
    if end > 4 and (begins_asking(words) or any(is_auxiliary(word) for word in words[:end])):
        return 0
    asked = words_of(text_of(words[end:]))
    return end if end and asked and begins_asking(asked) and not asked[0].comma else 0


def offered(words: Words) -> int:
    """Return where the answers stand that a question offers, 0 where it offers none.

    >>> from entail.tuning.words import words_of
    >>> offered(words_of("Which band was founded first, Hole or The Wolfhounds"))
    5
    >>> offered(words_of("Which river, the Nile or the Amazon, is longer"))
    0
    """
    comma = next((at for at, word in enumerate(words, 1) if word.comma and not word.sealed), _graded(words))
    asking, offer = words[:comma], words[comma:]
    asks = words and words[0].low in {"which", "who", "what"}
    if not asks or not offer or offer[0].low in PREPOSITIONS | CONJUNCTIONS:
        return 0
    either = max((at for at, word in enumerate(offer) if word.low == "or" and not word.sealed), default=None)
    if either is None or has_verb(offer[either + 1 :]) or not has_verb(asking[1:]):
        return 0
    return comma if any(_compares(word) for word in asking[1:]) else 0


def _graded(words: Words) -> int:
    """Return where "which is heavier" ends that no comma parts from "gold or silver"."""
    first = next((at for at, word in enumerate(words) if at > 2 and word.low == "first"), 0)
    done = first and lexicon.base_of_participle(words[first - 1].low) is not None
    if done and words[first - 2].low in BE and not words[first].name:
        return first + 1  # "was founded first ulm or bonn"
    end = 4 if [word.low for word in words[2:3]] in (["more"], ["less"]) else 3
    graded = len(words) > end + 2 and words[1].low in BE | {"came", "comes"} and _compares(words[2])
    return end if graded and not words[2].low.endswith("est") else len(words)


def _compares(word: Word) -> bool:
    """Whether a word sets one thing above others: "more", "older", "first"."""
    graded = lexicon.is_compared(word.low)
    return not word.name and (graded or word.low in _GRADES)


def run_on(words: Words) -> int:
    """Return where a question begins that no mark parts from the statement before it, 0 where none does.

    >>> from entail.tuning.words import words_of
    >>> run_on(words_of("my cat keeps sneezing what should i do")), run_on(words_of("he did what he could"))
    (4, 0)
    """
    asking = begins_asking(words)
    inverted = asking and any(is_auxiliary(word) for word in words[:2])
    if (asking and not inverted) or any(word.low in _BOUND - WH for word in words[:2]):
        return 0
    for at in range(2, len(words) - 1):
        verb, who = words[at : at + 2]
        if verb.sealed or verb.name or verb.low not in MODALS | DO | BE or who.low not in _ASKING_FOR:
            continue
        asks = [back for back in range(max(2, at - 4), at) if words[back].low in WH]
        start = asks[-1] if asks else at
        if words[start].sealed or (not asks and (asking or who.low not in {"i", "we"} or verb.low in BE)):
            continue
        before = words[start - 1]
        start -= before.low in PREPOSITIONS and not before.comma
        before = words[start - 1]
        if not before.comma and (asking or who.low == "the"):
            continue
        told = before.low in PREPOSITIONS | CONJUNCTIONS | SUBORDINATORS | _SAYING and not before.comma
        return 0 if told or not has_verb(words[:start]) or has_verb(words[start + 1 : at]) else start
    return 0


def told_before(question: str) -> tuple[str, str]:
    """Part statements from the question after them, whether a mark stands between or not.

    >>> told_before("My cat sneezes what should I do")
    ('My cat sneezes', 'what should I do')
    """
    told, asked = after_statements(question)
    words = words_of(question)
    start = 0 if told or not words or begins_asking(words) else run_on(words)
    return (text_of(words[:start]).rstrip(","), text_of(words[start:])) if start else (told, asked)


_ASKING_FOR = PERSONAL | {"that", "this", "the"}
_SAYING = lexicon.word_class("saying")


def second(words: Words) -> int | None:
    """Return where "and" stands before a second question, None where there is none.

    >>> from entail.tuning.words import words_of
    >>> second(words_of("when did she marry and how many children did she have"))
    4
    >>> second(words_of("which poet and which painter did he meet")) is None
    True
    """
    if not begins_asking(words):
        return None
    return next((at for at in range(3, len(words) - 2) if words[at].low == "and" and _asks(words, at)), None)


def _asks(words: Words, at: int) -> bool:
    """Whether what follows "and" is a question of its own, and what stands before it has a verb."""
    before, after = words[:at], words[at + 1 :]
    if before[-1].low in WH or not has_verb(before):
        return False
    if not (after[0].low in WH or (after[0].low in PREPOSITIONS and after[1].low in WH)):
        return False
    parts = asked(after)
    if parts is None or parts.before or parts.placed or not parts.rest:
        return False
    relative = any(word.low in {"who", "which", "that", "where"} and not word.sealed for word in before[1:])
    if parts.wh == "whose" and any(word.low == "whose" for word in before[1:]):
        return False
    if relative and not parts.noun and not parts.front and parts.wh in {"who", "which", "where"}:
        return False
    inverted = is_auxiliary(parts.rest[0]) and len(parts.rest) > 1
    counted = parts.wh == "how many" and is_verb(parts.rest[0])  # "and how many live there"
    return (
        inverted or counted or (parts.wh in {"who", "what"} and not parts.noun and is_finite(parts.rest[0]))
    )
