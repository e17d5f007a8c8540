"""How a training goes, as charts: what the loss is made of, learning rate, diagnostics, dev, memory, pace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

HEIGHT, LEGEND = 190, 50
"""Pixels of a chart, and of its legend."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c2699b", "#7d858e")
"""Okabe and Ito's, with a contrast of 3:1 in both themes; series also differ by their dashes."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3])
_DOTS = 40


@dataclass(frozen=True)
class Panel:
    """One chart.

    Attributes:
        title: What it shows.
        series: The series in it that are there, in the order of the legend.
        points: Their points, rows of `entail.jobs.events.points`.
    """

    title: str
    series: tuple[str, ...]
    points: tuple[Mapping[str, Any], ...]


_APART: Mapping[str, str] = {
    "learning rate": "Learning rate",
    "active": "Active triplets (share)",
    "variance": "Variance of the embeddings",
    "premise_variance": "Variance of the premises' embeddings",
    "gradient_norm": "Norm of the gradient",
    "memory": "Memory (MiB)",
    "GPU memory": "GPU memory (MiB)",
    "steps a second": "Steps a second",
}
"""Series with a chart of their own; every other term is part of the loss."""

LOSS, DEV = "Loss and its terms", "Dev figures"


def panels(points: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Sort the points of a training into charts; a chart of which nothing was told is left out.

    Figures of evaluations with a dot in their names are drawn together by what stands before it.

    >>> row = {"step": 1, "epoch": 0, "kind": "term", "series": "loss", "value": 2.0}
    >>> figure = row | {"kind": "evaluation", "series": "paper.MAP"}
    >>> [(panel.title, panel.series) for panel in panels([row, row | {"series": "active"}, figure])]
    [('Loss and its terms', ('loss',)), ('Dev figures, paper', ('MAP',)),
     ('Active triplets (share)', ('active',))]
    """
    charts: dict[str, list[Mapping[str, Any]]] = {LOSS: []}
    told_twice = _is_told_twice(points)
    for row in points:
        if row["kind"] != "evaluation":
            continue
        group, _, name = str(row["series"]).rpartition(".")
        if name == "dev" and told_twice:
            continue  # what the weights are chosen by is one of the figures, under its own name
        title = f"{DEV}, {group.replace('_', ' ')}" if group else DEV
        charts.setdefault(title, []).append({**row, "series": name})
    charts |= {title: [] for title in _APART.values()}
    for row in points:
        if row["kind"] != "evaluation":
            charts[_APART.get(row["series"], LOSS)].append(row)
    return [
        Panel(title, tuple(dict.fromkeys(str(row["series"]) for row in rows)), tuple(rows))
        for title, rows in charts.items()
        if rows
    ]


def draw_panel(panel: Panel) -> alt.Chart:
    """Return a panel as lines over steps."""
    import altair as alt
    import pandas as pd

    table = pd.DataFrame(panel.points, columns=["step", "epoch", "series", "value"])
    count = len(panel.series)
    names = list(panel.series)
    colours = [COLOURS[place % len(COLOURS)] for place in range(count)]
    dashes = [DASHES[place % len(DASHES)] for place in range(count)]
    legend = alt.Legend(title=None, orient="top", columns=3, symbolType="stroke") if count > 1 else None
    few = len(panel.points) <= _DOTS * count
    chart: alt.Chart = (
        alt.Chart(table)
        .mark_line(point={"size": 22} if few else False, strokeWidth=1.8)
        .encode(
            x=alt.X("step:Q", title=None, axis=alt.Axis(tickMinStep=1, format=",d", tickCount=6)),
            y=alt.Y(
                "value:Q",
                title=None,
                scale=alt.Scale(zero=False, nice=True),
                axis=alt.Axis(tickCount=5, format=",.5~g"),
            ),
            color=alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
            tooltip=[
                alt.Tooltip("series:N", title="what"),
                alt.Tooltip("value:Q", title="value", format=".4~g"),
                alt.Tooltip("step:Q", title="step", format=",d"),
                alt.Tooltip("epoch:Q", title="epoch"),
            ],
        )
        .properties(height=HEIGHT + (LEGEND if legend else 0), title=panel.title)
    )
    return chart


def in_words(panel: Panel) -> str:
    """Return what a chart shows, for who cannot see it: the newest value of each series."""
    newest = {row["series"]: row["value"] for row in panel.points}
    said = ", ".join(f"{name} {newest[name]:.4g}" for name in panel.series)
    return f"{panel.title}, at last: {said}"


def _is_told_twice(points: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether another figure has the values of `dev`."""
    by_name: dict[str, dict[int, float]] = {}
    for row in points:
        if row["kind"] == "evaluation":
            by_name.setdefault(str(row["series"]), {})[row["step"]] = row["value"]
    dev = by_name.pop("dev", None)
    return dev is not None and dev in by_name.values()
