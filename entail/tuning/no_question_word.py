"""Claims of texts without a question word: "is the sky blue", "side effects of aspirin", statements."""

from __future__ import annotations

from dataclasses import replace

from entail.tuning import lexicon
from entail.tuning.clauses import adjunct, has_verb, is_auxiliary
from entail.tuning.phrases import known, lowered
from entail.tuning.predicates import DEMONYM, may_follow
from entail.tuning.words import PREPOSITIONS, PRONOUNS, Words, is_finite, is_plural, text_of


def whether(words: Words) -> tuple[str, str]:
    """Claim what "is", "does", "can" ask; of what shows no end of its subject only that it is known.

    >>> from entail.tuning.words import words_of
    >>> whether(words_of("is it gold or should we sell it"))
    ('It is known whether it is gold or whether we should sell it', 'whether')
    """
    inverted = (
        at
        for at, (before, verb, who) in enumerate(zip(words, words[1:], words[2:], strict=False))
        if before.low == "or" and is_auxiliary(verb) and who.low in PRONOUNS
    )
    if other := next(inverted, 0):
        clauses = (adjunct(part, complete=True).text for part in (words[:other], words[other + 1 :]))
        return f"It is known whether {' or whether '.join(clauses)}", "whether"
    clause = adjunct(words, complete=True)
    if clause.sure:
        return f"It is known whether {clause.text}", "whether"
    about = words[1:] if len(words) > 1 and not words[0].low.endswith("n't") else words
    return f"There exists something known about {text_of(about)}", "topic"


_TOPICS = lexicon.word_class("topics")
_BINDING = frozenset({"of", "in", "for", "to", "by", "on", "between"})


def states(words: Words) -> bool:
    """Whether words have a verb, or a plural before what may be one: "some farmers oppose it".

    >>> from entail.tuning.words import words_of
    >>> states(words_of("some farmers oppose it")), states(words_of("reasons to oppose it"))
    (True, False)
    """
    several = (
        at
        for at in range(1, min(len(words), 5))
        if words[at - 1].low.endswith("s") and is_plural(words[:at]) and may_follow(words, at)
    )
    return has_verb(words) or any(lexicon.verb_share(words[at].low) >= 0.6 for at in several)


def no_question(words: Words) -> tuple[str, str]:
    """Claim of a topic that there is such a thing, of a statement what it says.

    >>> from entail.tuning.words import words_of
    >>> no_question(words_of("side effects of aspirin"))
    ('There exist known side effects of aspirin', 'topic')
    >>> no_question(words_of("It sank"))
    ('There exists something known about it sank', 'topic')
    """
    verb = next((at for at, word in enumerate(words) if at and is_auxiliary(word)), None)
    if verb is None and words[0].low in PRONOUNS | {"this", "these"}:
        verb = next((at for at, word in enumerate(words) if at and is_finite(word)), None)
    if verb is not None and verb + 1 < len(words):
        return text_of(words), "statement"
    first, low = words[0], words[0].low
    if states(words) and not has_verb(words) and low not in PREPOSITIONS:
        return text_of(words), "statement"
    if words[-1].low == "define" and len(words) > 1:
        return f"There exists a known definition of {lowered(words[:-1])}", "topic"
    phrase = any(word.low in _BINDING for word in words[1:-1]) and not has_verb(words) and not words[1].name
    topic = len(words) > 2 and low in _TOPICS and words[1].low in PREPOSITIONS
    small = replace(first, text=first.text[:1].lower() + first.text[1:])
    small = first if DEMONYM.search(low) else small
    if lexicon.is_ing(low) and not topic:
        return f"There exists something known about {text_of([small, *words[1:]])}", "topic"
    if topic or (phrase and low not in PREPOSITIONS):
        return known([small, *words[1:]]), "topic"
    about = words[1:] if words[0].low == "about" and len(words) > 1 else words
    return f"There exists something known about {lowered(about)}", "topic"
