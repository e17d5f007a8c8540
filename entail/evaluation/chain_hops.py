"""How many hops from a question its gold facts are, going from gold fact to gold fact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]


def gold_hops(direct: Booleans, links: Booleans) -> list[int | None]:
    """Return the hops to each gold fact: 1 from the question, one more from each reached; None: never.

    >>> gold_hops(np.array([True, False, False]), np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool))
    [1, 2, None]

    Args:
        direct: Which are near the question, shape (gold,).
        links: `links[i, j]`: whether j is near i, shape (gold, gold).
    """
    found: list[int | None] = [None] * len(direct)
    reached = np.asarray(direct, dtype=bool).copy()
    new, hop = reached.copy(), 1
    while new.any():
        for at in np.flatnonzero(new):
            found[int(at)] = hop
        new = links[new].any(axis=0) & ~reached
        reached |= new
        hop += 1
    return found


def overlap_hops(question: Sequence[str], facts: Sequence[Sequence[str]]) -> list[int | None]:
    """Return the hops to each gold fact where two texts are near if they share a word.

    >>> overlap_hops(["ice", "melt"], [["ice", "solid"], ["solid", "rock"], ["sun"]])
    [1, 2, None]

    Args:
        question: Its words, stemmed and without stop words.
        facts: Those of each gold fact.
    """
    words = [frozenset(some) for some in facts]
    asked = frozenset(question)
    direct = np.array([bool(asked & some) for some in words], dtype=bool)
    links = np.array([[bool(one & other) for other in words] for one in words], dtype=bool)
    return gold_hops(direct, links.reshape(len(words), len(words)))
