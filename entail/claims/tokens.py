"""Tokens of a question and its sentences, and the words of it that a claim lacks."""

from __future__ import annotations

import re
from functools import lru_cache

from entail.claims import lexicon
from entail.claims.lexicon import CLASSES
from entail.claims.tags import AUXILIARIES, CONJUNCTIONS, DETERMINERS, PREPOSITIONS, WH, Token, Tokens

_EDGE = '"“”„«»()[]{}…,.;:!?¿¡-\u2013\u2014*'
_OPENING = ('"', "“", "(", "[", "«")
_CLOSING = ('"', "”", ")", "]", "»")
_SENTENCE_END = re.compile(r"\?[\"”']*(?=\s|$)|\u061f+")
_STATEMENT_END = re.compile(
    r"(?<=[a-z0-9]{2}[.!])\s+(?=(?:Wh[aeiy]\w*|Who\w*|How|Is|Are|Was|Were|Do|Does|Did|Can|Has|Have|Will|Name|In)\b)"
)
_CLITIC = re.compile(r"(?<=\w) (?=(?:n['\u2019]t|['\u2019](?:s|re|ll|d|ve|m))(?![\w'\u2019]))", re.IGNORECASE)
_CLITICS = {"s": "is", "re": "are", "d": "did", "ll": "will", "ve": "have"}


def make_token(word: str) -> Token:
    """Return a token for a plain word in lower case."""
    return Token(word, word)


def tokenize(text: str) -> list[Token]:
    """Split a text at white space."""
    words = text.split()
    lower_case = sum(word[:1].islower() for word in words[1:])
    cased = len(words) <= 3 or lower_case > 0.2 * len(words)
    tokens, depth = [], False
    for index, word in enumerate(words):
        low = _normalize(word)
        opens = word.startswith(_OPENING)
        closes = word.rstrip(",.;:?!'s\u2019").endswith(_CLOSING) and (not opens or len(word) > 2)
        named = cased and index > 0 and low not in {"did", "does"} and _is_capital(word)
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
        stem, _, clitic = (
            token.low.partition("'") if "'" in token.low else (plain, "", token.low[len(plain) :])
        )
        after = [later.low for later in tokens[index + 1 : index + 3]]
        if stem not in WH or clitic not in _CLITICS or token.is_opaque:
            expanded.append(token)
        elif stem == "who" and after[1:] and after[1] in AUXILIARIES:  # a slip for "whose"
            expanded.append(make_token("whose"))
        else:
            verb = "has" if clitic == "s" and after[:1] == ["been"] else _CLITICS[clitic]
            expanded += [make_token(stem), make_token(verb)]
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


def _is_capital(word: str) -> bool:
    return word.lstrip("\"“'\u2018(")[:1].isupper()


_EMPTY = AUXILIARIES | CONJUNCTIONS | DETERMINERS | PREPOSITIONS | CLASSES["asking"]
_ENDING = re.compile(r"'(?:s|ve|re|d|ll)$")


def missing_words(question: str, claim: str) -> list[str]:
    """Return the words of a question that its claim lacks in any form; function words are left out.

    >>> missing_words("when did the ship sink", "when the ship sank"), missing_words("who won it", "who won")
    ([], [])
    """
    kept = {form for word in _content(claim) for form in _possible_bases(word)}
    return [word for word in _content(question) if word not in _EMPTY and not _possible_bases(word) & kept]


def _content(text: str) -> list[str]:
    text = re.sub(r"[?,_]|(?<=\w)[\u2013\u2014](?=\w)", " ", text)
    words = (token.low.strip("'\"$%#&/+<>=_~`^|@\\") for token in tokenize(text))
    return [bare for word in words if (bare := _ENDING.sub("", word))]


@lru_cache(maxsize=1 << 12)
def _possible_bases(word: str) -> frozenset[str]:
    bases = {base for form in lexicon.FORMS if (base := lexicon.base_form(word, form))}
    bases |= {word.removesuffix(ending) for ending in ("s", "es", "d", "ed")}
    return frozenset({word, *bases})
