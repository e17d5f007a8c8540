"""Tree as text: its outline, any text inside XML, and templates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from entail.trees.layout import appearance
from entail.trees.layout.appearance import NAMES, DrawnKind
from entail.trees.layout.drawing import rejected_id
from entail.trees.log.tree import Node, Tree

if TYPE_CHECKING:
    import jinja2

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    r"""Return the text with characters invalid in XML 1.0 or UTF-8 replaced by U+FFFD, or by a space.

    >>> printable("a\x07b\x0cc")
    'a\ufffdb c'
    """
    return _NO_XML.sub(lambda match: " " if match[0].isspace() else "\ufffd", text)


@cache
def template(name: str) -> jinja2.Template:
    """Return a template of this folder, whose values are escaped.

    `look` is the module `appearance`; the filter `n` writes a number with one decimal.
    """
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {"printable": printable, "n": lambda value: f"{value:.1f}".removesuffix(".0")}
    environment.globals["look"] = appearance
    return environment.from_string((Path(__file__).parent / name).read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Line:
    """Line of the outline; `marks` are notes such as `finished`.

    `id` is that of the node or, for a rejected premise, of its box; `node` the node, or the one that it was
    rejected for; `parent` the parent line, None for the hypothesis and loose nodes; `level` 1 for these.
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
        empty = node.kind == "intermediate" and not node.children
        marks = ("finished",) if tree.is_finished(node.id) else ("no premises yet",) if empty else ()
        lines.append(
            Line(node.id, node.id, node.parent, node.kind, node.text, level, caption_of(node), marks)
        )
        for premise in tree.rejected(node.id) if with_rejected else ():
            id, author = rejected_id(node.id, premise.key), tree.judgements[node.id, premise.key].author
            caption, marks = f"{NAMES['rejected']} of {node.id}", (f"rejected by {author}",)
            lines.append(Line(id, node.id, node.id, "rejected", premise.text, level + 1, caption, marks))
    return lines


def to_text(tree: Tree) -> str:
    """Return a tree as plain text: a line a node, indented below its conclusion, and its review."""
    return "".join(f"{line}\n" for line in (*outline(tree), *reviews(tree)))


def reviews(tree: Tree) -> list[str]:
    """Return the review of a tree as a line, none without one."""
    return [f"Review: {tree.review}"] if tree.review is not None else []


def file_stem(claim: str) -> str:
    """Return the name of a file about a claim, without its suffix.

    >>> file_stem("The moon's surface: cold at night?"), file_stem("?")
    ('the-moon-s-surface-cold-at-night', 'tree')
    """
    return re.sub(r"\W+", "-", claim.lower())[:60].strip("-") or "tree"


def caption_of(node: Node) -> str:
    """Return kind, label if it has one, and author of a node."""
    return f"{' '.join(filter(None, (NAMES[node.kind], node.label)))}, by {node.author}"
