"""How charts of a comparison mark things: by colour and by shape, in both themes.

Every colour has a contrast of at least 3:1 with the page in light and in dark (WCAG 2.2, 1.4.11), so a chart
needs no redrawing when the theme changes; they are those of Okabe and Ito, which stay apart for colour-blind
readers, and none is used without a shape or dash of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entail.evaluation.comparison import ComparedPremise


@dataclass(frozen=True, slots=True)
class Mark:
    """How one kind of thing is drawn.

    Attributes:
        name: As the legend says it.
        colour: As `#rrggbb`.
        shape: Of its points, a shape of Vega's.
        dash: Of its lines: pixels drawn, pixels left out; none for a whole line.
    """

    name: str
    colour: str
    shape: str
    dash: tuple[int, ...] = ()


REFERENCE = Mark("in a reference tree", "#d55e00", "diamond")
ACCEPTED = Mark("accepted by an author", "#0072b2", "square")
REJECTED = Mark("rejected by an author", "#c2699b", "cross", (6, 4))
OTHER = Mark("nothing known", "#7d858e", "circle", (1, 0))

DECISIONS = (REFERENCE, ACCEPTED, REJECTED, OTHER)
"""What is known of a premise, in the order of the legend."""

TRUE_POSITIVE = Mark("TP", "#009e73", "circle")
FALSE_NEGATIVE = Mark("FN", "#d55e00", "triangle-up")
FALSE_POSITIVE = Mark("FP", "#0072b2", "square")

GROUPS = (TRUE_POSITIVE, FALSE_NEGATIVE, FALSE_POSITIVE)
"""The groups of Figure 3."""


def mark_of(row: ComparedPremise) -> Mark:
    """Return how a premise is marked: an author's decision on this very query says more than a reference."""
    if row.decision is not None:
        return ACCEPTED if row.decision else REJECTED
    return REFERENCE if row.gold else OTHER


def words_of(row: ComparedPremise) -> str:
    """Return all that is known of a premise, in words."""
    known = [REFERENCE.name] if row.gold else []
    if row.decision is not None:
        known.append(mark_of(row).name)
    return ", ".join(known) or OTHER.name


def scales(marks: Sequence[Mark]) -> Mapping[str, Any]:
    """Return the scales of colour, shape and dash for these marks, by channel."""
    import altair as alt

    names = [mark.name for mark in marks]
    return {
        "color": alt.Scale(domain=names, range=[mark.colour for mark in marks]),
        "shape": alt.Scale(domain=names, range=[mark.shape for mark in marks]),
        "strokeDash": alt.Scale(domain=names, range=[list(mark.dash or (1, 0)) for mark in marks]),
    }
