"""One query under both retrievers: as slopes, side by side or as rows; and the table of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from entail.data.text import fold, quote
from entail.encoders.training_queries import training_queries_of
from entail.evaluation.retrieval.comparison import (
    ComparedPremise,
    Comparison,
    comparison_rows,
    keep,
)
from entail.evaluation.retrieval.split_comparison import FOUND_AT, QueryChange
from entail.trees.store.corpora import CorpusInfo
from entail.ui.compare.choice import LINK, Pair, draw_training_notice
from entail.ui.compare.slopes import show_slopes, slopes_of
from entail.ui.components.elements import draw_ranked_list, moved_mark, pick_view
from entail.ui.links.control import draw_comparison_links
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, marked, words_of

VIEWS = ("Slopes", "Side by side")
_LONGEST = 2000

OPENING_CLAIM = "andy will experience winter in southern hemisphere in august"
"""Held-out claim of a first visit: all its premises are facts, and the shipped encoder ranks them higher."""


def pick_query(
    shared: Workspace, corpus_id: str, references: Mapping[str, Mapping[str, str]], names: Sequence[str]
) -> str:
    """Draw the fields for a query of the retrievers `names` and return it; empty while there is none.

    Claims with reference premises come first: only there can the sides be scored. Of these, unseen ones.
    """
    trees = shared.log.trees(corpus_id=corpus_id)
    hypotheses = sorted({tree.hypothesis for tree in trees})
    training_queries = frozenset().union(*(training_queries_of(name, hypotheses) for name in names))
    claims = sorted(
        hypotheses,
        key=lambda claim: (claim != OPENING_CLAIM, fold(claim) not in references, claim in training_queries),
    )
    picked = None
    if claims:
        picked = LINK.pick(
            "pick", "Claim of a tree", claims, claims[0], on_change=LINK.clear, args=("query",)
        )
    typed = LINK.enter("query", "Or your own claim", longest=_LONGEST)
    if picked == OPENING_CLAIM and not typed.strip():
        st.caption("Chosen for its clear difference. The tour has the figures over all held-out claims.")
    return typed.strip() or picked or ""


def draw_query(
    pair: Pair, query: str, *, k: int, gold: Mapping[str, str] | None = None, heading: bool = True
) -> Comparison:
    """Draw and return the comparison of one query to depth k; see `Pair.compare`."""
    with st.spinner("Searching …", show_time=True):
        comparison = pair.compare(query, k=k, gold=gold)
    if heading:
        st.markdown(f"##### {label(query, longest=600)}")
    has_gold = any(row.gold is not None for row in comparison.rows)
    cells = st.columns(3)
    cells[0].metric("In both", f"{comparison.shared} of {comparison.k}", border=True)
    for which, name in enumerate(comparison.names):
        cells[which + 1].metric(
            f"{label(model_label(name))}: reference premises found",
            str(comparison.count_gold(which)) if has_gold else "none known",
            border=True,
        )
    draw_training_notice((query,), comparison.names)
    view = pick_view("View", VIEWS, default=VIEWS[0], key="compare_view")
    if view == "Side by side":
        _draw_lists(comparison)
    else:
        changes = largest_changes(comparison)
        show_slopes(
            slopes_of(comparison),
            pair.marks,
            k=comparison.k,
            alt=f"Ranks of {len(comparison.rows)} premises, {' and '.join(pair.names)}. {changes}",
        )
        st.caption(f"**Largest differences:** {label(changes)} Log scale below rank {comparison.k}")
    draw_download("Ranks (CSV)", "comparison.csv", lambda: comparison_rows(comparison))
    return comparison


def draw_share(
    shared: Workspace, comparison: Comparison, pair: Pair, info: CorpusInfo, author: str | None
) -> None:
    """Draw the read-only links to this comparison and to earlier ones."""

    def snapshot() -> object:
        return keep(comparison, names=pair.names, corpus=info.name, version=info.version, count=info.count)

    with st.popover("Share", icon=":material/ios_share:"):
        draw_comparison_links(shared, author, snapshot)


def largest_changes(comparison: Comparison) -> str:
    """Return the three premises whose ranks differ most.

    >>> largest_changes(Comparison("ice", ("a", "b"), 10, ()))
    'none.'
    """
    moved = [row for row in comparison.by_difference if row.change][:3]
    return "; ".join(f"{quote(r.premise.text)} {r.ranks[0]:,} → {r.ranks[1]:,}" for r in moved) + (
        "." if moved else "none."
    )


def _draw_lists(comparison: Comparison) -> None:
    words = words_of(comparison.query)
    for which, column in enumerate(st.columns(2, gap="medium")):
        with column:
            st.markdown(f"**{label(model_label(comparison.names[which]))}**")
            draw_ranked_list(
                (
                    row.ranks[which],
                    marked(row.premise.text, words) + _signs(row),
                    row.scores[which],
                    moved_mark(row.ranks[which], row.ranks[1 - which], k=comparison.k),
                    bool(row.gold),
                )
                for row in comparison.side(which)
            )
    st.caption(
        "Highlighted: words of the query. ★ reference tree. ✓ ✗ accepted or rejected by an author. "
        f"▲ ▼ ranks against the other side; “new”: not in its top {comparison.k}."
    )


def _signs(row: ComparedPremise) -> str:
    signs = ' <span title="In a reference tree">★</span>' if row.gold else ""
    if row.decision is not None:
        word, sign = ("accepted", "✓") if row.decision else ("rejected", "✗")
        signs += f' <span class="{word}" title="{word.capitalize()} by an author">{sign}</span>'
    return signs


def draw_queries(changes: Sequence[QueryChange], names: tuple[str, str], *, key: str) -> QueryChange | None:
    """Draw a row for each query, in this order, and return the selected one.

    The key must change with the rows, or a selection would carry over to others.
    """
    columns = st.column_config
    table = pd.DataFrame(
        [(change.query, change.difference, *change.ap, *change.found, change.premises) for change in changes],
        columns=["query", "difference", "left", "right", "found left", "found right", "premises"],
    )
    config = {
        "query": columns.TextColumn("Claim", width="large"),
        "difference": columns.NumberColumn("Gained", format="%+.3f", help="Difference in AP"),
        "premises": columns.NumberColumn("Premises"),
    }
    for side, retriever in zip(("left", "right"), names, strict=True):
        config[side] = columns.NumberColumn(f"AP, {retriever}", format="%.3f")
        config[f"found {side}"] = columns.NumberColumn(f"In top {FOUND_AT}, {retriever}")
    selection = st.dataframe(
        table,
        hide_index=True,
        height=min(320, 36 * (len(changes) + 1) + 4),
        column_config=config,
        on_select="rerun",
        selection_mode="single-row",
        key=key,
    )
    rows = selection["selection"]["rows"]
    return changes[rows[0]] if rows and rows[0] < len(changes) else None
