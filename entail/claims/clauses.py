"""Clauses of questions rewritten in the order of a statement: "did the company win" -> "the company won"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from entail.claims import lexicon, subjects, tags
from entail.claims.lexicon import CLASSES
from entail.claims.tags import Token, Tokens, has_relative, join

Gap = Literal["subject", "object", "adjunct"]
"""Missing part of a clause: its subject, an object, or a time, place, reason or manner."""

_NAMING_LAST = frozenset({"called", "termed", "nicknamed", "named"})
_NO_PRONOUNS = tags.PRONOUNS - {"one", "people", "there"}
_BEGINS_CLAUSE = frozenset({"when", "while", "if", "because"})
_BEHIND_STRANDED = _BEGINS_CLAUSE | tags.TIME_ADVERBS


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
        index = subjects.find_participle(rest)
        own = first.may_be("participle") or first.low in {"been", "ever", "never", "not", "also", "always"}
        object_follows = first.low in {"a", "an"} and (person or rest[index or 0].low in tags.NAMING)
        return index is None or own or object_follows or first.low in tags.POSSESSIVES
    negated = first.low in {"not", "never"} or auxiliary.low.endswith("n't")
    verb = next((token for token in rest if not token.is_adverb and token.low != "not"), first)
    if auxiliary.stem in tags.DO:
        if negated and verb.base_share > 0.1:
            return True
        index = subjects.find_base_verb(rest)
        return index is None and subjects.find_slip(rest) is None and (person or len(rest) < 3)
    if verb.base_share > 0.1 and (person or first.is_adverb):
        return True
    return subjects.find_base_verb(rest, first=0) in (None, 0)


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
            index = subjects.find_predicate(rest, locative=False)
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
    predicate = subjects.find_predicate(tokens, locative=False)
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
    names = token.low in tags.NAMING and subjects.may_begin_predicate(tokens, index)
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
    nominal = subjects.find_predicate(tokens[:stranded], nominal=True)
    return nominal if nominal is not None else stranded


def _order(auxiliary: Token, rest: Tokens, gap: Gap) -> Clause:
    """Put the subject before the auxiliary, and give its tense to the verb."""
    if auxiliary.stem in tags.BE:
        index = subjects.find_predicate(rest, nominal=True)
    elif auxiliary.stem in tags.HAVE:
        index = subjects.find_participle(rest)
    else:
        index = subjects.find_base_verb(rest)
    if auxiliary.stem not in tags.DO or auxiliary.low.endswith("n't"):
        if index is None:
            return _put_last(auxiliary, rest, gap)
        return _join_clause(rest[:index], auxiliary, rest[index:], gap)
    slip = subjects.find_slip(rest)
    if slip is not None and (index is None or _is_weak(rest, index, slip, auxiliary)):
        return Clause(join(rest), gap, _is_stranded(rest))  # "did the team won": nothing is inflected
    if index is None:
        raise UnclearClauseError(join(rest))
    if rest[index - 1].low == "not":
        return _join_clause(rest[:index], auxiliary, rest[index:], gap)
    predicate = [_inflect(rest[index], auxiliary), *rest[index + 1 :]]
    if len(predicate) > 2 and predicate[1].low in {"and", "or"} and predicate[2].base_share >= 0.15:
        predicate[2] = _inflect(predicate[2], auxiliary)
    return Clause(join([*rest[:index], *predicate]), gap, _is_stranded(rest))


def _is_weak(rest: Tokens, index: int, slip: int, auxiliary: Token) -> bool:
    """Return whether another verb than the supposed one is finite: "hockey team | won"."""
    after = rest[slip + 1] if slip + 1 < len(rest) else None
    if auxiliary.low != "did" or not rest[slip].may_be("past"):
        return False
    if slip < index:
        return after is not None and after.low in tags.DETERMINERS | tags.OBJECTS
    ended = after is None or after.opens_phrase
    return slip == index + 1 and ended and rest[index].base_share < 0.8


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
