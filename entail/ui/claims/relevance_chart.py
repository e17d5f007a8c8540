"""Charts of Figures 2 and 3 of the entailment tuning paper: distribution of a measure by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from entail.ui.shared.chart_marks import FALSE_NEGATIVE, FALSE_POSITIVE, OTHER, TRUE_POSITIVE, Mark, scales

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_HEIGHT = 340
"""Pixels of the steps, with title, legend and axis: the page fits all of it into the height."""

_ROW, _AXIS = 42, 80
"""Pixels of a group's mean and quartiles, its name above them; of what is below all of them."""

_BELOW = "mean, and the middle half of each group"

_MARGIN = 40
"""Pixels left of both charts, so that the same value stands in the same place."""

_DASHES = ((1, 0), (6, 4), (2, 3), (1, 0))


def marks_of(groups: Sequence[str]) -> tuple[Mark, ...]:
    """Return the marks of groups, the first one for the group expected to be highest.

    >>> [mark.name for mark in marks_of(["entailing", "neutral"])]
    ['entailing', 'neutral']
    """
    drawn = (TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE, OTHER)
    return tuple(
        Mark(name, drawn[at % 4].colour, drawn[at % 4].shape, _DASHES[at % 4])
        for at, name in enumerate(groups)
    )


def relevance_table(told: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each group and bin: bounds of the bin, share of the group.

    Args:
        told: What `entail.tuning.relevance.Relevance.to_json` returned, as result files have it.
    """
    import pandas as pd

    low, high = told["bounds"]
    rows = []
    for name, group in told["groups"].items():
        bins = group["histogram"]
        width = (high - low) / len(bins)
        for at, share in enumerate(bins):
            rows.append(
                {
                    "group": name,
                    "from": round(low + at * width, 6),
                    "to": round(low + (at + 1) * width, 6),
                    "share": share,
                    "n": group["n"],
                }
            )
    return pd.DataFrame(rows)


def relevance_summary(told: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each group: mean, quartiles, share of comparisons won by the first group.

    Args:
        told: As `relevance_table`.
    """
    import pandas as pd

    rows = []
    for name, group in told["groups"].items():
        lower, median, upper = group["quartiles"]
        row = {"group": name, "n": group["n"], "mean": group["mean"]}
        row |= {"lower": lower, "median": median, "upper": upper, "above": group.get("above")}
        rows.append(row)
    return pd.DataFrame(rows)


def draw_relevance(told: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart:
    """Return the histogram of each group as steps.

    Groups differ by colour and dash. The tooltip has the shares of all groups in a bin.

    Args:
        told: What `Relevance.to_json` returned.
    """
    import altair as alt

    marks = marks_of(list(told["groups"]))
    scale, order = scales(marks), [mark.name for mark in marks]
    legend = alt.Legend(
        title="share of",
        titleOrient="left",
        orient="top",
        columns=len(order),
        labelLimit=400,
        symbolType="stroke",
        symbolOpacity=1,
    )
    shares = relevance_table(told)
    low, high = drawn_bounds(told)
    x = alt.X(
        "from:Q", title=None, scale=alt.Scale(domain=[low, high], nice=False), axis=alt.Axis(tickCount=8)
    )
    # No title beside it: both charts then begin at the same place.
    y = alt.Y(
        "share:Q", title=None, axis=alt.Axis(format=".0%", minExtent=_MARGIN, maxExtent=_MARGIN), stack=None
    )
    colour = alt.Color("group:N", scale=scale["color"], legend=legend, sort=order)
    drawn = shares[(shares["from"] >= low) & (shares["to"] <= high)]
    # A step reaches as far as the next one begins: the last bin ends where another would.
    ends = drawn[drawn["to"] == high].assign(**{"from": high})
    base = alt.Chart(_joined(drawn, ends)).encode(x=x, y=y, color=colour)
    area = base.mark_area(interpolate="step-after", opacity=0.12)
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("group:N", scale=scale["strokeDash"], legend=legend, sort=order)
    )
    tips = [
        alt.Tooltip("from:Q", title="From", format=".2f"),
        alt.Tooltip("to:Q", title="To", format=".2f"),
        *(alt.Tooltip(f"share{at}:Q", title=name, format=".1%") for at, name in enumerate(order)),
    ]
    bins = (
        alt.Chart(_by_bin(drawn, order))
        .mark_rect(opacity=0.001)
        .encode(x=x, x2="to:Q", y=alt.value(0), y2=alt.value("height"), tooltip=tips)
    )
    return alt.layer(area, line, bins).properties(
        height=_HEIGHT, width="container", title=f"{told['measure']}, by {told['by']}"
    )


def draw_quartiles(told: Mapping[str, Any]) -> alt.LayerChart | alt.FacetChart:
    """Return the chart below the histogram: mean and quartiles of each group.

    Args:
        told: As `draw_relevance`, over the same bounds.
    """
    import altair as alt

    marks = marks_of(list(told["groups"]))
    scale, order = scales(marks), [mark.name for mark in marks]
    low, high = drawn_bounds(told)
    span = alt.Scale(domain=[low, high], nice=False)
    # A name stands above its line: beside it, it would take the room of the lines on a telephone.
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
    base = alt.Chart(relevance_summary(told)).encode(
        y=alt.Y("group:N", title=None, sort=order, axis=names),
        color=alt.Color("group:N", scale=scale["color"], legend=None, sort=order),
        tooltip=[
            alt.Tooltip("group:N", title="Group"),
            alt.Tooltip("n:Q", title="Values", format=",d"),
            alt.Tooltip("mean:Q", title="Mean", format=".3f"),
            alt.Tooltip("median:Q", title="Median", format=".3f"),
            alt.Tooltip("above:Q", title=f"P({order[0]} stand above)", format=".3f"),
        ],
    )
    quartiles = base.mark_rule(strokeWidth=4).encode(
        x=alt.X("lower:Q", title=_BELOW, scale=span, axis=alt.Axis(tickCount=8)), x2="upper:Q"
    )
    mean = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=alt.X("mean:Q", title=_BELOW, scale=span),
        shape=alt.Shape("group:N", scale=scale["shape"], legend=None, sort=order),
    )
    return alt.layer(quartiles, mean).properties(height=_ROW * len(order) + _AXIS, width="container")


def drawn_bounds(told: Mapping[str, Any]) -> tuple[float, float]:
    """Return the bounds of the bins that are not empty.

    >>> drawn_bounds({"bounds": [-1, 1], "groups": {"a": {"histogram": [0, 0, 0.5, 0.5]}}})
    (0.0, 1.0)

    Args:
        told: What `Relevance.to_json` returned.
    """
    low, high = told["bounds"]
    counts = [group["histogram"] for group in told["groups"].values()]
    width = (high - low) / len(counts[0])
    filled = [at for at in range(len(counts[0])) if any(bins[at] for bins in counts)]
    first, last = (min(filled), max(filled) + 1) if filled else (0, len(counts[0]))
    return round(low + first * width, 6), round(low + last * width, 6)


def _joined(rows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([rows, more], ignore_index=True)


def _by_bin(rows: pd.DataFrame, groups: Sequence[str]) -> pd.DataFrame:
    """Return a row for each bin, the share of each group in a column of its own."""
    wide = rows.pivot_table(index=["from", "to"], columns="group", values="share", sort=True)
    return wide.rename(columns={name: f"share{at}" for at, name in enumerate(groups)}).reset_index()
