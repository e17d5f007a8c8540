"""Figure 3 as linked charts: token overlap against cosine, a panel for each encoder, one brush for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from entail.aeenc.bias import SimilarityBias
from entail.metrics import Positions
from entail.ui.compare_marks import GROUPS, OTHER, scales

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

MOST = 1000
"""Pairs of each group that are drawn; more say no more to the eye, and all are in the download."""

_SEED = 0


def drawn_pairs(found: SimilarityBias, rule: str, *, most: int = MOST) -> Positions:
    """Return which pairs are drawn, ascending: of each group at most so many, the same at each call.

    Raises:
        RetrievalError: If there is no such rule.
    """
    found.counts(rule)  # raises where there is no such rule
    draw = np.random.default_rng(_SEED)
    chosen = []
    for code in range(len(GROUPS)):
        pairs = np.flatnonzero(found.group[rule] == code)
        chosen.append(pairs if len(pairs) <= most else draw.choice(pairs, most, replace=False))
    return np.sort(np.concatenate(chosen))


def pairs_table(found: SimilarityBias, rule: str, *, most: int = MOST) -> pd.DataFrame:
    """Return a row for each drawn pair: texts, group, overlap, and its cosine under each encoder.

    Rows are put in an order of chance, so that no group lies over another.
    """
    import pandas as pd

    pairs = np.random.default_rng(_SEED).permutation(drawn_pairs(found, rule, most=most))
    names = np.array([mark.name for mark in GROUPS])
    columns = {
        "group": names[found.group[rule][pairs]],
        "overlap": found.overlap[pairs].round(4),
        "query": [found.queries[query] for query in found.query[pairs]],
        "premise": [found.corpus.texts[premise] for premise in found.premise[pairs]],
    }
    columns |= {f"cosine{i}": row[pairs].round(4) for i, row in enumerate(found.cosine)}
    return pd.DataFrame(columns)


def draw_bias(table: pd.DataFrame, names: list[str]) -> alt.VConcatChart:
    """Return the panels, one below the other: (a) overlap by group; of each encoder, cosine against overlap.

    What is brushed in one panel stays lit in the others, and the boxes count only that.
    """
    import altair as alt

    scale = scales(GROUPS)
    brush = alt.selection_interval(name="brush", resolve="global")
    order = [mark.name for mark in GROUPS]
    legend = alt.Legend(title=None, orient="top")
    colour = alt.Color("group:N", scale=scale["color"], legend=legend)
    ticks = alt.Axis(tickCount=10, labelFlush=True, format=".1f")
    overlap = alt.X("overlap:Q", title="token overlap", scale=alt.Scale(domain=[0, 1]), axis=ticks)
    base = alt.Chart(table)

    def boxes(x: alt.X, title: str) -> alt.Chart:
        chart: alt.Chart = (
            base.transform_filter(brush)
            .mark_boxplot(
                extent="min-max",
                size=16,
                median={"color": "#ffffff", "strokeWidth": 2},
                rule={"color": OTHER.colour, "strokeWidth": 2},
            )
            .encode(x=x, y=alt.Y("group:N", sort=order, title=None), color=colour)
            .properties(height=96, width="container", title=title)
        )
        return chart

    views: list[alt.Chart] = [boxes(overlap, "(a) token overlap")]
    values = table[[c for c in table.columns if c.startswith("cosine")]].to_numpy()
    low = float(np.floor(min(0.0, float(values.min()) if values.size else 0.0) * 10) / 10)
    for i, name in enumerate(names):
        letter = chr(ord("b") + i)
        title = f"({letter}) cosine, {name}"
        field, span = f"cosine{i}:Q", alt.Scale(domain=[low, 1])
        tip = [
            alt.Tooltip("group:N", title="Group"),
            alt.Tooltip("query:N", title="Claim"),
            alt.Tooltip("premise:N", title="Premise"),
            alt.Tooltip("overlap:Q", title="Token overlap", format=".3f"),
            *(alt.Tooltip(f"cosine{j}:Q", title=f"Cosine, {n}", format=".3f") for j, n in enumerate(names)),
        ]
        views.append(
            base.mark_point(filled=True, size=26)
            .encode(
                x=overlap,
                y=alt.Y(field, title="cosine", scale=span),
                color=colour,
                shape=alt.Shape("group:N", scale=scale["shape"], legend=legend),
                opacity=alt.when(brush).then(alt.value(0.85)).otherwise(alt.value(0.04)),
                tooltip=tip,
            )
            .properties(
                name=f"scatter{i}",
                height=260,
                width="container",
                title=f"({letter}) cosine against overlap, {name}",
            )
        )
        views.append(boxes(alt.X(field, title="cosine", scale=span, axis=ticks), title))
    # Adding the brush to each panel would make altair warn that it joins them, which is what is wanted.
    linked = alt.TopLevelSelectionParameter(
        name="brush",
        select=alt.IntervalSelectionConfig(type="interval", resolve="global"),
        views=[f"scatter{i}" for i in range(len(names))],
    )
    chart: alt.VConcatChart = alt.vconcat(
        *views, spacing=18, params=[linked], padding={"left": 2, "top": 4, "bottom": 4, "right": 16}
    ).resolve_scale(color="shared")
    return chart
