"""Similarity bias of two encoders: Figure 3 of the AE-Enc paper as linked charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from entail.aeenc.bias import RULES, SimilarityBias, bias
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.runtime.tasks import COMPARISONS
from entail.ui.compare.choice import Pair, Source
from entail.ui.components.elements import pick_view
from entail.ui.shared.chart_marks import GROUPS, OTHER, Mark, scales
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.model_names import model_label, retriever_marks
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

if TYPE_CHECKING:
    import altair as alt

MOST = 1000
"""Most pairs drawn of each group; the download has all."""

RULE_NAMES = {
    "all": "All other retrieved premises",
    "outside_tree": "Only those outside the claim's trees",
}


def encoders_of(indexes: Sequence[PremiseIndex]) -> list[PremiseIndex]:
    """Return the indexes over vectors, each once; the first, a base encoder if possible, labels."""
    encoders = {
        index.manifest.revision: index for index in indexes if index.manifest.metric == "inner_product"
    }
    return sorted(
        encoders.values(),
        key=lambda index: (
            index.name != "minilm",
            index.manifest.revision != index.manifest.premise_revision,
        ),
    )


def draw_similarity_bias(pair: Pair, source: Source) -> None:
    """Draw the figure over all trees of a source."""
    encoders = encoders_of(pair.indexes)
    if not encoders:
        st.info(
            "TF-IDF and BM25 have no vectors to compare. Choose an encoder on one side.",
            icon=":material/scatter_plot:",
        )
        return

    def make(report: ProgressCallback) -> SimilarityBias:
        figure = bias(source.corpus, source.trees, encoders, progress=report)
        _ = figure.panels  # computed here, not while the page is drawn
        return figure

    key = tuple(index.manifest.revision for index in encoders), source.corpus.hash, source.stamp
    figure = await_value(COMPARISONS.get_or_start(("bias", *key), make))
    if figure is None:
        return
    if len(encoders) < len(pair.indexes):
        st.caption("Only encoders have vectors: one panel.")
    _draw(figure)


def _draw(figure: SimilarityBias) -> None:
    st.markdown(
        f"Labels are those of **{label(model_label(figure.retrievers[0]))}**: reference premises in its "
        f"top {figure.k} are true positives (**TP**), the others false positives (**FP**), reference "
        "premises below false negatives (**FN**)."
    )
    rule = pick_view(
        "False positives",
        RULES,
        format_func=RULE_NAMES.__getitem__,
        default=RULES[0],
        key="compare_rule",
        label_visibility="visible",
    )
    counts = figure.counts(rule)
    titles = {"TP": "true positives", "FN": "false negatives", "FP": "false positives"}
    for cell, (name, title) in zip(st.columns(3), titles.items(), strict=True):
        cell.metric(f"{name}, {title}", f"{counts[name]:,}", border=True)
    st.altair_chart(
        draw_bias(pairs_table(figure, rule), retriever_marks(figure.retrievers)),
        width="stretch",
        alt="Token overlap and similarity of true positives, false negatives and false positives. "
        + " ".join(panel.finding for panel in figure.panels[rule]),
    )
    sample_size = len(figure.sample(rule, most=MOST))
    st.caption(
        "Drag over a panel to select pairs in all of them; click outside to reset. "
        + (
            f"Drawn: {sample_size:,} of {sum(counts.values()):,} pairs, a random sample of at most {MOST:,} "
            "a group. The download has all."
            if sample_size < sum(counts.values())
            else f"All {sample_size:,} pairs."
        )
    )
    st.markdown("**Do false positives stand above false negatives?** Then a retriever ranks by similarity.")
    for panel in figure.panels[rule]:
        st.markdown(f"- {label(panel.finding)}")
    with st.container(horizontal=True):
        draw_download("All pairs (CSV)", "bias.csv", figure.rows)
        draw_download("Figures (JSON)", "bias.json", figure.to_json)


def pairs_table(figure: SimilarityBias, rule: str) -> pd.DataFrame:
    """Return a row for each drawn pair: texts, group, overlap and the similarity under each encoder.

    Rows are shuffled, so that no group covers another.
    """
    pairs = np.random.default_rng(0).permutation(figure.sample(rule, most=MOST))
    names = np.array([mark.name for mark in GROUPS])
    columns = {
        "group": names[figure.group[rule][pairs]],
        "overlap": figure.overlap[pairs].round(4),
        "query": [figure.queries[query] for query in figure.query[pairs]],
        "premise": [figure.corpus.texts[premise] for premise in figure.premise[pairs]],
    }
    columns |= {f"cosine{i}": row[pairs].round(4) for i, row in enumerate(figure.cosine)}
    return pd.DataFrame(columns)


def draw_bias(table: pd.DataFrame, encoders: Sequence[Mark]) -> alt.VConcatChart:
    """Return the panels: (a) overlap by group; for each encoder, similarity against overlap.

    Pairs brushed in one panel stay lit in the others, and the boxes count only these. The axis of an encoder
    has its colour.
    """
    import altair as alt

    scale, names = scales(GROUPS), [mark.name for mark in encoders]
    brush = alt.selection_interval(name="brush", resolve="global")
    order = [mark.name for mark in GROUPS]
    legend = alt.Legend(title=None, orient="top")
    colour = alt.Color("group:N", scale=scale["color"], legend=legend)
    ticks = alt.Axis(tickCount=10, labelFlush=True, format=".1f")
    overlap = alt.X("overlap:Q", title="Token overlap", scale=alt.Scale(domain=[0, 1]), axis=ticks)
    base = alt.Chart(table)

    box = base.transform_filter(brush).mark_boxplot(
        extent="min-max",
        size=16,
        median={"color": "#ffffff", "strokeWidth": 2},
        rule={"color": OTHER.colour, "strokeWidth": 2},
    )

    def boxes(x: alt.X, title: str) -> alt.Chart:
        chart = box.encode(x=x, y=alt.Y("group:N", sort=order, title=None), color=colour)
        return cast("alt.Chart", chart.properties(height=96, width="container", title=title))

    views = [boxes(overlap, "(a) Token overlap")]
    cosines = table.filter(like="cosine").to_numpy()
    low = float(np.floor(cosines.min(initial=0.0) * 10) / 10)
    # Scores of a model that is searched by inner product may exceed 1.
    high = float(np.ceil(cosines.max(initial=1.0) * 10) / 10)
    tip = [
        alt.Tooltip("group:N", title="Group"),
        alt.Tooltip("query:N", title="Claim"),
        alt.Tooltip("premise:N", title="Premise"),
        alt.Tooltip("overlap:Q", title="Token overlap", format=".3f"),
        *(alt.Tooltip(f"cosine{j}:Q", title=f"Similarity, {n}", format=".3f") for j, n in enumerate(names)),
    ]
    for i, name in enumerate(names):
        letter, field, span = chr(ord("b") + i), f"cosine{i}:Q", alt.Scale(domain=[low, high])
        coloured: dict[str, Any] = {"domain": True, "domainColor": encoders[i].colour, "domainWidth": 3}
        side = alt.Axis(**coloured)
        below = alt.Axis(tickCount=10, labelFlush=True, format=".1f", **coloured)
        points = base.mark_point(filled=True, size=26).encode(
            x=overlap,
            y=alt.Y(field, title="Similarity", scale=span, axis=side),
            color=colour,
            shape=alt.Shape("group:N", scale=scale["shape"], legend=legend),
            opacity=alt.when(brush).then(alt.value(0.85)).otherwise(alt.value(0.04)),
            tooltip=tip,
        )
        title = f"({letter}) Similarity against overlap, {name}"
        views += [
            points.properties(name=f"scatter{i}", height=260, width="container", title=title),
            boxes(alt.X(field, title="Similarity", scale=span, axis=below), f"({letter}) Similarity, {name}"),
        ]
    # One brush for all panels; adding it to each would make altair warn that it merges them.
    linked = alt.TopLevelSelectionParameter(
        name="brush",
        select=alt.IntervalSelectionConfig(type="interval", resolve="global"),
        views=[f"scatter{i}" for i in range(len(names))],
    )
    chart: alt.VConcatChart = alt.vconcat(
        *views, spacing=18, params=[linked], padding={"left": 2, "top": 4, "bottom": 4, "right": 16}
    ).resolve_scale(color="shared")
    return chart
