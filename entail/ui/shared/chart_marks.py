"""Colours, shapes and dashes of the charts, for light and dark themes.

Every colour has a contrast of at least 3:1 with either theme's page (WCAG 2.2, 1.4.11), so a chart is not
redrawn when the theme changes. The colours are Okabe and Ito's, which colour-blind readers can distinguish.
None is used without its own shape or dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entail.evaluation.retrieval.comparison import ComparedPremise

BLUE, VERMILION, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#c2699b", "#7d858e"
SERIES = (BLUE, VERMILION, GREEN, PURPLE, GREY)
"""Colours of series that mean nothing by themselves."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Style of one kind of mark.

    Attributes:
        name: Name in the legend.
        colour: As `#rrggbb`.
        shape: Shape of points, by Vega's name.
        dash: Dash of lines: pixels drawn, pixels left out; empty for a solid line.
    """

    name: str
    colour: str
    shape: str
    dash: tuple[int, ...] = ()


REFERENCE = Mark("in a reference tree", VERMILION, "diamond")
ACCEPTED = Mark("accepted by an author", BLUE, "square")
REJECTED = Mark("rejected by an author", PURPLE, "cross", (6, 4))
OTHER = Mark("Not judged", GREY, "circle", (1, 0))

DECISIONS = (REFERENCE, ACCEPTED, REJECTED, OTHER)
"""Decisions on a premise, in the order of the legend."""

TRUE_POSITIVE = Mark("TP", GREEN, "circle")
FALSE_NEGATIVE = Mark("FN", VERMILION, "triangle-up")
FALSE_POSITIVE = Mark("FP", BLUE, "square")

GROUPS = (TRUE_POSITIVE, FALSE_NEGATIVE, FALSE_POSITIVE)
"""The groups of Figure 3."""


def mark_of(row: ComparedPremise) -> Mark:
    """Return a premise's mark: an author's decision on this query takes precedence over a reference tree."""
    if row.decision is not None:
        return ACCEPTED if row.decision else REJECTED
    return REFERENCE if row.gold else OTHER


def decision_names(row: ComparedPremise) -> str:
    """Return the decisions on a premise as text."""
    names = [REFERENCE.name] if row.gold else []
    if row.decision is not None:
        names.append(mark_of(row).name)
    return ", ".join(names) or OTHER.name


def scales(marks: Sequence[Mark]) -> Mapping[str, Any]:
    """Return the scales of colour, shape and dash of these marks, by channel."""
    import altair as alt

    names = [mark.name for mark in marks]
    return {
        "color": alt.Scale(domain=names, range=[mark.colour for mark in marks]),
        "shape": alt.Scale(domain=names, range=[mark.shape for mark in marks]),
        "strokeDash": alt.Scale(domain=names, range=[list(mark.dash or (1, 0)) for mark in marks]),
    }
