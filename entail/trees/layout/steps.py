"""Lines from premises to conclusions: the premises of a step meet at a rail, which one arrow leaves."""

from __future__ import annotations

from collections.abc import Mapping

from entail.trees.layout.drawing import Direction, PlacedBox, Segment, Step

RAIL = 10
"""Pixels between the rail of a step and its premises."""
INDENT = 22
"""Pixels by which the premises of a stack stand to the right of its left edge, for their line."""
_LINE = 14
"""Pixels between the line of a stack and its premises."""


def draw_steps(
    id: str,
    stacks: list[list[str]],
    boxes: Mapping[str, PlacedBox],
    direction: Direction,
    *,
    listed: bool = False,
) -> list[Step]:
    """Return the lines to a conclusion: of its premises, and of those that were rejected for it.

    The lines of rejected premises go on where those of the premises end.

    Args:
        id: Conclusion.
        stacks: Its premises as they stand beside each other; those of a stack stand below each other.
        boxes: Boxes.
        direction: Where premises stand.
        listed: Whether the premises are a list, even if there is only one.
    """
    down = direction == "down"
    parent, first = boxes[id], boxes[stacks[0][0]]
    rail = (first.top if down else first.left) - RAIL

    def line(start: tuple[float, float], end: tuple[float, float]) -> Segment:
        """Return a line of points (along the direction of growth, across it)."""
        return (start[::-1], end[::-1]) if down else (start, end)

    def exit_of(stack: list[str]) -> float:
        box = boxes[stack[0]]
        return box.left - _LINE if len(stack) > 1 or listed else box.x if down else box.y

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
