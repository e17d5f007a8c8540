"""Bar chart of a headline figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from entail.ui.results.figures import Bar, Headline
from entail.ui.shared.chart_marks import GREY
from entail.ui.shared.model_names import RETRIEVERS

if TYPE_CHECKING:
    import altair as alt

_HEIGHT, _SECOND = 132, 60
"""Pixels of a chart, and of what a second measure adds: twice as many bars."""


def draw_bars(headline: Headline) -> alt.LayerChart:
    """Return a bar for each name and measure, labelled with its value."""
    import altair as alt
    import pandas as pd

    several = len(headline.measures) > 1
    largest = max(value for bar in headline.bars for value in bar.values)
    digits = ".3f" if largest <= 1 else ".1f"
    table = pd.DataFrame(
        [
            {
                "name": bar.name,
                "measure": measure,
                "value": value,
                "label": f"{value:{digits}}" + (f" {measure}" if several else ""),
            }
            for bar in headline.bars
            for measure, value in zip(headline.measures, bar.values, strict=True)
        ]
    )
    top = max(largest, 1.0) * (1.3 if several else 1.18)
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
        "name:N",
        scale=alt.Scale(
            domain=[bar.name for bar in headline.bars], range=[_colour(bar) for bar in headline.bars]
        ),
        legend=None,
    )
    if several:
        base = base.encode(yOffset=alt.YOffset("measure:N", sort=headline.measures))
    bars = base.mark_bar(cornerRadiusEnd=2).encode(color=colour)
    values = base.mark_text(align="left", dx=4, fontSize=11).encode(text="label:N")
    chart = alt.layer(bars, values).properties(height=_HEIGHT + _SECOND * several)
    return cast("alt.LayerChart", chart.configure_view(stroke=None))


def _colour(bar: Bar) -> str:
    return RETRIEVERS[bar.retriever][0] if bar.retriever else GREY


def describe(headline: Headline) -> str:
    """Return the text alternative of a chart."""
    texts = []
    for bar in headline.bars:
        values = zip(headline.measures, bar.values, strict=True)
        texts.append(f"{bar.name}: " + ", ".join(f"{measure} {value:.3g}" for measure, value in values))
    return "; ".join(texts)
