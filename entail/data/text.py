"""Normalisation, lookup keys and token overlap of texts."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

_BEFORE_PUNCTUATION = re.compile(r"\s+(?=[,.;:'])")
_SPACES = re.compile(r"\s+")
_UNSEEN = re.compile(
    # White space, controls, what Unicode calls default ignorable (zero-width signs, fillers, variation
    # selectors, tags), and the empty Braille cell.
    r"[\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)
SURROGATES = re.compile("[\ud800-\udfff]")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_MARKS = "\u200e\u200f\u061c"
"""Direction marks: within a text they only place its own signs, at its ends also those around it."""


def fold(text: str) -> str:
    """Return the normalised form of a text for look-up.

    Letters are composed (NFC). White space before ``, . ; : '`` is removed and what is left is folded to
    single spaces, the two rules under which `premises.txt` of the AE-Enc experiments was made. Case and all
    else are kept. `fold` is idempotent.

    >>> fold("the  moon 's orbit , seen from earth ")
    "the moon's orbit, seen from earth"
    """
    return _fold_spaces(unicodedata.normalize("NFC", text))


@lru_cache(maxsize=1 << 15)  # the same few thousand sentences are looked up again and again
def _fold_spaces(text: str) -> str:
    return _SPACES.sub(" ", _BEFORE_PUNCTUATION.sub("", text)).strip()


def clean_premise(text: str) -> str:
    r"""Return a text as a corpus stores it: composed (NFC), and unable to turn the text around it.

    Embeddings, overrides and isolates of direction are removed, and marks of direction at the ends.

    >>> clean_premise("cafe\u0301 \u202eeci") == "caf\xe9 eci"
    True
    """
    return _TURNING.sub("", unicodedata.normalize("NFC", text)).strip(_MARKS)


def is_blank(text: str) -> bool:
    r"""Return whether a text has no visible character.

    >>> is_blank(" \u200b\0"), is_blank("\u200ba")
    (True, False)
    """
    return _UNSEEN.fullmatch(text) is not None


def premise_key(text: str) -> str:
    """Return the identity of a premise: 16 hexadecimal digits of the SHA-256 of its folded text.

    The same fact has the same key in every corpus, file and installation, so decisions can be carried
    between them. A corrected text is another premise.

    >>> premise_key("a star is a kind of celestial object")
    '618fa5bba24ad045'
    """
    return hashlib.sha256(fold(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def without_surrogates(text: str) -> str:
    r"""Return a text with pairs of surrogates joined and lone ones replaced by U+FFFD.

    Tokenizers take text as UTF-8, which cannot hold surrogates.

    >>> without_surrogates("a\ud800b") == "a\ufffdb"
    True
    """
    if text.isascii() or not SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def corpus_hash(keys: list[str] | tuple[str, ...]) -> str:
    """Return the SHA-256 over the keys of premises, in order, in hexadecimal.

    >>> corpus_hash(["a"]) == corpus_hash(["a", "b"])
    False
    """
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


_WORD = re.compile(r"\w+")


def tokens(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(tokens("The moon's moon"))
    ['moon', 's', 'the']
    """
    return frozenset(_WORD.findall(fold(text).lower()))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the size of the intersection over that of the union, 0 for two empty sets."""
    both = len(first & second)
    return both / (len(first) + len(second) - both) if both else 0.0


def quote(text: str, *, longest: int = 60) -> str:
    """Return the text in quotation marks, truncated to `longest` characters."""
    return f"“{text if len(text) <= longest else text[: longest - 1].rstrip() + '…'}”"


def file_stem(text: str, *, longest: int = 60) -> str:
    """Return the name of a file for a sentence, without its suffix.

    >>> file_stem("Ice (H2O) melts.")
    'ice-h2o-melts'
    """
    return re.sub(r"\W+", "-", fold(text).lower()).strip("-")[:longest].rstrip("-") or "tree"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "premise"), count_of(2000, "premise")
    ('1 premise', '2,000 premises')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def similarity_key(text: str) -> str:
    """Return what texts have in common that differ only in case, white space or the full stop.

    >>> similarity_key("Ice is  cold.") == similarity_key("ice is cold")
    True
    """
    return " ".join(fold(text).casefold().rstrip(" .").split())
