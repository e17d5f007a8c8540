"""HTML taken out of passages: tags and entities go, what only looks like them ("a < b > c", "AT&T") stays.

Known tags are looked for, well formed, instead of all that an HTML parser takes for one: that loses "b and c"
of "a <b and c> d", and all after "x<y".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span "
    "strike strong sub sup time tt u var wbr"
)
"""Inline tags, removed without a space, so that H<sub>2</sub>O is one word."""

_SURE = _names(
    "br hr wbr p div span ul ol li dl dt dd tr td th tbody thead tfoot h1 h2 h3 h4 h5 h6 html body em strong "
    "pre img blockquote figcaption nav sub sup script style"
)
"""Other known tags; a start tag without attributes, such as <source>, may be a word."""

_OTHERS = _names(
    "address area article aside audio base button canvas caption center col colgroup datalist details dialog "
    "dir embed fieldset figure footer form frame frameset head header hgroup iframe input legend link main "
    "map math menu meta meter noframes noscript object optgroup option output param picture progress rp rt "
    "ruby search section select slot source summary svg table template textarea title track video"
)
_HIDDEN = frozenset({"script", "style"})
_NAMES = "|".join(sorted(_INLINE | _SURE | _OTHERS, key=len, reverse=True))
_VALUE = r"""\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+)"""
_SWITCHES = (
    "async|autoplay|checked|controls|defer|disabled|hidden|loop|multiple|muted|nowrap|open|required|selected"
)
_TAG = re.compile(
    rf"<(?:/(?P<ended>{_NAMES})\s*"
    rf"|(?P<name>{_NAMES})(?P<given>(?:\s+(?:[a-z_:@][-\w:.@]*{_VALUE}|(?:{_SWITCHES})(?=[\s/>])))*)\s*(?P<closed>/?)"
    r"|!--.*?--|!doctype\b[^<>]*|\?xml\b[^<>]*)>",
    re.IGNORECASE | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def without_tags(text: str) -> tuple[str, bool]:
    """Return a passage's text without HTML, and whether there was any.

    >>> without_tags("<p>Ice is <b>cold</b> &amp; hard.</p>"), without_tags("2 < 3 and 5 > 4")
    (('Ice is cold & hard.', True), ('2 < 3 and 5 > 4', False))
    """
    tags = list(_TAG.finditer(text)) if "<" in text else []
    if not any(map(_is_sure, tags)):
        tags = []
    if not tags and not any(map(_is_known, _ENTITY.finditer(text))):
        return text, False
    return " ".join("".join(_seen(text, tags)).split()), True


def _is_sure(tag: re.Match[str]) -> bool:
    """Return whether it is nothing else, such as a word in brackets."""
    return not tag["name"] or bool(tag["given"] or tag["closed"]) or tag["name"].lower() in _SURE


def _seen(text: str, tags: list[re.Match[str]]) -> Iterator[str]:
    """Yield what a reader of the page would see."""
    end, hidden = 0, ""
    last = {(tag["ended"] or "").lower(): tag.start() for tag in tags}  # an unclosed script hides nothing
    for tag in tags:
        if not hidden:
            yield _ENTITY.sub(_character, text[end : tag.start()])
        starts, ends = (tag["name"] or "").lower(), (tag["ended"] or "").lower()
        if not hidden and starts in _HIDDEN and tag.start() < last.get(starts, 0):
            hidden = starts
        elif ends == hidden:
            hidden = ""
        if (starts or ends) and (starts or ends) not in _INLINE:
            yield " "
        end = tag.end()
    if not hidden:
        yield _ENTITY.sub(_character, text[end:])


def _is_known(entity: re.Match[str]) -> bool:
    return entity[0][1] == "#" or entity[0][1:] in html5


def _character(entity: re.Match[str]) -> str:
    return unescape(entity[0]) if _is_known(entity) else entity[0]
