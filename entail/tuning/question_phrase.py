"""The phrase of a question that asks: its question word, what belongs to it, and where the verb begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from entail.tuning import lexicon
from entail.tuning.clauses import has_verb, is_auxiliary
from entail.tuning.finite import finite_verb
from entail.tuning.predicates import BEFORE_NOUN, is_relative, may_follow, opens
from entail.tuning.words import (
    ARTICLES,
    DETERMINERS,
    DO,
    PERSONAL,
    POSSESSIVES,
    PREPOSITIONS,
    WH,
    Word,
    is_adverb,
    is_finite,
    is_preposition,
)

_PRECISELY = frozenset({"exactly", "precisely", "specifically", "actually"})
_DEGREES = lexicon.word_class("degrees")


@dataclass(frozen=True)
class Asked:
    """A question taken apart.

    Attributes:
        wh: The question word, with "many", "much" or "degree" after "how"; empty where there is none.
        noun: What the word belongs to: "team" of "which team", "long" of "how long".
        rest: From the verb on.
        front: What binds the phrase to the clause: "in" of "in which year".
        before: What stands before all this, and is part of the claim: "In 1998,".
        placed: Whether the phrase stands where its answer would: "Tesla was born in what year".
        joined: A second question word: "when and where".
    """

    wh: str
    noun: tuple[Word, ...] = ()
    rest: tuple[Word, ...] = ()
    front: tuple[Word, ...] = ()
    before: tuple[Word, ...] = ()
    placed: bool = False
    joined: str = ""
    extra: tuple[Word, ...] = field(default=())


def asking_phrase(words: Sequence[Word], *, leading: bool = True) -> Asked:
    """Take a question apart that begins with its question word.

    >>> from entail.tuning.words import words_of
    >>> found = asking_phrase(words_of("how many towns lie on it"))
    >>> found.wh, [word.text for word in found.noun], [word.text for word in found.rest]
    ('how many', ['towns'], ['lie', 'on', 'it'])

    Args:
        words: The question, from its question word on.
        leading: Whether it begins the clause: in "Ann saw what" no verb need follow.
    """
    wh, tail = words[0].low, list(words[1:])
    if len(tail) > 1 and tail[0].low in {"and", "or"} and tail[1].low in WH:
        inner = asking_phrase(tail[1:])
        return (
            replace(inner, wh=wh, joined=inner.wh)
            if inner.wh.split()[0] in {"when", "where", "why", "how", "who", "what"}
            else inner
        )
    if words[0].comma and tail:  # "What, in Norse, ..."
        end = next((at for at, word in enumerate(tail) if word.comma), None)
        if end is not None and end < 8:
            inner = asking_phrase([Word(wh, wh), *tail[end + 1 :]])
            return replace(inner, extra=tuple(tail[: end + 1]))
    if (
        wh in {"what", "which", "who"}
        and len(tail) > 2
        and tail[0].low in _PRECISELY
        and is_auxiliary(tail[1])
    ):
        inner = asking_phrase([words[0], *tail[1:]])
        if tail[0].low in {"exactly", "precisely"}:
            return replace(inner, front=(tail[0],))
        return replace(inner, extra=(tail[0],))
    if wh == "how":
        return _how(tail, leading=leading)
    if wh in {"when", "where", "whence", "why", "who", "whom"}:
        if tail and tail[0].low == "else":
            return Asked(wh, noun=(tail[0],), rest=tuple(tail[1:]))
        if tail and wh in {"who", "whom"} and tail[0].low in {"besides", "except", "among", "amongst"}:
            return Asked(wh, *_noun(tail))
        if tail and wh in {"when", "where", "why"} and (is_preposition(tail[0]) or tail[0].low in _PRECISELY):
            verb = next((at for at, word in enumerate(tail) if is_auxiliary(word)), None)
            if verb:
                return Asked(wh, noun=tuple(tail[:verb]), rest=tuple(tail[verb:]))
        return Asked(wh, rest=tuple(tail))
    if not tail or is_auxiliary(tail[0]) or tail[0].low in PERSONAL | {"to", "about"} or _not_to(tail):
        return Asked(wh, rest=tuple(tail))
    if wh in {"what", "which"} and _is_verb_after_what(tail, leading=leading):
        return Asked(wh, rest=tuple(tail))
    verb = _behind_these(tail) if wh == "which" else None
    noun, rest = (tuple(tail[:verb]), tuple(tail[verb:])) if verb else _noun(tail, leading=leading)
    return Asked(wh, noun=noun, rest=rest)


def _not_to(tail: Sequence[Word]) -> bool:
    return [word.low for word in tail[:2]] == ["not", "to"]


def _behind_these(tail: Sequence[Word]) -> int | None:
    """Return where the verb stands in "which of these prevents ..."; None where a noun follows "these"."""
    lows = [word.low for word in tail]
    pointing = 3 if lows[:3] == ["of", "the", "following"] else 2
    if pointing == 2 and (lows[:1] != ["of"] or lows[1:2] not in (["these"], ["those"], ["them"])):
        return None
    at = next((at for at in range(pointing, len(tail)) if not is_adverb(tail[at])), len(tail))
    if at == len(tail) or tail[at].name:
        return None
    plain = lexicon.verb_share(tail[at].low) >= 0.8 and at + 1 < len(tail) and opens(tail[at + 1])
    if not plain and lexicon.third_share(tail[at].low) <= 0.1:
        return None
    clause = next((far for far in range(at + 1, len(tail)) if tail[far].low in _OF_CLAUSE), len(tail))
    return None if has_verb(tail[at + 1 : clause]) else pointing


_OF_CLAUSE = WH | {"that", "if", "whether", "because", "as", "while"}


def _how(tail: Sequence[Word], *, leading: bool) -> Asked:
    if not tail:
        return Asked("how")
    low = tail[0].low
    if low == "else" or (low in _PRECISELY and len(tail) > 1 and is_auxiliary(tail[1])):
        return Asked("how", noun=(tail[0],), rest=tuple(tail[1:]))
    if low == "may" and len(tail) > 2 and any(word.low in DO for word in tail[2:]):  # a slip for "many"
        noun, rest = _noun(tail[1:])
        return Asked("how many", noun=noun, rest=rest)
    if low == "come":
        return Asked("why", rest=tuple(tail[1:]))
    if low in {"many", "much"}:
        if low == "much" and len(tail) > 1 and (is_auxiliary(tail[1]) or is_finite(tail[1])):
            return Asked("how much", rest=tuple(tail[1:]))
        times = len(tail) > 2 and tail[1].low == "times"  # "how many times bigger"
        least = tail[2] if times else tail[1] if len(tail) > 1 else None
        graded = least is not None and lexicon.is_compared(least.low)
        more = {"more", "fewer", "less"} if low == "many" else {"more", "less", "too", "longer"}
        counts = leading or low == "much"
        degree = counts and least is not None and (least.low in more or (graded and (times or low == "much")))
        noun, rest = _apart_in_time(tail[1:]) or _noun(tail[1:], leading=leading)
        if degree:
            return Asked("how degree", noun=(tail[0], *noun), rest=rest)
        return Asked(f"how {low}", noun=noun, rest=rest)
    if not is_auxiliary(tail[0]) and (low in _DEGREES or lexicon.is_adjective(low) or is_adverb(tail[0])):
        verb = next((at for at, word in enumerate(tail) if is_auxiliary(word) and at), None)
        if verb is None:
            verb = next((at for at, word in enumerate(tail) if at and is_finite(word)), 1)
        return Asked("how degree", noun=tuple(tail[:verb]), rest=tuple(tail[verb:]))
    return Asked("how", rest=tuple(tail))


def _apart_in_time(tail: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...]] | None:
    """Part "years after the treaty was signed | did the war start", None where nothing is asked so."""
    if len(tail) < 2 or tail[1].low not in {"after", "before"}:
        return None
    verb = next((at for at in range(len(tail) - 1, 1, -1) if tail[at].low in DO and not tail[at].name), None)
    return (tuple(tail[:verb]), tuple(tail[verb:])) if verb else None


_SUBJECTS = lexicon.word_class("subjects")


_YEARLY = lexicon.word_class("yearly")
"""What goes together with "year"."""


def _verb_unknown(tail: Sequence[Word]) -> int | None:
    """Return where a verb stands that no list knows, or that slipped: "route parallels the"."""
    for at in range(1, len(tail) - 1):
        word, after = tail[at], tail[at + 1]
        if word.name or word.sealed or not may_follow(tail, at) or is_preposition(word):
            continue
        third = word.low.endswith("s") and not word.low.endswith("ss")
        third = third and after.low in ARTICLES | POSSESSIVES
        share = lexicon.verb_share(word.low)
        base = share >= 0.5 and (opens(after) or after.name)
        base = base or (share >= 0.2 and after.low in ARTICLES | POSSESSIVES)
        if (third or base) and not is_relative(tail[at - 1]):
            while at > 1 and is_adverb(tail[at - 1]):
                at -= 1
            return at
    return None


def _noun(tail: Sequence[Word], *, leading: bool = True) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    verb = finite_verb(tail, first=0 if tail and is_auxiliary(tail[0]) else 1)
    if verb is None:
        verb = _verb_unknown(tail) if leading else None
        return (tuple(tail[:verb]), tuple(tail[verb:])) if verb else (tuple(tail), ())
    start = next(
        (
            at
            for at in range(1, verb)
            if (tail[at].low in _SUBJECTS and not is_auxiliary(tail[verb]) and not tail[at].sealed)
            and not is_preposition(tail[at - 1])
            and tail[at - 1].low not in {"and", "or", "that", "to"}
            and not lexicon.is_ing(tail[at - 1].low)
            and not is_finite(tail[at - 1])
        ),
        None,
    )
    dated = verb > 1 and tail[0].low in {"year", "month"} and not is_auxiliary(tail[verb])
    if start is None and dated and not is_preposition(tail[1]) and tail[1].low not in _YEARLY:
        start = 1  # "what year lebron james came"
    if start is not None:  # not inverted: "what year | the Titanic sank"
        return tuple(tail[:start]), tuple(tail[start:])
    while (
        verb > 1
        and is_adverb(tail[verb - 1])
        and (
            not is_auxiliary(tail[verb]) or tail[verb - 1].low in {"usually", "often", "always", "sometimes"}
        )
        and tail[verb - 1].low not in {"all"}
    ):
        verb -= 1
    return tuple(tail[:verb]), tuple(tail[verb:])


def _may_be_verb(word: Word) -> bool:
    return is_auxiliary(word) or is_finite(word) or (lexicon.verb_share(word.low) > 0.3 and not word.name)


def _only_verb(tail: Sequence[Word]) -> bool:
    """Whether no word but the first can be the verb: "what lines the hull", "what links Ann and Bo"."""
    if len(tail) < 3:
        return False
    word, after = tail[0], tail[1]
    if after.name and lexicon.third_share(word.low) >= 0.2 and not has_verb(tail[2:]):
        return True
    if any(_may_be_verb(other) for other in tail[2:]):
        return False
    unknown = len(word.low) > 4 and word.low.endswith("s") and not word.low.endswith("ss")
    if unknown and after.low in ARTICLES | POSSESSIVES:
        return True
    verbal = lexicon.base_of_third(word.low) is not None or lexicon.verb_share(word.low) >= 0.5
    return verbal and after.low != "of" and word.low not in BEFORE_NOUN and not _may_be_verb(after)


def _is_verb_after_what(tail: Sequence[Word], *, leading: bool) -> bool:
    """Whether "what" stands alone and a verb follows: "what caused", "what makes"."""
    word = tail[0]
    if word.name or word.sealed:
        return False
    if word.low in {"happened", "happens", "happen", "caused", "causes", "made", "makes", "led"}:
        return True
    if lexicon.third_share(word.low) >= 0.1 and len(tail) > 1 and tail[1].low == "that":
        return True
    if word.low in {"results", "resulted", "aids"} and len(tail) > 1 and tail[1].low in {"in", "from"}:
        return True
    if lexicon.base_of_past(word.low) == word.low and any(other.low in DO for other in tail[1:5]):
        return False  # "what hit song did she sing"
    if lexicon.base_of_past(word.low) is not None and not lexicon.is_regular_guess(word.low):
        return len(tail) < 2 or tail[1].low not in {"of"}
    if lexicon.base_of_past(word.low) is not None:
        return len(tail) > 1 and (
            tail[1].name or tail[1].low in PREPOSITIONS | DETERMINERS | {"to"} or is_adverb(tail[1])
        )
    if lexicon.third_share(word.low) >= 0.5 and len(tail) == 1:
        return True
    if lexicon.third_share(word.low) >= 0.1 and len(tail) > 1 and tail[1].low in ARTICLES:
        return True
    if lexicon.third_share(word.low) >= 0.45:
        return len(tail) > 1 and not is_auxiliary(tail[1]) and tail[1].low != "of"
    if leading and _only_verb(tail):
        return True
    following = next((other for other in tail[1:] if not is_adverb(other)), None)
    if is_adverb(word) and len(tail) > 2 and following is tail[1] and following.low.endswith("s"):
        behind = tail[2]  # "what often blankets the bay"
        if behind.name or behind.low in DETERMINERS | {"back", "up", "down", "out"}:
            return True
    return word.low in DETERMINERS - {"other", "another", "all"} or (
        is_adverb(word) and word.low != "all" and following is not None and is_finite(following)
    )
