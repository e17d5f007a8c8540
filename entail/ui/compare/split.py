"""Comparison over many trees: figures of both retrievers, author effort, changed queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from entail.data.text import fold
from entail.evaluation.retrieval.effort import Effort
from entail.evaluation.retrieval.exchange import query_rows
from entail.evaluation.retrieval.split_comparison import (
    PROTOCOLS,
    MeasuredFigure,
    Protocol,
    QueryChange,
    SplitComparison,
    compare_split,
    most_changed,
)
from entail.ui.compare.pair import Pair, draw_training_notice
from entail.ui.compare.query import draw_queries, draw_query
from entail.ui.compare.source import Source
from entail.ui.shared.downloads import CSV, JSON, draw_download, table_csv, to_json
from entail.ui.shared.tasks import COMPARISONS, Task
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_progress

PROTOCOL_NAMES = {"query_excluded": "Without the claim itself", "paper": "As in the paper"}
_MAIN = ("MAP", "NDCG", "NDCG@10", "Hit@10", "Hit@20", "Hit@50", "Recall@10")
_NAMED = 20
_FIGURES_WAIT = 2.5
_ORDERS = ("Gained most", "Lost most", "All")


def take_split(pair: Pair, source: Source) -> SplitComparison | None:
    """Return the comparison over all trees; draw the progress and return None until it is done."""
    work = COMPARISONS.get_or_start(
        ("split", pair.key, source.stamp),
        lambda report: compare_split(source.corpus, source.trees, pair.indexes, progress=report),
    )
    if work.value is None:
        draw_progress(work)
    return work.value


def draw_split(pair: Pair, source: Source, *, k: int) -> None:
    """Draw the comparison over all trees."""
    split = take_split(pair, source)
    if split is None:
        return
    st.caption(
        f"{len(split.gold):,} claims with {split.evaluations[0].pairs:,} reference premises in "
        f"{split.trees:,} trees ({label(source.name)}), {len(split.corpus):,} candidates."
    )
    draw_training_notice(split.gold.texts, split.names)
    if missing := split.gold.missing:
        with st.expander(f"{len(missing):,} reference premises are not in the corpus: counted as not found"):
            st.markdown("\n".join(f"- {label(text, longest=300)}" for text in missing[:_NAMED]))
            if len(missing) > _NAMED:
                st.caption(f"{len(missing) - _NAMED:,} more in the download of all figures.")
    draw_effort(split.efforts, pair.names)
    draw_figures(split, pair, source)
    st.markdown("##### Changed claims")
    change = _pick_change(split, pair)
    if change is not None:
        draw_change(pair, split, change, k=k)
    with st.container(horizontal=True):
        draw_download("Claims (CSV)", lambda: table_csv(query_rows(split)), name="queries.csv", kind=CSV)
        draw_download("All figures (JSON)", lambda: to_json(split.to_json()), name="split.json", kind=JSON)


def draw_effort(efforts: tuple[Effort, Effort], names: tuple[str, str]) -> None:
    """Draw the simulated author's effort with each retriever."""
    cells = st.columns(2)
    first = efforts[0].reads_per_accepted
    for which, cell in enumerate(cells):
        reads = efforts[which].reads_per_accepted
        delta = None
        if which and reads is not None and first and round(reads / first, 2) != 1:
            delta = f"{reads / first - 1:+.0%} against {names[0]}"
        cell.metric(
            f"Candidates read per accepted premise, {label(names[which])}",
            "none accepted" if reads is None else f"{reads:.1f}",
            delta=delta,
            delta_color="inverse",
            border=True,
            height="stretch",
            help=f"Simulated author, who gives up after {efforts[which].limit} candidates.",
        )
    shares = [
        f"{effort.missing_share:.0%} with {label(name)}" for effort, name in zip(efforts, names, strict=True)
    ]
    st.caption(f"Premises never found: {', '.join(shares)}.")


def take_figures(
    split: SplitComparison, pair: Pair, source: Source, *, wait: float
) -> Task[tuple[MeasuredFigure, ...]]:
    """Return the task of all figures with intervals and tests, which are slower than figures alone."""
    return COMPARISONS.get_or_start(("figures", pair.key, source.stamp), lambda _: split.figures, wait=wait)


def draw_figures(split: SplitComparison, pair: Pair, source: Source) -> None:
    """Draw the measures of both protocols; intervals and tests follow once they are computed."""
    every = st.toggle("All cut-offs", key="compare_every")
    names = label(pair.names[0]), label(pair.names[1])
    tables = st.empty()
    work = take_figures(split, pair, source, wait=0)
    if not work.done.is_set():
        _draw_tables(tables, {p: plain_table(split, p, names) for p in PROTOCOLS}, every=every)
        work = take_figures(split, pair, source, wait=_FIGURES_WAIT)
    if work.value is not None:
        found = work.value
        _draw_tables(
            tables,
            {p: figures_table([f for f in found if f.protocol == p], names) for p in PROTOCOLS},
            every=every,
        )
    else:
        draw_progress(work, waiting="Computing intervals and tests …")
    st.caption(
        "Brackets: 95 % bootstrap intervals over claims. p: paired randomisation test over claims, not "
        "corrected for multiple measures. ●: the interval of the difference excludes 0."
    )


def _draw_tables(place: DeltaGenerator, tables: Mapping[Protocol, pd.DataFrame], *, every: bool) -> None:
    with place.container():
        for protocol, table in tables.items():
            st.markdown(f"**{PROTOCOL_NAMES[protocol]}**")
            # A plain HTML table is drawn before the browser has loaded the interactive one.
            st.table(
                table if every else table[table["measure"].isin(_MAIN)],
                hide_index=True,
                border="horizontal",
                alt=f"Figures of both retrievers. {PROTOCOL_NAMES[protocol]}.",
            )


def plain_table(split: SplitComparison, protocol: Protocol, names: tuple[str, str]) -> pd.DataFrame:
    """Return figures and differences, without intervals."""
    first, second = (evaluation.figures()[protocol] for evaluation in split.evaluations)
    return pd.DataFrame(
        {
            "measure": list(first),
            names[0]: [f"{value:.3f}" for value in first.values()],
            _other(names): [f"{value:.3f}" for value in second.values()],
            "difference": [f"{second[name] - value:+.3f}" for name, value in first.items()],
            "p": "…",
        }
    )


def _other(names: tuple[str, str]) -> str:
    return names[1] if names[1] != names[0] else f"{names[1]} "


def figures_table(figures: Sequence[MeasuredFigure], names: tuple[str, str]) -> pd.DataFrame:
    """Return figures with intervals, differences and p."""

    def within(interval: tuple[float, float]) -> str:
        return f"[{interval[0]:.3f}, {interval[1]:.3f}]"

    return pd.DataFrame(
        {
            "measure": [figure.measure for figure in figures],
            names[0]: [f"{f.paired.first:.3f} {within(f.intervals[0])}" for f in figures],
            _other(names): [f"{f.paired.second:.3f} {within(f.intervals[1])}" for f in figures],
            "difference": [
                f"{'●' if f.paired.low > 0 or f.paired.high < 0 else '○'} {f.paired.difference:+.3f} "
                f"[{f.paired.low:+.3f}, {f.paired.high:+.3f}]"
                for f in figures
            ],
            "p": [f.paired.p_shown for f in figures],
        }
    )


def _pick_change(split: SplitComparison, pair: Pair) -> QueryChange | None:
    changes = split.changes["query_excluded"]
    gained, lost = most_changed(changes, gained=True), most_changed(changes, gained=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        order = st.segmented_control(
            "Order",
            _ORDERS,
            default=_ORDERS[0],
            key="compare_order",
            required=True,
            label_visibility="collapsed",
        )
        st.caption(
            f"{len(gained):,} gained with {label(pair.names[1])}, {len(lost):,} lost, "
            f"{len(changes) - len(gained) - len(lost):,} unchanged. Click a row for its rankings."
        )
    shown = {"Gained most": gained, "Lost most": lost}.get(order or "", changes)
    if not shown:
        st.info("No claims.", icon=":material/balance:")
        return None
    return draw_queries(shown, pair.names, key=f"changes-{order}-{hash((pair.key, len(shown), split.names))}")


def draw_change(
    pair: Pair, split: SplitComparison, change: QueryChange, *, k: int, heading: bool = True
) -> None:
    """Draw the rankings of a query with its gold premises marked."""
    gold = {fold(text): text for text in split.premises(change.place)}
    with st.container(border=True):
        draw_query(pair, change.query, k=k, gold=gold, heading=heading)
