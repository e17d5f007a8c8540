"""Boxes of the nodes of a tree: which are drawn, their lines and their size.

Text has the same width on any machine: that of Helvetica.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from functools import lru_cache

from entail.trees.layout import appearance
from entail.trees.layout.appearance import FONT_SIZE, INNER_LINE, SHAPES, DrawnKind
from entail.trees.layout.drawing import Box, rejected_id
from entail.trees.log.tree import ROOT, Tree

COLUMN = FONT_SIZE / 2
"""Pixels of an average character; text is measured in columns."""

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

LEVEL_GAP, LIST_GAP, STACK_GAP = 38, 28, 6
"""Pixels between a conclusion and its premises, the same in a list, and between the premises of a stack."""

WIDTHS = (28, 34, 42, 54, 72)
"""Columns of text that the boxes of a level can have."""
USUAL, DEEP = 2, 1
"""Index in `WIDTHS` of the levels of a tree, and of one that is too deep for a screen."""
SCREEN = (1840, 1115)
"""Pixels of a drawing that a full screen of 1400 x 900 shows with letters of 11 pixels."""
BOLD = 1.07
"""Width of a bold text, compared to the same text in regular weight."""


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
    width = max(40.0, *(width_of(line, kind) for line in lines)) + 2 * (appearance.PADDING_X + inner)
    return lines, width, len(lines) * appearance.LINE_HEIGHT + 2 * (appearance.PADDING_Y + inner)


def width_of(line: str, kind: DrawnKind) -> float:
    """Return the pixels that a line of text takes in a box of this kind."""
    return columns_of(line) * COLUMN * (BOLD if kind == "hypothesis" else 1)


def level_widths(boxes: Mapping[str, Box]) -> tuple[int, ...]:
    """Return the columns of text of each level of a tree from left to right.

    If the tree does not fit on a screen with one width, the lowest levels become narrower and the highest one
    wider, as far as that helps.
    """
    levels: dict[int, list[Box]] = {}
    for box in boxes.values():
        levels.setdefault(box.layer, []).append(box)

    def size(level: int, width: int) -> tuple[float, float]:
        sizes = [measure(box.text, box.kind, WIDTHS[width], None)[1:] for box in levels[level]]
        return max(w for w, _ in sizes) + LEVEL_GAP, sum(h + STACK_GAP for _, h in sizes)

    def is_too_wide(indices: Mapping[int, int]) -> bool:
        return sum(size(*choice)[0] for choice in indices.items()) - LEVEL_GAP > SCREEN[0]

    def fit(indices: dict[int, int], keep: int | None = None) -> bool:
        """Make levels narrower until all fit, first those that stay the lowest; return whether they do."""
        while is_too_wide(indices):
            lower = {size(level, i - 1)[1]: level for level, i in indices.items() if i > 0 and level != keep}
            if not lower or (keep is not None and min(lower) > SCREEN[1]):
                return False
            indices[lower[min(lower)]] -= 1
        return True

    if is_too_wide(dict.fromkeys(levels, 0)):
        return (WIDTHS[DEEP],) * len(levels)
    indices = dict.fromkeys(levels, USUAL)
    fit(indices)
    highest = max(levels, key=lambda level: size(level, indices[level])[1])
    while size(highest, indices[highest])[1] > SCREEN[1] and indices[highest] + 1 < len(WIDTHS):
        wider = {**indices, highest: indices[highest] + 1}
        if not fit(wider, keep=highest):
            break
        indices = wider
    return tuple(WIDTHS[indices[level]] for level in range(len(levels)))


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
