"""One query: what both retrievers bring, as slopes, side by side or row by row."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from entail.data.text import fold
from entail.evaluation.comparison import Comparison
from entail.trees.wording import quote
from entail.ui.compare import draw_comparison, draw_found
from entail.ui.compare_files import CSV, JSON, comparison_csv, comparison_json, offer
from entail.ui.compare_link import begin, wanted
from entail.ui.compare_marks import words_of
from entail.ui.compare_pair import Pair
from entail.ui.compare_seen import draw_seen
from entail.ui.compare_slopes import show_slopes
from entail.ui.resources import Workspace
from entail.ui.slopes import slopes_of
from entail.ui.words import label

VIEWS = ("Slopes", "Side by side", "Rows")
_TOLD = 3


def pick_query(shared: Workspace, corpus_id: str, known: Mapping[str, Mapping[str, str]]) -> str:
    """Draw the fields that say what is asked, and return it; empty where nothing is."""
    trees = shared.log.trees(corpus_id=corpus_id)
    # Claims whose premises are known come first: on them the two sides can be told right from wrong.
    claims = sorted({tree.hypothesis for tree in trees}, key=lambda claim: (fold(claim) not in known, claim))
    picked = None
    if claims:
        picked = st.selectbox("A claim of one of the trees", claims, key=begin("pick", claims, claims[0]))
    if "compare_query" not in st.session_state:
        st.session_state["compare_query"] = (wanted("query") or "")[:2000]
    typed = st.text_input("or a sentence of your own", key="compare_query", max_chars=2000)
    return typed.strip() or picked or ""


def draw_query(
    pair: Pair, query: str, *, k: int, gold: Mapping[str, str] | None = None, heading: bool = True
) -> None:
    """Draw the comparison of one query, with `gold` (folded -> raw) or else what example trees say of it."""
    with st.spinner("Searching …", show_time=True):
        comparison = pair.compare(query, k=k, gold=gold)
    if heading:
        st.markdown(f"##### {label(query, longest=600)}")
    draw_found(comparison)
    draw_seen((query,), comparison.names)
    view = st.segmented_control("View", VIEWS, key=_view(), label_visibility="collapsed", required=True)
    if view == "Side by side":
        draw_comparison(comparison)
    elif view == "Rows":
        draw_rows(pair, comparison)
    else:
        show_slopes(
            slopes_of(comparison),
            pair.names,
            k=comparison.k,
            alt=f"Ranks of {len(comparison.rows)} premises with {pair.names[0]} and {pair.names[1]}. "
            + in_words(comparison, pair.names),
        )
        st.caption(
            f"**Where they differ most:** {label(in_words(comparison, pair.names))} "
            f"Below place {comparison.k} distances shrink by powers of ten."
        )
    with st.container(horizontal=True):
        offer("Ranks (CSV)", comparison_csv(comparison), name="comparison.csv", kind=CSV)
        offer("Figures (JSON)", comparison_json(comparison), name="comparison.json", kind=JSON)


def _view() -> str:
    st.session_state.setdefault("compare_view", VIEWS[0])
    return "compare_view"


def in_words(comparison: Comparison, names: tuple[str, str]) -> str:
    """Return the premises on which the two differ most, with both places.

    >>> in_words(Comparison("ice", ("a", "b"), 10, ()), ("A", "B"))
    'They agree.'
    """
    moved = [row for row in comparison.by_difference if row.change][:_TOLD]
    if not moved:
        return "They agree."
    told = "; ".join(f"{quote(row.premise.text)} {row.ranks[0]:,} → {row.ranks[1]:,}" for row in moved)
    return f"{told} (place with {names[0]} → with {names[1]})."


def draw_rows(pair: Pair, comparison: Comparison) -> None:
    """Draw every premise in the first k of either as a table, the most different first."""
    first, second = pair.names
    rows = comparison.by_difference
    table = pd.DataFrame(
        {
            "premise": [row.premise.text for row in rows],
            "left": [row.ranks[0] for row in rows],
            "right": [row.ranks[1] for row in rows],
            "gained": [row.change for row in rows],
            "score left": [row.scores[0] for row in rows],
            "score right": [row.scores[1] for row in rows],
            "known": [words_of(row) for row in rows],
        }
    )
    st.dataframe(
        table,
        hide_index=True,
        height=480,
        column_config={
            "premise": st.column_config.TextColumn("Premise", width="large"),
            "left": st.column_config.NumberColumn(f"Place, {first}"),
            "right": st.column_config.NumberColumn(f"Place, {second}"),
            "gained": st.column_config.NumberColumn("Gained", format="%+d"),
            "score left": st.column_config.NumberColumn(f"Score, {first}", format="%.3f"),
            "score right": st.column_config.NumberColumn(f"Score, {second}", format="%.3f"),
            "known": st.column_config.TextColumn("Known"),
        },
    )
