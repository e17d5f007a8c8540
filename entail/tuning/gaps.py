"""Which part of a clause after "is" is asked for: the thing itself, or what it is known *for*."""

from __future__ import annotations

from collections.abc import Sequence

from entail.tuning import lexicon
from entail.tuning.predicates import NAMING, SUPERLATIVE, may_follow, opens, predicate
from entail.tuning.words import (
    AUXILIARIES,
    DETERMINERS,
    PERSONAL,
    PREPOSITIONS,
    PRONOUNS,
    STRANDED,
    TIME_ADVERBS,
    Word,
    ends_phrase,
    is_adverb,
    is_finite,
    is_preposition,
)

_RELATED = lexicon.word_class("related")
NAMING_LAST = lexicon.word_class("naming_last")
"""Participles that ask for a name where they are the last word: "What is it called?"."""


def object_gap(words: Sequence[Word]) -> int | None:
    """Return where the subject ends in "What is ...", None where what follows is the thing itself.

    "What is the name of the river" asks for what *is* the name; "What is the river known for" for what
    the river is known *for*. Marks of the second kind: a preposition at the end, a participle of naming, a
    pronoun or a name as the subject.

    >>> from entail.tuning.words import words_of
    >>> object_gap(words_of("the river known for")), object_gap(words_of("the name of the river"))
    (2, None)
    """
    if not words:
        return None
    if words[0].low in PRONOUNS - {"one", "people", "there"} and len(words) > 1:
        return 1
    last = words[-1]
    if last.low == "worth" and len(words) > 1:
        return len(words) - 1
    before = next((word for word in words[-2::-1] if not is_adverb(word)), last)
    if last.low in NAMING_LAST and _relative(words) and before.low not in AUXILIARIES:
        return len(words) - 1  # "What is the boat that serves the island called?"
    found = predicate(words, locative=False)
    second = _beside(words)
    if found is not None and second is not None and second < found and not _verb_between(words[second:found]):
        found = None  # the verb of a clause beside the noun
    stranded = _stranded_at(words)
    if stranded is None and found is not None and (_to_do(words, found) or _handed(words, found)):
        return found
    if stranded is not None:
        loose = found is not None and lexicon.is_adjective(words[found].low) and found + 1 != stranded
        if found is not None and found < stranded and not loose and not _relative(words[:found]):
            return found
        if (
            _relative(words[:stranded])
            or _beside(words[:stranded])
            or words[stranded].low in {"up", "down", "out", "off"}
        ):
            return None
        if any(
            not word.name
            and (lexicon.third_share(word.low) > 0.4 or word.low in AUXILIARIES or _only_past(word.low))
            for word in words[1:stranded]
        ):  # a clause beside the noun: "the city (that) the river runs through"
            return None
        if (
            stranded > 1
            and words[stranded - 1].low in _RELATED
            and words[stranded - 2].low not in DETERMINERS
        ):
            article = next((at for at in range(1, stranded) if words[at].low in {"a", "an"}), 0)
            return article or stranded - 1  # "Is Ulm | a full member of"
        nominal = predicate(words[:stranded], nominal=True)
        return nominal if nominal is not None else stranded
    naming = next(
        (
            place
            for place, word in enumerate(words)
            if place
            and word.low in NAMING
            and not word.name
            and may_follow(words, place)
            and (
                place + 1 == len(words)
                or word.low in {"called", "considered", "named", "termed", "nicknamed"}
            )
        ),
        None,
    )
    if naming is not None and not _relative(words[:naming]):
        after = words[naming + 1] if naming + 1 < len(words) else None
        if after is None or opens(after):
            return naming
    if found is None or _relative(words[:found]):
        return None
    if len(words) > 1 and words[0].low == "the" and words[1].low in SUPERLATIVE:
        return None
    head = next((word for word in words[found:] if not is_adverb(word)), words[found])
    by_name = words[0].name and words[found - 1].name
    doing = lexicon.is_ing(head.low) and not (lexicon.is_often_noun(head.low) and words[0].low in {"a", "an"})
    if doing and (by_name or found + 1 == len(words) or head.low in {"trying", "going", "doing", "planning"}):
        return found
    if last.low in {"do", "be", "become"} and found < len(words) - 1:
        return found
    named = words[found - 1].name and all(
        word.name or word.low in {"the", "of", "and"} for word in words[:found]
    )
    after = words[found + 1] if found + 1 < len(words) else None
    if (
        named
        and doing
        and after is not None
        and after.low in TIME_ADVERBS | {"this", "next", "against", "with"}
    ):
        return found
    done = lexicon.base_of_participle(head.low) is not None and not doing
    plain = words[0].name and words[0].low != "not" and not words[found - 1].possessive
    if named and plain and done and (after is None or opens(after)):  # "What was Istanbul renamed"
        return found
    if named and not lexicon.is_adjective(head.low) and after is not None and after.low in {"to", "with"}:
        return found
    return None


_MEANT = lexicon.word_class("meant")


def _to_do(words: Sequence[Word], at: int) -> bool:
    """Whether something is meant to do what lacks its object: "the law | designed to cut by half"."""
    lows = [word.low for word in words[at + 1 : at + 4]]
    if lows[:2] == ["to", "be"] and lexicon.base_of_participle(words[at].low) is not None:
        return lows[2:] in ([], ["by"])  # "What was the king said to be"
    if words[at].low not in _MEANT or [word.low for word in words[at + 1 : at + 2]] != ["to"]:
        return False
    verb, behind = words[at + 2 : at + 3], words[at + 3 : at + 4]
    transitive = bool(verb) and lexicon.verb_share(verb[0].low) > 0.1 and verb[0].low != "be"
    return transitive and (not behind or (is_preposition(behind[0]) and behind[0].low not in {"of", "with"}))


_HANDED = lexicon.word_class("handed")
_HANDED_OVER = lexicon.word_class("handed_over")


def _handed(words: Sequence[Word], at: int) -> bool:
    """Whether somebody is given what is asked for: "students | taught in school", not "the name given"."""
    behind = words[at + 1].low if at + 1 < len(words) else ""
    named = words[at - 1].low.removesuffix("s") in _HANDED_OVER or _relative(words[:at])
    if words[at].low not in _HANDED or named or any(is_preposition(word) for word in words[:at]):
        return False
    bare = words[0].low not in DETERMINERS
    return not behind or (bare and (behind in PREPOSITIONS - {"to", "of"} or behind in DETERMINERS))


def _stranded_at(words: Sequence[Word]) -> int | None:
    """Return where a preposition stands that lost its noun: at the end, or before another ("for in 1998")."""
    for place in range(1, len(words)):
        word = words[place]
        if word.low not in STRANDED or word.sealed or word.name:
            continue
        if place + 1 == len(words):
            return place
        after = words[place + 1]
        if after.low in TIME_ADVERBS or (
            word.low in {"in", "on", "at"}
            and after.low in {"this", "last", "next", "until", "before", "after", "during", "when", "by"}
        ):
            return place
        if word.low == "as" and after.low in {"which", "who"}:  # "the lake known as, which ..."
            return place
        if word.low in {"for", "of", "as", "with", "to", "from", "by", "about", "like"} and after.low in {
            "in", "on", "at", "during", "until", "after", "before", "when", "while", "because", "since", "by",
            "if", "through", "according",
        }:  # fmt: skip
            return place
    return None


def _beside(words: Sequence[Word]) -> int | None:
    """Return where a second noun phrase stands beside the first, as in "the leader | the king spoke with"."""
    return next(
        (
            at
            for at, word in enumerate(words)
            if at
            and word.low in PERSONAL | {"the"}
            and not (word.sealed or words[at - 1].name or words[at - 1].comma)
            and ends_phrase(words[at - 1])
            and not (is_adverb(words[at - 1]) or is_preposition(words[at - 1]))
            and words[at - 1].low not in {"both", "all"}
            and lexicon.base_of_participle(words[at - 1].low) is None
            and not lexicon.is_ing(words[at - 1].low)
        ),
        None,
    )


def _verb_between(words: Sequence[Word]) -> bool:
    return any(is_finite(word) or lexicon.base_of_participle(word.low) is not None for word in words)


def _only_past(word: str) -> bool:
    return lexicon.base_of_past(word) is not None and lexicon.base_of_participle(word) is None


def begins_predicate(words: Sequence[Word], *, person: bool = False) -> bool:
    """Whether what follows "is" begins with the predicate: "used to", "in France", "responsible for"."""
    while (
        len(words) > 1 and is_adverb(words[0]) and words[0].low not in {"both", "all", "each", "most", "not"}
    ):
        words = words[1:]
    if not words:
        return True
    word = words[0]
    if word.name or word.sealed:
        return False
    after = words[1] if len(words) > 1 else None
    if word.low in {"not", "able", "responsible", "so", "more", "been", "being"}:
        return True
    if is_preposition(word) and word.low not in {"like", "off"}:
        return True
    if lexicon.base_of_participle(word.low) is not None:
        ending = words[-1].low in NAMING and len(words) > 1
        return not ending and (after is None or opens(after) or person or after.name)
    if lexicon.is_ing(word.low) and not lexicon.is_often_noun(word.low):
        ending = words[-1].low in NAMING | PREPOSITIONS and len(words) > 1
        return not ending
    if lexicon.is_adjective(word.low):
        return after is None or (opens(after) and after.low not in DETERMINERS)
    return False


def _relative(words: Sequence[Word]) -> bool:
    """Whether a noun phrase has a relative clause, whose verbs are not the question's."""
    return any(
        word.low in {"that", "who", "which", "whom", "whose", "where"} and not word.sealed
        for word in words[1:]
    )
