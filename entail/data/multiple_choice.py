"""Multiple-choice questions taken apart: "What melts? (A) ice (B) a rock"."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BRACKETS = re.compile(r"\(([A-Z]|[1-9])\)")
_LOOSE = re.compile(r"(?<![\w(])([A-Z]|[1-9])[.)](?=\s)")
"""Markers without the first bracket; they count only behind a question mark, for "B. C." is a name."""


def choices(question: str) -> tuple[str, Mapping[str, str]]:
    """Return a question without its answers, and the answers by their letters or digits.

    >>> choices("What melts (if warm)? (A) ice (B) a rock")
    ('What melts (if warm)?', {'A': 'ice', 'B': 'a rock'})
    >>> choices("Which is a mammal? 1. a frog 2. a bat")
    ('Which is a mammal?', {'1': 'a frog', '2': 'a bat'})
    >>> choices("What did George W. Bush and B. Obama say?")
    ('What did George W. Bush and B. Obama say?', {})
    """
    best = _series(list(_BRACKETS.finditer(question)))
    if not best:
        end = question.rfind("?") + 1
        best = _series(list(_LOOSE.finditer(question, end))) if end else []
        if best and question[end : best[0].start()].strip():
            best = []
    if not best:
        return question, {}
    ends = [marker.start() for marker in best[1:]] + [len(question)]
    told = {m[1]: " ".join(question[m.end() : end].split()) for m, end in zip(best, ends, strict=True)}
    return " ".join(question[: best[0].start()].split()), told


def _series(markers: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the longest run A, B, C ... or 1, 2, 3 ...

    Of several as long the last is taken: "(A)" may stand in the question, too.
    """
    best: list[re.Match[str]] = []
    for at, first in enumerate(markers):
        if first[1] not in ("A", "1"):
            continue
        series = [first]
        for marker in markers[at + 1 :]:
            if ord(marker[1]) == ord(series[-1][1]) + 1:
                series.append(marker)
        if len(series) > 1 and len(series) >= len(best):
            best = series
    return best
