"""Where the verb of a clause stands that needs no auxiliary: "famous Polish pianist | wrote it"."""

from __future__ import annotations

import math
from collections.abc import Sequence

from entail.tuning import lexicon
from entail.tuning.predicates import before_quality, is_relative, is_verb, may_follow, opens, suits_verb
from entail.tuning.words import AUXILIARIES, DO, SUBORDINATORS, Word, is_adverb, is_plural


def finite_verb(words: Sequence[Word], *, first: int = 0) -> int | None:
    """Return the place of the first verb that needs no auxiliary, or of an auxiliary.

    >>> from entail.tuning.words import words_of
    >>> finite_verb(words_of("famous Polish pianist wrote it"))
    3
    """
    scores: dict[int, float] = {}
    for place in range(first, len(words)):
        word = words[place]
        if word.sealed or word.name or (place > 1 and is_relative(words[place - 1])):
            continue
        if word.low in AUXILIARIES or word.low.endswith("n't"):
            if place and words[place - 1].low in {"to", "the"}:
                continue
            scores[place] = 2.0
            break
        if place > first and not may_follow(words, place):
            continue
        score = -9.0
        if any(later.low in DO for later in _same_clause(words[place + 1 :])) or _set_off(words, place):
            continue
        if lexicon.base_of_past(word.low) is not None:
            score = 0.5 if lexicon.is_regular_guess(word.low) else 1.2
            before_noun = place == first and place + 1 < len(words) and not opens(words[place + 1])
            before_noun = before_noun and not (place and is_plural([words[place - 1]]))
            before_noun = before_noun and lexicon.base_of_participle(word.low) is not None  # not "forbade"
            if before_quality(words, place):
                score += 1.0
            if before_noun or word.low in {
                "used",
                "based",
                "related",
                "united",
                "set",
                "cost",
                "left",
                "cut",
            }:
                score -= 1.2
            if place and lexicon.is_adjective(words[place - 1].low):
                score -= 0.5
            if place + 1 < len(words) and words[place + 1].low == "by":  # "resources consumed by ..."
                score -= 3
        if third := lexicon.third_share(word.low):
            score = max(score, math.log(third / (1.01 - third)))
        share = lexicon.verb_share(word.low)
        if share and place and any(is_plural([before]) for before in words[max(0, first - 1) : place]):
            far = not is_plural([words[place - 1]])
            score = max(score, math.log(share / (1.01 - share)) - (1.0 if far else 0.3))
        if score > -9:
            scores[place] = score + suits_verb(words, place)
    if not scores:
        return None
    return next(
        (place for place, score in scores.items() if score > 0), max(scores, key=lambda at: scores[at])
    )


def _set_off(words: Sequence[Word], place: int) -> bool:
    """Whether a participle only describes, and a verb follows: "a hall, listed as old, has"."""
    if not place or lexicon.base_of_participle(words[place].low) is None:
        return False
    dated = [word.low for word in words[place + 1 : place + 3]]
    if len(dated) == 2 and dated[0] == "in" and dated[1].isdigit():  # "a school founded in 1794 used"
        return _begins_with_verb([word for word in words[place + 3 :] if not is_adverb(word)])
    opening = {"once", "when", "if", "as"}
    earlier = (word for word in reversed(words[:place]) if not is_adverb(word) and word.low not in opening)
    before = next(earlier, None)
    if before is None or not before.comma:
        return False
    end = next((at for at in range(place, len(words)) if words[at].comma), len(words))
    return _begins_with_verb(words[end + 1 :])


def _begins_with_verb(words: Sequence[Word]) -> bool:
    return bool(words) and (is_verb(words[0]) or words[0].low in AUXILIARIES)


def _same_clause(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words before the next clause begins."""
    starts = SUBORDINATORS | lexicon.word_class("starts")
    end = next((at for at, word in enumerate(words) if word.low in starts or word.comma), len(words))
    return words[:end]
