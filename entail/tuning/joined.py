"""Questions that are joined: to another by "and", to what was said before by "so" or "but"."""

from __future__ import annotations

from entail.tuning.asking import WH, asked
from entail.tuning.clauses import is_auxiliary
from entail.tuning.words import CONJUNCTIONS, PREPOSITIONS, Words, is_finite

OPENINGS = (CONJUNCTIONS - {"nor", "&"}) | {"so", "yet", "well", "ok", "okay"}
"""How a question goes on from what was said before; none of them asks."""


def opening(words: Words) -> int:
    """Return how many words only join a question to what was said before: "So", "OK, but".

    >>> from entail.tuning.words import words_of
    >>> opening(words_of("So what is a quark")), opening(words_of("So long was the war"))
    (1, 0)
    """
    end = next((at for at, word in enumerate(words) if word.low not in OPENINGS or word.sealed), len(words))
    if end == len(words):
        return 0
    first = words[end]
    asks = (first.low in WH and not first.name) or is_auxiliary(first)
    bound = first.low in PREPOSITIONS and end + 1 < len(words) and words[end + 1].low in WH
    return end if asks or bound else 0


def second(words: Words) -> int | None:
    """Return where "and" stands before a second question, None where there is none.

    >>> from entail.tuning.words import words_of
    >>> second(words_of("when did she marry and how many children did she have"))
    4
    >>> second(words_of("which poet and which painter did he meet")) is None
    True
    """
    bound = len(words) > 1 and words[0].low in PREPOSITIONS and words[1].low in WH
    if not (words[0].low in WH or is_auxiliary(words[0]) or bound):
        return None
    return next((at for at in range(3, len(words) - 2) if words[at].low == "and" and _asks(words, at)), None)


def _asks(words: Words, at: int) -> bool:
    """Whether what follows "and" is a question of its own, and what stands before it has a verb."""
    before, after = words[:at], words[at + 1 :]
    if before[-1].low in WH or not any(is_auxiliary(word) or is_finite(word) for word in before):
        return False
    if not (after[0].low in WH or (after[0].low in PREPOSITIONS and after[1].low in WH)):
        return False
    parts = asked(after)
    if parts is None or parts.before or parts.placed or not parts.rest:
        return False
    relative = any(word.low in {"who", "which", "that", "where"} and not word.sealed for word in before[1:])
    if relative and not parts.noun and not parts.front and parts.wh in {"who", "which", "where"}:
        return False
    inverted = is_auxiliary(parts.rest[0]) and len(parts.rest) > 1
    return inverted or (parts.wh in {"who", "what"} and not parts.noun and is_finite(parts.rest[0]))
