"""Charts of a training: loss terms, learning rate, diagnostics, dev figures, memory and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import altair as alt

HEIGHT, LEGEND = 190, 50
"""Heights of a chart and of its legend, in pixels."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c2699b", "#7d858e")
"""Colours of Okabe and Ito with a contrast of 3:1 in both themes; dashes differ too."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3])
_DOTS = 40


class Panel(NamedTuple):
    """Chart of some series; its points are rows of `entail.jobs.events.points`."""

    title: str
    points: Sequence[Mapping[str, Any]]

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series, in the order of the legend."""
        return tuple(dict.fromkeys(str(row["series"]) for row in self.points))


_OWN_CHARTS: Mapping[str, str] = {
    "learning rate": "Learning rate",
    "active": "Active triplets (share)",
    "variance": "Variance of embeddings",
    "premise_variance": "Variance of premise embeddings",
    "gradient_norm": "Gradient norm",
    "memory": "Memory (MiB)",
    "GPU memory": "GPU memory (MiB)",
    "steps a second": "Steps per second",
}
"""Series with their own chart; all other terms share the chart of the loss."""

LOSS, DEV = "Loss and its terms", "Dev figures"


def panels(points: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Return the charts of a training; charts without points are left out.

    Dev figures share a chart by the part of their names before the dot.

    >>> row = {"step": 1, "epoch": 0, "kind": "term", "series": "loss", "value": 2.0}
    >>> figure = row | {"kind": "evaluation", "series": "paper.MAP"}
    >>> [(panel.title, panel.series) for panel in panels([row, row | {"series": "active"}, figure])]
    [('Loss and its terms', ('loss',)), ('Dev figures, paper', ('MAP',)),
     ('Active triplets (share)', ('active',))]
    """
    charts: dict[str, list[Mapping[str, Any]]] = {LOSS: []}
    figures = [row for row in points if row["kind"] == "evaluation"]
    repeated = _is_dev_repeated(figures)
    for row in figures:
        group, _, name = str(row["series"]).rpartition(".")
        if name == "dev" and repeated:
            continue  # the selection figure is also there under its own name
        title = f"{DEV}, {group.replace('_', ' ')}" if group else DEV
        charts.setdefault(title, []).append({**row, "series": name})
    charts |= {title: [] for title in _OWN_CHARTS.values()}
    for row in points:
        if row["kind"] != "evaluation":
            charts[_OWN_CHARTS.get(row["series"], LOSS)].append(row)
    return [Panel(title, rows) for title, rows in charts.items() if rows]


def _is_dev_repeated(figures: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether another figure has the values of `dev`."""
    by_name: dict[str, dict[int, float]] = {}
    for row in figures:
        by_name.setdefault(str(row["series"]), {})[row["step"]] = row["value"]
    return by_name.pop("dev", None) in by_name.values()


def draw_panel(panel: Panel) -> alt.Chart:
    """Return a panel as a line chart over steps."""
    import altair as alt
    import pandas as pd

    table = pd.DataFrame(panel.points, columns=["step", "epoch", "series", "value"])
    names = list(panel.series)
    colours = list(islice(cycle(COLOURS), len(names)))
    dashes = list(islice(cycle(DASHES), len(names)))
    legend = alt.Legend(title=None, orient="top", columns=3, symbolType="stroke") if len(names) > 1 else None
    few = len(panel.points) <= _DOTS * len(names)
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
                alt.Tooltip("series:N", title="series"),
                alt.Tooltip("value:Q", title="value", format=".4~g"),
                alt.Tooltip("step:Q", title="step", format=",d"),
                alt.Tooltip("epoch:Q", title="epoch"),
            ],
        )
        .properties(height=HEIGHT + (LEGEND if legend else 0), title=panel.title)
    )
    return chart


def describe(panel: Panel) -> str:
    """Return the alternative text of a chart: the newest value of each series."""
    newest = {row["series"]: row["value"] for row in panel.points}
    values = ", ".join(f"{name} {newest[name]:.4g}" for name in panel.series)
    return f"{panel.title}, last values: {values}"
