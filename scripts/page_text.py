"""Text of the pages of results: paragraphs, tables, means with their spread."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from statistics import mean, stdev

GPU_NOTE = (
    "The machine with the GPU held the code of the commit without documents, tests and other models. So the "
    "commit of its rows ends in `-dirty`, or was entered afterwards."
)
TORCH_NOTE = "It had no FAISS: the search was by torch, as exact."
"""How rows of a GPU were made."""


def paragraph(text: str, width: int = 100) -> list[str]:
    """Return the lines of a paragraph, broken between words alone."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def table(head: Sequence[str], rows: Iterable[Iterable[str]], *, words: int = 1) -> Iterator[str]:
    """Yield the lines of a table; as many of its first columns as `words` are words, the others figures."""
    yield f"| {' | '.join(head)} |"
    yield "|" + " --- |" * words + " ---: |" * (len(head) - words)
    yield from (f"| {' | '.join(row)} |" for row in rows)


def spread(values: Sequence[float], digits: int = 3, *, scale: int = 1, sign: str = "") -> str:
    """Return the mean, and the standard deviation where there are several values.

    >>> spread([0.5, 0.7]), percent([0.5], sign="+")
    ('0.600 ± 0.141', '+50.00')
    """
    text = f"{scale * mean(values):{sign}.{digits}f}"
    return text + (f" ± {scale * stdev(values):.{digits}f}" if len(values) > 1 else "")


percent = partial(spread, digits=2, scale=100)
wide_paragraph = partial(paragraph, width=110)
