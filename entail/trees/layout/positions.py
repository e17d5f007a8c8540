"""Positions of the nodes of a tree, for the screen and for every export; always the same for the same tree.

The hypothesis stands at the left with its premises to the right of it, or on top with its premises below. The
premises of one step are stacked and joined by one rail. Subtrees are packed by their outlines (Reingold and
Tilford 1981), so that a short subtree stands next to a deep one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product

from entail.trees.layout.arrangement import arrange
from entail.trees.layout.boxes import DEEP, SCREEN, WIDTHS, level_widths, measure, visible_boxes
from entail.trees.layout.drawing import Box, Direction, Layout
from entail.trees.log.tree import ROOT, Tree

BELOW = (32, 40, 54)
"""Columns of text that boxes from top to bottom can have, the usual ones first."""
LISTED = (0, 150, 300, 450, 600, 800)
"""Heights up to which a subtree from top to bottom can be a list."""
PANE, FEW = (790, 660), 24
"""Pixels of a drawing that the pane of the Trees page shows, and the most nodes that can fit there."""
MOST = 80
"""Nodes up to which a drawing may fit on a screen, so that it pays to look for the best one."""

REMEMBERED = 64
"""Number of trees of which the form is kept."""

_chosen: dict[object, _Form] = {}


@dataclass(frozen=True, slots=True)
class _Form:
    """Way to draw a tree; `columns` of text are those of each level, the others as in `arrange`."""

    direction: Direction
    columns: tuple[int, ...]
    listed: int = 0
    beside_first: bool = False

    def arrange(self, boxes: dict[str, Box], max_lines: int | None = None) -> Layout:
        """Measure the boxes and return their places."""
        for box in boxes.values():
            # Rejected premises may have a level of their own.
            columns = self.columns[box.layer] if box.layer < len(self.columns) else WIDTHS[DEEP]
            box.lines, box.width, box.height = measure(box.text, box.kind, columns, max_lines)
        return arrange(boxes, self.direction, listed=self.listed, beside_first=self.beside_first)

    def scale(self, boxes: dict[str, Box], room: tuple[int, int]) -> float:
        """Return the scale at which the drawing fits into a room, at most 1."""
        drawing = self.arrange(boxes)
        return min(1.0, room[0] / drawing.width, room[1] / drawing.height)


def layout(
    tree: Tree,
    *,
    collapsed: Collection[str] = (),
    with_rejected: bool = False,
    max_lines: int | None = None,
    direction: Direction | None = None,
    start: str = ROOT,
) -> Layout:
    """Return the boxes of all visible nodes and the lines between them.

    A conclusion stands before the only one of its premises that is explained further, else before the middle
    of its premises; in a tree from left to right that is too large for a screen, next to the first. Premises
    keep their order. Direction and widths of the boxes are those of the whole tree, whatever is collapsed.

    Args:
        tree: Tree.
        collapsed: Ids of nodes of which nothing below is drawn; unknown ones are ignored.
        with_rejected: Whether to draw rejected premises, after the premises of their node.
        max_lines: Most lines of a text, the last one ending in “…”; unlimited by default.
        direction: Where premises stand; by default as `choose_direction` says.
        start: Node to draw with everything below it; the hypothesis also brings the loose trees.
    """
    form = _choose(visible_boxes(tree, start), direction)
    return form.arrange(visible_boxes(tree, start, set(collapsed), with_rejected=with_rejected), max_lines)


def choose_direction(tree: Tree, *, start: str = ROOT) -> Direction:
    """Return the direction in which a tree is the easiest to read.

    `down` if it fits into the pane of the Trees page; else `right` if a screen shows it as a whole; else the
    one that needs less reduction.
    """
    return _choose(visible_boxes(tree, start), None).direction


def _choose(boxes: dict[str, Box], direction: Direction | None) -> _Form:
    """Return the form of a tree of which nothing is collapsed; see `choose_direction`."""
    key = (direction, *((box.text, box.kind, box.parent) for box in boxes.values()))
    if key not in _chosen:
        if len(_chosen) >= REMEMBERED:
            del _chosen[next(iter(_chosen))]
        _chosen[key] = _search(boxes, direction)
    return _chosen[key]


def _search(boxes: dict[str, Box], direction: Direction | None) -> _Form:
    depth = 1 + max(box.layer for box in boxes.values())
    below = [_Form("down", (columns,) * depth, listed) for listed, columns in product(LISTED, BELOW)]
    if direction != "right" and len(boxes) <= FEW:
        for form in below:
            if form.scale(boxes, PANE) == 1:
                return form
    right = _Form("right", level_widths(boxes), beside_first=True)  # to read from the upper left corner
    if len(boxes) > MOST:
        return below[0] if direction == "down" else right
    whole = replace(right, beside_first=False)
    scale = whole.scale(boxes, SCREEN)
    if direction == "right" or (direction is None and scale == 1):
        return whole if scale == 1 else right
    best = max(below, key=lambda form: form.scale(boxes, SCREEN))
    return best if direction == "down" or best.scale(boxes, SCREEN) > scale else right
