"""A question and its answer as one statement: "When did X win?" and "1994" make "X won in 1994".

The clause of the question is put in order as its claim's is, and the answer takes the place of what is asked
for: only where the rule shows which place that is. Else the claim says what the answer is ("Rio Tinto is the
German company that owns the mine."), or the answer stands behind the claim, after a colon.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from entail.data.multiple_choice import choices
from entail.tuning import lexicon
from entail.tuning.answer_clauses import alone, at_gap
from entail.tuning.answer_phrases import (
    BEARINGS,
    counted,
    counts,
    goes_on,
    inside,
    is_clause,
    is_many,
    is_no_phrase,
    is_sentence,
    manner_phrase,
    only_counts,
    place_phrase,
    reason_phrase,
    time_phrase,
    without_stop,
)
from entail.tuning.asking import asked
from entail.tuning.broken_off import gone_on
from entail.tuning.claims import MAX_WORDS, claim, plain, sentence_of, sentences_of, with_before
from entail.tuning.clauses import adjunct, core, is_auxiliary
from entail.tuning.existence import asks_when_it_was, bare_time, by_clock, names_a_time
from entail.tuning.expanded import expanded
from entail.tuning.gaps import begins_predicate
from entail.tuning.in_place import names_a_manner
from entail.tuning.joined import offered, told_before
from entail.tuning.kept import lost
from entail.tuning.phrases import ADJOINED, ATTRIBUTES, KINDS, PARTICLES, head_of, lowered
from entail.tuning.question_phrase import Asked
from entail.tuning.words import (
    ARTICLES,
    BE,
    DETERMINERS,
    PREPOSITIONS,
    Word,
    Words,
    is_adverb,
    text_of,
    words_of,
)

How = Literal["inserted", "identified", "beside", "answer", "claim"]
"""How an answer got into its statement: in the place of what is asked for; as what the claim says to be
known; behind the claim; it was a statement itself; or there was none."""

MAX_ANSWER = 60
"""Words of an answer that is put into a sentence; longer ones stand behind the claim."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a question and its answer say together.

    Attributes:
        question: As it was asked.
        answer: As it was given.
        text: The statement.
        rule: The rule of the question's claim.
        how: How the answer got into it.
    """

    question: str
    answer: str
    text: str
    rule: str
    how: How


def statement(question: str, answer: str) -> Statement:
    """Return what a question says with its answer; without one, what its claim says.

    >>> statement("When did the Broncos win the Super Bowl?", "1998").text
    'The Broncos won the Super Bowl in 1998.'
    >>> statement("Jo drops a ball. What makes it fall?", "gravity").text
    'Jo drops a ball. Gravity makes it fall.'
    >>> statement("What makes it fall? (A) gravity (B) a rope", "A").text
    'Gravity makes it fall.'
    >>> statement("Ice melts when it", "absorbs heat").text
    'Ice melts when it absorbs heat.'
    >>> statement("How do plants make food?", "photosynthesis").text
    'There exists a known way in which plants make food: photosynthesis.'
    """
    stem, options = choices(question)
    if options and stem and answer.strip():
        inner = statement(stem, options.get(answer.strip(" ()."), answer))
        return replace(inner, question=question, answer=answer)
    asking = words_of(question)[: offered(words_of(question))]
    if asking and answer.strip():  # "Which came first, the chicken or the egg?"
        return replace(statement(text_of(asking).rstrip(",;: "), answer), question=question)
    said, told = claim(question), without_stop(answer)
    stated, rest = told_before(question)
    if told and stated and len(sentences_of(question)) == 1:
        inner = statement(rest, answer)
        return replace(inner, question=question, text=f"{sentence_of(stated)} {inner.text}")
    if told and (said.rule == "open end" or (said.fallback and goes_on(told))):
        whole = gone_on(question.rstrip(" ?"), told)
        if whole is not None and not lost(question, whole):
            return Statement(question, answer, sentence_of(whole), said.rule, "inserted")
    if not told:
        return Statement(question, answer, said.text, said.rule, "claim")
    if not any(character.isalnum() for character in question):
        return Statement(question, answer, sentence_of(told), said.rule, "answer")
    if is_clause(told) and not lost(question, told):
        return Statement(question, answer, sentence_of(told), said.rule, "answer")
    short = len(told.split()) <= MAX_ANSWER and not re.search(r"(?<!\b[A-Z])[.!?] [A-Z]|\n|[?:;]", told)
    if short and not (said.rule in _FOR_A_NOUN and is_sentence(answer)):
        text = _inserted(question, told, said.rule)
        if text is not None:
            return Statement(question, answer, text, said.rule, "inserted")
        text = None if _asks_for_a_deed(words_of(question)) else _identified(said.text, told, said.rule)
        if text is not None and not lost(question, text):
            return Statement(question, answer, text, said.rule, "identified")
    text = f"{said.text.rstrip('.!')}: {told}"
    return Statement(question, answer, sentence_of(text), said.rule, "beside")


_KNOWN = re.compile(
    r"There (exists?) (?:an? |one )?((?:\w+ )?)known "
    r"((?:\w+ )+?(?:that|who|whom|whose|of|(?:(?:in|on|at|by|to|from|with) )?wh(?:ich|om)) .+)",
    re.DOTALL,
)
_BY_NAME = frozenset(
    {"who", "whose", "what", "what noun", "which", "how many", "how much", "preposition", "imperative"}
)


def _identified(said: str, answer: str, rule: str) -> str | None:
    """Say that the answer is what the claim says to be known."""
    found = _KNOWN.fullmatch(said.rstrip("."))
    last = answer.split()[-1]
    no_noun = lexicon.is_adjective(last) or is_adverb(words_of(answer)[-1])
    no_noun = no_noun or (last == answer and lexicon.base_of_participle(last) is not None)
    if is_no_phrase(answer) or (answer.islower() and no_noun):
        return None
    number = answer.lower() in {"1", "one", "none"} or (counts(answer) and only_counts(answer))
    if rule in {"how many", "how much"} and not number:
        return None
    if rule not in _BY_NAME or found is None or found[2].strip() in {"other", "another"}:
        return None
    if found[3].startswith(("thing that is ", "person who is ", "thing that was ", "person who was ")):
        return None
    verb = "are" if found[1] == "exist" or is_many(answer) else "is"
    return sentence_of(f"{answer} {verb} the {found[2]}{found[3]}")


def _inserted(question: str, answer: str, rule: str) -> str | None:
    sentences = sentences_of(question)
    if len(sentences) != 1:
        return None
    text = plain(sentences[0])
    words = expanded(words_of(text))
    if not words or len(words) > MAX_WORDS:
        return None
    if rule == "whether":
        return _whether(words, answer)
    if _asks_for_a_deed(words):
        return None
    parts = asked(words)
    make = _BY_RULE.get(rule)
    if rule in _FOR_A_NOUN and is_no_phrase(answer):
        return None
    if parts is None or make is None or parts.joined or parts.extra or _else(parts):
        return None
    if names_a_time(parts) or asks_when_it_was(parts) or by_clock(parts) or names_a_manner(parts):
        return None
    said = make(parts, answer)
    if said is None:
        return None
    done = sentence_of(with_before(said, replace(parts, before=()) if rule == "in place" else parts))
    replaced = {word.low for word in parts.noun} if len(_bare(parts.noun)) == 1 else set()
    return done if not set(lost(text, done)) - replaced else None


def _asks_for_a_deed(words: Words) -> bool:
    """Whether it is asked what somebody does, so that the answer is a verb's phrase."""
    return "what" in {word.low for word in words} and any(
        word.low in {"do", "doing"} and not word.sealed for word in words[2:]
    )


def _else(parts: Asked) -> bool:
    return bool(parts.noun) and parts.noun[0].low == "else"


def _bare(noun: Words) -> Words:
    """Return a noun phrase without its articles."""
    words = list(noun)
    while len(words) > 1 and words[0].low in ARTICLES:
        words = words[1:]
    return words


_YES = re.compile(r"(?:yes|true|correct|right)$", re.IGNORECASE)
_NO = re.compile(r"(?:not?|false|incorrect|wrong)$", re.IGNORECASE)


def _whether(words: Words, answer: str) -> str | None:
    if words[0].low == "whether" and _YES.fullmatch(answer):
        return sentence_of(text_of(words[1:]))
    if not is_auxiliary(words[0]) or words[0].low.endswith("n't"):
        return None
    first = words[0]
    if _YES.fullmatch(answer):
        yes = [replace(first, text=first.text.lower()), *words[1:]]
        return sentence_of(adjunct(yes, complete=True).text)
    if _NO.fullmatch(answer):
        if any(word.low in {"not", "any", "ever", "or"} for word in words):
            return None
        negated = "cannot" if first.low == "can" else f"{first.low} not"
        no = [Word(negated, f"{first.low}n't"), *words[1:]]
        return sentence_of(adjunct(no, complete=True).text)
    return None


def _when(parts: Asked, answer: str) -> str | None:
    return _behind(parts, time_phrase(answer))


def _where(parts: Asked, answer: str) -> str | None:
    if parts.rest and adjunct(parts.rest).stranded:
        return _behind(parts, inside(answer))
    return _behind(parts, place_phrase(answer, parts.rest))


def _why(parts: Asked, answer: str) -> str | None:
    return _behind(parts, reason_phrase(answer), complete=True)


def _how(parts: Asked, answer: str) -> str | None:
    clause = adjunct(parts.rest) if parts.rest else None
    if clause is None or clause.text.split()[-1] in BE:
        return None
    return _behind(parts, manner_phrase(answer))


def _behind(parts: Asked, phrase: str | None, *, complete: bool = False) -> str | None:
    """Return the clause with a phrase behind it."""
    if phrase is None or not parts.rest or parts.noun or not is_auxiliary(parts.rest[0]):
        return None
    clause = adjunct(parts.rest, complete=complete)
    return f"{clause.text} {phrase}" if clause.sure or clause.text.split()[-1] in BE else None


def _who(parts: Asked, answer: str) -> str | None:
    return None if parts.noun else alone(parts.rest, answer, person=True)


def _what(parts: Asked, answer: str) -> str | None:
    if not parts.noun:
        return alone(parts.rest, answer)
    noun, rest = _bare(parts.noun), parts.rest
    if len(noun) != 1 or not rest:
        return None
    head = head_of(noun)
    preposition = ADJOINED.get(head) or ADJOINED.get(head.removesuffix("s"))
    clause = core(rest, attribute=head in ATTRIBUTES, kindred=head in KINDS, adjoined=preposition is not None)
    timely = preposition is not None and (clause.gap == "object" or bare_time(head, parts))
    if timely and not (clause.stranded and rest[-1].low not in PARTICLES):
        phrase = time_phrase(answer) or f"{preposition} {inside(answer)}"
        phrase = answer if head == "way" and BEARINGS.fullmatch(answer) else phrase
        return f"{adjunct(rest).text.removesuffix(f' {phrase.split()[0]}')} {phrase}"
    if head in KINDS:
        return None
    if clause.gap == "object" and rest[0].low in BE and clause.text.split()[-1] == rest[0].low:
        return f"{clause.text} {inside(answer)}"
    return alone(rest, answer)


def _whose(parts: Asked, answer: str) -> str | None:
    noun = text_of(parts.noun)
    if len(answer.split()) > 4 or not noun or not parts.rest or core(parts.rest).gap != "subject":
        return None
    owner = answer if re.search(r"(?:'s|s'|\u2019s)$", answer) else f"{answer}'s"
    return f"{owner} {noun} {core(parts.rest).text}"


def _how_many(parts: Asked, answer: str) -> str | None:
    noun, rest = text_of(parts.noun), parts.rest
    if not counts(answer) or not rest or (noun and parts.noun[0].low == "of"):
        return None
    named = not noun or parts.noun[-1].low in answer.lower().split()
    if not (named or only_counts(answer)):
        return None  # it counts something else
    told = inside(answer if named else counted(answer, noun))
    if rest[0].low in BE and len(rest) > 1 and rest[1].low == "there":
        return " ".join(filter(None, ["there", rest[0].low, told, text_of(rest[2:])]))
    clause = core(rest)
    if clause.gap == "object":
        return at_gap(rest, told)
    return f"{told} {clause.text}" if rest[0].low not in BE or begins_predicate(rest[1:]) else None


def _how_much(parts: Asked, answer: str) -> str | None:
    noun, rest = text_of(parts.noun), parts.rest
    if not rest or not counts(answer) or (noun and len(answer.split()) < 2):
        return None
    told = f"{inside(answer)} of {noun}" if noun else inside(answer)
    if rest[0].low in BE:
        ended = adjunct(rest)
        return f"{ended.text} {told}" if not noun and ended.text.split()[-1] == rest[0].low else None
    return at_gap(rest, told)


_MEASURED = frozenset({"long", "tall", "high", "deep", "wide", "thick", "old"})


def _how_degree(parts: Asked, answer: str) -> str | None:
    if len(parts.noun) != 1 or not parts.rest:
        return None
    degree, verb = parts.noun[0].low, parts.rest[0].low
    clause = adjunct(parts.rest)
    words, told = clause.text.split(), inside(answer)
    if degree == "often":
        return f"{clause.text} {told}" if clause.sure and verb not in BE else None
    if verb in BE:
        if degree not in _MEASURED | {"far"} or not counts(answer) or words.count(verb) != 1:
            return None
        if degree == "old" and told.isdigit():
            told = f"{told} years"
        if degree != "far" and degree not in told.split():
            told = f"{told} {degree}"
        if told.split()[0].isdigit() and len(told.split()) < 3 and degree != "far":
            return None  # "300 long": of what?
        subject, _, tail = f"{clause.text} ".partition(f" {verb} ")
        return f"{subject} {verb} {told} {tail}".strip()
    if degree == "long" and counts(answer) and clause.sure:
        spans = any(word in {"lasted", "lasts", "last"} for word in words)
        taken = at_gap(parts.rest, told) if any(word in {"take", "took", "takes"} for word in words) else None
        return taken or f"{clause.text} {told if spans else f'for {told}'}"
    return at_gap(parts.rest, told) if degree in {"far", "high", "deep"} and counts(answer) else None


def _fronted(parts: Asked, answer: str) -> str | None:
    """Answer "in what year", "to whom": the preposition goes with the answer."""
    front = lowered(parts.front)
    if not parts.rest or not all(word.low in PREPOSITIONS for word in parts.front):
        return None
    noun = _bare(parts.noun)
    if parts.wh in {"how many", "how degree"}:
        if not counts(answer):
            return None
        if parts.wh == "how many" and noun and noun[-1].low not in answer.lower().split():
            answer = counted(answer, text_of(noun))
    elif parts.wh not in {"what", "which", "who", "whom", "when", "where"} or len(noun) > 1:
        return None
    clause, told = adjunct(parts.rest), inside(answer)
    if answer.islower() and is_adverb(words_of(answer)[-1]):
        return None  # "to what extent": "partly"
    bound = told.split()[0] in PREPOSITIONS and len(told.split()) > 1
    bound = bound or clause.text.split()[-1] == front
    return f"{clause.text} {told if bound else f'{front} {told}'}" if clause.sure else None


def _in_place(parts: Asked, answer: str) -> str | None:
    before = [*parts.before, *parts.front]
    if not before or is_auxiliary(before[0]) or not parts.placed or len(_bare(parts.noun)) > 1:
        return None
    twice = before[-1].low in PREPOSITIONS and words_of(answer)[0].low in PREPOSITIONS
    if before[-1].low in DETERMINERS or twice:
        return None
    told: str | None = inside(answer)
    if parts.wh in {"how many", "how much", "how degree", "whose", "why", "how"}:
        known = parts.wh == "how many" and parts.noun and only_counts(answer) and counts(answer)
        told = counted(inside(answer), text_of(parts.noun)) if known else None
    if parts.wh == "when" and not parts.front:
        told = time_phrase(answer)
    if parts.wh == "where" and not parts.front:
        told = place_phrase(answer, before)
    return None if told is None else f"{lowered(before)} {told} {text_of(parts.rest)}".strip()


_FOR_A_NOUN = frozenset({"who", "whose", "what", "what noun", "which", "preposition", "in place"})

_BY_RULE: Mapping[str, Callable[[Asked, str], str | None]] = {
    "when": _when, "where": _where, "why": _why, "how": _how, "who": _who, "whose": _whose, "what": _what,
    "what noun": _what, "which": _what, "how many": _how_many, "how much": _how_much,
    "how degree": _how_degree, "preposition": _fronted, "in place": _in_place,
}  # fmt: skip
