"""The part of a question that asks, and what stands before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from entail.tuning import lexicon
from entail.tuning.clauses import has_verb, is_auxiliary
from entail.tuning.finite import finite_verb
from entail.tuning.words import (
    DETERMINERS,
    DO,
    PREPOSITIONS,
    PRONOUNS,
    WH,
    Word,
    is_adverb,
    is_finite,
    is_preposition,
)

_SELVES = frozenset({"he", "she", "it", "they", "we", "you", "i"})
_PRECISELY = frozenset({"exactly", "precisely", "specifically", "actually"})
_DEGREES = lexicon.word_class("degrees")
_BEFORE_WH = PREPOSITIONS | lexicon.word_class("before_wh")


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


def asked(words: Sequence[Word]) -> Asked | None:
    """Find the phrase that asks; None where no question word does.

    >>> from entail.tuning.words import words_of
    >>> found = asked(words_of("In what year did Tesla die"))
    >>> found.wh, [word.text for word in found.noun], [word.text for word in found.front]
    ('what', ['year'], ['In'])
    """
    place = _place(words)
    if place is None:
        return None
    found = _phrase(words[place:])
    head = list(words[:place])
    if not head:
        return found
    if head[-1].low in {"and", "or"} and head[0].low not in PREPOSITIONS:
        inverted = found.rest and is_auxiliary(found.rest[0]) and not found.noun
        apart = inverted and (found.wh in {"when", "where", "why", "how"} or found.rest[0].low in DO)
        return replace(found, before=tuple(head), placed=not (apart and has_verb(head)))
    comma = max((at for at, word in enumerate(head) if word.comma), default=-1)
    near = head[comma + 1 :]
    if all(word.low in _BEFORE_WH and not word.name for word in near):
        front, before = near, head[: comma + 1]
        if not before or _verbal(found.rest):
            return replace(found, front=tuple(front), before=tuple(before))
    cut = len(near)
    while cut and is_preposition(near[cut - 1]):
        cut -= 1
    front, clause = near[cut:], head[: comma + 1] + near[:cut]
    if not _verbal(found.rest):
        return replace(found, front=tuple(front), before=tuple(clause), placed=True)
    opening = clause[0].low if clause else ""
    verbal = has_verb(near[:cut])
    bound = front and near[:cut] and not verbal and front[0].low in {"of", "to", "in", "for"}
    if bound and comma < 0 and (opening not in _ADVERBIAL or near[0].low in {"at", "by", "in", "on", "the"}):
        return replace(found, front=tuple(near), before=tuple(head[: comma + 1]))
    inside = (
        comma < 0
        and opening not in _ADVERBIAL
        and clause
        and not (
            is_adverb(clause[0])
            or (len(clause) > 2 and bool(lexicon.is_ing(opening) or lexicon.base_of_participle(opening)))
        )
    )
    denied = [word.low for word in found.rest[1:2]] == ["not"]  # "artists from what decade did not"
    if inside and (denied or not (is_auxiliary(found.rest[0]) and found.rest[0].low in DO)):
        return replace(found, front=tuple(front), before=tuple(clause), placed=True)
    return replace(found, front=tuple(front), before=tuple(clause))


_ADVERBIAL = PREPOSITIONS | lexicon.word_class("adverbial")


def _verbal(rest: Sequence[Word]) -> bool:
    rest = [word for word in rest if not is_adverb(word)]
    return bool(rest) and (
        is_auxiliary(rest[0])
        or is_finite(rest[0])
        or (lexicon.verb_share(rest[0].low) > 0.1 and not rest[0].name)
    )


def _place(words: Sequence[Word]) -> int | None:
    """Return where the question word stands that asks."""
    places = [at for at, word in enumerate(words) if word.low in WH and not word.sealed and not word.name]
    if not places:
        capital = [at for at, word in enumerate(words) if word.low in WH and not word.sealed]
        places = [at for at in capital if words[at - 1].comma or words[at - 1].text.endswith((".", '"'))]
        if not places:
            return None
    after_comma = [
        at
        for at in places
        if at
        and any(
            words[back].comma and all(w.low in _BEFORE_WH for w in words[back + 1 : at])
            for back in range(max(0, at - 3), at)
        )
    ]
    if places[0] == 0:
        clause = (
            len(words) > 1
            and not is_auxiliary(words[1])
            and words[0].low in {"when", "where", "who", "while"}
        )
        later = [
            at
            for at in after_comma
            if words[at].low not in {"which", "where", "when", "whose"}
            or is_preposition(words[at - 1])
            or (at + 1 < len(words) and is_auxiliary(words[at + 1]))
        ]
        if clause and not later:  # "When it rains, water turns into what"
            comma = next((at for at, word in enumerate(words) if word.comma), len(words))
            later = [at for at in places if at > comma and is_preposition(words[at - 1])]
            if comma == len(words) and words[0].low != "who":  # "When it rains what is wet"
                later = [
                    at
                    for at in places
                    if at > 2 and any(is_auxiliary(word) for word in words[at + 1 : at + 2])
                ]
        return later[-1] if clause and later else 0
    if all(word.low in _BEFORE_WH and not word.name for word in words[: places[0]]):
        return places[0]
    if after_comma:
        asking = [
            at
            for at in after_comma
            if words[at].low in {"what", "how", "why", "who", "whom"} or (at + 1 < len(words))
        ]
        placed = _behind_relative(words, asking[-1], places) if asking else None
        if asking:
            return asking[-1] if placed is None else placed
    last_words = [at for at in places if at >= len(words) - 1]
    sure = [
        at
        for at in places
        if words[at].low in {"what", "whom", "why"}
        or (
            words[at].low == "how"
            and at + 1 < len(words)
            and words[at + 1].low in {"many", "much", "long", "old"}
        )
        or (
            words[at].low == "which" and at and (is_preposition(words[at - 1]) or is_auxiliary(words[at - 1]))
        )
    ]
    if sure or last_words:
        return (last_words or sure)[-1]
    bare = [
        at
        for at in places
        if words[at].low in {"who", "when", "where", "how", "whence"}
        and (
            words[at - 1].low in {"by", "of", "since", "from", "until", "for", "with", "to"}
            or (at + 1 < len(words) and words[at + 1].low == "else")
            or (
                (_verbal(words[at + 1 :]) or words[at].low == "how")
                and not has_verb(words[:at])
                and (words[0].low in _ADVERBIAL or is_adverb(words[0]))
            )
        )
    ]
    if bare:
        return bare[-1]
    inverted = [
        at for at in places if at + 1 < len(words) and is_auxiliary(words[at + 1]) and words[at].low != "that"
    ]
    plain = [at for at in inverted if words[at].low in {"when", "where", "how"}]
    if plain:
        return plain[-1]
    loose = [
        at
        for at in places
        if words[at].low in {"which", "whose"}
        and at + 1 < len(words)
        and not is_auxiliary(words[at + 1])
        and not is_finite(words[at + 1])
        and words[at + 1].low not in DETERMINERS | PRONOUNS
    ]
    return loose[-1] if loose else None


def _behind_relative(words: Sequence[Word], at: int, places: Sequence[int]) -> int | None:
    """Return where what is asked for stands behind a relative clause: "..., who got a star in what year"."""
    relative = words[at].low in {"who", "which", "where", "whose"} and words[0].low not in _ADVERBIAL
    if not relative or not has_verb(words[:at]) or any(is_auxiliary(word) for word in words[at + 1 : at + 2]):
        return None
    last = max((place for place in places if place > at and is_preposition(words[place - 1])), default=at)
    asks = words[last].low in {"what", "which", "whom"} or last + 1 == len(words)
    return last if asks and last > at else None


def _phrase(words: Sequence[Word]) -> Asked:
    """Take a question apart that begins with its question word."""
    wh, tail = words[0].low, list(words[1:])
    if len(tail) > 1 and tail[0].low in {"and", "or"} and tail[1].low in WH:
        inner = _phrase(tail[1:])
        return (
            replace(inner, wh=wh, joined=inner.wh)
            if inner.wh.split()[0] in {"when", "where", "why", "how", "who", "what"}
            else inner
        )
    if words[0].comma and tail:  # "What, in Norse, ..."
        end = next((at for at, word in enumerate(tail) if word.comma), None)
        if end is not None and end < 8:
            inner = _phrase([Word(wh, wh), *tail[end + 1 :]])
            return replace(inner, extra=tuple(tail[: end + 1]))
    if wh == "how":
        return _how(tail)
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
    if not tail or is_auxiliary(tail[0]) or tail[0].low in _SELVES | {"to", "about"}:
        return Asked(wh, rest=tuple(tail))
    if wh in {"what", "which"} and _is_verb_after_what(tail):
        return Asked(wh, rest=tuple(tail))
    verb = _behind_these(tail) if wh == "which" else None
    noun, rest = (tuple(tail[:verb]), tuple(tail[verb:])) if verb else _noun(tail)
    return Asked(wh, noun=noun, rest=rest)


def _behind_these(tail: Sequence[Word]) -> int | None:
    """Return where the verb stands in "which of these prevents ..."; None where a noun follows "these"."""
    lows = [word.low for word in tail]
    pointing = 3 if lows[:3] == ["of", "the", "following"] else 2
    if pointing == 2 and (lows[:1] != ["of"] or lows[1:2] not in (["these"], ["those"], ["them"])):
        return None
    at = next((at for at in range(pointing, len(tail)) if not is_adverb(tail[at])), len(tail))
    if at == len(tail) or tail[at].name or lexicon.third_share(tail[at].low) <= 0.1:
        return None
    clause = next((far for far in range(at + 1, len(tail)) if tail[far].low in _OF_CLAUSE), len(tail))
    return None if has_verb(tail[at + 1 : clause]) else pointing


_OF_CLAUSE = WH | {"that", "if", "whether", "because", "as", "while"}


def _how(tail: Sequence[Word]) -> Asked:
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
        degree = len(tail) > 1 and (
            (low == "many" and tail[1].low in {"more", "fewer"})
            or (
                low == "much"
                and (
                    tail[1].low in {"more", "less", "too", "longer"}
                    or (tail[1].low.endswith(("er", "est")) and lexicon.is_adjective(tail[1].low))
                )
            )
        )
        noun, rest = _apart_in_time(tail[1:]) or _noun(tail[1:])
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


_YEARLY = frozenset({"group", "groups", "model", "old", "olds", "end", "long", "and", "or", "book", "that"})
"""What goes together with "year"."""


def _noun(tail: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    verb = finite_verb(tail, first=0 if tail and is_auxiliary(tail[0]) else 1)
    if verb is None:
        return tuple(tail), ()
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


def _is_verb_after_what(tail: Sequence[Word]) -> bool:
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
    if lexicon.base_of_past(word.low) is not None and not lexicon.is_regular_guess(word.low):
        return len(tail) < 2 or tail[1].low not in {"of"}
    if lexicon.base_of_past(word.low) is not None:
        return len(tail) > 1 and (
            tail[1].name or tail[1].low in PREPOSITIONS | DETERMINERS | {"to"} or is_adverb(tail[1])
        )
    if lexicon.third_share(word.low) >= 0.5 and len(tail) == 1:
        return True
    if lexicon.third_share(word.low) >= 0.1 and len(tail) > 1 and tail[1].low in {"the", "a", "an"}:
        return True
    if lexicon.third_share(word.low) >= 0.45:
        return len(tail) > 1 and not is_auxiliary(tail[1]) and tail[1].low != "of"
    following = next((other for other in tail[1:] if not is_adverb(other)), None)
    if is_adverb(word) and len(tail) > 2 and following is tail[1] and following.low.endswith("s"):
        behind = tail[2]  # "what often blankets the bay"
        if behind.name or behind.low in DETERMINERS | {"back", "up", "down", "out"}:
            return True
    return word.low in DETERMINERS - {"other", "another", "all"} or (
        is_adverb(word) and word.low != "all" and following is not None and is_finite(following)
    )
