"""The part of a question that asks, and what stands before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entail.tuning import lexicon
from entail.tuning.clauses import has_verb, is_auxiliary
from entail.tuning.question_phrase import Asked, asking_phrase
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

_BEFORE_WH = PREPOSITIONS | lexicon.word_class("before_wh")


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
    found = asking_phrase(words[place:], leading=not place or words[place - 1].comma)
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
