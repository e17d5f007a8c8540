"""What a question claims to exist: one function a question word."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from entail.tuning import lexicon
from entail.tuning.clauses import Clause, adjunct, core, has_verb, is_auxiliary
from entail.tuning.phrases import (
    ADJOINED,
    AT_A_PLACE,
    ATTRIBUTES,
    KINDS,
    PARTICLES,
    PLACES,
    head_of,
    known,
    lowered,
    spaced,
)
from entail.tuning.predicates import base_verb, is_graded
from entail.tuning.question_phrase import Asked
from entail.tuning.words import (
    ADVERBS,
    BE,
    DETERMINERS,
    DO,
    MODALS,
    PREPOSITIONS,
    TIME_ADVERBS,
    is_finite,
    is_plural,
    is_preposition,
    text_of,
)

_OBJECTS = lexicon.word_class("object")
_SAYING = lexicon.word_class("saying")


def _when(parts: Asked) -> tuple[str, str]:
    kinds = {"when": "time", "where": "place", "why": "reason", "how": "way", "whence": "place"}
    links = {"when": "when", "where": "where", "why": "why", "how": "in which", "whence": "from which"}
    nouns, link = kinds[parts.wh], links[parts.wh]
    if parts.joined and parts.joined.split()[0] in kinds:
        other = parts.joined.split()[0]
        nouns, link = f"{nouns} and {kinds[other]}", f"{parts.wh} and {other}" if other != "how" else link
    parts = _cleft(parts)
    if names_a_time(parts):
        return f"There exists a known time that {text_of(parts.rest)}", parts.wh
    bare = _without_verb(parts)
    if bare:
        return f"There exists a known {nouns} {bare}", parts.wh
    clause = adjunct(parts.rest, complete=parts.wh == "why")
    if parts.noun and parts.noun[0].low == "else":
        return f"There exists another known {nouns} {link} {clause.text}", parts.wh
    extra = f" {text_of(parts.noun)}" if parts.noun else ""
    if not clause.text:
        return f"There exists a known {nouns}{extra}", parts.wh
    return f"There exists a known {nouns}{extra} {link} {clause.text}", parts.wh


def _without_verb(parts: Asked) -> str:
    """Return what follows the noun in "why bother", "why not go", "where to"; nothing where a verb is."""
    rest = list(parts.rest)
    negated = bool(rest) and rest[0].low == "not"
    rest = rest[1:] if negated else rest
    if not rest or parts.noun or parts.joined or has_verb(rest):
        return ""
    if all(word.low in PREPOSITIONS | {"to"} for word in rest) and not negated:
        return f"{text_of(rest)} which it is"
    if parts.wh != "why":
        return ""
    if len(rest) > 1 and is_plural(rest[:1]) and lexicon.verb_share(rest[1].low) > 0.1 and not rest[1].name:
        return ""  # "how come cats purr"
    first, no = rest[0], "not " if negated else ""
    if lexicon.verb_share(first.low) > 0.1 and not first.name:
        return f"{no}to {text_of(rest)}"
    if first.low in DETERMINERS | _OBJECTS:
        return f"for {no}{text_of(rest)}"
    if first.name:
        return f"for {no}{text_of(rest)}"
    return f"{no}to be {text_of(rest)}" if len(rest) <= 3 else ""


def _of_others(parts: Asked) -> bool:
    """Whether the verb is of more than the one that is asked for: "which tool are the girls using"."""
    verb = parts.rest[0].low if parts.rest else ""
    several = is_plural(parts.noun) or any(word.low in {"and", "or", "of"} for word in parts.noun)
    return verb in {"are", "were"} and not several


def names_a_time(parts: Asked) -> bool:
    """Whether it asks for a time by its name: "when was the last time the cubs won"."""
    named = re.match(r"(?:is|was) the (\w+) time\b", " ".join(word.low for word in parts.rest))
    return (
        parts.wh == "when"
        and not parts.noun
        and not parts.joined
        and named is not None
        and named[1] in {"last", "first", "next", "only", "best", "worst", "right", "ideal"}
    )


def _who(parts: Asked) -> tuple[str, str]:
    parts = _cleft(parts)
    clause = core(parts.rest, person=True)
    said = "There exists a known person"
    first = parts.rest[0].low if parts.rest else ""
    if parts.noun and parts.noun[0].low != "else":
        said = f"{said} {text_of(parts.noun)}"
    elif parts.noun:
        said = "There exists another known person"
    elif clause.gap == "subject" and first in {"are", "were", "aren't", "weren't"}:
        said = "There exist known people"
    subject = clause.gap == "subject" or _thought_to(parts)
    alone = first in BE and len(parts.rest) == 2  # "who is she"
    link = "who" if subject and parts.wh == "who" else "that" if alone else "whom"
    return f"{said} {link} {clause.text}".strip() if clause.text else said, "who"


def _thought_to(parts: Asked) -> bool:
    """Whether it asks for the subject of what is thought: "who do you think will win"."""
    return any(
        word.low in _SAYING and (is_auxiliary(after) or is_finite(after))
        for word, after in pairwise(parts.rest)
    )


def _cleft(parts: Asked) -> Asked:
    """Take "is it that" out of "who is it that sings"."""
    lows = [word.low for word in parts.rest[:3]]
    cleft = lows[:1] in (["is"], ["was"]) and lows[1:] in (["it", "that"], ["it", "who"])
    return replace(parts, rest=parts.rest[3:]) if cleft else parts


def _whose(parts: Asked) -> tuple[str, str]:
    if not parts.noun:
        return f"There exists a known person whose {adjunct(parts.rest).text}", "whose"
    clause = core(parts.rest)
    return f"There exists a known person whose {text_of(parts.noun)} {clause.text}", "whose"


def _what(parts: Asked) -> tuple[str, str]:
    parts = _cleft(parts)
    rule = "which" if parts.wh == "which" else ("what noun" if parts.noun else "what")
    if parts.noun and parts.noun[0].low == "else":
        clause = core(parts.rest)
        said = f"There exists another known thing{spaced(parts.noun[1:])}"
        return f"{said} that {clause.text}" if clause.text else said, "what"
    if not parts.noun:
        clause = core(parts.rest)
        first = parts.rest[0].low if parts.rest else ""
        several = first == "have" and [word.low for word in parts.rest[1:2]] == ["been"]
        many = clause.gap == "subject" and (first in {"are", "were"} or several)
        said = "There exist known things" if many else "There exists a known thing"
        return f"{said} that {clause.text}" if clause.text else said, rule
    if [word.low for word in parts.noun] == ["all"] and parts.rest and not parts.front:
        return f"There exists a known thing that is all that {core(parts.rest).text}", "what"
    if not parts.front and _apart(parts):
        said = f"There exists a known thing {text_of(parts.noun)}"
        return (f"{said} that {core(parts.rest).text}" if parts.rest else said), "what"
    if parts.noun[0].low == "if" and parts.wh == "what" and not parts.front:
        return f"There exists a known outcome {text_of([*parts.noun, *parts.rest])}", "what"
    said = known(parts.noun)
    if not parts.rest:
        return said, rule
    if asks_when_it_was(parts):
        return f"{said} in which{spaced(parts.rest[3:])}", rule
    head = head_of(parts.noun)
    manner = head in {"manner", "way", "sense"} and any(word.low == "of" for word in parts.noun)
    there = [word.low for word in parts.rest[1:3]]
    if there in (["there", "of"], ["there", "that"], ["there", "for"]):  # "what chance is there of rain"
        return f"{said}{spaced(parts.rest[2:])}", rule
    if head == "distance" and parts.rest[0].low in BE:
        return f"{said} that {adjunct(parts.rest).text}", rule
    preposition = ADJOINED.get(head) or ADJOINED.get(head.removesuffix("s"))
    preposition = None if manner or _takes(parts) else preposition
    clause = core(
        parts.rest,
        attribute=head in ATTRIBUTES,
        kindred=head in KINDS,
        adjoined=preposition is not None or head in PLACES or _of_others(parts),
    )
    if clause.gap == "subject":
        said = known(parts.noun, parts.rest[0].low)
    return f"{said} {_link(clause, head, preposition, parts)} {_clause_text(clause, head, parts)}", rule


_TAKING = lexicon.word_class("taking")


def _takes(parts: Asked) -> bool:
    """Whether a verb lacks the time or the reason that is asked for: "what reason did he give for it"."""
    verb = base_verb(parts.rest[1:]) if parts.rest[0].low in DO | MODALS else None
    if verb is None or parts.rest[verb + 1].low not in _TAKING:
        return False
    after = parts.rest[verb + 2 : verb + 3]
    if after and after[0].low in PARTICLES - {"on", "in"}:
        return False
    return all(is_preposition(word) or word.low in TIME_ADVERBS for word in after)


def asks_when_it_was(parts: Asked) -> bool:
    """Whether a clause with "when" tells what happened: "what year was it when it sank"."""
    return [word.low for word in parts.rest[:3]] in (["is", "it", "when"], ["was", "it", "when"])


def _apart(parts: Asked) -> bool:
    """Whether what follows "what" only says what it is not, or when, or where: "what besides gold"."""
    first, *more = (word.low for word in parts.noun)
    if first in {"on", "in", "at"} and parts.wh == "what":
        return bool(more and parts.rest)
    if first in {"besides", "except", "beside", "apart", "aside", "next", "then"} and parts.wh == "what":
        return bool(more) or not parts.rest
    return first == "other" and more[:1] == ["than"]


def by_clock(parts: Asked) -> bool:
    """Whether a time is asked for, not what happens then: "what time is it in Rome"."""
    first, *rest = (word.low for word in parts.rest[:3]) if parts.rest else ("",)
    timed = head_of(parts.noun) in lexicon.word_class("dated")
    return timed and first in BE and rest[:1] == ["it"] and all(word in PREPOSITIONS for word in rest[1:])


def _link(clause: Clause, head: str, preposition: str | None, parts: Asked) -> str:
    if by_clock(parts):
        return "that"
    if clause.stranded and not (preposition and parts.rest[-1].low in PARTICLES - {preposition}):
        return "that"
    if clause.gap == "object":
        if preposition:
            return f"{preposition} which"
        last = parts.rest[-1].low
        where = lexicon.is_adjective(last) and not last.endswith("est") and len(parts.rest) > 2
        if head in PLACES and (where or any(word.low in AT_A_PLACE for word in parts.rest[1:])):
            return "in which"
    if bare_time(head, parts):
        return f"{preposition} which"
    return "that"


def bare_time(head: str, parts: Asked) -> bool:
    """Whether "what year was NOUN" asks when it was."""
    first = parts.rest[0].low
    superlative = len(parts.rest) > 2 and parts.rest[2].low in {"first", "last", "only", "best", "worst"}
    return (
        head in {"year", "century", "decade", "time", "month"}
        and first in {"was", "is", "were", "are"}
        and (not superlative)
    )


def _clause_text(clause: Clause, head: str, parts: Asked) -> str:
    if clause.gap == "subject" and bare_time(head, parts):
        return adjunct(parts.rest).text
    return clause.text


def _how_many(parts: Asked) -> tuple[str, str]:
    kind = "number" if parts.wh == "how many" else "amount"
    noun = text_of(parts.noun)
    what = f"There exists a known {kind}" + (
        f" of {noun}" if noun and parts.noun[0].low != "of" else spaced(parts.noun)
    )
    rest = list(parts.rest)
    if len(rest) > 1 and rest[0].low in {"is", "are", "was", "were"} and rest[1].low == "there":
        tail = text_of(rest[2:])
        return (f"{what} {tail}" if tail else what), parts.wh
    if not rest:
        return what, parts.wh
    singular = rest[0].low in {"is", "was"} and (
        not parts.noun or (parts.wh == "how many" and parts.noun[0].low != "of")
    )
    clause = _measured(parts) or core(rest, attribute=singular)
    return f"{what} that {clause.text}", parts.wh


_MEASURES = lexicon.word_class("measures")


def _measured(parts: Asked) -> Clause | None:
    """Put in order what is measured from somewhere: "how many miles is Ulm from Rome"."""
    if parts.rest[0].low not in BE or not parts.noun or parts.noun[-1].low not in _MEASURES:
        return None
    end = next((at for at, word in enumerate(parts.rest) if at > 1 and word.low in PREPOSITIONS), 0)
    named = end and all(word.name or word.low in {"the", "and"} for word in parts.rest[1:end])
    return adjunct(parts.rest) if named else None


def _how_degree(parts: Asked) -> tuple[str, str]:
    bounded = any(word.low in {"before", "after", "until", "till"} for word in parts.noun)
    verb = parts.rest[1].low if len(parts.rest) > 1 else ""
    straight = bounded and (lexicon.verb_share(verb) >= 0.6 or lexicon.base_of_participle(verb) is not None)
    last = parts.noun[-1]
    graded = is_graded(last) or last.low in {"more", "less"}
    subject = (
        parts.noun[0].low == "many" and not graded and verb != "there" and core(parts.rest).gap == "subject"
    )
    straight = straight or subject  # "how many more people were employed"
    clause = Clause(text_of(parts.rest), "adjunct") if straight else adjunct(parts.rest)
    return f"There exists a known measure of how {text_of(parts.noun)} {clause.text}".rstrip(), "how degree"


_AMOUNTS = ATTRIBUTES | frozenset(ADJOINED) | lexicon.word_class("amounts")


def asks_how_much(parts: Asked) -> bool:
    """Whether an amount is asked for, so that "about" says roughly: "about what year", not "about whom"."""
    counted = parts.wh.startswith("how") or parts.wh in {"when", "where"}
    return counted or any(word.low.removesuffix("s") in _AMOUNTS for word in parts.noun)


def fronted(parts: Asked) -> str:
    """Return the claim of a question that begins with prepositions: "in what year", "to whom"."""
    front = lowered(parts.front)
    inverted = parts.front[0].low in PREPOSITIONS | ADVERBS | {"prior", "due", "according", "thanks"}
    clause = adjunct(parts.rest) if inverted else core(parts.rest)
    after = f" {clause.text}" if clause.text else ""
    if parts.wh in {"who", "whom"}:
        return f"There exists a known person {front} whom{after}"
    if parts.wh == "whose":
        return f"There exists a known person {front} whose {text_of(parts.noun)}{after}"
    if parts.wh in {"how many", "how much"}:
        kind = "number" if parts.wh == "how many" else "amount"
        of = " of" if parts.noun and parts.noun[0].low != "of" else ""
        return f"There exists a known {kind}{of}{spaced(parts.noun)} {front} which{after}"
    if parts.wh == "how degree":
        if front.split()[-1] in {"for", "since"}:
            return f"There exists a known measure of how {text_of(parts.noun)}{after}"
        return f"There exists a known measure of {front} how {text_of(parts.noun)}{after}"
    if parts.wh in {"when", "where", "why", "how", "whence"}:
        kind = {"when": "time", "why": "reason", "how": "way"}.get(parts.wh, "place")
        return f"There exists a known {kind}{spaced(parts.noun)} {front} which{after}"
    said = known(parts.noun) if parts.noun else "There exists a known thing"
    return f"{said} {front} which{after}"


BY_WORD = {
    "when": _when, "where": _when, "why": _when, "how": _when, "who": _who, "whom": _who, "whose": _whose,
    "whence": _when, "what": _what, "which": _what,
    "how many": _how_many, "how much": _how_many, "how degree": _how_degree,
}  # fmt: skip
