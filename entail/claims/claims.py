"""Existence claims: a question as the claim that its answer exists.

A passage is relevant to a question when it entails the question's claim: p -> a -> c. The pipeline reads a
question as tokens, finds the phrase that asks, the subject and the verb group, and rewrites the clause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from entail.claims import tags
from entail.claims.clauses import UnclearClauseError, order_clause
from entail.claims.lexicon import CLASSES
from entail.claims.parse import parse_question
from entail.claims.rules import FALLBACK, add_context, claim_question, known, lowered
from entail.claims.tags import Tokens, has_verb
from entail.claims.tokens import (
    expand_contractions,
    join,
    missing_words,
    split_sentences,
    tokenize,
    write_sentence,
)
from entail.data.worldtree.questions import choices

MAX_LENGTH = 2_000
"""Longer texts, in characters, get the general claim, since no question is that long."""

BLANK = re.compile(r"_{2,}|\.{4,}")
"""Gap drawn in a text: "____ helps"."""

_OPEN_ENDS = tags.PREPOSITIONS | tags.CONJUNCTIONS | tags.BE | {"be", "called", "named"}


@dataclass(frozen=True, slots=True)
class Claim:
    """Existence claim of a question: sentences of which none is a question, and the (last) rule's name."""

    question: str
    text: str
    rule: str

    @property
    def fallback(self) -> bool:
        """Whether no rule for questions applied."""
        return self.rule in FALLBACK


def existence_claim(question: str) -> Claim:
    """Return the claim of a question, whatever it looks like.

    >>> existence_claim("When did the Broncos win the Super Bowl?").text
    'There exists a known time when the Broncos won the Super Bowl.'
    >>> existence_claim("What makes it fall? (A) gravity (B) a rope").text
    'There exists a known thing that makes it fall: gravity or a rope.'
    """
    if len(question) > MAX_LENGTH:
        return Claim(question, write_sentence(f"There exists something known about {question}"), "general")
    stem, options = choices(question)
    if options and stem:
        inner = existence_claim(stem)
        *most, last = (text.rstrip(". ") for text in options.values())
        text = f"{inner.text.rstrip('.!')}: {', '.join(most)} or {last}."
        return replace(inner, question=question, text=text)
    sentences = split_sentences(question)
    rule, parts = "general", []
    for index, sentence in enumerate(sentences):
        if index + 1 < len(sentences) and sentence.endswith((".", "!", '."', ".”")):
            parts.append(write_sentence(sentence))  # a statement before the question
            continue
        text, rule = _claim_sentence(sentence)
        parts.append(write_sentence(text))
    return Claim(question, " ".join(parts) or "There exists something known.", rule)


def _claim_sentence(sentence: str) -> tuple[str, str]:
    """Return the claim of one sentence without its question mark, and the name of the rule."""
    tokens = expand_contractions(tokenize(sentence))
    try:
        text, rule = _claim_tokens(tokens)
    except UnclearClauseError:
        text = ""
    if text and not missing_words(sentence, text):
        return text, rule
    return f'There exists a known answer to "{sentence}"', "general"


def _claim_tokens(tokens: Tokens) -> tuple[str, str]:
    first = tokens[0]
    requested = _claim_request(tokens) if first.low in CLASSES["requests"] and len(tokens) > 1 else None
    if requested:
        return requested
    second = _find_second_question(tokens)
    if second:
        text, rule = _claim_tokens(tokens[:second])
        return f"{write_sentence(text)} {write_sentence(_claim_tokens(tokens[second + 1 :])[0])}", rule
    parsed = parse_question(tokens)
    placed = parsed is not None and parsed.in_place and parsed.wh in {"what", "which", "whom"}
    if first.is_auxiliary and len(tokens) > 1 and not placed:
        return _claim_whether(tokens)
    if parsed is None:
        return _claim_other(tokens)
    text, rule = claim_question(parsed)
    return (text if rule == "in place" else add_context(text, parsed.before)), rule


def _find_second_question(tokens: Tokens) -> int | None:
    """Return the index of "and" between two questions: "when was he born and when did he die"."""
    for index in range(3, len(tokens) - 2 if tokens[0].low in tags.WH else 0):
        both = (
            tokens[index].low == "and" and tokens[index + 1].low in tags.WH and tokens[index + 2].is_auxiliary
        )
        if both and has_verb(tokens[:index]):
            return index
    return None


def _claim_request(tokens: Tokens) -> tuple[str, str] | None:
    """Return the claim of "Name ..." or "List ...", None if the word asks for nothing."""
    verb, rest = tokens[0].low, list(tokens[1:])
    while len(rest) > 1 and rest[0].low in {"me", "us", "out"}:
        rest = rest[1:]
    if rest[0].low in tags.WH:
        return _claim_tokens(rest)
    named = verb in {"name", "list"} or rest[0].low in tags.DETERMINERS | CLASSES["numbers"] | {"one"}
    return (known(rest), "what") if named and not rest[0].is_auxiliary and rest[0].low != "of" else None


def _claim_whether(tokens: Tokens) -> tuple[str, str]:
    first = replace(tokens[0], text=tokens[0].text.lower())
    clause = order_clause([first, *tokens[1:]])
    if clause.is_sure:
        return f"It is known whether {clause.text}", "whether"
    return f"There exists something known about {join(tokens[1:])}", "general"


def _claim_other(tokens: Tokens) -> tuple[str, str]:
    """Return the claim of a text without a question word."""
    cut = next((at + 1 for at in range(len(tokens) - 1) if tokens[at].ends_phrase), 0)
    tail = tokens[cut:]
    if cut and len(tail) > 1 and (tail[0].is_auxiliary or tail[0].low in CLASSES["requests"]):
        inner = _claim_whether(tail) if tail[0].is_auxiliary else _claim_request(tail)
        if inner:  # "In 1972, did Norway join"
            return add_context(inner[0], tokens[:cut]), inner[1]
    if any(BLANK.search(token.text) for token in tokens):
        return BLANK.sub("something known", lowered(tokens)), "in place"
    if len(tokens) > 2 and tokens[-1].low in _OPEN_ENDS and any(token.is_verb for token in tokens):
        return f"{join(tokens)} something known", "in place"
    if any(token.is_auxiliary for token in tokens[1:-1]):
        return join(tokens), "general"
    return f"There exists something known about {lowered(tokens)}", "general"
