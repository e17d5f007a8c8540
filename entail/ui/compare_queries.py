"""Queries as a table to sort and pick from: what each gained or lost with the second retriever."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from entail.evaluation.split_comparison import FOUND_AT, QueryChange


def draw_queries(
    changes: Sequence[QueryChange], names: tuple[str, str], *, key: str, height: int = 320
) -> QueryChange | None:
    """Draw a row for each query, in this order, and return the one that is picked.

    The key must change with the rows, or a pick would carry over to others.
    """
    table = pd.DataFrame(
        {
            "query": [change.query for change in changes],
            "difference": [change.difference for change in changes],
            "left": [change.ap[0] for change in changes],
            "right": [change.ap[1] for change in changes],
            "found left": [change.found[0] for change in changes],
            "found right": [change.found[1] for change in changes],
            "premises": [change.premises for change in changes],
        }
    )
    picked = st.dataframe(
        table,
        hide_index=True,
        height=min(height, 36 * (len(changes) + 1) + 4),
        column_config={
            "query": st.column_config.TextColumn("Claim", width="large"),
            "difference": st.column_config.NumberColumn("Gained", format="%+.3f", help="Difference in AP"),
            "left": st.column_config.NumberColumn(f"AP, {names[0]}", format="%.3f"),
            "right": st.column_config.NumberColumn(f"AP, {names[1]}", format="%.3f"),
            "found left": st.column_config.NumberColumn(f"In first {FOUND_AT}, {names[0]}"),
            "found right": st.column_config.NumberColumn(f"In first {FOUND_AT}, {names[1]}"),
            "premises": st.column_config.NumberColumn("Premises"),
        },
        on_select="rerun",
        selection_mode="single-row",
        key=key,
    )
    rows = picked["selection"]["rows"]
    return changes[rows[0]] if rows and rows[0] < len(changes) else None
