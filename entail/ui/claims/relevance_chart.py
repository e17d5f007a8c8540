"""Charts of Figures 2 and 3 of the entailment tuning paper: distribution of a measure by group.

All functions take the JSON of `entail.tuning.relevance.Relevance`, as result files have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from entail.ui.shared.chart_marks import FALSE_NEGATIVE, FALSE_POSITIVE, OTHER, TRUE_POSITIVE, Mark, scales

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_HEIGHT = 365
"""Pixels of the steps, with title, legend and axis: the page fits all of it into the height."""

_ROW, _AXIS = 42, 130
"""Pixels of a group's mean and quartiles, its name above them; of what is below all of them."""

_SUMMARY = "Mean and middle half of each group"

_MARGIN = 40
"""Pixels left of both charts, so that the same value stands in the same place."""

_STYLES = tuple(
    (mark.colour, mark.shape, dash)
    for mark, dash in zip(
        (TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE, OTHER),
        ((1, 0), (6, 4), (2, 3), (1, 0)),
        strict=True,
    )
)


def marks_of(groups: Sequence[str]) -> tuple[Mark, ...]:
    """Return the marks of up to four groups, the first one for the group expected to be highest."""
    return tuple(Mark(name, *style) for name, style in zip(groups, _STYLES, strict=False))


def relevance_table(data: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each group and bin: bounds of the bin, share of the group."""
    import pandas as pd

    low, high = data["bounds"]
    rows = []
    for name, group in data["groups"].items():
        width = (high - low) / len(group["histogram"])
        for at, share in enumerate(group["histogram"]):
            start, end = round(low + at * width, 6), round(low + (at + 1) * width, 6)
            rows.append({"group": name, "from": start, "to": end, "share": share})
    return pd.DataFrame(rows)


def relevance_summary(data: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each group: mean, quartiles, share of comparisons won by the first group."""
    import pandas as pd

    rows = []
    for name, group in data["groups"].items():
        quartiles = dict(zip(("lower", "median", "upper"), group["quartiles"], strict=True))
        rows.append({"group": name, "n": group["n"], "mean": group["mean"], **quartiles})
        rows[-1]["above"] = group.get("above")
    return pd.DataFrame(rows)


def draw_relevance(data: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart:
    """Return the histogram of each group as steps.

    Groups differ by colour and dash. The tooltip has the shares of all groups in a bin.
    """
    import altair as alt
    import pandas as pd

    scale, order = scales(marks_of(list(data["groups"]))), list(data["groups"])
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=len(order),
        labelLimit=400,
        symbolType="stroke",
        symbolOpacity=1,
    )
    low, high = drawn_bounds(data)
    x = alt.X(
        "from:Q",
        title=_capitalise(data["measure"]),
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(tickCount=8),
    )
    # The title stands above the axis, not next to it: both charts then begin at the same place.
    above: dict[str, Any] = {"titleAngle": 0, "titleAnchor": "end", "titleAlign": "left"}
    above |= {"titleX": -_MARGIN, "titleY": -8}
    y = alt.Y(
        "share:Q",
        title="Share of group",
        axis=alt.Axis(format=".0%", minExtent=_MARGIN, maxExtent=_MARGIN, **above),
        stack=None,
    )
    colour = alt.Color("group:N", scale=scale["color"], legend=legend, sort=order)
    shares = relevance_table(data)
    visible_shares = shares[(shares["from"] >= low) & (shares["to"] <= high)]
    # A step reaches as far as the next one begins: the last bin ends where another would.
    ends = visible_shares[visible_shares["to"] == high].assign(**{"from": high})
    base = alt.Chart(pd.concat([visible_shares, ends], ignore_index=True)).encode(x=x, y=y, color=colour)
    area = base.mark_area(interpolate="step-after", opacity=0.12)
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("group:N", scale=scale["strokeDash"], legend=legend, sort=order)
    )
    wide = visible_shares.pivot_table(index=["from", "to"], columns="group", values="share", sort=True)
    wide = wide.rename(columns={name: f"share{at}" for at, name in enumerate(order)}).reset_index()
    tips = [
        alt.Tooltip("from:Q", title="From", format=".2f"),
        alt.Tooltip("to:Q", title="To", format=".2f"),
        *(alt.Tooltip(f"share{at}:Q", title=name, format=".1%") for at, name in enumerate(order)),
    ]
    bins = alt.Chart(wide).mark_rect(opacity=0.001)
    bins = bins.encode(x=x, x2="to:Q", y=alt.value(0), y2=alt.value("height"), tooltip=tips)
    return alt.layer(area, line, bins).properties(
        height=_HEIGHT, width="container", title=_capitalise(f"{data['measure']}, by {data['by']}")
    )


def draw_quartiles(data: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart:
    """Return the chart below the histogram, over the same bounds: mean and quartiles of each group."""
    import altair as alt

    scale, order = scales(marks_of(list(data["groups"]))), list(data["groups"])
    span = alt.Scale(domain=list(drawn_bounds(data)), nice=False)
    measure = _capitalise(data["measure"])
    # A name stands above its line: next to it, it would take the room of the lines on a telephone.
    names = alt.Axis(
        labelAlign="left",
        labelPadding=-2,
        labelBaseline="bottom",
        labelOffset=-6,
        labelOverlap=False,
        labelLimit=300,
        ticks=False,
        domain=False,
        zindex=1,
        minExtent=_MARGIN,
        maxExtent=_MARGIN,
    )
    base = alt.Chart(relevance_summary(data)).encode(
        y=alt.Y("group:N", title=None, sort=order, axis=names),
        color=alt.Color("group:N", scale=scale["color"], legend=None, sort=order),
        tooltip=[
            alt.Tooltip("group:N", title="Group"),
            alt.Tooltip("n:Q", title="Values", format=",d"),
            alt.Tooltip("mean:Q", title="Mean", format=".3f"),
            alt.Tooltip("median:Q", title="Median", format=".3f"),
            alt.Tooltip("above:Q", title=f"P({order[0]} higher)", format=".3f"),
        ],
    )
    quartiles = base.mark_rule(strokeWidth=4).encode(
        x=alt.X("lower:Q", title=measure, scale=span, axis=alt.Axis(tickCount=8)),
        x2="upper:Q",
    )
    mean = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=alt.X("mean:Q", title=measure, scale=span),
        shape=alt.Shape("group:N", scale=scale["shape"], legend=None, sort=order),
    )
    return alt.layer(quartiles, mean).properties(
        height=_ROW * len(order) + _AXIS, width="container", title=_SUMMARY
    )


def _capitalise(words: str) -> str:
    return words[:1].upper() + words[1:]


def drawn_bounds(data: Mapping[str, Any]) -> tuple[float, float]:
    """Return the bounds of the bins that are not empty.

    >>> drawn_bounds({"bounds": [-1, 1], "groups": {"a": {"histogram": [0, 0, 0.5, 0.5]}}})
    (0.0, 1.0)
    """
    table = relevance_table(data)
    filled = table[table["share"] > 0] if table["share"].any() else table
    return float(filled["from"].min()), float(filled["to"].max())
