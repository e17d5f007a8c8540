"""Sentences of the user's as text: never as Markdown, never as HTML."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&/@\"'])")
_EMOJI = re.compile(r":(?=[\w+-]+:)")
_WORD = re.compile(r"\w+")


def label(text: str, *, longest: int | None = None) -> str:
    r"""Return the text so that a Markdown label shows it as it is, cut after `longest` characters.

    >>> label("a *star* is <b>hot</b>")
    'a \\*star\\* is \\<b\\>hot\\<\\/b\\>'
    """
    flat = " ".join(text.split())
    if longest is not None and len(flat) > longest:
        flat = flat[: longest - 1].rstrip() + "…"
    # Emoji codes are replaced after Markdown's escapes are gone; a zero-width space keeps ":sun:" as written.
    return _MARKDOWN.sub(r"\\\1", _EMOJI.sub(":\u200b", flat))


_SMALL = frozenset(
    {
        "and",
        "are",
        "but",
        "can",
        "for",
        "from",
        "has",
        "have",
        "her",
        "his",
        "how",
        "into",
        "its",
        "not",
        "off",
    }
    | {"one", "our", "out", "over", "she", "some", "such", "than", "that", "the", "their", "them", "then"}
    | {"there", "these", "they", "this", "was", "were", "what", "when", "where", "which", "while", "who"}
    | {"will", "with", "you"}
)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text worth highlighting, in lower case: three letters or more, no small words.

    >>> sorted(words_of("The sun is a kind of star"))
    ['kind', 'star', 'sun']
    """
    return frozenset(word for word in _WORD.findall(text.lower()) if len(word) > 2) - _SMALL


def marked(text: str, shared: frozenset[str]) -> str:
    """Return the text as HTML in which the words of `shared` (lower case) are highlighted.

    >>> marked("ice is <cold>", frozenset({"ice"}))
    '<mark>ice</mark> is &lt;cold&gt;'
    """
    parts: list[str] = []
    end = 0
    for word in _WORD.finditer(text):
        parts.append(html.escape(text[end : word.start()]))
        escaped = html.escape(word.group())
        parts.append(f"<mark>{escaped}</mark>" if word.group().lower() in shared else escaped)
        end = word.end()
    parts.append(html.escape(text[end:]))
    return "".join(parts)


def ago(then: datetime, *, now: datetime | None = None) -> str:
    """Return how long ago something was, in words.

    >>> ago(datetime(2026, 5, 1, 12, 0, tzinfo=UTC), now=datetime(2026, 5, 1, 12, 5, tzinfo=UTC))
    '5 min ago'
    """
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def certainty(share: float) -> str:
    """Return how sure something is; what is not certain is never called so.

    >>> certainty(0.814), certainty(0.998), certainty(1.0), certainty(0.002)
    ('81%', 'over 99%', '100%', 'under 1%')
    """
    if 0.995 <= share < 1:
        return "over 99%"
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"
