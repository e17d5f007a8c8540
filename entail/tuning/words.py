"""A question as words, and the closed classes of words that its grammar needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from entail.tuning import lexicon

BE = frozenset({"is", "are", "was", "were", "am"})
HAVE = frozenset({"has", "have", "had"})
DO = frozenset({"do", "does", "did"})
MODALS = frozenset({"can", "could", "will", "would", "shall", "should", "may", "might", "must", "cannot"})
AUXILIARIES = BE | HAVE | DO | MODALS

DETERMINERS = lexicon.word_class("determiners")
PREPOSITIONS = lexicon.word_class("prepositions")
STRANDED = PREPOSITIONS - {
    "than",
    "until",
    "till",
    "despite",
    "during",
    "per",
    "including",
    "following",
    "past",
}
"""Prepositions that may end a question: "What is it made of"."""
CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "&"})
SUBORDINATORS = frozenset(
    {"if", "because", "when", "while", "although", "though", "that", "who", "which", "where"}
)
WH = frozenset({"what", "which", "who", "whom", "whose", "when", "where", "whence", "why", "how"})
PRONOUNS = lexicon.word_class("pronouns")
PERSONAL = lexicon.word_class("personal")
POSSESSIVES = lexicon.word_class("possessives")
ARTICLES = frozenset({"a", "an", "the"})
NEGATIONS = frozenset({"not", "n't", "never"})
ADVERBS = lexicon.word_class("adverbs")
TIME_ADVERBS = frozenset({"today", "now", "currently", "nowadays", "yesterday", "tonight", "tomorrow"})
POSSESSIVE = re.compile(r"(?:['\u2019]s|s['\u2019])$")
_EDGE = '"“”„«»()[]{}…,.;:!?¿¡-\u2013\u2014*'
_SMALL = (AUXILIARIES - {"am"}) | DETERMINERS | {"who", "whom", "when", "where", "why", "how"}
"""In capitals these show that all is written so: "10 AM" and "NBC NEWS" have none of them."""
_LY = re.compile(r"[a-z]{3,}ly$")
_NO_LY = lexicon.word_class("no_ly")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question.

    Attributes:
        text: As it stands, with its punctuation.
        low: In lower case, without punctuation at its ends.
        name: Written with a capital where others are not: never a verb.
        sealed: Inside quotation marks or brackets: its grammar is no concern of the question's.
    """

    text: str
    low: str
    name: bool = False
    sealed: bool = False

    @property
    def comma(self) -> bool:
        """Whether punctuation after it parts it from what follows."""
        return self.text.endswith((",", ";", ":", "\u2013", "\u2014")) or self.low == ""

    @property
    def possessive(self) -> bool:
        """Whether what follows belongs to it: "Tesla's"."""
        return bool(POSSESSIVE.search(self.low))


Words = Sequence[Word]


def words_of(text: str) -> list[Word]:
    """Cut a text at white space.

    >>> [word.low for word in words_of('When was "Help!" by the Beatles released?')]
    ['when', 'was', 'help', 'by', 'the', 'beatles', 'released']
    """
    raw = text.split()
    lows = [_low(part) for part in raw]
    names = [
        bool(index and low and low not in {"did", "does"} and _capital(part))
        for index, (part, low) in enumerate(zip(raw, lows, strict=True))
    ]
    small = sum(part[:1].islower() for part in raw[1:])
    shouted = len(raw) > 2 and text.isupper() and not _SMALL.isdisjoint(lows)
    if shouted or (
        len(raw) > 3 and small <= 0.2 * len(raw)
    ):  # Every Word Has One, or NONE IS SMALL: capitals say nothing
        names = [False] * len(raw)
    for at, low in enumerate(lows[:-1]):
        if low == "united" and lows[at + 1] in {"states", "kingdom", "nations"}:
            names[at] = names[at + 1] = True
    words = []
    sealed = 0
    for part, low, name in zip(raw, lows, names, strict=True):
        opens = part.startswith(('"', "“", "(", "[", "«")) and not _closes(part[1:])
        inside = sealed > 0 or part.startswith(('"', "“", "(", "[", "«"))
        words.append(Word(part, low, name, inside))
        sealed = 0 if _closes(part) and not opens else max(sealed, int(opens))
    if sealed:  # an opening that nothing closes seals nothing
        words = [Word(word.text, word.low, word.name) for word in words]
    return words


def text_of(words: Words) -> str:
    """Put words together again."""
    return " ".join(word.text for word in words)


def _low(part: str) -> str:
    low = part.lower().replace("\u2019", "'").strip(_EDGE)
    if low.startswith(("'", "\u2018")) and not low[1:2].isdigit():
        low = low.lstrip("'\u2018")
    return low.rstrip("'") if low.endswith("'") and not low.endswith("s'") else low


def _capital(part: str) -> bool:
    letters = part.lstrip("\"“'\u2018(")
    return letters[:1].isupper()


def _closes(part: str) -> bool:
    return part.rstrip(",.;:?!'s\u2019").endswith(('"', "”", ")", "]", "»"))


def is_adverb(word: Word) -> bool:
    """Whether a word may stand between subject and verb."""
    return not word.name and (word.low in ADVERBS or (bool(_LY.search(word.low)) and word.low not in _NO_LY))


def is_preposition(word: Word) -> bool:
    """Whether a word is a preposition and no name."""
    return word.low in PREPOSITIONS and not word.sealed


def ends_phrase(word: Word) -> bool:
    """Whether a noun phrase may end with a word, so that a verb may follow."""
    if word.sealed or word.name:
        return not word.possessive or word.low.endswith("s'")
    low = word.low
    return not (
        low in DETERMINERS - {"this", "that", "these", "those", "all", "both"}
        or low in PREPOSITIONS - {"up", "down", "out", "off"}
        or low in CONJUNCTIONS
        or low in AUXILIARIES
        or low in {"to", "be", "very", "more", "not", "than", "been", "being"}
        or low.endswith("n't")
        or word.possessive
    )


def is_plural(phrase: Words) -> bool:
    """Whether a noun phrase that a question asks for is plural: by the head before its first preposition.

    >>> is_plural(words_of("x two countries of Europe")[1:]), is_plural(words_of("a bus")[1:])
    (True, False)
    """
    head: Word | None = None
    for word, after in zip_longest(phrase, phrase[1:]):
        if head is not None and (
            word.low in PREPOSITIONS or word.low in {"that", "who", "which"} or head.comma
        ):
            break
        done = after is not None and after.low in PREPOSITIONS | {"the", "a"}
        done = done and (lexicon.base_of_participle(word.low) is not None or lexicon.is_ing(word.low))
        if done and head is not None and head.low.endswith("s") and not head.name:  # "methods used by"
            break
        head = word
    if head is None or head.low in _SINGULAR:
        return False
    low = head.low
    if low in _PLURAL:
        return True
    if head.possessive or low.endswith(("ss", "us", "is", "ics", "ous")):
        return False
    return low.endswith("s") and len(low) > 3


_PLURAL = lexicon.word_class("plural")
_SINGULAR = lexicon.word_class("singular")


def is_finite(word: Word) -> bool:
    """Whether a word may be a verb in the present or past with no auxiliary: "won", "wins"."""
    if word.name or word.sealed:
        return False
    return lexicon.base_of_past(word.low) is not None or lexicon.third_share(word.low) > 0.25
