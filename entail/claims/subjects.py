"""End of the subject in an inverted clause: "did | the company | win the cup".

Each position where the predicate may begin gets a score from its tags and its neighbours; the best one wins.
"""

from __future__ import annotations

import math

from entail.claims import tags
from entail.claims.lexicon import CLASSES
from entail.claims.tags import Tokens, has_relative, is_plural

_CERTAIN = {"not": 3.5, "being": 3.5, "able": 3.0, "unable": 3.0, "there": 1.0, "as": 0.3} | dict.fromkeys(
    ("here", "so", "too", "very", "more", "less"), 1.4
)
_NO_PRONOUNS = tags.PRONOUNS - {"one", "people"}


def may_begin_predicate(tokens: Tokens, index: int) -> bool:
    """Return whether the tokens before an index can end a subject."""
    if index == 0:
        return True
    token, before = tokens[index], tokens[index - 1]
    while before.is_adverb and index > 1 and before.low not in {"all", "both", "each"}:
        if tokens[index - 2].ends_noun_phrase:
            return True
        index -= 1
        before = tokens[index - 1]
    if before.low in {"this", "these", "those", "that"}:
        ended = index + 1 == len(tokens) or tokens[index + 1].opens_phrase
        verbal = token.base_share > 0.1 or token.may_be("participle")
        return index == 1 and (token.base_share > 0.5 or (verbal and ended))
    if before.is_possessive and not token.is_opaque:  # "the first McDonald's built"
        return token.base_share >= 0.8 or token.may_be("participle")
    return before.ends_noun_phrase


def score_following(tokens: Tokens, index: int) -> float:
    """Return how well the token after an index suits a verb there."""
    if index + 1 == len(tokens):
        return 0.9
    token, after = tokens[index], tokens[index + 1]
    if after.low in tags.AUXILIARIES - {"do", "have"}:
        return -2.5
    if after.low == "of" or (after.base_share >= 0.8 and token.low not in CLASSES["before_verb"]):
        return -1.5
    infinitive = after.low == "to" and index + 2 < len(tokens) and tokens[index + 2].base_share > 0.5
    if infinitive or after.low in tags.DETERMINERS | tags.OBJECTS | tags.PRONOUNS:
        return 2.0
    opened = after.opens_phrase or after.is_opaque or after.is_adjective or after.is_possessive
    return 0.9 if opened else -0.2


def find_base_verb(tokens: Tokens, *, first: int = 1) -> int | None:
    """Return the index of the verb in its base form, as after "did" or "can"."""
    scores: dict[int, float] = {}
    for index in range(first, len(tokens)):
        share = tokens[index].base_share
        if share == 0 or not may_begin_predicate(tokens, index):
            continue
        score = math.log(share / (1.01 - share)) + score_following(tokens, index)
        if index:
            before = tokens[index - 1]
            plural = not before.is_opaque and before.low not in CLASSES["before_noun"] and is_plural([before])
            score += 0.7 * plural - 2 * before.is_adjective - before.ends_phrase
        scores[index] = score
    return _pick(scores)


def _pick(scores: dict[int, float]) -> int | None:
    """Return the first index with a positive score, else the best one."""
    best = max(scores, key=lambda index: scores[index], default=None)
    return next((index for index, score in scores.items() if score > 0), best)


def find_finite_verb(tokens: Tokens, *, first: int = 0) -> int | None:
    """Return the index of the first finite verb or auxiliary."""
    scores: dict[int, float] = {}
    does = (at for at, token in enumerate(tokens) if token.low in tags.DO and not token.is_opaque)
    do_index = max(does, default=0)
    contexts = (at for at, token in enumerate(tokens) if at and token.low in CLASSES["context"])
    context = next(contexts, len(tokens))
    for index in range(first, len(tokens)):
        token = tokens[index]
        if token.is_opaque or (index > 1 and (tokens[index - 1].low in {"who", "which", "that"})):
            continue
        if token.is_auxiliary:
            scores[index] = 2.0
            break
        if (index < do_index < context) or (index > first and not may_begin_predicate(tokens, index)):
            continue
        score = _score_finite(tokens, index, first)
        if score is not None:
            scores[index] = score + score_following(tokens, index)
    return _pick(scores)


def _score_finite(tokens: Tokens, index: int, first: int) -> float | None:
    token = tokens[index]
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    scores = []
    if token.may_be("past"):
        score = 1.2
        modifier = index == first and after is not None and not after.opens_phrase
        modifier = (
            modifier and token.may_be("participle") and not (before is not None and is_plural([before]))
        )
        if modifier or token.low in {"used", "based", "related", "united", "set", "cost", "left", "cut"}:
            score -= 1.2
        score -= 3 * (after is not None and after.low == "by")  # "resources consumed by ..."
        scores.append(score)
    if share := token.third_share:
        scores.append(math.log(share / (1.01 - share)))
    share = token.base_share
    if share and any(is_plural([earlier]) for earlier in tokens[max(0, first - 1) : index]):
        far = before is not None and not is_plural([before])
        scores.append(math.log(share / (1.01 - share)) - (1.0 if far else 0.3))
    return max(scores, default=None)


def find_participle(tokens: Tokens) -> int | None:
    """Return the index of the participle after a subject, as after "has"."""
    indices = [
        index
        for index in range(1, len(tokens))
        if (tokens[index].may_be("participle") or tokens[index].low == "been")
        and (may_begin_predicate(tokens, index) or tokens[index - 1].low in {"ever", "not"})
    ]
    return min(indices, key=lambda index: (tokens[index].low != "been", index), default=None)


def find_predicate(tokens: Tokens, *, nominal: bool = False, locative: bool = True) -> int | None:
    """Return where the subject ends after a form of "be", None if nothing marks it.

    The predicate may be nominal ("Is the whale | a fish") or locative ("Is the kidney | in the body").
    """
    inner: set[str] = set()
    scores: dict[int, float] = {}
    for index in range(1, len(tokens)):
        score = _score_predicate(tokens, index, inner, nominal=nominal, locative=locative)
        if score is not None:
            scores[index] = score
        inner.add(tokens[index].low)
    demonstrative = tokens[0].low in {"this", "that", "these"} and 1 in scores
    if tokens[0].low in _NO_PRONOUNS or demonstrative:
        return 1 if len(tokens) > 1 else None
    best = max(scores.values(), default=0.0)
    return next((index for index, score in scores.items() if score == best), None)


def _score_predicate(
    tokens: Tokens, index: int, inner: set[str], *, nominal: bool, locative: bool
) -> float | None:
    token, before = tokens[index], tokens[index - 1]
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    opened = bool(inner & {"when", "while", "if", "because"})
    if token.is_quoted or opened or not may_begin_predicate(tokens, index):
        return None
    bound = bool(inner & tags.SUBORDINATORS)
    ended = after is None or after.opens_phrase or token.ends_phrase
    decay = 0.01 * index
    if token.may_be("participle"):
        ended = ended or (after is not None and (after.may_be("participle") or after.is_adjective))
        score = 2.0 + (0.7 if ended else -1.0) + 0.3 * (after is None)
        score -= 1.5 * before.is_adjective + 0.8 * bound
        participles = tags.NAMING | {"located", "born", "held", "situated", "supposed", "allowed"}
        return score + (token.low in participles) - decay
    if token.may_be("ing"):
        return (0.2 if token.low in CLASSES["noun_ing"] else 1.7) + (0.3 if ended else -0.2) - decay
    if token.low in _CERTAIN and not token.is_name:
        return _CERTAIN[token.low]
    if token.is_adjective:
        if ended:
            return 1.5 - decay
        several = nominal and index == 1 and is_plural([before]) and after is not None
        return 1.0 if several else None  # "are cats | good pets"
    if nominal and not bound and token.low in tags.ARTICLES | {"one"} and _separates(tokens, index):
        return 1.2 if token.low != "the" else 0.9
    if locative and not bound and token.is_preposition and token.low not in {"of", "than", "vs"}:
        return -0.2 - decay
    return None


def _separates(tokens: Tokens, index: int) -> bool:
    """Return whether an article begins a second noun phrase: "is the whale | a fish"."""
    before = tokens[index - 1]
    joined = before.low in tags.PREPOSITIONS | {"all", "both", "half", "most"} or before.ends_phrase
    later = any(after.is_auxiliary for after in tokens[index + 1 :])
    return not (joined or before.is_verb or later)


def find_slip(tokens: Tokens) -> int | None:
    """Return the index of a verb that has a tense of its own behind "did": "did the king died here"."""
    for index in range(1, len(tokens)):
        token, before = tokens[index], tokens[index - 1]
        inflected = token.is_finite and token.base_share == 0 and before.low not in tags.BE
        if inflected and before.ends_noun_phrase:
            return None if has_relative(tokens[:index]) else index
    return None
