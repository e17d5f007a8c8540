"""Positions of the nodes of a tree, for the screen and for every export; always the same for the same tree.

The hypothesis stands at the left with its premises to the right of it, or on top with its premises below. The
premises of one step are stacked and meet at a rail, which one arrow leaves. Subtrees are packed by their
outlines (Reingold and Tilford 1981), so that a short subtree stands next to a deep one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain, groupby, pairwise, product
from types import MappingProxyType

from entail.trees.layout.drawing import Box, Direction, Layout, Segment, Step, measure, visible_boxes
from entail.trees.log.tree import ROOT, Tree

# Pixels: between a conclusion and its premises, the same in a list, between the premises of a stack; between
# subtrees, one below the other and side by side, and before a loose tree; between the rail of a step and its
# premises, between the line of a stack and its premises; and by which these stand to the right of its edge.
LEVEL_GAP, LIST_GAP, STACK_GAP = 38, 28, 6
SUBTREE_GAP, COLUMN_GAP, LOOSE_GAP = 16, 22, 48
RAIL, LINE, INDENT = 10, 14, 22

COLUMNS: dict[Direction, tuple[int, ...]] = {"right": (42, 54, 34, 28, 72), "down": (32, 40, 54)}
"""Columns of text that the boxes of a drawing can have, the usual ones first."""

LISTED = (0, 150, 300, 450, 600, 800)
"""Heights up to which a subtree from top to bottom can be a list."""

SCREEN, MOST = (1840, 1115), 80
"""Pixels that a screen of 1400 x 900 shows with letters of 11 pixels, and the most nodes that can fit."""

PANE, FEW = (790, 660), 24
"""The same of the pane of the Trees page."""

REMEMBERED = 64
"""Number of trees of which the form is kept."""

_Stacks = list[list[str]]
_Outline = list[tuple[float, float, float]]
"""Outline of a subtree from its far end to its root: (end, lower side, upper side) of each piece, which
begins at the end of the next piece."""

_chosen: dict[object, _Form] = {}


@dataclass(frozen=True, slots=True)
class _Form:
    """Way to draw a tree: columns of text, and the height up to which a subtree is a list."""

    direction: Direction
    columns: int
    listed: int = 0

    def arrange(self, boxes: dict[str, Box], max_lines: int | None = None) -> Layout:
        """Measure the boxes and set their places."""
        for box in boxes.values():
            box.lines, box.width, box.height = measure(box.text, box.kind, self.columns, max_lines)
        return _arrange(boxes, self.direction, listed=self.listed)

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
    of its premises. Premises keep their order, rejected ones follow. Direction and width of the boxes are
    those of the whole tree, whatever is `collapsed`. A text of more than `max_lines` ends in “…”. The
    `direction` is by default that of `choose_direction`. `start` is drawn with everything below it; the
    hypothesis also brings the loose trees.
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
    right = [_Form("right", columns) for columns in COLUMNS["right"]]
    down = [_Form("down", columns, listed) for listed, columns in product(LISTED, COLUMNS["down"])]
    if direction != "right" and len(boxes) <= FEW:
        for form in down:
            if form.scale(boxes, PANE) == 1:
                return form
    forms = [form for form in (*right, *down) if direction in (None, form.direction)]
    return forms[0] if len(boxes) > MOST else max(forms, key=lambda form: form.scale(boxes, SCREEN))


def _arrange(boxes: dict[str, Box], direction: Direction, *, listed: float) -> Layout:
    """Set the places of measured boxes; from top to bottom, subtrees up to the height `listed` are lists."""
    down = direction == "down"
    lists = {id for id, height in _listed_heights(boxes).items() if height <= listed} if down else set()
    stacks = {id: _stack(boxes, id, down=down, listed=id in lists) for id in boxes}
    lists |= {id for id in boxes if len(stacks[id]) == 1 and len(stacks[id][0]) > 1}
    if down:
        _begin_below(boxes, stacks, lists)
    else:
        _begin_by_level(boxes)

    outlines: dict[str, _Outline] = {}
    for id in reversed(boxes):
        outlines[id] = _pack_children(boxes, id, stacks[id], outlines, down, id in lists)

    end: float = -LOOSE_GAP
    for id, box in boxes.items():
        if box.parent is not None:
            above = boxes[box.parent]
            across = (above.x if down else above.y) + box.across
        else:
            across = end + LOOSE_GAP - min(low for _, low, _ in outlines[id])
            end = across + max(high for _, _, high in outlines[id])
        box.x, box.y = (across, box.start + box.height / 2) if down else (box.start + box.width / 2, across)
    steps = (_draw_steps(id, stacks[id], boxes, direction, listed=id in lists) for id in boxes if stacks[id])
    return Layout(MappingProxyType(boxes), tuple(chain.from_iterable(steps)), direction)


def _gap(boxes: Mapping[str, Box], upper: str, lower: str) -> int:
    """Return the pixels between two boxes that follow each other from top to bottom."""
    return SUBTREE_GAP if boxes[upper].children or boxes[lower].children else STACK_GAP


def _listed_heights(boxes: dict[str, Box]) -> dict[str, float]:
    """Return the height of each subtree as a list."""
    heights: dict[str, float] = {}
    for id in reversed(boxes):
        box = boxes[id]
        below = sum(heights[child] for child in box.children)
        gaps = sum(_gap(boxes, upper, lower) for upper, lower in pairwise(box.children))
        heights[id] = box.height + below + gaps + (LIST_GAP if box.children else 0)
    return heights


def _stack(boxes: Mapping[str, Box], id: str, *, down: bool, listed: bool) -> _Stacks:
    """Return what stands side by side below a node: lists, or premises that follow each other."""
    children = boxes[id].children
    if listed:
        return [[*children]] if children else []
    if not down:
        return [[child] for child in children]
    runs = groupby(children, key=lambda child: not boxes[child].children and not boxes[child].hidden)
    return [stack for leaf, run in runs for stack in ([[*run]] if leaf else [[child] for child in run])]


def _begin_below(boxes: dict[str, Box], stacks: Mapping[str, _Stacks], lists: Collection[str]) -> None:
    """Set where boxes begin, each below its conclusion or the one before it in its stack."""
    lengths: dict[str, float] = {}
    for id in reversed(boxes):
        below = [
            sum(lengths[child] for child in stack) + sum(_gap(boxes, *pair) for pair in pairwise(stack))
            for stack in stacks[id]
        ]
        gap = LIST_GAP if id in lists else LEVEL_GAP
        lengths[id] = boxes[id].height + (gap + max(below) if below else 0)
    first = next(iter(boxes.values()))
    for id, box in boxes.items():
        if box.parent is None and box is not first:
            box.start = first.height + LEVEL_GAP
        for stack in stacks[id]:
            width = max(boxes[child].width for child in stack)
            start = box.start + box.height + (LIST_GAP if id in lists else LEVEL_GAP)
            for child, following in zip(stack, [*stack[1:], stack[-1]], strict=True):
                boxes[child].start, boxes[child].width = start, width
                start += lengths[child] + _gap(boxes, child, following)


def _begin_by_level(boxes: Mapping[str, Box]) -> None:
    """Set where boxes begin: a level in one column, of one width."""
    widths: dict[int, float] = {}
    for box in boxes.values():
        widths[box.layer] = max(widths.get(box.layer, 0.0), box.width)
    starts = [0.0, *accumulate(widths.get(level, 0.0) + LEVEL_GAP for level in range(max(widths)))]
    for box in boxes.values():
        box.start, box.width = starts[box.layer], widths[box.layer]


def _pack_children(
    boxes: Mapping[str, Box],
    id: str,
    stacks: _Stacks,
    outlines: dict[str, _Outline],
    down: bool,
    listed: bool,
) -> _Outline:
    """Set the offsets of the children of a node across the drawing; return the outline of its subtree."""
    parts: list[_Outline] = []
    for stack in stacks:
        members = [outlines.pop(child) for child in stack]
        if len(stack) > 1 or listed:
            low = -boxes[stack[0]].width / 2 - INDENT
            high = max(high for member in members for _, _, high in member)
            members = [[(max(member[0][0] for member in members), low, high)]]
        parts += members
    gaps = [COLUMN_GAP if down else _gap(boxes, upper[0], lower[0]) for upper, lower in pairwise(stacks)]
    outline, offsets = _pack(parts, gaps)

    box, middle = boxes[id], 0.0
    if listed and stacks:
        # A list below its conclusion, whose rail begins at the left.
        middle = (box.width - boxes[stacks[0][0]].width) / 2 - INDENT
    elif stacks:
        heads = [(offset, boxes[stack[0]]) for offset, stack in zip(offsets, stacks, strict=True)]
        explained = [offset for offset, child in heads if child.children]
        accepted = [offset for offset, child in heads if child.kind != "rejected"] or offsets
        ends = explained if len(explained) == 1 else accepted
        middle = (ends[0] + ends[-1]) / 2
    for stack, offset in zip(stacks, offsets, strict=True):
        for child in stack:
            boxes[child].across = offset - middle
    if middle:
        outline = [(end, low - middle, high - middle) for end, low, high in outline]
    depth, half = (box.height, box.width / 2) if down else (box.width, box.height / 2)
    outline.append((box.start + depth, -half, half))
    return outline


def _pack(parts: list[_Outline], gaps: list[int]) -> tuple[_Outline, list[float]]:
    """Move outlines together that begin at the same line; return that of all, and the offset of each."""
    if not parts:
        return [], []
    whole, offsets = parts[0], [0.0]
    for part, gap in zip(parts[1:], gaps, strict=True):
        i, j = len(whole) - 1, len(part) - 1
        pieces: list[tuple[float, float, float]] = []
        offset = float("-inf")
        while i >= 0 and j >= 0:
            end = min(whole[i][0], part[j][0])
            offset = max(offset, whole[i][2] - part[j][1] + gap)
            pieces.append((end, whole[i][1], part[j][2]))
            i, j = i - (whole[i][0] == end), j - (part[j][0] == end)
        far = [(end, low + offset, high + offset) for end, low, high in part[: j + 1]]
        near = [(end, low, high + offset) for end, low, high in reversed(pieces)]
        whole = [*whole[: i + 1], *far, *near]
        offsets.append(offset)
    return whole, offsets


def _draw_steps(
    id: str, stacks: _Stacks, boxes: Mapping[str, Box], direction: Direction, *, listed: bool
) -> list[Step]:
    """Return the lines to a conclusion: of its premises, and behind them of those rejected for it."""
    down = direction == "down"
    parent, first = boxes[id], boxes[stacks[0][0]]
    rail = (first.top if down else first.left) - RAIL

    def line(start: tuple[float, float], end: tuple[float, float]) -> Segment:
        """Return a line of points (along the direction of growth, across it)."""
        return (start[::-1], end[::-1]) if down else (start, end)

    def exit_of(stack: list[str]) -> float:
        box = boxes[stack[0]]
        return box.left - LINE if len(stack) > 1 or listed else box.x if down else box.y

    def is_rejected(child: str) -> bool:
        return boxes[child].kind == "rejected"

    def branch(stack: list[str], *, rejected: bool) -> list[Segment]:
        """Return the lines from the rail to the premises of this kind."""
        at = exit_of(stack)
        members = [boxes[child] for child in stack if is_rejected(child) == rejected]
        if not members or (len(stack) == 1 and not listed):
            return [line((rail, at), (box.top if down else box.left, at)) for box in members]
        above = [boxes[child].y for child in stack if rejected and not is_rejected(child)]
        return [
            line((above[-1] if above else rail, at), (members[-1].y, at)),
            *(((at, box.y), (box.left, box.y)) for box in members),
        ]

    joint = exit_of(stacks[0]) if len(stacks) == 1 else parent.x if down else parent.y
    stem = line((rail, joint), (parent.bottom if down else parent.right, joint))
    steps: list[Step] = []
    low = high = joint
    for rejected in (False, True):
        members = [stack for stack in stacks if any(is_rejected(child) == rejected for child in stack)]
        if not members:
            continue
        ends = [exit_of(stack) for stack in members]
        low, high = (high, max(high, *ends)) if steps else (min(joint, *ends), max(joint, *ends))
        along = [line((rail, low), (rail, high))] if low < high else []
        rails = (*along, *(segment for stack in members for segment in branch(stack, rejected=rejected)))
        steps.append(Step(id, None if steps else stem, rails, rejected=rejected))
    return steps
