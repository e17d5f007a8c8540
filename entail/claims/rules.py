"""Rules of claims: for each kind of question, the existence claim of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from entail.claims import tags
from entail.claims.clauses import order_clause, order_relative
from entail.claims.lexicon import CLASSES
from entail.claims.parse import ParsedQuestion
from entail.claims.tags import Tokens, head_of, is_plural, join

RULES: Mapping[str, str] = {
    "when": "When did Tesla die?",
    "where": "Where was Tesla born?",
    "why": "Why did Tesla leave Graz?",
    "how": "How did Tesla get to Prague?",
    "quantity": "How many cats live?",
    "who": "Who wrote Hamlet?",
    "what": "What caused the fire?",
    "whether": "Is the whale a fish?",
    "in place": "He was born in what year?",
    "general": "cost of living in Paris",
}
"""Rule by kind of question -> an example."""

FALLBACK = frozenset({"general"})
"""Rules of texts that are no known kind of question."""

KINDS = {"when": "time", "where": "place", "why": "reason", "how": "way"}
LINKS = {"when": "when", "where": "where", "why": "why", "how": "in which"}
COUNTS = {"how many": "number", "how much": "amount"}
BINDING = {noun: word for word in ("in", "on", "at", "for", "to") for noun in CLASSES[f"bound_{word}"]}
"""Noun -> the preposition that binds it to a clause: a year *in* which."""

_PLACED = {"when": "at ", "where": "at ", "why": "for ", "how": "in ", "who": "", "whom": ""}
_MOVING = tags.PREPOSITIONS | tags.SUBORDINATORS | tags.TIME_ADVERBS
_MOVING |= {"as", "once", "prior", "due", "rather", "to"}
_FRONT = tags.PREPOSITIONS | CLASSES["approximate"] | {"according", "prior", "due", "together", "next"}
_LOWERED = tags.DETERMINERS | _MOVING | tags.CONJUNCTIONS | (tags.PRONOUNS - {"i"})
_LOWERED |= {"one", "many", "other", "most", "some", "next"}


def claim_question(parsed: ParsedQuestion) -> tuple[str, str]:
    """Return the claim of a parsed question, and the name of the rule."""
    first = parsed.preposition[0] if parsed.preposition else None
    partitive = first is not None and not (first.low in _FRONT or first.is_adverb) and bool(parsed.clause)
    if parsed.in_place or (partitive and order_relative(parsed.clause).gap == "subject"):
        return _claim_in_place(parsed), "in place"  # "members of which club won"
    approximate = all(token.low in CLASSES["approximate"] for token in parsed.preposition)
    if first is not None and not approximate:
        kind = "quantity" if parsed.wh.startswith("how ") else parsed.wh
        return _claim_bound(parsed), {"which": "what", "whom": "who", "whose": "who"}.get(kind, kind)
    if parsed.wh in KINDS:
        return _claim_adjunct(parsed), parsed.wh
    if parsed.wh.startswith("how "):
        return (_claim_number if parsed.wh in COUNTS else _claim_degree)(parsed), "quantity"
    if parsed.wh == "whose":
        clause = order_relative(parsed.clause).text
        return f"There exists a known person whose{with_space(parsed.noun)} {clause}", "who"
    if parsed.wh in {"who", "whom"}:
        return _claim_person(parsed), "who"
    return _claim_thing(parsed), "what"


def add_context(text: str, before: Tokens) -> str:
    """Return a claim with what stood before the question: "In 1998, who won" -> "... who won in 1998"."""
    if not before:
        return text
    context, first = lower_first(before).rstrip(",;: "), before[0]
    states = any(token.is_auxiliary for token in before) and first.low not in tags.SUBORDINATORS
    adverbial = first.is_adverb and (len(before) == 1 or before[1].may_be("ing") or before[1].is_preposition)
    moving = first.low in _MOVING or adverbial or first.may_be("participle") or first.may_be("ing")
    if moving and not states and first.low not in CLASSES["stays_first"]:
        return f"{text}, {context}" if first.may_be("ing") else f"{text} {context}"
    clause = text[:1].lower() + text[1:] if text.startswith(("There ", "It is known")) else text
    joined = before[-1].low in tags.CONJUNCTIONS | {"so", "yet"} or before[-1].text.endswith((".", "!", ',"'))
    return f"{context} {clause}" if joined else f"{context}, {clause}"


def claim_noun(noun: Tokens) -> str:
    """Return the claim that there is something that a noun phrase names."""
    phrase, many = name_known(noun)
    return f"There {'exist' if many else 'exists'} {phrase}"


def name_known(noun: Tokens) -> tuple[str, bool]:
    """Return a noun phrase as something known, and whether it is plural."""
    words = list(noun)
    while len(words) > 1 and words[0].low in tags.ARTICLES:
        words = words[1:]
    if words[0].low in {"of", "among", "amongst"}:
        return f"a known one {join(words)}", False
    plural, number, other = is_plural(words), "", False
    while len(words) > 1 and words[1].low != "of":
        is_count = words[0].low.isdigit() and len(words[0].low) < 3 and plural
        if is_count or words[0].low in CLASSES["numbers"]:
            number, plural = words[0].low, True
        elif words[0].low in {"other", "another"}:
            other = True
        elif words[0].low != "one":
            break
        words = words[1:]
    if number:
        return f"{number}{' other' if other else ''} known {join(words)}", plural
    if other:
        return f"{'other' if plural else 'another'} known {join(words)}", plural
    head = head_of(words)
    bare = plural or (head is not None and head.low in CLASSES["mass"])
    return f"known {join(words)}" if bare else f"a known {join(words)}", plural


def lower_first(tokens: Tokens) -> str:
    """Return tokens as the middle of a sentence: a first word that is no name loses its capital."""
    text = join(tokens)
    if not tokens or tokens[0].is_quoted or not text[:1].isupper():
        return text
    first = tokens[0]
    small = first.low in _LOWERED or first.is_adverb or first.may_be("ing") or first.may_be("participle")
    return text[:1].lower() + text[1:] if small else text


def with_space(tokens: Tokens) -> str:
    """Return tokens behind a space, or nothing."""
    return f" {join(tokens)}" if tokens else ""


def binding_of(parsed: ParsedQuestion) -> str | None:
    """Return the preposition that binds the noun asked for to the clause, None without one."""
    head = head_of(parsed.noun)
    return BINDING.get(head.low.removesuffix("s"), BINDING.get(head.low)) if head else None


def is_attribute(parsed: ParsedQuestion) -> bool:
    """Return whether the noun asked for is a quality of the subject: "what colour is the car"."""
    head = head_of(parsed.noun)
    return head is not None and head.low in CLASSES["attributes"]


def _name(kind: str, noun: Tokens) -> str:
    """Return a kind of answer as something known, another one behind "else"."""
    other = bool(noun) and noun[0].low == "else"
    return f"{'another' if other else 'a'} known {kind}{with_space(noun[1:] if other else noun)}"


def _count(parsed: ParsedQuestion) -> str:
    of = "" if not parsed.noun or parsed.noun[0].low == "of" else " of"
    return f"a known {COUNTS[parsed.wh]}{of}{with_space(parsed.noun)}"


def _claim_adjunct(parsed: ParsedQuestion) -> str:
    clause = order_clause(parsed.clause).text
    opening = f"There exists {_name(KINDS[parsed.wh], parsed.noun)}"
    return f"{opening} {LINKS[parsed.wh]} {clause}" if clause else opening


def _claim_number(parsed: ParsedQuestion) -> str:
    opening, clause = f"There exists {_count(parsed)}", parsed.clause
    if not clause:
        return opening
    if len(clause) > 1 and clause[0].low in tags.BE and clause[1].low == "there":
        return f"{opening}{with_space(clause[2:])}"
    singular = clause[0].low in {"is", "was"} and (not parsed.noun or parsed.wh == "how many")
    return f"{opening} that {order_relative(clause, attribute=singular).text}"


def _claim_degree(parsed: ParsedQuestion) -> str:
    counted = [token.low for token in parsed.noun[:2]] in (["many", "more"], ["many", "fewer"])
    subject = counted and order_relative(parsed.clause).gap == "subject"
    clause = join(parsed.clause) if subject else order_clause(parsed.clause).text
    return f"There exists a known measure of how{with_space(parsed.noun)} {clause}".rstrip()


def _claim_person(parsed: ParsedQuestion) -> str:
    clause = order_relative(parsed.clause, person=True)
    first = parsed.clause[0].low if parsed.clause else ""
    many = clause.gap == "subject" and first in {"are", "were"} and not parsed.noun
    opening = "There exist known people" if many else f"There exists {_name('person', parsed.noun)}"
    behind = (after for token, after in pairwise(parsed.clause[1:]) if token.low in CLASSES["saying"])
    thinks = any(after.is_auxiliary or after.is_finite for after in behind)
    link = "who" if (clause.gap == "subject" or thinks) and parsed.wh == "who" else "whom"
    return f"{opening} {link} {clause.text}" if clause.text else opening


def _claim_thing(parsed: ParsedQuestion) -> str:
    first = parsed.clause[0].low if parsed.clause else ""
    lows = [token.low for token in parsed.noun[:2]]
    if not lows or lows[0] in CLASSES["apart"] or lows == ["other", "than"]:
        clause = order_relative(parsed.clause)
        many = not lows and clause.gap == "subject" and first in {"are", "were"}
        opening = "There exist known things" if many else f"There exists {_name('thing', parsed.noun)}"
        return f"{opening} that {clause.text}" if clause.text else opening
    if not parsed.clause:
        return claim_noun(parsed.noun)
    preposition, head = binding_of(parsed), head_of(parsed.noun)
    located = head is not None and head.low in CLASSES["places"]
    joined = any(token.low in {"of", "and", "or"} for token in parsed.noun)
    singular = first in {"are", "were"} and not (joined or is_plural(parsed.noun))
    adjoined = preposition is not None or located or singular
    clause = order_relative(parsed.clause, attribute=is_attribute(parsed), adjoined=adjoined)
    is_stranded = clause.is_stranded and parsed.clause[-1].low not in tags.PARTICLES
    link = f"{preposition} which" if preposition and clause.gap == "object" and not is_stranded else "that"
    return f"{claim_noun(parsed.noun)} {link} {clause.text}"


def _claim_bound(parsed: ParsedQuestion) -> str:
    """Return the claim of a question that begins with a preposition: "in what year", "to whom"."""
    front, noun = lower_first(parsed.preposition), with_space(parsed.noun)
    clause = order_clause(parsed.clause).text
    if parsed.wh == "how degree":
        return f"There exists a known measure of {front} how{noun} {clause}"
    if parsed.wh in {"who", "whom", "whose"}:
        opening, link = "There exists a known person", "whose" + noun if parsed.wh == "whose" else "whom"
    elif parsed.wh in COUNTS:
        opening, link = f"There exists {_count(parsed)}", "which"
    elif parsed.wh in KINDS:
        opening, link = f"There exists a known {KINDS[parsed.wh]}{noun}", "which"
    else:
        opening, link = claim_noun(parsed.noun) if noun else "There exists a known thing", "which"
    return f"{opening} {front} {link} {clause}".rstrip()


def _claim_in_place(parsed: ParsedQuestion) -> str:
    """Return the claim of a statement that has the question word in the place of the answer."""
    noun, rest = parsed.noun, parsed.clause
    if noun and noun[0].low in (tags.PREPOSITIONS - {"of"}) | tags.CONJUNCTIONS | {"to", "when"}:
        noun, rest = (), noun + rest
    before = [*parsed.before, *parsed.preposition]
    if parsed.wh in COUNTS:
        phrase = _count(replace(parsed, noun=noun))
    elif parsed.wh == "how degree":
        phrase = f"a known measure of how{with_space(noun)}"
    elif parsed.wh in _PLACED:
        preposition = "" if parsed.preposition else _PLACED[parsed.wh]
        phrase = f"{preposition}a known {KINDS.get(parsed.wh, 'person')}{with_space(noun)}"
    elif noun:
        phrase = name_known(noun)[0]
    else:
        phrase = "known thing" if before and before[-1].low in tags.POSSESSIVES else "something known"
    return f"{lower_first(before)} {phrase}{with_space(rest)}".strip()
