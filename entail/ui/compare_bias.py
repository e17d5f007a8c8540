"""Similarity bias: Figure 3 of the AE-Enc paper for the two encoders, with the verdict in words."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from entail.aeenc.bias import RULES, SimilarityBias, bias
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.ui.authoring import draw_progress
from entail.ui.bias_chart import MOST, draw_bias, drawn_pairs, pairs_table
from entail.ui.compare_files import CSV, JSON, offer, rows_csv
from entail.ui.compare_pair import Pair
from entail.ui.compare_source import Source
from entail.ui.resources import comparisons, retriever_label
from entail.ui.words import label

RULE_NAMES = {
    "all": "All that is retrieved and not gold",
    "outside_tree": "Only what is outside the claim's trees",
}


def encoders_of(indexes: Sequence[PremiseIndex]) -> list[PremiseIndex]:
    """Return those with a cosine, each once: first the one that is not trained upon another, which labels."""
    found = {index.manifest.revision: index for index in indexes if index.manifest.metric == "inner_product"}
    return sorted(
        found.values(),
        key=lambda index: (
            index.name != "minilm",
            index.manifest.revision != index.manifest.premise_revision,
        ),
    )


def draw_similarity_bias(pair: Pair, source: Source) -> None:
    """Draw the figure over all trees of a source, once its pairs are measured."""
    encoders = encoders_of(pair.indexes)
    if not encoders:
        st.info(
            "TF-IDF and BM25 have no vectors, so there is no cosine to look at. "
            "Choose an encoder on one side.",
            icon=":material/scatter_plot:",
        )
        return

    def make(report: ProgressCallback) -> SimilarityBias:
        found = bias(source.corpus, source.trees, encoders, progress=report)
        _ = found.verdicts
        return found

    place = tuple(index.manifest.revision for index in encoders), source.corpus.hash, source.stamp
    work = comparisons().take(("bias", *place), make)
    if work.value is None:
        draw_progress(work)
        return
    found = work.value
    if len(encoders) < len(pair.indexes):
        st.caption("Only encoders have a cosine: one panel is drawn.")
    _draw(found)


def _draw(found: SimilarityBias) -> None:
    st.markdown(
        f"Does the encoder prefer what merely looks like the claim? Labels are those of "
        f"**{label(retriever_label(found.retrievers[0]))}**: of its first {found.k} premises the gold ones "
        "are true positives (**TP**), the others false positives (**FP**); gold ones not among them are "
        "false negatives (**FN**)."
    )
    rule = st.segmented_control(
        "What counts as a false positive",
        RULES,
        format_func=RULE_NAMES.__getitem__,
        default=RULES[0],
        required=True,
        key="compare_rule",
    )
    rule = rule or RULES[0]
    counts = found.counts(rule)
    for cell, (name, what) in zip(
        st.columns(3),
        (("TP", "true positives"), ("FN", "false negatives"), ("FP", "false positives")),
        strict=True,
    ):
        cell.metric(f"{name}, {what}", f"{counts[name]:,}", border=True)
    names = [retriever_label(name).partition(" (")[0] for name in found.retrievers]
    st.altair_chart(
        draw_bias(_table(found, rule), names),
        width="stretch",
        alt="Token overlap and cosine of true positives, false negatives and false positives. "
        + " ".join(verdict.words for verdict in found.verdicts[rule]),
    )
    drawn = len(drawn_pairs(found, rule))
    st.caption(
        "Drag over a panel to keep only those pairs in all others; click beside it for all. "
        + (
            f"Drawn are {drawn:,} of {sum(counts.values()):,} pairs: at most {MOST:,} of each group, picked "
            "by chance, so boxes are of these; the download has all."
            if drawn < sum(counts.values())
            else f"All {drawn:,} pairs are drawn."
        )
    )
    st.markdown("**Does the paper's claim hold here?**")
    for verdict in found.verdicts[rule]:
        icon = {True: ":material/check_circle:", False: ":material/cancel:", None: ":material/help:"}
        st.markdown(f"{icon[verdict.holds]} {label(verdict.words)}")
    with st.container(horizontal=True):
        offer("All pairs (CSV)", lambda: rows_csv(found.rows()), name="bias.csv", kind=CSV)
        offer("Figures (JSON)", lambda: json.dumps(found.to_json(), indent=2), name="bias.json", kind=JSON)


def _table(found: SimilarityBias, rule: str) -> pd.DataFrame:
    return pairs_table(found, rule)
