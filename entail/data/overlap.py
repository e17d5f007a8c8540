r"""Token overlap: how much two texts look alike, by their words alone.

The Jaccard index of two sets of words, the share of all their words that both have, 0 where there are none. A
word is a longest run of letters, digits and underscores (`\w+`) of the folded text in lower case, so "moon's"
is two words.
"""

from __future__ import annotations

import re

from entail.data.text import fold

_WORD = re.compile(r"\w+")


def token_overlap(one: str, other: str) -> float:
    """Return the Jaccard index of the words of two texts; the rule is in the module's description.

    >>> token_overlap("The Sun is a star", "a star is hot")
    0.5
    """
    return jaccard(tokens(one), tokens(other))


def tokens(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(tokens("The moon's moon"))
    ['moon', 's', 'the']
    """
    return frozenset(_WORD.findall(fold(text).lower()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection over that of the union, 0 for two empty sets."""
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0
