"""User text escaped for Markdown and HTML, and times and shares in short."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&/@\"'])")
_EMOJI = re.compile(r":(?!\d\d:)(?=[\w+-]+:)")  # not the minutes of a time
_WORD = re.compile(r"(\w+)")


def label(text: str, *, longest: int | None = None) -> str:
    r"""Return text escaped for Markdown and truncated to `longest` characters.

    >>> label("a *star* is <b>hot</b>")
    'a \\*star\\* is \\<b\\>hot\\<\\/b\\>'
    """
    flat = " ".join(text.split())
    if longest is not None and len(flat) > longest:
        flat = flat[: longest - 1].rstrip() + "…"
    # Emoji codes are replaced after Markdown's escapes are gone; a zero-width space keeps ":sun:" as written.
    return _MARKDOWN.sub(r"\\\1", _EMOJI.sub(":\u200b", flat))


def without_images(text: str) -> str:
    """Return Markdown with links in place of its images, which browsers would fetch from anywhere.

    >>> without_images("as ![here](https://example.org/tree.png)")
    'as [here](https://example.org/tree.png)'
    """
    return text.replace("![", "[")


def spoken(visible: str, name: str) -> str:
    """Return a button's label with its name for screen readers, which `page.css` hides from sight.

    >>> spoken("2", "Choose snow")
    '2 :gray[Choose snow]'
    """
    return f"{visible} :gray[{label(name)}]".strip()


_SMALL = frozenset(
    """
    and are but can for from has have her his how into its not off one our out over she some such than that
    the their them then there these they this was were what when where which while who will with you
    """.split()  # noqa: SIM905 - as a list of strings it takes a page
)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text to highlight, in lower case, without short and frequent ones.

    >>> sorted(words_of("The sun is a kind of star"))
    ['kind', 'star', 'sun']
    """
    return frozenset(word for word in _WORD.findall(text.lower()) if len(word) > 2) - _SMALL


def marked(text: str, shared: frozenset[str]) -> str:
    """Return text as HTML with the words of `shared` (lower case) highlighted.

    >>> marked("ice is <cold>", frozenset({"ice"}))
    '<mark>ice</mark> is &lt;cold&gt;'
    """
    parts = ((part.lower() in shared, html.escape(part)) for part in _WORD.split(text))
    return "".join(f"<mark>{part}</mark>" if is_shared else part for is_shared, part in parts)


def local(at: datetime) -> datetime:
    """Return a time in the time zone of the browser, in that of the server where it is unknown."""
    try:
        zone = st.context.timezone
        return at.astimezone(ZoneInfo(zone) if zone else None)
    except (ZoneInfoNotFoundError, ValueError):
        return at.astimezone()


def ago(then: datetime, *, now: datetime | None = None) -> str:
    """Return the time since a moment as text.

    >>> ago(datetime(2026, 5, 1, 12, 0, tzinfo=UTC), now=datetime(2026, 5, 1, 12, 5, tzinfo=UTC))
    '5 min ago'
    """
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def certainty(share: float) -> str:
    """Return a confidence in per cent, rounded to 100% or 0% only where it is exact.

    >>> certainty(0.814), certainty(0.998), certainty(1.0), certainty(0.002)
    ('81%', 'over 99%', '100%', 'under 1%')
    """
    if 0.995 <= share < 1:
        return "over 99%"
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"
