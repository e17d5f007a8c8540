"""Slope chart: ranks on the left, ranks on the right, a line for each premise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import streamlit as st

from entail.evaluation.retrieval.comparison import Comparison
from entail.ui.shared.chart_marks import DECISIONS, Mark, mark_of, scales, words_of

if TYPE_CHECKING:
    import altair as alt


_DECADE = 4.0
"""Height of a decade of ranks below rank k, in ranks."""

_MARGIN = 0.36
"""Share of the width for the texts on each side."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Line of one premise: its text, its ranks left and right from 1, the decisions on it as text."""

    premise: str
    ranks: tuple[int, int]
    mark: Mark
    decisions: str
    parent: str = ""
    """Text of its parent, where lines have several parents."""


def slopes_of(comparison: Comparison) -> list[Slope]:
    """Return the lines of one query, the largest changes first."""
    return [
        Slope(row.premise.text, row.ranks, mark_of(row), words_of(row)) for row in comparison.by_difference
    ]


def height_of(rank: int, k: int) -> float:
    """Return the height of a rank: linear down to k, logarithmic below.

    >>> [height_of(rank, 20) for rank in (1, 20, 200, 2000)]
    [1.0, 20.0, 25.0, 29.0]
    """
    return float(rank) if rank <= k else k + 1 + _DECADE * math.log10(rank / k)


def draw_slopes(lines: Sequence[Slope], sides: tuple[Mark, Mark], *, k: int) -> alt.LayerChart:
    """Return the chart of lines, the top ones first; hovering over one highlights it and shows its text.

    Ranks below k are on a logarithmic scale. A side has the mark of its retriever.
    """
    import altair as alt
    import pandas as pd

    visible_lines = [line for line in lines if all(math.isfinite(rank) for rank in line.ranks)]
    lowest = max((max(line.ranks) for line in visible_lines), default=k)
    table = pd.DataFrame([_row(i, line, k) for i, line in reversed(list(enumerate(visible_lines)))])
    for side in (1, 2):  # premises of several parents may share a rank, and so a label
        table[f"label{side}"] = table.groupby(f"rank{side}")["premise"].transform(" · ".join)
        table.loc[table.duplicated(f"rank{side}"), f"label{side}"] = ""
    scale = scales([mark for mark in DECISIONS if any(line.mark == mark for line in visible_lines)])
    legend = alt.Legend(title=None, orient="top", columns=2)
    colour = alt.Color("mark:N", scale=scale["color"], legend=legend)
    bottom = height_of(lowest, k) + 0.6
    heights = alt.Scale(domain=[0.4, bottom], reverse=True, nice=False)
    axis = _rank_axis(k, lowest)
    hover = alt.selection_point(
        name="hover", on="pointerover", clear="pointerout", fields=["id"], empty=False
    )
    tip = [
        alt.Tooltip("premise:N", title="Premise"),
        *([alt.Tooltip("parent:N", title="Explains")] if any(line.parent for line in visible_lines) else []),
        alt.Tooltip("rank1:Q", title=sides[0].name, format=",d"),
        alt.Tooltip("rank2:Q", title=sides[1].name, format=",d"),
        alt.Tooltip("decisions:N", title="Judgement"),
    ]
    base = alt.Chart(table)
    ends_x = [alt.value(alt.ExprRef(f"width * {share}")) for share in (_MARGIN, 1 - _MARGIN)]
    rows = [alt.Y(f"y{side}:Q", scale=heights, axis=axis) for side in (1, 2)]
    ends = {"x": ends_x[0], "x2": ends_x[1], "y": rows[0], "y2": alt.Y2("y2:Q")}
    layers: list[Any] = [
        base.mark_rule(strokeCap="round").encode(
            **ends,
            color=colour,
            strokeDash=alt.StrokeDash("mark:N", scale=scale["strokeDash"], legend=legend),
            strokeWidth=alt.when(hover).then(alt.value(5)).otherwise(alt.StrokeWidth("width:Q", scale=None)),
        ),
        # A wide invisible line is easier to hit.
        base.mark_rule(strokeWidth=13, opacity=0.001).encode(**ends, tooltip=tip).add_params(hover),
    ]
    for side, (mark, x, y) in enumerate(zip(sides, ends_x, rows, strict=True), start=1):
        align: Literal["right", "left"] = "right" if side == 1 else "left"
        texts = base.transform_filter(alt.datum[f"rank{side}"] <= k).mark_text(
            align=align,
            baseline="middle",
            dx=-9 if side == 1 else 9,
            fontSize=12,
            limit=alt.ExprRef(f"width * {_MARGIN} - 44"),
        )
        name = alt.Chart(pd.DataFrame({"name": [mark.name]}))
        rail = name.mark_rule(
            aria=False, color=mark.colour, strokeWidth=3, strokeDash=list(mark.dash or (1, 0))
        )
        head = name.mark_text(align=align, baseline="bottom", fontWeight="bold", fontSize=13, y=-6)
        layers += [
            rail.encode(x=x, y=alt.value(0), y2=alt.value(alt.ExprRef("height"))),
            base.mark_point(filled=True, opacity=1).encode(
                x=x,
                y=y,
                color=colour,
                size=alt.Size("size:Q", scale=None),
                shape=alt.Shape("mark:N", scale=scale["shape"], legend=legend),
                tooltip=tip,
            ),
            texts.encode(x=x, y=y, text=f"label{side}:N", tooltip=tip),
            head.encode(x=x, text="name:N"),
        ]
    height = bottom * (22 if len(visible_lines) >= k <= 25 else 16)
    chart = alt.LayerChart(layer=layers).properties(
        height=max(140, int(height)),  # room for the legend
        title="Rank of each premise",
        padding={"left": 2, "right": 2, "top": 24, "bottom": 4},
    )
    return cast("alt.LayerChart", chart.configure_view(stroke=None))


def _row(index: int, line: Slope, k: int) -> dict[str, Any]:
    is_judged = line.mark != DECISIONS[-1]
    return {
        "id": index,
        "premise": line.premise,
        "parent": line.parent,
        "mark": line.mark.name,
        "decisions": line.decisions,
        "rank1": line.ranks[0],
        "rank2": line.ranks[1],
        "y1": height_of(line.ranks[0], k),
        "y2": height_of(line.ranks[1], k),
        "width": 3.0 if is_judged else 1.4,
        "size": 130.0 if is_judged else 55.0,
    }


def _rank_axis(k: int, lowest: int) -> alt.Axis:
    """Return the axis that labels heights with their ranks."""
    import altair as alt

    step = 5 if k <= 25 else 10
    decades = (10**power for power in range(1, 10))
    ranks = [1, *range(step, k + 1, step), *(rank for rank in decades if 1.5 * k < rank <= lowest)]
    heights = {height_of(rank, k): rank for rank in ranks}
    tests = "".join(
        f"abs(datum.value - {height!r}) < 1e-6 ? '{rank:,}' : " for height, rank in heights.items()
    )
    return alt.Axis(
        title="Rank",
        titleAngle=0,
        titleAnchor="end",
        titleAlign="left",
        titleY=-8,
        values=list(heights),
        labelExpr=f"{tests}''",
        gridOpacity=0.25,
        domain=False,
        ticks=False,
    )


def show_slopes(
    lines: Sequence[Slope], sides: tuple[Mark, Mark], *, k: int, alt: str, key: str = "one"
) -> None:
    """Draw the chart with a text alternative; the key must be unique on the page."""
    with st.container(key=f"slopes-{key}"):
        # Streamlit themes axes and legends, but not text marks.
        st.html('<style>[class*="st-key-slopes-"] svg .mark-text text { fill: currentColor; }</style>')
        st.altair_chart(draw_slopes(lines, sides, k=k), width="stretch", alt=alt)
