"""One query under both retrievers, as slopes or side by side; and the table of queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

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
from entail.ui.components.elements import draw_ranked_list, moved_mark, pick_view
from entail.ui.links.control import draw_comparison_links
from entail.ui.shared.chart_marks import DECISIONS, GREY, decision_names, mark_of, scales
from entail.ui.shared.downloads import draw_download
from entail.ui.shared.model_names import model_label, model_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, marked, words_of

if TYPE_CHECKING:
    import altair as alt

VIEWS = ("Slopes", "Side by side")
_LONGEST = 2000

_DECADE = 4.0
"""Height of a decade of ranks below rank k, in ranks."""

_MARGIN = 0.36
"""Share of the width for the texts on each side."""

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
        st.caption("Chosen for its clear difference. “Many trees” has the figures over all held-out claims.")
    return typed.strip() or picked or ""


def draw_query(pair: Pair, query: str, *, k: int, gold: Mapping[str, str] | None = None) -> Comparison:
    """Draw and return the comparison of one query to depth k; see `Pair.compare`."""
    with st.spinner("Searching …", show_time=True):
        comparison = pair.compare(query, k=k, gold=gold)
    st.markdown(f"##### {label(query, longest=600)}")
    has_gold = any(row.gold is not None for row in comparison.rows)
    cells = st.columns(3)
    cells[0].metric("In both", f"{comparison.shared} of {comparison.k}", border=True)
    for which, name in enumerate(comparison.names):
        cells[which + 1].metric(
            f"{label(model_label(name))}: reference premises found",
            str(comparison.count_gold(which)) if has_gold else "no reference",
            border=True,
        )
    draw_training_notice((query,), comparison.names)
    view = pick_view("View", VIEWS, default=VIEWS[0], key="compare_view")
    if view == "Side by side":
        _draw_lists(comparison)
    else:
        changes = largest_changes(comparison)
        with st.container(key="slopes"):
            # Streamlit themes axes and legends, but not text marks.
            st.html("<style>.st-key-slopes svg .mark-text text { fill: currentColor; }</style>")
            st.altair_chart(
                draw_slopes(comparison),
                width="stretch",
                alt=f"Ranks of {len(comparison.rows)} premises, {' and '.join(pair.names)}. {changes}",
            )
        st.caption(f"**Largest differences:** {label(changes)} Log scale below rank {comparison.k}")
    if comparison.listed:
        st.caption(
            f"A large corpus: rank {comparison.listed + 1:,} means below the first {comparison.listed:,}."
        )
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


def height_of(rank: int, k: int) -> float:
    """Return the height of a rank: linear down to k, logarithmic below.

    >>> [height_of(rank, 20) for rank in (1, 20, 200, 2000)]
    [1.0, 20.0, 25.0, 29.0]
    """
    return float(rank) if rank <= k else k + 1 + _DECADE * math.log10(rank / k)


def draw_slopes(comparison: Comparison) -> alt.LayerChart:
    """Return a chart of ranks left and right, a line for each premise, the largest changes on top.

    Ranks below k are on a logarithmic scale. Hovering over a line highlights it and shows its premise.
    """
    import altair as alt

    rows, k = comparison.by_difference, comparison.k
    lowest = max((max(row.ranks) for row in rows), default=k)
    table = pd.DataFrame(
        [
            {
                "id": number,
                "premise": row.premise.text,
                "mark": mark_of(row).name,
                "decisions": decision_names(row),
                "rank1": row.ranks[0],
                "rank2": row.ranks[1],
                "y1": height_of(row.ranks[0], k),
                "y2": height_of(row.ranks[1], k),
                "width": 1.4 if mark_of(row) == DECISIONS[-1] else 3.0,
                "size": 55.0 if mark_of(row) == DECISIONS[-1] else 130.0,
            }
            for number, row in reversed(list(enumerate(rows)))
        ]
    )
    names = [model_name(name) for name in comparison.names]
    scale = scales([mark for mark in DECISIONS if any(mark_of(row) == mark for row in rows)])
    legend = alt.Legend(title=None, orient="top", columns=2)
    colour = alt.Color("mark:N", scale=scale["color"], legend=legend)
    bottom = height_of(lowest, k) + 0.6
    heights = alt.Scale(domain=[0.4, bottom], reverse=True, nice=False)
    axis = _rank_axis(k, lowest)
    hover = alt.selection_point(
        name="hover", on="pointerover", clear="pointerout", fields=["id"], empty=False
    )
    tip = [
        alt.Tooltip("premise:N", title="Premise"),
        alt.Tooltip("rank1:Q", title=names[0], format=",d"),
        alt.Tooltip("rank2:Q", title=names[1], format=",d"),
        alt.Tooltip("decisions:N", title="Judgement"),
    ]
    base = alt.Chart(table)
    left, right = (alt.value(alt.ExprRef(f"width * {share}")) for share in (_MARGIN, 1 - _MARGIN))
    starts, ends = (alt.Y(f"y{side}:Q", scale=heights, axis=axis) for side in (1, 2))
    line = {"x": left, "x2": right, "y": starts, "y2": alt.Y2("y2:Q")}
    layers: list[Any] = [
        base.mark_rule(strokeCap="round").encode(
            **line,
            color=colour,
            strokeDash=alt.StrokeDash("mark:N", scale=scale["strokeDash"], legend=legend),
            strokeWidth=alt.when(hover).then(alt.value(5)).otherwise(alt.StrokeWidth("width:Q", scale=None)),
        ),
        # A wide invisible line is easier to hit.
        base.mark_rule(strokeWidth=13, opacity=0.001).encode(**line, tooltip=tip).add_params(hover),
    ]
    for side, x, y in ((1, left, starts), (2, right, ends)):
        align: Literal["right", "left"] = "right" if side == 1 else "left"
        texts = base.transform_filter(alt.datum[f"rank{side}"] <= k).mark_text(
            align=align,
            baseline="middle",
            dx=-9 if side == 1 else 9,
            fontSize=12,
            limit=alt.ExprRef(f"width * {_MARGIN} - 44"),
        )
        name = alt.Chart(pd.DataFrame({"name": [names[side - 1]]}))
        rail = name.mark_rule(aria=False, color=GREY, strokeWidth=2)
        head = name.mark_text(align=align, baseline="bottom", fontWeight="bold", fontSize=13, y=-6)
        layers += [
            rail.encode(x=x, y=alt.value(0), y2=alt.value(alt.ExprRef("height"))),
            base.mark_point(filled=True, opacity=1).encode(
                x=x,
                y=y,
                color=colour,
                size=alt.Size("size:Q", scale=None),
                shape=alt.Shape("mark:N", scale=scale["shape"], legend=legend),
                tooltip=tip,
            ),
            texts.encode(x=x, y=y, text="premise:N", tooltip=tip),
            head.encode(x=x, text="name:N"),
        ]
    chart = alt.LayerChart(layer=layers).properties(
        height=max(140, int(bottom * (22 if len(rows) >= k <= 25 else 16))),  # room for the legend
        title="Rank of each premise",
        padding={"left": 2, "right": 2, "top": 24, "bottom": 4},
    )
    return cast("alt.LayerChart", chart.configure_view(stroke=None))


def _rank_axis(k: int, lowest: int) -> alt.Axis:
    """Return the axis that labels heights with their ranks."""
    import altair as alt

    step = 5 if k <= 25 else 10
    decades = (10**power for power in range(1, 10))
    ranks = [1, *range(step, k + 1, step), *(rank for rank in decades if 1.5 * k < rank <= lowest)]
    heights = {height_of(rank, k): rank for rank in ranks}
    tests = "".join(
        f"abs(datum.value - {height!r}) < 1e-6 ? '{rank:,}' : " for height, rank in heights.items()
    )
    return alt.Axis(
        title="Rank",
        titleAngle=0,
        titleAnchor="end",
        titleAlign="left",
        titleY=-8,
        values=list(heights),
        labelExpr=f"{tests}''",
        gridOpacity=0.25,
        domain=False,
        ticks=False,
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
        "difference": columns.NumberColumn(
            "Difference",
            format="%+.3f",
            help="Average precision of the right retriever minus that of the left.",
        ),
        "premises": columns.NumberColumn("Premises"),
    }
    for side, retriever in zip(("left", "right"), names, strict=True):
        config[side] = columns.NumberColumn(
            f"Precision, {retriever}",
            format="%.3f",
            help="Average precision. 1: all reference premises are ranked first; 0: none is found.",
        )
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
