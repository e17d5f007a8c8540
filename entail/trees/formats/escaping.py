"""Any text inside another language: XML, DOT, a script element, a cell of a spreadsheet."""

from __future__ import annotations

import json
import re
from typing import Any

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = (*"=+-@\t\r", *"\uff1d\uff0b\uff0d\uff20")  # the last four: the same signs in full width


def printable(text: str) -> str:
    r"""Return the text with what no XML 1.0 document and no UTF-8 file can hold replaced by U+FFFD.

    These are control characters, lone surrogates, and the two last code points of the first plane.

    >>> printable("a\x07b")
    'a\ufffdb'
    """
    return _NO_XML.sub("\ufffd", text)


def dot_quoted(text: str) -> str:
    r"""Return the text as a quoted string of DOT that Graphviz draws as this very text.

    Graphviz reads backslash sequences and HTML entities in labels, so `\` and `&` are escaped too.

    >>> print(dot_quoted('a "b" \\N &lt;'))
    "a \"b\" \\N &amp;lt;"
    """
    escaped = printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"\r\n|\r|\n", r"\\n", escaped) + '"'


def script_json(value: Any) -> str:  # noqa: ANN401 - JSON is of any type
    r"""Return JSON that can stand in a `<script>` element: it holds no `<`, so nothing ends the element.

    >>> script_json("</script>")
    '"\\u003c/script>"'
    """
    return json.dumps(value).replace("<", "\\u003c")


def cell(text: str) -> str:
    """Return the text as a cell that no spreadsheet takes for a formula.

    Before a text that begins with ``= + - @``, a tab or a carriage return (after spaces, too) stands an
    apostrophe, which spreadsheets do not show (OWASP, "CSV injection"). Who reads the file back takes it off;
    a premise is known by its key in any case.

    >>> cell("=1+1"), cell("ice is cold")
    ("'=1+1", 'ice is cold')
    """
    text = printable(text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
