"""Appearance of each kind of node, on screen and in every export.

Kinds differ in colour and in shape, so colour alone never carries meaning. The colours are distinct with
protanopia, deuteranopia and tritanopia; text has a contrast of at least 4.5:1 to its fill and a border of at
least 3:1 to the background (WCAG 2.2, 1.4.3 and 1.4.11), in both themes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DrawnKind = Literal["hypothesis", "intermediate", "premise", "rejected"]
"""Kind of a node, or a rejected premise."""

Shape = Literal["double", "rounded", "rectangle", "dashed"]
"""Outline of a box: a rectangle with a double border, round corners, a plain or a dashed border."""

KINDS: tuple[DrawnKind, ...] = ("hypothesis", "intermediate", "premise", "rejected")

NAMES: Mapping[DrawnKind, str] = {
    "hypothesis": "Hypothesis",
    "intermediate": "Intermediate conclusion",
    "premise": "Premise",
    "rejected": "Rejected premise",
}

SHAPES: Mapping[DrawnKind, Shape] = {
    "hypothesis": "double",
    "intermediate": "rounded",
    "premise": "rectangle",
    "rejected": "dashed",
}

# In pixels; the line height is from one line of text to the next, the padding between text and outline, the
# inner line between the two of a `double` border; dashes are of the border of a rejected premise, dots of its
# edge: drawn, left out. The generic fonts let nothing be fetched.
FONTS = "system-ui, sans-serif"
FONT_SIZE, LINE_HEIGHT = 14, 17
PADDING_X, PADDING_Y = 11, 5
BORDER_WIDTH, INNER_LINE, CORNER = 1.5, 4, 14
DASHES, DOTS = (7, 4), (2, 4)


@dataclass(frozen=True, slots=True)
class Look:
    """Colours of a box, as `#rrggbb`."""

    fill: str
    border: str
    text: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a drawing."""

    background: str
    text: str
    edge: str
    looks: Mapping[DrawnKind, Look]


ACCENT = "#7c5cff"
"""Ring around the selected box, in both themes."""

LIGHT = Theme(
    background="#ffffff",
    text="#1a1a1a",
    edge="#666666",
    looks={
        "hypothesis": Look("#ffd8c2", "#c24100", "#1a1a1a"),
        "intermediate": Look("#c5dffa", "#00498a", "#1a1a1a"),
        "premise": Look("#def7e4", "#149a5b", "#1a1a1a"),
        "rejected": Look("#fbf0fd", "#b766c9", "#1a1a1a"),
    },
)

DARK = Theme(
    background="#0e1117",
    text="#f5f5f5",
    edge="#9aa0a6",
    looks={
        "hypothesis": Look("#73290a", "#ff9a63", "#f5f5f5"),
        "intermediate": Look("#0a3f70", "#4fa3e8", "#f5f5f5"),
        "premise": Look("#0d4a2b", "#6fe3a6", "#f5f5f5"),
        "rejected": Look("#2a1530", "#e3b0f0", "#f5f5f5"),
    },
)
