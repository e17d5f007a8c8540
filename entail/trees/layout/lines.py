"""Lines of text: their width on any machine, and where they are broken."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from entail.trees.layout.appearance import FONT_SIZE

COLUMN = FONT_SIZE / 2
"""Pixels of an average character; text is measured in columns."""

_COLUMNS = {
    **dict.fromkeys("'ijl|", 0.46),
    **dict.fromkeys(" !,./:;I[\\]ft", 0.56),
    **dict.fromkeys('"()*-`r{}', 0.68),
    **dict.fromkeys("Jcksvxyz^", 1.0),
    **dict.fromkeys("abdeghnopqu0123456789#$?_L+<=>~", 1.12),
    **dict.fromkeys("ABEFKPSTVXYZ&", 1.32),
    **dict.fromkeys("CDHNRUw", 1.44),
    **dict.fromkeys("GOQ", 1.56),
    **dict.fromkeys("mM%", 1.7),
    **dict.fromkeys("W@", 1.95),
}
"""Widths in Helvetica and Arial, in half an em."""


def columns_of(text: str) -> float:
    """Return the width of a text in average characters."""
    return sum(map(_columns, text))


@lru_cache(maxsize=4096)
def _columns(char: str) -> float:
    if char in _COLUMNS:
        return _COLUMNS[char]
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff":
        return 0.0
    return 2.0 if unicodedata.east_asian_width(char) in "WF" else 1.32


@lru_cache(maxsize=4096)
def wrap(text: str, width: int) -> tuple[str, ...]:
    """Break a text into lines of at most `width` columns, at spaces, or inside a longer word.

    White space is folded to single spaces; a character stays with its combining marks. There is at least one
    line.

    >>> wrap("melting is a kind of process", 14)
    ('melting is a', 'kind of process')
    """
    lines: list[str] = []
    line, used = "", 0.0
    for word in text.split():
        length, space = columns_of(word), _columns(" ") if line else 0.0
        if line and used + space + length > width:
            lines.append(line)
            line, used, space = "", 0.0, 0.0
        if length > width:
            *full, word = _pieces(word, width)
            lines += full
            length = columns_of(word)
        line, used = f"{line} {word}" if line else word, used + space + length
    return (*lines, line) if line or not lines else tuple(lines)


def _pieces(word: str, width: int) -> list[str]:
    """Cut a word that is longer than a line; never before a mark of zero width, never after a joiner."""
    pieces, used = [""], 0.0
    for char in word:
        length = _columns(char)
        if pieces[-1] and used + length > width and length and not pieces[-1].endswith("\u200d"):
            pieces.append("")
            used = 0.0
        pieces[-1] += char
        used += length
    return pieces
