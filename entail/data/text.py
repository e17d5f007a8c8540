"""One way to look a text up, whatever white space its file gave it."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_BEFORE_PUNCTUATION = re.compile(r"\s+(?=[,.;:'])")
_SPACES = re.compile(r"\s+")


@lru_cache(maxsize=1 << 15)  # the same few thousand sentences are looked up again and again
def fold(text: str) -> str:
    """Return the form under which a text is looked up; texts themselves are stored raw.

    White space before ``, . ; : '`` is removed and what is left is folded to single spaces, the two
    rules under which `premises.txt` of the AE-Enc experiments was made. Case and all else are kept.
    `fold` is idempotent.

    >>> fold("the  moon 's orbit , seen from earth ")
    "the moon's orbit, seen from earth"
    """
    return _SPACES.sub(" ", _BEFORE_PUNCTUATION.sub("", text)).strip()


def premise_key(text: str) -> str:
    """Return the identity of a premise: 16 hexadecimal digits of the SHA-256 of its folded text.

    The same fact has the same key in every corpus, file and installation, so decisions can be carried
    between them. A corrected text is another premise.

    >>> premise_key("a star is a kind of celestial object")
    '618fa5bba24ad045'
    """
    return hashlib.sha256(fold(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def corpus_hash(keys: list[str] | tuple[str, ...]) -> str:
    """Return what identifies a list of premises, in order: SHA-256 over their keys, hexadecimal.

    >>> corpus_hash(["a"]) == corpus_hash(["a", "b"])
    False
    """
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()
