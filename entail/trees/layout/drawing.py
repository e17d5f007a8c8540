"""Result of a layout: boxes, and the lines of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from entail.trees.layout.appearance import DrawnKind

Direction = Literal["right", "down"]
"""Side of the premises, seen from their conclusion."""

Segment = tuple[tuple[float, float], tuple[float, float]]
"""Straight line between two points."""


@dataclass(slots=True)
class Box:
    """Box of a node in pixels, outline included: centre (x to the right, y downwards), width, height.

    Attributes:
        layer: 0 for the hypothesis, 1 for its premises and for loose nodes ...
        parent: Id of the parent's box, None for the hypothesis and loose nodes.
        hidden: Number of nodes below that are not drawn since the node is collapsed.
        children: Ids of the drawn premises, rejected ones last.
        lines: Text, wrapped.
        start: Near edge along the direction of growth.
        across: Offset of its centre from that of its parent, across the direction of growth.
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

    Attributes:
        boxes: Node id (`rejected_id` for a rejected premise) -> box; parents before their premises, depth
            first, loose trees after the hypothesis's, rejected premises last.
        steps: Lines of each step.
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

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) of each box with a parent, in the order of the boxes."""
        return tuple((box.parent, id) for id, box in self.boxes.items() if box.parent is not None)


def rejected_id(node_id: str, key: str) -> str:
    """Return the id of the box of a premise that was rejected for a node."""
    return f"{node_id}!{key}"
