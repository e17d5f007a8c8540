"""Similarity bias of two encoders: false positives against false negatives, as in Figure 3 of AE-Enc."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from entail.aeenc.bias import Panel, SimilarityBias, bias
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.runtime.tasks import COMPARISONS
from entail.ui.compare.choice import Pair, Source
from entail.ui.shared.chart_marks import GROUPS, scales
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

if TYPE_CHECKING:
    import altair as alt


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
        st.caption("Only encoders have vectors: the figure shows one.")
    counts, panels = figure.counts, figure.panels
    st.markdown(
        f"Labels are those of **{label(model_label(figure.retrievers[0]))}**: reference premises in its "
        f"top {figure.k} are true positives (**TP**), the other premises there false positives (**FP**), "
        "reference premises below false negatives (**FN**)."
    )
    titles = {"TP": "true positives", "FN": "false negatives", "FP": "false positives"}
    for cell, (name, title) in zip(st.columns(3), titles.items(), strict=True):
        cell.metric(f"{name}, {title}", f"{counts[name]:,}", border=True)
    # One axis for all: scores of a model that is searched by inner product may exceed 1.
    ends = [value for panel in panels for quartiles in panel.quartiles.values() for value in quartiles]
    span = min([0.0, *ends]), max([1.0, *ends])
    for panel in panels:
        chart = draw_bias(panel, span=span)
        st.altair_chart(chart, width="stretch", alt=finding_of(panel), key=f"bias-{panel.letter}")
    st.markdown("**Do false positives stand above false negatives?** Then a retriever ranks by similarity.")
    st.markdown("\n".join(f"- {label(finding_of(panel))}" for panel in panels))
    draw_download("All pairs (CSV)", "bias.csv", figure.rows)


def _measure_of(panel: Panel) -> str:
    return f"Similarity by {model_name(panel.retriever)}" if panel.retriever else "Token overlap"


def finding_of(panel: Panel) -> str:
    """Return a sentence on whether false positives stand above false negatives."""
    result = panel.separation
    if result is None:
        return f"{_measure_of(panel)}: there are no false positives or no false negatives to compare."
    low, high = result.auc_interval
    verdict = "yes" if low > 0.5 else "no" if high < 0.5 else "cannot tell"
    return (
        f"{_measure_of(panel)}: {verdict}. Above in {result.auc:.0%} of pairs, 95% interval {low:.0%} to "
        f"{high:.0%}."
    )


def draw_bias(panel: Panel, *, span: tuple[float, float]) -> alt.LayerChart:
    """Return the chart of token overlap, or of the similarity under an encoder: median and middle half.

    `span` has the ends of the axis.
    """
    import altair as alt

    measure = _measure_of(panel)
    table = pd.DataFrame(
        [
            (mark.name, *panel.quartiles[code])
            for mark, code in zip(GROUPS, ("TP", "FN", "FP"), strict=True)
            if code in panel.quartiles
        ],
        columns=["group", "lower", "median", "upper"],
    )
    base = alt.Chart(table).encode(
        y=alt.Y("group:N", sort=[mark.name for mark in GROUPS], title=None),
        color=alt.Color("group:N", scale=scales(GROUPS)["color"], legend=None),
        tooltip=[
            alt.Tooltip("group:N", title="Group"),
            *(alt.Tooltip(f"{name}:Q", title=name.capitalize(), format=".3f") for name in table.columns[1:]),
        ],
    )
    scale = alt.Scale(domain=list(span))
    middle = base.mark_bar(size=14, opacity=0.45)
    middle = middle.encode(x=alt.X("lower:Q", title=measure, scale=scale), x2="upper:Q")
    median = base.mark_tick(size=22, thickness=4)
    median = median.encode(x=alt.X("median:Q", title=measure, scale=scale))
    chart: alt.LayerChart = (middle + median).properties(
        height=210, title=f"{measure}: median and middle half"
    )
    return chart
