"""Any text inside another language: XML, DOT, a script element, a cell of a spreadsheet."""

from __future__ import annotations

import json
import re
from typing import Any

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = (*"=+-@\t\r", *"\uff1d\uff0b\uff0d\uff20")  # the last four: the same signs in full width


def printable(text: str) -> str:
    r"""Return the text with characters invalid in XML 1.0 or UTF-8 replaced by U+FFFD.

    These are control characters, lone surrogates and the last two code points of the first plane.

    >>> printable("a\x07b")
    'a\ufffdb'
    """
    return _NO_XML.sub("\ufffd", text)


def dot_quoted(text: str) -> str:
    r"""Return the text as a quoted DOT string.

    Graphviz interprets backslash sequences and HTML entities in labels, so `\` and `&` are escaped, too.

    >>> print(dot_quoted('a "b" \\N &lt;'))
    "a \"b\" \\N &amp;lt;"
    """
    escaped = printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"\r\n|\r|\n", r"\\n", escaped) + '"'


def script_json(value: Any) -> str:  # noqa: ANN401 - JSON is of any type
    r"""Return JSON for a `<script>` element: without `<`, which could end the element.

    >>> script_json("</script>")
    '"\\u003c/script>"'
    """
    return json.dumps(value).replace("<", "\\u003c")


def cell(text: str) -> str:
    """Return the text as a cell that no spreadsheet evaluates as a formula.

    A text that starts with ``= + - @``, a tab or a carriage return (after spaces, too) gets an apostrophe in
    front, which spreadsheets hide (OWASP, "CSV injection"). Remove it when reading the file back.

    >>> cell("=1+1"), cell("ice is cold")
    ("'=1+1", 'ice is cold')
    """
    text = printable(text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
