"""Clauses of questions with the answer in the place of what they lack."""

from __future__ import annotations

from entail.tuning import lexicon
from entail.tuning.answer_phrases import inside, is_clause, is_many, is_no_phrase
from entail.tuning.clauses import adjunct, core, is_auxiliary
from entail.tuning.gaps import NAMING_LAST, begins_predicate, object_gap
from entail.tuning.phrases import PARTICLES, lowered
from entail.tuning.predicates import NAMING, base_verb, participle
from entail.tuning.words import (
    BE,
    HAVE,
    PREPOSITIONS,
    SUBORDINATORS,
    TIME_ADVERBS,
    Word,
    Words,
    is_adverb,
    text_of,
)


def alone(rest: Words, answer: str, *, person: bool = False) -> str | None:
    """Put an answer where a question word stood for itself: as the subject, or as what the verb lacks.

    >>> from entail.tuning.words import words_of
    >>> alone(words_of("causes tides"), "the Moon"), alone(words_of("did he write"), "a book")
    ('the Moon causes tides', 'he wrote a book')

    Args:
        rest: The question from its verb on.
        answer: The answer.
        person: Whether a person is asked for.
    """
    if not rest:
        return None
    clause = core(rest, person=person)
    first = rest[0]
    if first.low in BE and len(rest) > 2 and rest[-1].low in NAMING_LAST:
        return _equated(rest[1:], first.text.lower(), inside(answer))
    if clause.gap == "object":
        return at_gap(rest, inside(answer))
    if first.low in BE and len(rest) > 1:
        if rest[1].low == "there":
            return None
        if not begins_predicate(rest[1:], person=person):  # "What is the capital": that is the answer
            return _equated(rest[1:], first.text.lower(), inside(answer))
    happens = first.low in {"happens", "happened", "happen"}
    deed = lexicon.base_of_participle(answer.split()[0].lower()) is not None or is_clause(answer)
    if is_no_phrase(answer) or (happens and deed):
        return None  # "What happens then?" + "it expands"
    return f"{answer} {text_of(_agreeing(rest, many=is_many(answer)))}"


def _equated(named: Words, verb: str, answer: str) -> str | None:
    """Say what something is, or is called; None where its last words lack something else."""
    last = named[-1].low
    if last in {"called", "named", "termed", "nicknamed", "known"} and len(named) > 1:
        end = next((at for at in range(len(named) - 1, 1, -1) if not is_adverb(named[at - 1])), 1)
        said = f"{lowered(named[:end])} {verb} {text_of(named[end:])} {answer}"  # "is sometimes called"
        return None if last == "known" else said
    lacking = len(named) > 2 and named[-2].low == "to" and lexicon.verb_share(last) > 0.5
    return None if lacking else f"{lowered(named)} {verb} {answer}"


def _agreeing(words: Words, *, many: bool) -> Words:
    """Give the verb in the present the number of its subject."""
    first, low = words[0], words[0].low
    many_of = {"is": "are", "was": "were", "has": "have", "does": "do"}
    form = low
    if many:
        base = lexicon.base_of_third(low) if lexicon.third_share(low) else None
        form = many_of.get(low) or base or low
    elif low in many_of.values():
        form = next(one for one, several in many_of.items() if several == low)
    elif lexicon.verb_share(low) and lexicon.base_of_past(low) is None and not is_auxiliary(first):
        form = lexicon.third_person(low)
    return words if form == low else [Word(first.text.lower().replace(low, form), form), *words[1:]]


_MEANS = frozenset({"use", "take", "need", "give", "send", "require", "made", "make"})
"""Verbs whose object may stand before what it is for: "use a knife to cut"."""


_NAMES = lexicon.word_class("handed") | lexicon.word_class("made_into")
"""Participles that a noun follows: "was paid little", "was elected mayor"."""


def at_gap(words: Words, phrase: str) -> str | None:
    """Put a phrase behind the verb that lacks its object; None where another place is as likely.

    >>> from entail.tuning.words import words_of
    >>> at_gap(words_of("did Brazil beat in the final"), "Italy")
    'Brazil beat Italy in the final'
    """
    aux, rest = words[0], list(words[1:])
    if not is_auxiliary(aux) or len(rest) < 2 or rest[0].low == "there":
        return None
    low = aux.low.removesuffix("n't")
    if core(words).stranded:
        place: int | None = len(rest) - 1
    elif low in BE:
        place = object_gap(rest)
    else:
        place = participle(rest) if low in HAVE else base_verb(rest)
    if place is None:
        return None
    tail = rest[place + 1 :]
    if len(tail) > 1 and tail[0].low in PREPOSITIONS and tail[1].low in PREPOSITIONS | TIME_ADVERBS:
        place, tail = place + 1, tail[1:]  # "used as | at present"
    if tail and tail[0].low in PARTICLES and len(tail) == 1:  # "took over | it"
        place, tail = place + 1, []
    opens = PREPOSITIONS | SUBORDINATORS | TIME_ADVERBS | {"to", "because", "before", "after", "as"}
    if tail and (tail[0].low not in opens - {"of", "that"} or tail[0].name):
        return None
    done = low in BE and lexicon.base_of_participle(rest[place].low) is not None
    counted = phrase.endswith(" times")  # "was sacked seven times"
    done = done and not counted and rest[place].low not in _NAMES | NAMING
    if done and tail and tail[0].low in PREPOSITIONS:
        return None  # "What was she criticized for adding"
    if tail and tail[0].low == "to" and rest[place].low not in _MEANS:
        return None  # "What did he claim to know"
    filled = [*rest[: place + 1], Word(phrase, phrase.lower(), name=True, sealed=True), *tail]
    clause = adjunct([aux, *filled])
    return clause.text if clause.sure else None
