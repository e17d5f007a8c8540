"""Drawing of a tree: its boxes with their lines of text and their size, and the lines of each step.

Text has the same width on any machine: that of Helvetica.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from entail.trees.layout.appearance import (
    FONT_SIZE,
    INNER_LINE,
    LINE_HEIGHT,
    PADDING_X,
    PADDING_Y,
    SHAPES,
    DrawnKind,
)
from entail.trees.log.tree import ROOT, Tree

Direction = Literal["right", "down"]
"""Side of the premises, seen from their conclusion."""

Segment = tuple[tuple[float, float], tuple[float, float]]
"""Straight line between two points."""


@dataclass(slots=True)
class Box:
    """Box of a node in pixels, outline included: centre (x to the right, y downwards), width, height.

    `layer` is 0 for the hypothesis, 1 for its premises and for loose nodes ...; `hidden` the number of nodes
    below that are not drawn; `children` the ids of the drawn premises, rejected ones last. `start` is the
    near edge along the direction of growth, `across` the offset from the parent's centre across it.
    """

    kind: DrawnKind
    text: str
    parent: str | None
    layer: int
    hidden: int = 0
    children: list[str] = field(default_factory=list)
    lines: tuple[str, ...] = ()
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    start: float = 0.0
    across: float = 0.0

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.height / 2

    @property
    def left(self) -> float:
        """Left edge."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Step:
    """Lines from the premises of a conclusion (`parent`) to it, accepted and rejected ones separately.

    `stem` is the line into the conclusion, None where lines of rejected premises join those of the others.
    """

    parent: str
    stem: Segment | None
    rails: tuple[Segment, ...]
    rejected: bool

    @property
    def lines(self) -> tuple[Segment, ...]:
        """All lines, the stem last."""
        return self.rails if self.stem is None else (*self.rails, self.stem)


@dataclass(frozen=True)
class Layout:
    """Boxes and lines of a drawing, whose upper left corner is at (0, 0).

    `boxes` are by node id, or `rejected_id`: parents before their premises, depth first, loose trees after
    the hypothesis's, rejected premises last.
    """

    boxes: Mapping[str, Box]
    steps: tuple[Step, ...]
    direction: Direction

    @property
    def width(self) -> float:
        """Right edge of the drawing."""
        return max(box.right for box in self.boxes.values())

    @property
    def height(self) -> float:
        """Lower edge of the drawing."""
        return max(box.bottom for box in self.boxes.values())


def rejected_id(node_id: str, key: str) -> str:
    """Return the id of the box of a premise that was rejected for a node."""
    return f"{node_id}!{key}"


COLUMN = FONT_SIZE / 2
"""Pixels of an average character."""

_COLUMNS = {
    **dict.fromkeys("'ijl|", 0.46),
    **dict.fromkeys(" !,./:;I[\\]ft", 0.56),
    **dict.fromkeys('"()*-`r{}', 0.68),
    **dict.fromkeys("Jcksvxyz^", 1.0),
    **dict.fromkeys("abdeghnopqu0123456789#$?_L+<=>~", 1.12),
    **dict.fromkeys("ABEFKPSTVXYZ&", 1.32),
    **dict.fromkeys("CDHNRUw", 1.44),
    **dict.fromkeys("GOQ", 1.56),
    **dict.fromkeys("mM%", 1.7),
    **dict.fromkeys("W@", 1.95),
}
"""Widths in Helvetica and Arial, in half an em."""

BOLD = 1.07  # width of a bold text, compared to the same text in regular weight


def visible_boxes(
    tree: Tree, start: str, collapsed: Collection[str] = (), *, with_rejected: bool = False
) -> dict[str, Box]:
    """Return the visible boxes, each after its parent; see `layout`."""
    boxes: dict[str, Box] = {}

    def add(id: str, kind: DrawnKind, text: str, parent: str | None, hidden: int = 0) -> None:
        layer = boxes[parent].layer + 1 if parent is not None else 0 if id == start else 1
        boxes[id] = Box(kind, text, parent, layer, hidden)
        if parent is not None:
            boxes[parent].children.append(id)

    for node in tree.walk(None if start == ROOT else start):
        parent = None if node.id == start else node.parent
        if parent is None or (parent in boxes and parent not in collapsed):
            hidden = len(tree.descendants(node.id)) if node.id in collapsed else 0
            add(node.id, node.kind, node.text, parent, hidden)
    if with_rejected:
        for (id, key), judgement in sorted(tree.judgements.items(), key=lambda item: item[1].seq):
            if not judgement.accepted and id in boxes and id not in collapsed:
                add(rejected_id(id, key), "rejected", judgement.premise.text, id)
    return boxes


@lru_cache(maxsize=16384)
def measure(
    text: str, kind: DrawnKind, columns: int, max_lines: int | None
) -> tuple[tuple[str, ...], float, float]:
    """Return the lines of a box, its width and its height."""
    columns = int(columns / (BOLD if kind == "hypothesis" else 1))
    lines = wrap(text, columns)
    if max_lines is not None and len(lines) > max_lines:
        last = wrap(lines[max_lines - 1], columns - 2)[0]
        lines = (*lines[: max_lines - 1], f"{last.rstrip()}…")
    inner = INNER_LINE if SHAPES[kind] == "double" else 0
    width = max(40.0, *(width_of(line, kind) for line in lines)) + 2 * (PADDING_X + inner)
    return lines, width, len(lines) * LINE_HEIGHT + 2 * (PADDING_Y + inner)


def width_of(line: str, kind: DrawnKind) -> float:
    """Return the pixels that a line of text takes in a box of this kind."""
    return columns_of(line) * COLUMN * (BOLD if kind == "hypothesis" else 1)


def columns_of(text: str) -> float:
    """Return the width of a text in average characters."""
    return sum(map(_columns, text))


@lru_cache(maxsize=4096)
def _columns(char: str) -> float:
    if char in _COLUMNS:
        return _COLUMNS[char]
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff":
        return 0.0
    return 2.0 if unicodedata.east_asian_width(char) in "WF" else 1.32


@lru_cache(maxsize=4096)
def wrap(text: str, width: int) -> tuple[str, ...]:
    """Break a text into lines of at most `width` columns, at spaces, or inside a longer word.

    White space is folded to single spaces; a character stays with its combining marks. There is at least one
    line.

    >>> wrap("melting is a kind of process", 14)
    ('melting is a', 'kind of process')
    """
    lines: list[str] = []
    line, used = "", 0.0
    for word in text.split():
        length, space = columns_of(word), _columns(" ") if line else 0.0
        if line and used + space + length > width:
            lines.append(line)
            line, used, space = "", 0.0, 0.0
        if length > width:
            *full, word = _pieces(word, width)
            lines += full
            length = columns_of(word)
        line, used = f"{line} {word}" if line else word, used + space + length
    return (*lines, line) if line or not lines else tuple(lines)


def _pieces(word: str, width: int) -> list[str]:
    """Cut a word that is longer than a line; never before a mark of zero width, never after a joiner."""
    pieces, used = [""], 0.0
    for char in word:
        length = _columns(char)
        if pieces[-1] and used + length > width and length and not pieces[-1].endswith("\u200d"):
            pieces.append("")
            used = 0.0
        pieces[-1] += char
        used += length
    return pieces
