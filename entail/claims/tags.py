"""Tokens of a question and their tags: closed classes, lexicon look-ups, suffixes; coverage by a claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
_INNER -= CLASSES["phrase_final"]  # a noun phrase goes on after these

_BEHIND_HEAD = PREPOSITIONS | RELATIVES | {"to"}
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
        ends_past = form != "ing" and self.low.endswith("ed") and len(self.low) > 4
        return (ends_past and self.low not in CLASSES["no_past"]) or bool(lexicon.base_form(self.low, form))

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
        ends_adverb = bool(_LY.fullmatch(self.low[-5:])) and self.low not in CLASSES["no_adverb"]
        return not self.is_name and (ends_adverb or self.low in CLASSES["adverbs"])

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
        if head is not None and (token.low in _BEHIND_HEAD or head.ends_phrase):
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


_EDGE = '"“”„«»()[]{}…,.;:!?¿¡-\u2013\u2014*'
_QUOTE_OPENING = ('"', "“", "(", "[", "«")
_BEFORE_CAPITAL = "\"“'\u2018("
_QUOTE_CLOSING = ('"', "”", ")", "]", "»")
_SENTENCE_END = re.compile(r"\?[\"”']*(?=\s|$)|\u061f+")
_STATEMENT_END = re.compile(
    r"(?<=[a-z0-9]{2}[.!])\s+(?=(?:Wh[aeiy]\w*|Who\w*|How|Is|Are|Was|Were|Do|Does|Did|Can|Has|Have|Will|Name|In)\b)"
)
_CLITIC = re.compile(r"(?<=\w) (?=(?:n['\u2019]t|['\u2019](?:s|re|ll|d|ve|m))(?![\w'\u2019]))", re.IGNORECASE)
_CLITICS = {"s": "is", "re": "are", "d": "did", "ll": "will", "ve": "have"}


def tokenize(text: str) -> list[Token]:
    """Split a text at white space."""
    words = text.split()
    lower_case = sum(word[:1].islower() for word in words[1:])
    cased = len(words) <= 3 or lower_case > 0.2 * len(words)
    tokens, depth = [], False
    for index, word in enumerate(words):
        low = _normalize(word)
        opens = word.startswith(_QUOTE_OPENING)
        closes = word.rstrip(",.;:?!'s\u2019").endswith(_QUOTE_CLOSING) and (not opens or len(word) > 2)
        named = (
            cased and index > 0 and low not in {"did", "does"} and word.lstrip(_BEFORE_CAPITAL)[:1].isupper()
        )
        tokens.append(Token(word, low, named, depth or opens))
        depth = (depth or opens) and not closes
    if depth:  # an opening mark without its end quotes nothing
        tokens = [Token(token.text, token.low, token.is_name) for token in tokens]
    return tokens


def join(tokens: Tokens) -> str:
    """Return tokens as text."""
    return " ".join(token.text for token in tokens)


def expand_contractions(tokens: Tokens) -> list[Token]:
    """Write "who's" and "whats" as "who is" and "what is"."""
    expanded: list[Token] = []
    for index, token in enumerate(tokens):
        plain = token.low.removesuffix("s")
        stem, _, clitic = token.low.partition("'")
        if "'" not in token.low:
            stem, clitic = plain, token.low[len(plain) :]
        if stem not in WH or clitic not in _CLITICS or token.is_opaque:
            expanded.append(token)
        else:
            is_has = clitic == "s" and index + 1 < len(tokens) and tokens[index + 1].low == "been"
            verb = "has" if is_has else _CLITICS[clitic]
            expanded += [Token(stem, stem), Token(verb, verb)]
    return expanded


def split_sentences(question: str) -> list[str]:
    """Return the sentences of a question without their question marks."""
    text = re.sub(r"(?<=[A-Za-z]),(?=[A-Za-z])", ", ", question.replace("¿", " ").replace("¡", " "))
    text = re.sub(r"[?\uff1f]+", "?", _CLITIC.sub("", text))
    text = re.sub(r"\?([\"\u201d')]+)(?=\s+[a-z])", r"\1", text)  # a question quoted inside another
    text = re.sub(r"\?([\"\u201d')]+)", r"\1?", text)
    pieces = [part for piece in _SENTENCE_END.split(text) for part in _STATEMENT_END.split(piece)]
    return [piece.strip() for piece in pieces if any(character.isalnum() for character in piece)]


def write_sentence(text: str) -> str:
    """Return a text as a sentence: with a capital and a full stop, without question marks."""
    text = re.sub(r"[?\uff1f\u061f]+", "", text).strip().rstrip(",;:-\u2013 ")
    text = re.sub(r"\s+([,;:]|\.(?!\w))", r"\1", " ".join(text.split()))
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", '."', ".”")) else f"{text}."


def _normalize(word: str) -> str:
    low = word.lower().replace("\u2019", "'").strip(_EDGE)
    if low.startswith(("'", "\u2018")) and not low[1:2].isdigit():
        low = low.lstrip("'\u2018")
    return low.rstrip("'") if low.endswith("'") and not low.endswith("s'") else low


_EMPTY = AUXILIARIES | CONJUNCTIONS | DETERMINERS | PREPOSITIONS | CLASSES["asking"]
_ENDING = re.compile(r"'(?:s|ve|re|d|ll)$")


def missing_words(question: str, claim: str) -> list[str]:
    """Return the words of a question that its claim lacks in any form; function words are left out.

    >>> missing_words("when did the ship sink", "when the ship sank"), missing_words("who won it", "who won")
    ([], [])
    """
    claim_forms = {form for word in _content(claim) for form in _possible_bases(word)}
    return [
        word for word in _content(question) if word not in _EMPTY and not _possible_bases(word) & claim_forms
    ]


def _content(text: str) -> list[str]:
    text = re.sub(r"[?,_]|(?<=\w)[\u2013\u2014](?=\w)", " ", text)
    words = (token.low.strip("'\"$%#&/+<>=_~`^|@\\") for token in tokenize(text))
    return [bare for word in words if (bare := _ENDING.sub("", word))]


@lru_cache(maxsize=1 << 12)
def _possible_bases(word: str) -> frozenset[str]:
    bases = {base for form in lexicon.FORMS if (base := lexicon.base_form(word, form))}
    bases |= {word.removesuffix(ending) for ending in ("s", "es", "d", "ed")}
    return frozenset({word, *bases})
