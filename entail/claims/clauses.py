"""Clauses of questions rewritten in the order of a statement: "did the company win" -> "the company won".

The end of the subject is found first: "did | the company | win the cup". Each position where the predicate
may begin gets a score from its tags and its neighbours; the best one wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from entail.claims import lexicon, tags
from entail.claims.lexicon import CLASSES
from entail.claims.tags import Token, Tokens, has_relative, is_plural, join

Gap = Literal["subject", "object", "adjunct"]
"""Missing part of a clause: its subject, an object, or a time, place, reason or manner."""

_NAMING_LAST = frozenset({"called", "termed", "nicknamed", "named"})
_NO_PRONOUNS = tags.PRONOUNS - {"one", "people", "there"}
_BEGINS_CLAUSE = frozenset({"when", "while", "if", "because"})
_BEHIND_STRANDED = _BEGINS_CLAUSE | tags.TIME_ADVERBS
_CERTAIN = {"not": 3.5, "being": 3.5, "able": 3.0, "unable": 3.0, "there": 1.0, "as": 0.3} | dict.fromkeys(
    ("here", "so", "too", "very", "more", "less"), 1.4
)
_NOT_SUBJECT = tags.PRONOUNS - {"one", "people"}


@dataclass(frozen=True, slots=True)
class Clause:
    """Clause in the order of a statement, without its gap, the part that is asked for.

    It is stranded if it ends in a preposition that lost its noun, sure if anything marked the subject's end.
    """

    text: str
    gap: Gap
    is_stranded: bool = False
    is_sure: bool = True


class UnclearClauseError(ValueError):
    """Clause behind "do" in which no token can be the verb."""


def order_clause(tokens: Tokens) -> Clause:
    """Order a clause that lacks nothing but an adjunct: after "when", "why", "how", "in which year"."""
    if len(tokens) < 2 or not tokens[0].is_auxiliary:
        return Clause(join(tokens), "adjunct")
    return _order(tokens[0], tokens[1:], "adjunct")


def order_relative(
    tokens: Tokens, *, person: bool = False, attribute: bool = False, adjoined: bool = False
) -> Clause:
    """Order a clause that lacks its subject or an object: after "who", "what", "which team".

    A person, an attribute ("What colour is the car") or an adjunct ("What year was ...") may be asked for.
    """
    if len(tokens) < 2 or not tokens[0].is_auxiliary:
        straight = bool(tokens) and tokens[0].low in tags.PERSONAL | tags.ARTICLES
        return Clause(join(tokens), "object" if straight else "subject", _is_stranded(tokens))
    auxiliary, rest = tokens[0], tokens[1:]
    if auxiliary.stem in tags.BE:
        return _order_be(auxiliary, rest, person=person, attribute=attribute, adjoined=adjoined)
    if _keeps_subject(auxiliary, rest, person=person):
        return Clause(join(tokens), "subject")
    return _order(auxiliary, rest, "object")


def _keeps_subject(auxiliary: Token, rest: Tokens, *, person: bool) -> bool:
    """Return whether the verb follows its auxiliary at once, so that the subject is asked for."""
    first = rest[0]
    if auxiliary.stem in tags.HAVE:
        index = find_participle(rest)
        own = first.may_be("participle") or first.low in {"been", "ever", "never", "not", "also", "always"}
        object_follows = first.low in {"a", "an"} and (person or rest[index or 0].low in tags.NAMING)
        return index is None or own or object_follows or first.low in tags.POSSESSIVES
    negated = first.low in {"not", "never"} or auxiliary.low.endswith("n't")
    verb = next((token for token in rest if not token.is_adverb and token.low != "not"), first)
    if auxiliary.stem in tags.DO:
        if negated and verb.base_share > 0.1:
            return True
        index = find_base_verb(rest)
        return index is None and (person or len(rest) < 3)
    if verb.base_share > 0.1 and (person or first.is_adverb):
        return True
    return find_base_verb(rest, first=0) in (None, 0)


def _order_be(auxiliary: Token, rest: Tokens, *, person: bool, attribute: bool, adjoined: bool) -> Clause:
    if rest[0].low == "there":
        return Clause(join([auxiliary, *rest[1:]]) if rest[1:] else f"there {auxiliary.text}", "subject")
    index = None
    if len(rest) == 1 and rest[0].low in tags.PERSONAL | {"these", "those", "this", "that"}:
        index = 1
    elif not begins_predicate(rest, person=person):
        index = find_object_gap(rest)
        superlative = len(rest) > 1 and rest[0].low == "the" and rest[1].low in tags.SUPERLATIVE
        if index is None and (adjoined or (attribute and not superlative)):
            index = find_predicate(rest, locative=False)
            index = len(rest) if index is None and attribute and not superlative else index
    if index is None:
        return Clause(join([auxiliary, *rest]), "subject")
    return _join_clause(rest[:index], auxiliary, rest[index:], "object")


def begins_predicate(tokens: Tokens, *, person: bool = False) -> bool:
    """Return whether the tokens after "is" begin with the predicate: "used to", "in France"."""
    exceptions = {"both", "all", "each", "most", "not", "so", "more"}
    while len(tokens) > 1 and tokens[0].is_adverb and tokens[0].low not in exceptions:
        tokens = tokens[1:]
    if not tokens or tokens[0].low in {"not", "able", "responsible", "so", "more", "been", "being"}:
        return True
    first, after = tokens[0], tokens[1] if len(tokens) > 1 else None
    if first.is_opaque:
        return False
    if first.is_preposition:
        return first.low not in {"like", "off"}
    ends_naming = after is not None and tokens[-1].low in tags.NAMING
    if first.may_be("participle"):
        return not ends_naming and (after is None or after.opens_phrase or person or after.is_name)
    if first.may_be("ing") and first.low not in CLASSES["noun_ing"]:
        return not ends_naming and (after is None or tokens[-1].low not in tags.PREPOSITIONS)
    ended = after is None or (after.opens_phrase and after.low not in tags.DETERMINERS)
    return first.is_adjective and ended


def find_object_gap(tokens: Tokens) -> int | None:
    """Return where the subject ends in "What is ...", None where the tokens name the thing itself.

    "What is the name of the river" asks for what *is* the name; "What is the river known for" for what the
    river is known *for*. The second kind shows a preposition at the end, a naming participle or a pronoun.
    """
    if tokens[0].low in _NO_PRONOUNS and len(tokens) > 1:
        return 1
    last, size = tokens[-1], len(tokens)
    if size > 1 and (last.low == "worth" or (last.low in _NAMING_LAST and not tokens[-2].is_auxiliary)):
        return size - 1
    predicate = find_predicate(tokens, locative=False)
    stranded = _find_stranded(tokens)
    if stranded is not None:
        return _before_stranded(tokens, stranded, predicate)
    naming = next((at for at in range(1, size) if _asks_name(tokens, at)), None)
    if naming is not None and not has_relative(tokens[:naming]):
        return naming
    superlative = tokens[0].low == "the" and size > 1 and tokens[1].low in tags.SUPERLATIVE
    if predicate is None or superlative or has_relative(tokens[:predicate]):
        return None
    return predicate if _lacks_object(tokens, predicate) else None


def _lacks_object(tokens: Tokens, index: int) -> bool:
    """Return whether a predicate lacks its object: "What is Ann | doing", "What was Bonn | renamed"."""
    head = next((token for token in tokens[index:] if not token.is_adverb), tokens[index])
    before, after = tokens[index - 1], tokens[index + 1] if index + 1 < len(tokens) else None
    named = all(token.is_name or token.low in {"the", "of", "and"} for token in tokens[:index])
    named = named and not before.is_possessive
    if after is not None and after.low == "to" and len(tokens) == index + 3 and head.may_be("participle"):
        return True  # "what are they meant to prevent"
    if head.may_be("ing") and head.low not in CLASSES["noun_ing"]:
        return named or after is None or head.low in {"trying", "going", "doing", "planning", "hoping"}
    return named and tokens[0].is_name and head.may_be("participle")


def _asks_name(tokens: Tokens, index: int) -> bool:
    """Return whether a participle asks for a name: "called" at the end, or before another phrase."""
    token = tokens[index]
    names = token.low in tags.NAMING and may_begin_predicate(tokens, index)
    last = index + 1 == len(tokens)
    return names and (last or (token.low in _NAMING_LAST | {"considered"} and tokens[index + 1].opens_phrase))


def _find_stranded(tokens: Tokens) -> int | None:
    """Return the index of a preposition that lost its noun: the last token, or "for" in "for in 1998"."""
    for index in range(1, len(tokens)):
        token = tokens[index]
        if token.low not in tags.STRANDED or token.is_opaque:
            continue
        after = tokens[index + 1].low if index + 1 < len(tokens) else ""
        timed = token.low in CLASSES["stranded_first"] and after in CLASSES["behind_stranded"]
        if not after or after in _BEHIND_STRANDED or timed:
            return index
    return None


def _before_stranded(tokens: Tokens, stranded: int, predicate: int | None) -> int | None:
    loose = predicate is not None and tokens[predicate].is_adjective and predicate + 1 != stranded
    if predicate is not None and predicate < stranded and not loose and not has_relative(tokens[:predicate]):
        return predicate
    if has_relative(tokens[:stranded]):
        return None  # a clause next to the noun: "the city (that) the river runs through"
    nominal = find_predicate(tokens[:stranded], nominal=True)
    return nominal if nominal is not None else stranded


def _order(auxiliary: Token, rest: Tokens, gap: Gap) -> Clause:
    """Put the subject before the auxiliary, and give its tense to the verb."""
    if auxiliary.stem in tags.BE:
        index = find_predicate(rest, nominal=True)
    elif auxiliary.stem in tags.HAVE:
        index = find_participle(rest)
    else:
        index = find_base_verb(rest)
    if auxiliary.stem not in tags.DO or auxiliary.low.endswith("n't"):
        if index is None:
            return _put_last(auxiliary, rest, gap)
        return _join_clause(rest[:index], auxiliary, rest[index:], gap)
    if index is None:
        raise UnclearClauseError(join(rest))
    if rest[index - 1].low == "not":
        return _join_clause(rest[:index], auxiliary, rest[index:], gap)
    predicate = [_inflect(rest[index], auxiliary), *rest[index + 1 :]]
    if len(predicate) > 2 and predicate[1].low in {"and", "or"} and predicate[2].base_share >= 0.15:
        predicate[2] = _inflect(predicate[2], auxiliary)
    return Clause(join([*rest[:index], *predicate]), gap, _is_stranded(rest))


def _inflect(verb: Token, auxiliary: Token) -> Token:
    """Return a verb in the tense and person of "did" or "does", with its punctuation."""
    if auxiliary.low == "do":
        return verb
    form = lexicon.inflect(verb.low, "past" if auxiliary.low == "did" else "third")
    start = verb.text.lower().find(verb.low)
    return Token(verb.text[:start] + form + verb.text[start + len(verb.low) :], form)


def _join_clause(subject: Tokens, auxiliary: Token, rest: Tokens, gap: Gap) -> Clause:
    """Join subject, auxiliary and predicate; adverbs at the subject's end follow the auxiliary."""
    cut = len(subject)
    while cut > 1 and (
        (subject[cut - 1].is_adverb and subject[cut - 1].low not in {"all", "both", "each"})
        or subject[cut - 1].low in {"not", "rather"}
        or (subject[cut - 1].low in {"better", "best"} and bool(rest) and rest[0].may_be("participle"))
    ):
        cut -= 1
    parts = [join(subject[:cut]), auxiliary.text, join(subject[cut:]), join(rest)]
    return Clause(" ".join(part for part in parts if part), gap, _is_stranded(rest))


def _put_last(auxiliary: Token, rest: Tokens, gap: Gap) -> Clause:
    """Put the verb last, but before a clause that follows."""
    starts = _BEGINS_CLAUSE | {"compared", "according", "who", "which"}
    opened = (at for at in range(1, len(rest)) if rest[at].low in starts and not rest[at].is_opaque)
    cut = next(opened, len(rest))
    parts = [join(rest[:cut]), auxiliary.text, join(rest[cut:])]
    return Clause(" ".join(part for part in parts if part), gap, is_sure=False)


def _is_stranded(tokens: Tokens) -> bool:
    return bool(tokens) and tokens[-1].low in tags.STRANDED and not tokens[-1].is_opaque


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
    if tokens[0].low in _NOT_SUBJECT or demonstrative:
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
