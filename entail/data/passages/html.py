"""Removal of HTML from passages: tags and entities go, what only looks like them ("a < b > c", "AT&T") stays.

Known tags are looked for, well formed, instead of all that an HTML parser takes for one: that loses "b and c"
of "a <b and c> d", and all after "x<y".
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

_INLINE = (
    "abbr|acronym|bdi|bdo|big|b|cite|code|data|del|dfn|em|font|ins|i|kbd|label|mark|q|samp|small|span|strike|"
    "strong|sub|sup|s|time|tt|u|var|wbr|a"
)
"""Tags removed without a space, so that H<sub>2</sub>O is one word."""

_BLOCK = (
    "article|aside|blockquote|body|br|button|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|form|"
    "h[1-6]|header|head|hr|html|iframe|img|input|li|link|main|meta|nav|ol|option|picture|pre|p|script|section|"
    "select|source|style|summary|svg|table|tbody|td|textarea|tfoot|thead|th|title|track|tr|ul|video"
)
_VALUE = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+)"""
_GIVEN = rf"(?:\s+[a-z_:@][-\w:.@]*\s*=\s*{_VALUE})*(?:\s+(?:disabled|checked|selected|hidden))?"
_TAG = re.compile(
    rf"</?(?:(?P<inline>{_INLINE})|{_BLOCK}){_GIVEN}\s*/?>|<!--.*?-->|<!doctype\b[^<>]*>", re.I | re.S
)
_HIDDEN = re.compile(rf"<(script|style){_GIVEN}\s*>.*?</\1\s*>", re.I | re.S)
_SURE = re.compile(
    rf"</(?:{_INLINE}|{_BLOCK})\s*>|<(?:{_INLINE}|{_BLOCK})(?:\s+[a-z_:@][-\w:.@]*\s*=|\s*/>|\s+disabled)|"
    r"<(?:br|hr|p|div|li|td|tr|img)\s*>|<!--.*?-->|<!doctype\b",
    re.I | re.S,
)
"""Certain markup: an end tag, an attribute, or a tag that is no English word, unlike <source>."""

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.I)


def without_tags(text: str) -> tuple[str, bool]:
    """Return a passage's text without HTML, and whether there was any.

    >>> without_tags("<p>Ice is <b>cold</b> &amp; hard.</p>"), without_tags("2 < 3 and 5 > 4")
    (('Ice is cold & hard.', True), ('2 < 3 and 5 > 4', False))
    """
    plain = text
    if "<" in text and _SURE.search(text):
        plain = _TAG.sub(lambda tag: "" if tag["inline"] or tag[0][1] == "!" else " ", _HIDDEN.sub(" ", text))
    plain = _ENTITY.sub(_character, plain)
    return (text, False) if plain == text else (" ".join(plain.split()), True)


def _character(entity: re.Match[str]) -> str:
    return unescape(entity[0]) if entity[0][1] == "#" or entity[0][1:] in html5 else entity[0]
