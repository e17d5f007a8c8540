"""Tree as text: its outline, and any text inside XML or DOT."""

from __future__ import annotations

import re
from dataclasses import dataclass

from entail.trees.layout.appearance import NAMES, DrawnKind
from entail.trees.layout.drawing import rejected_id
from entail.trees.log.tree import Node, Tree

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    r"""Return the text with characters invalid in XML 1.0 or UTF-8 replaced by U+FFFD, or by a space.

    These are control characters, lone surrogates and the last two code points of the first plane. A premise
    with a form feed keeps its key, for which all white space is equal.

    >>> printable("a\x07b\x0cc")
    'a\ufffdb c'
    """
    return _NO_XML.sub(lambda match: " " if match[0].isspace() else "\ufffd", text)


def quote_dot(text: str) -> str:
    r"""Return the text as a quoted DOT string.

    Graphviz interprets backslash sequences and HTML entities in labels, so `\` and `&` are escaped, too.

    >>> print(quote_dot('a "b" \\N &lt;'))
    "a \"b\" \\N &amp;lt;"
    """
    escaped = printable(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"\r\n|\r|\n", r"\\n", escaped) + '"'


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the outline.

    Attributes:
        id: Id of the node; for a rejected premise, of its box in the graph.
        node: Node of the tree: itself, or the one that it was rejected for.
        parent: Id of the parent line; None for the hypothesis and for loose nodes.
        kind: Kind of node.
        text: Sentence.
        level: Depth, 1 for lines without a parent.
        caption: Kind, label and author.
        marks: Further notes: `finished`, `no premises yet`, `rejected by …`.
    """

    id: str
    node: str
    parent: str | None
    kind: DrawnKind
    text: str
    level: int
    caption: str
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{'  ' * (self.level - 1)}{NAMES[self.kind]}: {self.text}"


def outline(tree: Tree, *, with_rejected: bool = False) -> list[Line]:
    """Return the lines of a tree, depth first, rejected premises right below their node."""
    lines: list[Line] = []
    levels: dict[str, int] = {}
    for node in tree.walk():
        level = levels[node.id] = 1 if node.parent is None else levels[node.parent] + 1
        marks = _marks(tree, node)
        lines.append(
            Line(node.id, node.id, node.parent, node.kind, node.text, level, caption_of(node), marks)
        )
        for premise in tree.rejected(node.id) if with_rejected else ():
            id, author = rejected_id(node.id, premise.key), tree.judgements[node.id, premise.key].author
            caption, marks = f"{NAMES['rejected']} of {node.id}", (f"rejected by {author}",)
            lines.append(Line(id, node.id, node.id, "rejected", premise.text, level + 1, caption, marks))
    return lines


def caption_of(node: Node) -> str:
    """Return kind, label and author of a node."""
    return f"{NAMES[node.kind]} {node.label or node.id}, by {node.author}"


def _marks(tree: Tree, node: Node) -> tuple[str, ...]:
    if node.id in tree.finished:
        return ("finished",)
    if node.kind == "intermediate" and not node.children:
        return ("no premises yet",)
    return ()
