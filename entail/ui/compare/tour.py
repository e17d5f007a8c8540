"""Tour: the claims on which two retrievers differ most, a card each."""

from __future__ import annotations

import streamlit as st

from entail.evaluation.retrieval.exchange import tour_json, tour_rows
from entail.evaluation.retrieval.split_comparison import SplitComparison
from entail.evaluation.retrieval.tour import Stop, choose_stops, headline, tell
from entail.ui.compare.choice import LINK
from entail.ui.compare.pair import Pair, draw_training_notice
from entail.ui.compare.source import Source
from entail.ui.compare.split import draw_change, take_figures, take_split
from entail.ui.shared.downloads import CSV, JSON, draw_download, table_csv, to_json
from entail.ui.shared.tasks import COMPARISONS
from entail.ui.shared.text import label
from entail.ui.shared.waiting import draw_progress


def draw_tour(pair: Pair, source: Source, *, k: int) -> None:
    """Draw the current card with its buttons."""
    split = take_split(pair, source)
    if split is None:
        return
    figures = take_figures(split, pair, source, wait=2.5)
    work = COMPARISONS.get_or_start(
        ("tour", pair.key, source.stamp), lambda _: choose_stops(split, pair.indexes)
    )
    if figures.value is None or work.value is None:
        draw_progress(figures if figures.value is None else work)
        return
    stops = work.value
    last = len(stops) + 1
    cards = list(range(last + 1))
    key = LINK.init_widget("stop", cards, 0)
    card = int(st.session_state[key])
    with st.container(border=True):
        if card == 0:
            _draw_opening(split, pair, stops)
        elif card == last:
            _draw_closing(split, pair, stops)
        else:
            stop = stops[card - 1]
            st.caption(f"{card} of {len(stops)}")
            st.markdown(f"##### {label(stop.change.query, longest=600)}")
            st.markdown(label(tell(stop, pair.names)))
        if card in (0, last):
            draw_training_notice(split.gold.texts, split.names)
            _draw_files(split, pair, stops)
        _draw_steps(key, card, last)
    if 0 < card < last:
        draw_change(pair, split, stops[card - 1].change, k=k, heading=False)


def _go(key: str, card: int) -> None:
    st.session_state[key] = card


def _draw_steps(key: str, card: int, last: int) -> None:
    with st.container(horizontal=True):
        st.button(
            "Back",
            icon=":material/arrow_back:",
            on_click=_go,
            args=(key, card - 1),
            disabled=card == 0,
            key="tour_back",
        )
        if card < last:
            st.button(
                "Start" if card == 0 else "Next",
                icon=":material/arrow_forward:",
                type="primary",
                on_click=_go,
                args=(key, card + 1),
                key="tour_next",
            )
        else:
            st.button("Again", icon=":material/replay:", on_click=_go, args=(key, 0), key="tour_again")


def _draw_opening(split: SplitComparison, pair: Pair, stops: tuple[Stop, ...]) -> None:
    first, second = map(label, pair.names)
    st.markdown(f"##### {first} and {second}, in {len(stops)} examples")
    st.markdown(
        "An explanation tree needs premises that *entail* a claim, not ones that only *resemble* it. "
        f"{first} and {second} search {len(split.corpus):,} premises for those of {len(split.gold):,} "
        "claims. The examples are the claims where they differ most."
    )
    _draw_headline(split, pair)
    if not stops:
        st.info("Both rank all reference premises alike: no examples.", icon=":material/balance:")


def _draw_closing(split: SplitComparison, pair: Pair, stops: tuple[Stop, ...]) -> None:
    better = sum(stop.better for stop in stops)
    st.markdown("##### Summary")
    st.markdown(
        f"{label(pair.names[1])} is better on {better} of {len(stops)} examples, {label(pair.names[0])} on "
        f"{len(stops) - better}. Examples are extremes; over all claims:"
    )
    for sentence in headline(split, pair.names):
        st.markdown(f"- {label(sentence)}")
    _draw_headline(split, pair)


def _draw_files(split: SplitComparison, pair: Pair, stops: tuple[Stop, ...]) -> None:
    if not stops:
        return
    with st.container(horizontal=True):
        draw_download(
            "Examples (CSV)", lambda: table_csv(tour_rows(stops, pair.names)), name="tour.csv", kind=CSV
        )
        draw_download(
            "Examples (JSON)",
            lambda: to_json(tour_json(split, stops, pair.names)),
            name="tour.json",
            kind=JSON,
        )


def _draw_headline(split: SplitComparison, pair: Pair) -> None:
    st.caption(f"{label(pair.names[0])} → {label(pair.names[1])}")
    for cell, (measure, what) in zip(
        st.columns(3),
        (
            ("MAP", "Mean average precision"),
            ("Hit@10", "Reference premises in top 10"),
            (None, "Read per accepted premise"),
        ),
        strict=True,
    ):
        if measure is None:
            first, second = (effort.reads_per_accepted for effort in split.efforts)
            shown = [("?" if v is None else f"{v:.1f}") for v in (first, second)]
            change = None if not first or second is None else f"{second / first - 1:+.0%}"
        else:
            paired = split.figure(measure).paired
            shown = [f"{paired.first:.3f}", f"{paired.second:.3f}"]
            change = f"{paired.difference:+.3f}"
        cell.metric(
            what,
            f"{shown[0]} → {shown[1]}",
            delta=change,
            delta_color="inverse" if measure is None else "normal",
            border=True,
            help=f"{pair.names[0]} → {pair.names[1]}",
        )
