"""Tags of tokens: closed classes, lexicon look-ups and suffixes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from entail.claims import lexicon
from entail.claims.lexicon import CLASSES

BE = frozenset({"is", "are", "was", "were", "am"})
HAVE = frozenset({"has", "have", "had"})
DO = frozenset({"do", "does", "did"})
MODALS = frozenset({"can", "could", "will", "would", "shall", "should", "may", "might", "must", "cannot"})
AUXILIARIES = BE | HAVE | DO | MODALS

ARTICLES = frozenset({"a", "an", "the"})
DETERMINERS = CLASSES["determiners"]
PREPOSITIONS = CLASSES["prepositions"]
STRANDED = PREPOSITIONS - {"than", "until", "till", "despite", "during", "per", "including", "past"}
"""Prepositions that may end a question: "What is it made of"."""
CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "&"})
SUBORDINATORS = CLASSES["subordinators"]
RELATIVES = frozenset({"that", "who", "which", "whom", "whose", "where"})
WH = frozenset({"what", "which", "who", "whom", "whose", "when", "where", "why", "how"})
PRONOUNS = CLASSES["pronouns"]
PERSONAL = frozenset({"i", "you", "he", "she", "it", "we", "they"})
POSSESSIVES = frozenset({"my", "your", "his", "her", "its", "our", "their"})
OBJECTS = CLASSES["objects"]
TIME_ADVERBS = frozenset({"today", "now", "currently", "nowadays", "yesterday", "tonight", "tomorrow"})
PARTICLES = frozenset({"up", "down", "out", "off", "over", "away", "back", "around"})
NAMING = CLASSES["naming"]
SUPERLATIVE = CLASSES["superlative"]

_LY = re.compile(r"[a-z]{3}ly")
_OPENING = PREPOSITIONS | DETERMINERS | CONJUNCTIONS | AUXILIARIES | SUBORDINATORS | {"to", "so", "him", "as"}
_OPENING |= {"than", "many", "few", "less", "several"}
_INNER = DETERMINERS | PREPOSITIONS | CONJUNCTIONS | AUXILIARIES | CLASSES["inner"]
_INNER -= CLASSES["phrase_final"]
"""Words after which a noun phrase goes on."""

_POSSESSIVE = re.compile(r"(?:['\u2019]s|s['\u2019])$")


@dataclass(frozen=True, slots=True)
class Token:
    """Word of a question as written, and in lower case without punctuation at its ends.

    A capital marks a name, which is no verb; quoted words stand inside quotation marks or brackets.
    """

    text: str
    low: str
    is_name: bool = False
    is_quoted: bool = False

    @property
    def ends_phrase(self) -> bool:
        """Whether punctuation separates it from the next word."""
        return self.text.rstrip("\"”'").endswith((",", ";", ":", "\u2013", "\u2014")) or self.low == ""

    @property
    def is_possessive(self) -> bool:
        """Whether it owns what follows: "Tesla's"."""
        return bool(_POSSESSIVE.search(self.low))

    @property
    def is_opaque(self) -> bool:
        """Whether it can be no verb, adjective or adverb of the question: a name, or quoted."""
        return self.is_name or self.is_quoted

    @property
    def is_auxiliary(self) -> bool:
        """Whether it is an auxiliary, negated or not."""
        negated = self.low.endswith("n't") and len(self.low) > 4
        return not self.is_opaque and (self.low in AUXILIARIES or negated)

    @property
    def stem(self) -> str:
        """The auxiliary without its negation."""
        return self.low.removesuffix("n't")

    @property
    def base_share(self) -> float:
        """The probability that it is a verb in its base form."""
        return 0.0 if self.is_opaque else lexicon.verb_share(self.low)

    @property
    def third_share(self) -> float:
        """The probability that it is a verb in the third person."""
        return 0.0 if self.is_opaque else lexicon.third_share(self.low)

    def may_be(self, form: lexicon.Form) -> bool:
        """Return whether it may be a form of a verb."""
        if self.is_opaque or (form == "ing" and self.low in CLASSES["no_ing"]):
            return False
        unlisted = (
            form != "ing"
            and self.low.endswith("ed")
            and len(self.low) > 4
            and self.low not in CLASSES["no_past"]
        )
        return unlisted or lexicon.base_form(self.low, form) is not None

    @property
    def is_finite(self) -> bool:
        """Whether it may be a verb in the present or past without an auxiliary."""
        return self.may_be("past") or self.third_share > 0.25

    @property
    def is_verb(self) -> bool:
        """Whether it is a verb, in any form, more often than not."""
        return self.base_share > 0.5 or self.third_share > 0.5 or self.may_be("ing") or self.may_be("past")

    @property
    def is_adjective(self) -> bool:
        """Whether it may be an adjective behind "is"."""
        return not self.is_opaque and lexicon.is_adjective(self.low)

    @property
    def is_adverb(self) -> bool:
        """Whether it may stand between subject and verb."""
        adverbial = self.low in CLASSES["adverbs"] or (
            bool(_LY.fullmatch(self.low[-5:])) and self.low not in CLASSES["no_adverb"]
        )
        return not self.is_name and adverbial

    @property
    def is_preposition(self) -> bool:
        """Whether it is a preposition."""
        return self.low in PREPOSITIONS and not self.is_quoted

    @property
    def opens_phrase(self) -> bool:
        """Whether it begins another phrase, so that the previous one has ended."""
        marked = self.low[:1].isdigit() or self.text.startswith("(")
        return self.low in _OPENING or marked or self.is_adverb

    @property
    def ends_noun_phrase(self) -> bool:
        """Whether a noun phrase may end with a self, so that a verb may follow."""
        if self.is_opaque:
            return not self.is_possessive or self.low.endswith("s'")
        return not (self.low in _INNER or self.low.endswith("n't") or self.is_possessive)


Tokens = Sequence[Token]


def has_verb(tokens: Tokens) -> bool:
    """Return whether any token is an auxiliary or may be a finite verb."""
    return any(token.is_auxiliary or token.is_finite for token in tokens)


def has_relative(tokens: Tokens) -> bool:
    """Return whether a noun phrase has a relative clause."""
    return any(token.low in RELATIVES and not token.is_quoted for token in tokens[1:])


def head_of(phrase: Tokens) -> Token | None:
    """Return the head of a noun phrase: its last token before a preposition or a clause."""
    head: Token | None = None
    for index, token in enumerate(phrase):
        if head is not None and (
            token.low in PREPOSITIONS or token.low in RELATIVES or token.low == "to" or head.ends_phrase
        ):
            break
        following = phrase[index + 1] if index + 1 < len(phrase) else None
        described = following is not None and following.low in PREPOSITIONS | {"the", "a", "to"}
        if described and head is not None and (token.may_be("participle") or token.may_be("ing")):
            break  # "methods used by"
        head = token
    return head


def is_plural(phrase: Tokens) -> bool:
    """Return whether a noun phrase is plural, by its head."""
    head = head_of(phrase)
    if head is None or head.low in CLASSES["singular"] or head.is_possessive:
        return False
    if head.low in CLASSES["plural"]:
        return True
    return len(head.low) > 3 and head.low.endswith("s") and not head.low.endswith(("ss", "us", "is", "ics"))
