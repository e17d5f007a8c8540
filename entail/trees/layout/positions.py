"""Positions of the nodes of a tree: layered from top to bottom, deterministic."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType

from entail.trees.layout.appearance import FONT_SIZE, LINE_HEIGHT, PADDING, SHAPES, DrawnKind
from entail.trees.log.tree import ROOT, Tree

COLUMN = 0.6 * FONT_SIZE
"""Pixels of an average character; text is measured in columns."""
NARROW, WIDE, FEW_LINES = 28, 84, 8
"""Columns of a box, of the widest box, and the lines from which on a box is wider than `NARROW`."""
SIBLING_GAP, LAYER_GAP, LOOSE_GAP = 24, 56, 72
"""Pixels between boxes of a layer, between layers, and before a loose tree."""

_COLUMNS = {
    **dict.fromkeys("ijl'|!.,:; ", 0.56),
    **dict.fromkeys('frt()[]{}-"/\\I', 0.77),
    **dict.fromkeys("abcdeghknopqsuvxyz0123456789", 1.06),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 1.32),
    **dict.fromkeys("mwMW@%", 1.67),
}
"""Widths in DejaVu Sans and Verdana, the widest of the usual sans-serif fonts."""


@dataclass(frozen=True, slots=True)
class Place:
    """Box of a node in pixels, outline included: centre (x to the right, y downwards), width, height.

    Attributes:
        lines: Text, wrapped.
        layer: 0 for the hypothesis, 1 for its premises and for loose nodes ...
        parent: Id of the parent's box, None for the hypothesis and loose nodes.
        hidden: Number of nodes below that are not drawn since the node is collapsed.
    """

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    kind: DrawnKind
    text: str
    layer: int
    parent: str | None
    hidden: int = 0

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


@dataclass(frozen=True)
class Layout:
    """Boxes of a drawing.

    Attributes:
        places: Node id (`rejected_id` for a rejected premise) -> box; parents before their premises, depth
            first, loose trees after the hypothesis's, rejected premises last.
    """

    places: Mapping[str, Place]

    @property
    def left(self) -> float:
        """Left edge of the drawing."""
        return min(place.left for place in self.places.values())

    @property
    def right(self) -> float:
        """Right edge of the drawing."""
        return max(place.right for place in self.places.values())

    @property
    def bottom(self) -> float:
        """Lower edge of the drawing; the upper one is at 0."""
        return max(place.bottom for place in self.places.values())

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) of each box with a parent, in the order of the places."""
        return tuple((place.parent, id) for id, place in self.places.items() if place.parent is not None)


@dataclass(slots=True)
class _Box:
    """Box whose place is not known yet; `dx` is its offset from its parent."""

    place: Place
    children: list[str] = field(default_factory=list)
    dx: float = 0.0


def rejected_id(node_id: str, key: str) -> str:
    """Return the id of the box of a premise that was rejected for a node."""
    return f"{node_id}!{key}"


def layout(
    tree: Tree, *, collapsed: Collection[str] = (), with_rejected: bool = False, max_lines: int | None = None
) -> Layout:
    """Return the boxes of all visible nodes.

    A parent stands over the middle of its premises, which keep their order; subtrees are moved together until
    two boxes of a layer are `SIBLING_GAP` apart (Reingold and Tilford 1981, with boxes of different widths).
    Boxes of a layer have the same upper edge. Loose trees stand to the right, from layer 1 on.

    Args:
        tree: Tree.
        collapsed: Ids of nodes of which nothing below is drawn; unknown ones are ignored.
        with_rejected: Whether to draw rejected premises, to the right of the premises of their node.
        max_lines: Most lines of a text, the last one ending in “…”; unlimited by default.
    """
    boxes = _visible_boxes(tree, set(collapsed), with_rejected=with_rejected, max_lines=max_lines)
    contours = _place_children(boxes)

    heights: dict[int, float] = {}
    for box in boxes.values():
        heights[box.place.layer] = max(heights.get(box.place.layer, 0.0), box.place.height)
    tops = [0.0, *accumulate(heights[layer] + LAYER_GAP for layer in range(len(heights)))]

    places: dict[str, Place] = {}
    right = 0.0
    for id, box in boxes.items():
        place = box.place
        if place.parent is not None:
            x = places[place.parent].x + box.dx
        elif id == ROOT:
            x = 0.0
        else:
            x = right + LOOSE_GAP - min(left for left, _ in contours[id])
        if place.parent is None:
            right = x + max(edge for _, edge in contours[id])
        places[id] = replace(place, x=x, y=tops[place.layer] + place.height / 2)
    return Layout(MappingProxyType(places))


def _visible_boxes(
    tree: Tree, collapsed: set[str], *, with_rejected: bool, max_lines: int | None
) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}

    def add(id: str, kind: DrawnKind, text: str, parent: str | None, hidden: int = 0) -> None:
        layer = boxes[parent].place.layer + 1 if parent is not None else 0 if id == ROOT else 1
        lines, width, height = _measure(text, kind, max_lines)
        boxes[id] = _Box(Place(0, 0, width, height, lines, kind, text, layer, parent, hidden))
        if parent is not None:
            boxes[parent].children.append(id)

    for node in tree.walk():
        if node.parent is None or (node.parent in boxes and node.parent not in collapsed):
            hidden = len(tree.descendants(node.id)) if node.id in collapsed else 0
            add(node.id, node.kind, node.text, node.parent, hidden)
    for id in [id for id in boxes if with_rejected and id not in collapsed]:
        for premise in tree.rejected(id):
            add(rejected_id(id, premise.key), "rejected", premise.text, id)
    return boxes


@lru_cache(maxsize=4096)
def _measure(text: str, kind: DrawnKind, max_lines: int | None) -> tuple[tuple[str, ...], float, float]:
    """Return the lines of a box, its width and its height."""
    columns = NARROW
    if (length := columns_of(text)) > NARROW * FEW_LINES:
        # Width grows with height, so that a long text does not make a tower.
        columns = min(WIDE, round((length * NARROW / FEW_LINES) ** 0.5))
    lines = wrap(text, columns)
    if max_lines is not None and len(lines) > max_lines:
        last = wrap(lines[max_lines - 1], columns - 2)[0]
        lines = (*lines[: max_lines - 1], f"{last.rstrip()}…")
    width = columns * COLUMN if len(lines) > 1 else max(6.0, columns_of(lines[0])) * COLUMN
    height = len(lines) * LINE_HEIGHT
    if SHAPES[kind] == "ellipse":
        # Twice as high as its text, and wide enough for the corners of the text.
        return lines, max(1.16 * width, width + height) + PADDING, 2 * height + PADDING
    return lines, width + 2 * PADDING, height + 2 * PADDING


def _place_children(boxes: dict[str, _Box]) -> dict[str, list[tuple[float, float]]]:
    """Set the offset of each box from its parent; return the contour of each tree.

    A contour has the extent of a subtree to the left and to the right of its root, from the lowest layer up.
    """
    contours: dict[str, list[tuple[float, float]]] = {}
    for id in reversed(boxes):
        box = boxes[id]
        contour: list[tuple[float, float]] = []
        at: list[float] = []
        for child in box.children:
            other = contours.pop(child)
            if not contour:
                contour, at = other, [0.0]
                continue
            common = min(len(contour), len(other))
            shift = SIBLING_GAP + max(contour[-d][1] - other[-d][0] for d in range(1, common + 1))
            deeper = [(left + shift, right + shift) for left, right in other[: len(other) - common]]
            for d in range(1, common + 1):
                contour[-d] = (contour[-d][0], other[-d][1] + shift)
            contour = deeper + contour
            at.append(shift)
        middle = (at[0] + at[-1]) / 2 if at else 0.0
        if middle:
            contour = [(left - middle, right - middle) for left, right in contour]
        for child, x in zip(box.children, at, strict=True):
            boxes[child].dx = x - middle
        contour.append((-box.place.width / 2, box.place.width / 2))
        contours[id] = contour
    return contours


def columns_of(text: str) -> float:
    """Return the width of a text in average characters."""
    return sum(map(_columns, text))


@lru_cache(maxsize=4096)
def _columns(char: str) -> float:
    if char in _COLUMNS:
        return _COLUMNS[char]
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff":
        return 0.0
    return 2.2 if unicodedata.east_asian_width(char) in "WF" else 1.32


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
