"""Statements that break off before their end, for the reader to go on: "A decomposer is an organism that"."""

from __future__ import annotations

import re
from itertools import pairwise

from entail.tuning import lexicon
from entail.tuning.clauses import has_verb, is_auxiliary
from entail.tuning.no_question_word import states
from entail.tuning.phrases import PARTICLES, lowered
from entail.tuning.words import (
    ARTICLES,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    HAVE,
    MODALS,
    PERSONAL,
    POSSESSIVES,
    PREPOSITIONS,
    STRANDED,
    WH,
    Word,
    Words,
    is_adverb,
    is_plural,
    text_of,
    words_of,
)

BLANK = re.compile(r"_{2,}|\.{4,}|…+$")
"""A gap that is drawn."""

_ENDED = re.compile(r"[.!?\uff1f:;]+[\"”')]*\s*$")
_DASHES = " -\u2013\u2014"
_SUBJECTS = (PERSONAL - {"i"}) | {"there"}
_BEGINS_CLAUSE = frozenset({"because", "since", "that", "when", "if", "while", "where", "as", "whether"})
_SUBORDINATE = _BEGINS_CLAUSE | PREPOSITIONS
_NO_OBJECT = lexicon.word_class("no_object")
_TOLD = lexicon.word_class("saying") | lexicon.word_class("told")
_TO_DO = lexicon.word_class("to_do")
_GRADES = frozenset({"most", "likely", "more", "less", "least", "best", "only"})


def filled(words: Words) -> str | None:
    """Fill a gap that is drawn: "____ helps"."""
    if not any(BLANK.search(word.text) for word in words):
        return None
    texts = [BLANK.sub("something known", word.text) for word in words]
    return " ".join([lowered(words[:1]) if texts[0] == words[0].text else texts[0], *texts[1:]])


def completed(words: Words) -> str | None:
    """Fill what was left open behind an article, a preposition or "is": "This system is known as"."""
    last = words[-1]
    said = has_verb(words[1:]) or states(words)
    article = last.low in ARTICLES
    open_end = article or last.low in {"is", "was", "are", "were", "called", "be", "named", "regarding"} | (
        STRANDED - PARTICLES - {"in"}
    )
    bound = words[-2].low in PREPOSITIONS and lexicon.is_ing(last.low) if len(words) > 2 else False
    if not said or not (open_end or bound or last.low in {"and", "or"}) or len(words) < 3:
        return None
    return f"{text_of(words[:-1] if article else words)} something known"


def may_break_off(text: str, words: Words) -> bool:
    """Whether a text has neither an end nor a question, and is no title or key word in small letters.

    >>> from entail.tuning.words import words_of
    >>> [may_break_off(text, words_of(text)) for text in ("Ice melts when it", "Who melts ice", "ice melts")]
    [True, False, False]
    """
    short = len(words) < 2 or (len(words) == 2 and words[1].low not in {"is", "are"})
    if short or _ENDED.search(text) or not text.lstrip("\"'“(")[:1].isupper():
        return False
    first, second = words[0], words[1]
    if first.low in WH or is_auxiliary(first):
        parted = any(word.comma for word in words[2:])
        return first.low in _BEGINS_CLAUSE and parted and not is_auxiliary(second)
    asks = any(
        word.low in {"what", "whom", "whose"}
        or (word.low in {"when", "where", "why", "how"} and is_auxiliary(after))
        for word, after in pairwise(words)
        if not word.sealed
    )
    return not asks


def gone_on(text: str, answer: str) -> str | None:
    """Put an answer into the one gap that is drawn, or behind a text that breaks off; None where neither is.

    >>> gone_on("Heat is a form of ___.", "energy"), gone_on("Ice melts when it", "gets warm")
    ('Heat is a form of energy.', 'Ice melts when it gets warm')
    """
    gaps = len(BLANK.findall(text))
    if gaps == 1:
        return BLANK.sub(lambda _: answer, text)
    return f"{text.rstrip(_DASHES)} {answer}" if not gaps and may_break_off(text, words_of(text)) else None


def broken_off(words: Words) -> str | None:
    """Go on from where a statement breaks off with something known; None where it may be whole.

    >>> from entail.tuning.words import words_of
    >>> for text in ("A decomposer is an organism that", "If it rains, the wood will most likely",
    ...              "Ice melts when it", "A desert has a dry", "Wood burns because"):
    ...     print(broken_off(words_of(text)))
    A decomposer is an organism that does something known
    If it rains, the wood will most likely do something known
    Ice melts when it does something known
    A desert has a dry known property
    Wood burns because of something known
    """
    text, last = text_of(words).rstrip(_DASHES), words[-1]
    if not last.low:
        words = words[:-1]
        last = words[-1]
    if last.sealed or (last.comma and last.low):
        return f"{text} something known happens" if last.comma and words[0].low in _SUBORDINATE else None
    bare = list(words)
    while len(bare) > 2 and (is_adverb(bare[-1]) or bare[-1].low in _GRADES):
        bare.pop()
    if len(bare) < len(words) and bare[-1].low not in BE | HAVE | MODALS | {"to", "not"}:
        bare = list(words)
    end = bare[-1].low
    if end == "to" and _takes_object(bare):
        return f"{text} something known"
    if end in MODALS | {"to", "not"}:
        return f"{text} do something known"
    if end in {"because", "since"}:
        return f"{text} {'of ' if end == 'because' else ''}something known"
    if end == "that" and bare[-2].low in _TOLD:
        return f"{text} something known is so"
    if end in {"that", "which", "who"}:
        return f"{text} {'do' if len(words) > 1 and is_plural(words[-2:-1]) else 'does'} something known"
    if end in _SUBJECTS:
        return f"{text} {'does' if end in {'it', 'he', 'she'} else 'do'} something known"
    if end in _BEGINS_CLAUSE | {"after", "before", "until", "unless"} and end != "as":
        return f"{text} something known happens"
    if end in POSSESSIVES or last.possessive:
        return f"{text} known {'properties' if end in {'their', 'our'} else 'property'}"
    if end in ARTICLES:
        return f"{text_of(bare[:-1])} something known"
    if end in BE | HAVE | PREPOSITIONS | CONJUNCTIONS | {"been", "be", "having", "being", "called", "than"}:
        return f"{text} something known"
    if lexicon.is_adjective(end) and len(bare) > 1 and bare[-2].low in ARTICLES:
        return f"{text} known property"
    return _by_last_clause(text, words)


def _takes_object(words: Words) -> bool:
    """Whether "to" stands before a thing, as in "is converted to", not before a deed, as in "is used to"."""
    *_, still, before, _ = ("", "", *(word.low for word in words))
    moved = lexicon.base_of_participle(before) is not None and still in BE | {"been", "be", "being"}
    return before not in _TO_DO and (
        moved or before in {"due", "similar", "equal", "adjust", "belong", "refer"}
    )


def _by_last_clause(text: str, words: Words) -> str | None:
    """Go on from a last clause that has no verb yet, or whose last word is one that needs an object."""
    begin = max(
        (at + 1 for at, word in enumerate(words[:-1]) if _parts(word) or word.low in _BEGINS_CLAUSE),
        default=0,
    )
    clause, last = words[begin:], words[-1]
    behind = next((word for word in reversed(clause[:-1]) if not is_adverb(word)), None)
    infinitive = behind is not None and behind.low in MODALS | {"to"}
    if (infinitive and lexicon.verb_share(last.low) > 0) or (
        behind is not None and behind.low in PREPOSITIONS and lexicon.is_ing(last.low)
    ):
        return f"{text} {'in a known way' if last.low in _NO_OBJECT else 'something known'}"
    if has_verb(clause[:-1]) or (begin == 0 and not _third(last)):
        return None
    named = len(clause) == 2 and clause[0].low in ARTICLES | POSSESSIVES  # "its leaves"
    if _third(last) and len(clause) > 1 and not named:
        base = lexicon.base_of_third(last.low)
        return f"{text} {'in a known way' if base in _NO_OBJECT else 'something known'}"
    if clause[0].low in DETERMINERS and len(clause) <= 6 and begin:
        return f"{text} {'do' if is_plural([Word('x', 'x'), *clause][1:]) else 'does'} something known"
    return None


def _parts(word: Word) -> bool:
    return word.comma or word.text.endswith((".", "!"))


def _third(word: Word) -> bool:
    return not word.name and lexicon.third_share(word.low) > 0.5
