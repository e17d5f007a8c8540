"""Bar chart of a headline figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from entail.ui.results.figures import Headline
from entail.ui.shared.chart_marks import ACCEPTED, REFERENCE

if TYPE_CHECKING:
    import altair as alt

_HEIGHT, _LEGEND = 132, 72
"""Pixels of a chart, and of what a second measure adds: a legend and twice as many bars."""

_MEASURES = (ACCEPTED.colour, REFERENCE.colour)


def draw_bars(headline: Headline) -> alt.LayerChart:
    """Return a bar for each name and measure, labelled with its value."""
    import altair as alt
    import pandas as pd

    table = pd.DataFrame(
        [
            {"name": bar.name, "measure": measure, "value": value}
            for bar in headline.bars
            for measure, value in zip(headline.measures, bar.values, strict=True)
        ]
    )
    several = len(headline.measures) > 1
    largest = float(table["value"].max())
    top = max(largest, 1.0) * 1.18
    digits = ".3f" if largest <= 1 else ".1f"
    base = alt.Chart(table).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=130, ticks=False, domain=False)),
        x=alt.X(
            "value:Q",
            title=" and ".join(headline.measures),
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(labels=False, ticks=False, grid=False),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="Retriever" if several else "Method"),
            alt.Tooltip("measure:N", title="Measure"),
            alt.Tooltip("value:Q", title="Value", format=digits),
        ],
    )
    colour = alt.Color(
        "measure:N",
        scale=alt.Scale(domain=headline.measures, range=list(_MEASURES[: len(headline.measures)])),
        legend=alt.Legend(title=None, orient="top") if several else None,
    )
    if several:
        base = base.encode(yOffset=alt.YOffset("measure:N", sort=headline.measures))
    bars = base.mark_bar(cornerRadiusEnd=2).encode(color=colour)
    values = base.mark_text(align="left", dx=4, fontSize=11).encode(text=alt.Text("value:Q", format=digits))
    chart = alt.layer(bars, values).properties(height=_HEIGHT + _LEGEND * several)
    return cast("alt.LayerChart", chart.configure_view(stroke=None))


def describe(headline: Headline) -> str:
    """Return the text alternative of a chart."""
    texts = []
    for bar in headline.bars:
        values = zip(headline.measures, bar.values, strict=True)
        texts.append(f"{bar.name}: " + ", ".join(f"{measure} {value:.3g}" for measure, value in values))
    return "; ".join(texts)
