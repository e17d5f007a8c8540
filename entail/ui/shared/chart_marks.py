"""Colours, shapes and dashes of the charts, for light and dark themes.

Every colour has a contrast of at least 3:1 with either theme's page (WCAG 2.2, 1.4.11), so a chart is not
redrawn when the theme changes. The colours are Okabe and Ito's, which colour-blind readers can distinguish.
None is used without its own shape or dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from entail.evaluation.retrieval.comparison import ComparedPremise
from entail.ui.shared.model_names import model_name

BLUE, VERMILION, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#c2699b", "#7d858e"
SKY, AMBER, VIOLET = "#1e88c8", "#a37a00", "#8a6fd1"
"""Okabe and Ito's colours, the light ones darkened."""

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


RETRIEVERS: Final[Mapping[str, tuple[str, str]]] = {
    "minilm": (BLUE, "circle"),
    "aeenc-minilm": (VERMILION, "square"),
    "gausscse-minilm": (GREEN, "triangle-up"),
    "arcf-minilm": (PURPLE, "diamond"),
    "tfidf": (GREY, "triangle-down"),
    "bm25": (AMBER, "cross"),
    "dpr-minilm": (SKY, "triangle-left"),
    "dpr-minilm-tuned": (VIOLET, "triangle-right"),
}
"""Colour and shape of the known retrievers, by name."""


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


def retriever_marks(names: Sequence[str]) -> tuple[Mark, ...]:
    """Return the marks of the retrievers of one chart, named as on the screen.

    With keyword match or a re-ranker, an encoder keeps its colour and is dashed. Other retrievers take the
    colours that are left over in the chart.
    """
    bases = {name.partition("+")[0] for name in names}
    free = [style for name, style in RETRIEVERS.items() if name not in bases] or [*RETRIEVERS.values()]
    styles = {name: free[at % len(free)] for at, name in enumerate(sorted(bases - set(RETRIEVERS)))}
    styles.update(RETRIEVERS)
    marks = []
    for name in names:
        base, _, more = name.partition("+")
        colour, shape = styles[base]
        marks.append(Mark(model_name(name), colour, shape, (6, 4) if more else ()))
    return tuple(marks)
