"""Labels around questions ("3)", "Q:", "(2 marks)"), and polite openings ("Can you tell me who")."""

from __future__ import annotations

import re

from entail.claims import tags
from entail.claims.lexicon import CLASSES
from entail.claims.tags import Tokens, join, tokenize

_LABEL = re.compile(
    r"""\s*(?:
        [-\u2010-\u2015\u2022\u2023\u25aa\u25cf\u25e6\u00b7*>+\#]+\s+(?=\S)     # a bullet or dash
      | \(?\d{1,3}[a-z]?(?:[.:]\)?|\))\s+ | \[\d{1,3}\]\s+                       # 12. 3) (3) [4]
      | \(?[a-z]\)\s+                                                            # a) (b)
      | (?:q|qu|question|problem|exercise|task|item|no|nr)\.?\s*[\#\u2116]?\s*\d{0,3}\s*(?:[:)]|[.-]\s)\s*
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_MARKS = re.compile(
    r"""\s*(?:
        [(\[]\s*\d{1,3}(?:[.,]\d)?\s*(?:marks?|points?|pts?\.?|credits?)\s*[)\]]   # (2 marks)
      | (?<=\?)\s*[(\[]\d{1,2}[)\]]                                                # [2]
      | (?<=\?)\s*(?:a|ans|answer)\s*[:.]                                          # A:
      | ,\s*(?:please|thanks|thank\ you)[.!?]*
    )\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\s*[\"\u201c\u201e\u00ab']([^\"\u201c\u201d\u201e\u00ab\u00bb]+)[\"\u201d\u201c\u00bb']\s*"
)

_POLITE = frozenset({"please", "kindly", "possibly", "just", "perhaps", "maybe", "you", "anyone", "someone"})
_PERSONS = frozenset(
    {"i", "i'd", "i'm", "i've", "we", "we'd", "we're", "you", "me", "us", "my", "our", "please"}
)
_PERSONS |= {"any", "kindly", "anyone", "anybody", "someone", "somebody"}
_TOPICAL = frozenset({"explain", "describe"})
_OBJECTS = frozenset({"me", "us", "please", "about", "out", "more", "to"})


def strip_labels(text: str) -> str:
    """Return a question without its number, bullet, quotation marks and marks to score; a label alone stays.

    >>> strip_labels("12) Q: Who wrote the hymn? (2 marks)"), strip_labels("- 1848?")
    ('Who wrote the hymn?', '1848?')
    """
    bare = text
    for _ in range(3):
        bare = _MARKS.sub("", bare)
        label = _LABEL.match(bare)
        bare = bare[label.end() :] if label else bare
        quoted = _QUOTED.fullmatch(bare)
        bare = quoted[1] if quoted else bare
    return bare if any(character.isalnum() for character in bare) else text


def ask_directly(sentence: str) -> str:
    """Return the question or request inside a polite or indirect one; another sentence as it is.

    >>> ask_directly("Could you please tell me who won"), ask_directly("I wonder if it rains")
    ('who won', 'whether it rains')
    >>> ask_directly("Would you mind naming it"), ask_directly("Can you see it from space")
    ('Would you mind naming it', 'Can you see it from space')
    """
    tokens = tokenize(sentence)
    return _find_request(tokens) or _find_question(tokens) or sentence


def _find_request(tokens: Tokens) -> str | None:
    """Return what follows "Could you please" or "Please" if it is a request: "name the river"."""
    polite = (at for at, token in enumerate(tokens) if token.low not in _POLITE | tags.MODALS)
    at = next(polite, 0)
    if at and tokens[0].low == "please" and tokens[at].low in tags.WH:
        return join(tokens[at:])
    if not at or at + 1 == len(tokens) or tokens[at].low not in CLASSES["requests"] - CLASSES["speech"]:
        return None
    transitive = tokens[at].low in {"give", "find", "provide"} and tokens[at + 1].low not in {"me", "us"}
    return None if transitive and tokens[0].low in tags.MODALS else join(tokens[at:])


def _find_question(tokens: Tokens) -> str | None:
    """Return what follows words of asking alone: a question, a noun phrase as a request, or a topic."""
    speech = CLASSES["speech"] | CLASSES["around_speech"]
    end = next((at for at, token in enumerate(tokens) if token.low not in speech), len(tokens))
    verbs = [at for at in range(end) if tokens[at].low in CLASSES["speech"]]
    if not verbs or not any(token.low in _PERSONS for token in tokens[:end]):
        return None
    start = verbs[-1] + 1
    while start < len(tokens) and tokens[start].low in _OBJECTS:
        start += 1
    skipped = {token.low for token in tokens[verbs[-1] : start]}
    rest = tokens[start:]
    if len(rest) > 2 and rest[0].low in {"is", "was"} and rest[1].low in tags.WH:  # "my question is who"
        rest = rest[1:]
    if len(rest) > 1 and rest[0].low in {"whether", "if"}:
        return join([tokenize("whether")[0], *rest[1:]])
    if rest and any(token.low in tags.WH for token in rest[: 1 + 2 * rest[0].is_preposition]):
        return join(rest)
    if len(rest) > 1 and rest[0].low in tags.DETERMINERS and skipped & {"know", "me", "us", *_TOPICAL}:
        return f"name {join(rest)}"
    return join(rest) if rest and skipped & {"about", *_TOPICAL} else None
