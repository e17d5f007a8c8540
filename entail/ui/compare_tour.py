"""The tour: a few claims on which the two differ most, each with a sentence, for who has five minutes."""

from __future__ import annotations

import streamlit as st

from entail.evaluation.split_comparison import SplitComparison
from entail.evaluation.tour import Stop, choose_stops, headline, tell
from entail.ui.authoring import draw_progress
from entail.ui.compare_files import CSV, JSON, offer, tour_csv, tour_json
from entail.ui.compare_link import begin
from entail.ui.compare_pair import Pair
from entail.ui.compare_seen import draw_seen
from entail.ui.compare_source import Source
from entail.ui.compare_split import draw_change, take_figures, take_split
from entail.ui.resources import comparisons
from entail.ui.words import label


def draw_tour(pair: Pair, source: Source, *, k: int) -> None:
    """Draw the card that the reader has come to, with the buttons back and next."""
    split = take_split(pair, source)
    if split is None:
        return
    figures = take_figures(split, pair, source, wait=2.5)
    work = comparisons().take(("tour", pair.place, source.stamp), lambda _: choose_stops(split, pair.indexes))
    if figures.value is None or work.value is None:
        draw_progress(figures if figures.value is None else work)
        return
    stops = work.value
    last = len(stops) + 1
    cards = list(range(last + 1))
    key = begin("stop", cards, 0)
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
            draw_seen(split.gold.texts, split.names)
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
                "Begin" if card == 0 else "Next",
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
        "An explanation tree needs the premises that *explain* a claim; a search easily brings those that "
        f"*look like* it. Here {first} and {second} look for the known premises of {len(split.gold):,} "
        f"claims among {len(split.corpus):,} facts. The examples are the claims where they differ most, "
        "whichever of the two does better."
    )
    _draw_headline(split, pair)
    if not stops:
        st.info(
            "The two rank all known premises alike: there is no example to show.", icon=":material/balance:"
        )


def _draw_closing(split: SplitComparison, pair: Pair, stops: tuple[Stop, ...]) -> None:
    better = sum(stop.better for stop in stops)
    st.markdown("##### What it comes to")
    st.markdown(
        f"Of the {len(stops)} examples {better} are answered better by {label(pair.names[1])} and "
        f"{len(stops) - better} by {label(pair.names[0])}; they were picked for being extreme. "
        "Over all claims:"
    )
    for sentence in headline(split, pair.names):
        st.markdown(f"- {label(sentence)}")
    _draw_headline(split, pair)


def _draw_files(split: SplitComparison, pair: Pair, stops: tuple[Stop, ...]) -> None:
    if not stops:
        return
    with st.container(horizontal=True):
        offer("Examples (CSV)", lambda: tour_csv(stops, pair.names), name="tour.csv", kind=CSV)
        offer("Examples (JSON)", lambda: tour_json(split, stops, pair.names), name="tour.json", kind=JSON)


def _draw_headline(split: SplitComparison, pair: Pair) -> None:
    st.caption(f"{label(pair.names[0])} → {label(pair.names[1])}")
    for cell, (measure, what) in zip(
        st.columns(3),
        (
            ("MAP", "Mean average precision"),
            ("Hit@10", "Known premises in the first 10"),
            (None, "Read per accepted premise"),
        ),
        strict=True,
    ):
        if measure is None:
            first, second = (effort.reads_per_accepted for effort in split.efforts)
            said = [("?" if v is None else f"{v:.1f}") for v in (first, second)]
            change = None if not first or second is None else f"{second / first - 1:+.0%}"
        else:
            paired = split.figure(measure).paired
            said = [f"{paired.first:.3f}", f"{paired.second:.3f}"]
            change = f"{paired.difference:+.3f}"
        cell.metric(
            what,
            f"{said[0]} → {said[1]}",
            delta=change,
            delta_color="inverse" if measure is None else "normal",
            border=True,
            help=f"{pair.names[0]} → {pair.names[1]}",
        )
