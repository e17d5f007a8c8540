"""Where the subject of an inverted clause ends: "did | the company | win the cup".

No tagger: every place that may begin the predicate is scored by what the word there may be and by its
neighbours, and the best wins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from entail.tuning import lexicon
from entail.tuning.words import (
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    SUBORDINATORS,
    Word,
    ends_phrase,
    is_adverb,
    is_plural,
    is_preposition,
)

NAMING = lexicon.word_class("naming")
"""Participles whose complement is what is asked for: "What is it called in French?"."""

_BEFORE_VERB = lexicon.word_class("before_verb")
_AFTER_THIS = lexicon.word_class("after_this")
_OBJECT = lexicon.word_class("object")
_QUALITIES = lexicon.word_class("qualities")
SUPERLATIVE = lexicon.word_class("superlative")
_RESULTING = lexicon.word_class("resulting")
"""Participles that a quality follows: "Is the public | made aware"."""
_BARE_NOUNS = {("part", "of"), ("home", "to"), ("member", "of"), ("members", "of"), ("heir", "to")}
"""How a predicate begins that is a noun without an article: "Is Wales | part of England"."""


def base_verb(words: Sequence[Word], *, first: int = 1) -> int | None:
    """Return the place of the verb in its base form, as after "did" or "can".

    >>> from entail.tuning.words import words_of
    >>> base_verb(words_of("the state department release the record"))
    3
    """
    scores: dict[int, float] = {}
    for place in range(first, len(words)):
        word = words[place]
        share = lexicon.verb_share(word.low)
        if share == 0 or word.name or word.sealed or not may_follow(words, place):
            continue
        score = math.log(share / (1.01 - share)) + suits_verb(words, place)
        if place and lexicon.is_adjective(words[place - 1].low) and not words[place - 1].name:
            score -= 2
        if place and words[place - 1].comma:
            score -= 1
        if before_quality(words, place):
            score += 1.0
        if place and word.low != "like" and _ends_plural(words[:place]):
            score += 0.7
        scores[place] = score
    if not scores:
        return None
    if words[0].low in PRONOUNS and first > 0:
        near = next((place for place in scores if all(is_adverb(word) for word in words[1:place])), None)
        if near is not None:
            return near
    return next(
        (place for place, score in scores.items() if score > 0), max(scores, key=lambda at: scores[at])
    )


def before_quality(words: Sequence[Word], place: int) -> bool:
    """Whether an adjective follows, as it does where an object begins: "did it | change racial rules"."""
    after = words[place + 1] if place + 1 < len(words) else None
    return after is not None and not (after.name or after.sealed) and lexicon.is_adjective(after.low)


BEFORE_NOUN = lexicon.word_class("before_noun")
"""Plurals that another noun often follows."""


def _ends_plural(words: Sequence[Word]) -> bool:
    """Whether a plural ends its phrase here: "did the new rules | change taxes"."""
    last = words[-1]
    single = any(word.low in {"a", "an"} for word in words[-2:])
    plain = not (last.name or last.sealed or last.possessive or last.low in BEFORE_NOUN or single)
    return plain and is_plural([last])


def participle(words: Sequence[Word]) -> int | None:
    """Return the place of the participle after a subject, as after "has"."""
    fitting = [
        place
        for place, word in enumerate(words)
        if place
        and not word.name
        and not word.sealed
        and (word.low == "been" or lexicon.base_of_participle(word.low) is not None)
        and (may_follow(words, place) or words[place - 1].low in {"ever", "not"})
    ]
    been = next((place for place in fitting if words[place].low == "been"), None)
    if been is not None:
        return been
    return fitting[0] if fitting else None


def predicate(words: Sequence[Word], *, nominal: bool = False, locative: bool = True) -> int | None:
    """Return where the subject ends after a form of "be", None if nothing shows it.

    Args:
        words: What follows the verb.
        nominal: Whether a second noun phrase may be the predicate: "Is | the whale | a fish".
        locative: Whether a preposition may begin it: "Is | the kidney | in the body".

    >>> from entail.tuning.words import words_of
    >>> predicate(words_of("the movie Titanic released in Europe"))
    3
    """
    both = next((at for at, word in enumerate(words) if at > 2 and word.low == "both" and not word.name), 0)
    if any(word.low == "and" for word in words[:both]) and not any(w.low == "and" for w in words[both:]):
        return both
    scores: dict[int, float] = {}
    for place in range(1, len(words)):
        score = _predicate_score(words, place, nominal=nominal, locative=locative)
        if score is not None:
            scores[place] = score
    if words[0].low in PRONOUNS - {"one", "people"} or (
        words[0].low in {"this", "that", "these"} and 1 in scores
    ):
        return 1 if len(words) > 1 else None
    if not scores:
        return None
    best = max(scores.values())
    return next(place for place, score in scores.items() if score == best)


DEMONYM = re.compile(r"(?:[ai]an|ican|ish|ese)$|^(?:german|us|uk|french|dutch|greek)$")
"""How a word ends that says where somebody or something is from."""


def after_names(words: Sequence[Word]) -> int | None:
    """Return where small words follow the names of the subject: "Are Oasis and Blur | British bands".

    >>> from entail.tuning.words import words_of
    >>> after_names(words_of("are Oasis and Blur British rock bands")[1:])
    3
    """
    cut = len(words)
    while cut > 1 and not (words[cut - 1].name or words[cut - 1].sealed):
        cut -= 1
    if cut == len(words) or any(word.low in SUBORDINATORS | CONJUNCTIONS for word in words[cut:]):
        return None
    if cut > 1 and DEMONYM.search(words[cut - 1].low) and ends_phrase(words[cut - 2]):
        cut -= 1
    return cut if words[cut - 1].name and not words[cut - 1].possessive else None


def of_quality(words: Sequence[Word]) -> int | None:
    """Return where "of" begins the predicate, None where it belongs to the subject.

    >>> from entail.tuning.words import words_of
    >>> of_quality(words_of("x cats and dogs of the same family")[1:])
    3
    >>> of_quality(words_of("the king of France of noble birth"))
    4
    >>> of_quality(words_of("the capital of France")) is None
    True
    """
    for place in range(len(words) - 2, 0, -1):
        if words[place].low == "of" and not words[place].sealed and ends_phrase(words[place - 1]):
            same = [word.low for word in words[place + 1 : place + 3]] in (
                ["the", "same"],
                ["the", "opposite"],
            )
            if same or any(word.low in _QUALITIES and not word.name for word in words[place + 1 :]):
                return place
    return None


def _predicate_score(words: Sequence[Word], place: int, *, nominal: bool, locative: bool) -> float | None:
    word, before = words[place], words[place - 1]
    if word.sealed or not may_follow(words, place):
        return None
    between = {one.low for one in words[1:place] if not (one.sealed or one.name)}
    if between & {"when", "while", "if", "because"}:
        return None
    if "than" in between and not is_preposition(word):
        return None
    after = words[place + 1] if place + 1 < len(words) else None
    open_end = after is None or (opens(after) or word.comma)
    if not word.name and lexicon.base_of_participle(word.low) is not None:
        ended = open_end or (
            after is not None
            and (after.low.endswith(("er", "est")) or lexicon.base_of_participle(after.low) is not None)
        )
        ended = ended or (word.low in _RESULTING and after is not None and lexicon.is_adjective(after.low))
        score = 2.0 + (0.7 if ended else -1.0) + (0.3 if after is None else 0)
        if lexicon.is_adjective(before.low) and not before.name:
            score -= 1.5
        if between & SUBORDINATORS:
            score -= 0.8
        if word.low in NAMING or word.low in {"located", "born", "held", "situated", "supposed", "allowed"}:
            score += 1
        if is_relative(before):
            return None
        return score - (1 if lexicon.is_regular_guess(word.low) else 0) - 0.01 * place
    if not word.name and lexicon.is_ing(word.low):
        return (0.2 if lexicon.is_often_noun(word.low) else 1.7) + (0.3 if open_end else -0.2) - 0.01 * place
    if (
        word.low
        in {"not", "able", "unable", "being", "there", "here", "so", "too", "very", "more", "less", "as"}
        and not word.name
    ):
        return {"as": 0.3, "able": 3.0, "unable": 3.0, "being": 3.5, "not": 3.5, "there": 1.0}.get(
            word.low, 1.4
        )
    if after is not None and (word.low, after.low) in _BARE_NOUNS and _is_noun(before):
        return None if between & ARTICLES else 1.6
    if not word.name and lexicon.is_adjective(word.low):
        several = nominal and place == 1 and is_plural([Word("x", "x"), before][1:])  # "are cats | good pets"
        if not open_end:
            return 1.0 if several and after is not None and not after.name else None
        inner = after is not None and after.low in CONJUNCTIONS - {"but"} and place + 2 < len(words)
        return 1.5 - (0.8 if inner else 0) - 0.01 * place
    if word.low == "the" and before.name and after is not None and after.name:  # "Alexander the Great"
        return None
    inside = bool(between & SUBORDINATORS)
    if (
        nominal
        and not inside
        and word.low in ARTICLES | {"one"}
        and not (
            before.low in PREPOSITIONS | {"all", "both", "half", "most"}
            or before.comma
            or is_verb(before)
            or (word.low == "one" and is_graded(before) and not (after is not None and after.low == "of"))
            or any(one.low in AUXILIARIES for one in words[place + 1 :])
        )
    ):
        return 1.2 if word.low != "the" else 0.9
    if locative and not inside and is_preposition(word) and word.low not in {"of", "and", "than", "vs"}:
        return -0.2 - 0.01 * place
    if is_adverb(word) and after is not None and place + 1 < len(words):
        end = next((at for at in range(place, len(words)) if not is_adverb(words[at])), None)
        if end is None:
            return None
        score = _predicate_score([before, *words[end:]], 1, nominal=nominal, locative=locative) or -9.0
        return score + 0.005 if score > -9 else None
    return None


def may_follow(words: Sequence[Word], place: int) -> bool:
    """Whether a predicate may begin here: what stands before can end a noun phrase."""
    if place == 0:
        return True
    word, before = words[place], words[place - 1]
    while is_adverb(before) and place > 1 and before.low not in {"all", "both", "each"}:
        if ends_phrase(words[place - 2]):
            return True
        place -= 1
        before = words[place - 1]
    if before.low in {"this", "these", "those"}:  # "did this happen", but not "did this man"
        return place == 1 and word.low in _AFTER_THIS
    if before.possessive and (word.low in {"have", "do"} or lexicon.verb_share(word.low) >= 0.8):
        return True  # a slip of the plural: "do the Hindu's have"
    if before.possessive and not word.name:  # "the first McDonald's built"
        known = lexicon.base_of_participle(word.low) and not lexicon.is_regular_guess(word.low)
        return bool(known) and (place + 1 == len(words) or words[place + 1].low in PREPOSITIONS)
    if before.low == "that":
        return place == 1 and word.low not in DETERMINERS
    return ends_phrase(before)


def suits_verb(words: Sequence[Word], place: int) -> float:
    """Return how well what follows a place suits a verb there."""
    if place + 1 >= len(words):
        return 0.9
    after = words[place + 1]
    if words[place].comma:
        return 0.2
    if lexicon.verb_share(after.low) >= 0.8 and not after.name and words[place].low not in _BEFORE_VERB:
        return -1.5
    if after.low in AUXILIARIES - {"do", "have"}:
        return -2.5
    if after.low == "of":
        return -1.5
    if after.low == "that":
        return 3.2
    if after.low in DETERMINERS or after.low in _OBJECT or after.low in PRONOUNS or after.low.endswith("'s"):
        return 2.0
    if after.low == "to":
        return 1.3
    if after.low in PREPOSITIONS or is_adverb(after):
        return 0.9
    if after.name or after.sealed or after.low[:1].isdigit():
        return 0.8
    return -0.2


def is_graded(word: Word) -> bool:
    """Whether a word may be an adjective, in any degree: "higher", "highest"."""
    return lexicon.is_adjective(word.low) or word.low.endswith(("er", "est"))


def _is_noun(word: Word) -> bool:
    """Whether a word does not belong to the noun behind it: "an important part", "the left part"."""
    if word.low in {"north", "south", "east", "west"}:
        return False
    other = lexicon.is_adjective(word.low) or lexicon.is_ing(word.low) or lexicon.base_of_past(word.low)
    return word.name or not (other or lexicon.base_of_participle(word.low))


def is_relative(word: Word) -> bool:
    """Whether a verb behind a word is that of a relative clause: "which artist who painted it is"."""
    return word.low in {"who", "which", "that"} and not (word.name or word.sealed)


def is_verb(word: Word) -> bool:
    """Whether a word is more often a verb, in any form, than not."""
    return not word.name and (
        lexicon.verb_share(word.low) > 0.5
        or lexicon.is_ing(word.low)
        or lexicon.third_share(word.low) > 0.5
        or lexicon.base_of_past(word.low) is not None
    )


def opens(word: Word) -> bool:
    """Whether a word begins another phrase, so that the one before it has ended."""
    low = word.low
    return (
        low in PREPOSITIONS
        or low in DETERMINERS
        or low in CONJUNCTIONS
        or low
        in {"to", "by", "as", "when", "where", "because", "if", "that", "who", "while", "so", "him", "her"}
        or low in AUXILIARIES
        or low[:1].isdigit()
        or (is_adverb(word) and not word.name)
        or word.text.startswith("(")
    )
