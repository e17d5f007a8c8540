"""Tree as text: its outline, and any text inside XML, DOT, a script element or a cell of a spreadsheet."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from entail.trees.layout.appearance import NAMES, DrawnKind
from entail.trees.log.tree import ROOT, Tree

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FORMULA = (*"=+-@\t\r", *"\uff1d\uff0b\uff0d\uff20")  # the last four: the same signs in full width


def printable(text: str) -> str:
    r"""Return the text with characters invalid in XML 1.0 or UTF-8 replaced by U+FFFD.

    These are control characters, lone surrogates and the last two code points of the first plane.

    >>> printable("a\x07b")
    'a\ufffdb'
    """
    return _NO_XML.sub("\ufffd", text)


def quote_dot(text: str) -> str:
    r"""Return the text as a quoted DOT string.

    Graphviz interprets backslash sequences and HTML entities in labels, so `\` and `&` are escaped, too.

    >>> print(quote_dot('a "b" \\N &lt;'))
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


def escape_cell(text: str) -> str:
    """Return the text as a cell that no spreadsheet evaluates as a formula.

    A text that starts with ``= + - @``, a tab or a carriage return (after spaces, too) gets an apostrophe in
    front, which spreadsheets hide (OWASP, "CSV injection"). Remove it when reading the file back.

    >>> escape_cell("=1+1"), escape_cell("ice is cold")
    ("'=1+1", 'ice is cold')
    """
    text = printable(text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the outline.

    Attributes:
        depth: Indentation, 0 for the hypothesis and for loose nodes.
        kind: Kind of node.
        text: Sentence.
        node: Id of the node; for a rejected premise, of the node that it was rejected for.
        premise: Key of the rejected premise, None for nodes of the tree.
    """

    depth: int
    kind: DrawnKind
    text: str
    node: str
    premise: str | None = None

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{NAMES[self.kind]}: {self.text}"


def outline(tree: Tree, *, with_rejected: bool = False) -> list[Line]:
    """Return the lines of a tree, depth first, rejected premises right below their node."""
    lines: list[Line] = []
    depths: dict[str, int] = {}
    for start in (ROOT, *tree.loose):
        for node in tree.walk(start):
            depth = depths[node.id] = 0 if node.parent is None else depths[node.parent] + 1
            lines.append(Line(depth, node.kind, node.text, node.id))
            for premise in tree.rejected(node.id) if with_rejected else ():
                lines.append(Line(depth + 1, "rejected", premise.text, node.id, premise.key))
    return lines
