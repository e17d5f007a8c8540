"""Tour: the claims on which two retrievers differ most, a card each."""

from __future__ import annotations

import streamlit as st

from entail.data.bundled import HELD_OUT_NAME
from entail.evaluation.retrieval.split_comparison import SplitComparison
from entail.evaluation.retrieval.tour import Stop, choose_stops, tell
from entail.runtime.tasks import COMPARISONS, Task
from entail.statistics.paired import ComparedFigure
from entail.ui.compare.choice import EXAMPLES, KINDS, LINK, Pair, Source, draw_training_notice
from entail.ui.compare.split import PROTOCOL, Figures, draw_change, take_figures, take_split
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

HELD_OUT = (
    ":material/verified: **Held-out claims**: trees of EntailmentBank dev on which no shipped retriever or "
    "re-ranker was trained. Dev selected the shipped checkpoint, so these figures are slightly optimistic."
)
"""Origin of the claims of the held-out corpus."""


def draw_tour(pair: Pair, source: Source, *, k: int) -> None:
    """Draw the current card with its buttons."""
    split = take_split(pair, source)
    if split is None:
        return
    figures = take_figures(split, pair, source, wait=0)
    work = COMPARISONS.get_or_start(
        ("tour", pair.key, source.stamp), lambda _: choose_stops(split, pair.indexes)
    )
    stops = await_value(work)
    if stops is None:
        return
    last = len(stops) + 1
    key = LINK.init_widget("stop", range(last + 1), 0)
    card = int(st.session_state[key])
    with st.container(border=True):
        if 0 < card < last:
            stop = stops[card - 1]
            st.caption(f"{card} of {len(stops)}")
            st.markdown(f"##### {label(stop.change.query, longest=600)}")
            st.markdown(label(tell(stop, pair.names)))
        else:
            _draw_end(split, pair, stops, figures, closing=card == last)
            if source.name == KINDS[EXAMPLES] and split.corpus.name == HELD_OUT_NAME:
                st.markdown(HELD_OUT)
            draw_training_notice(split.gold.texts, split.names)
        _draw_steps(key, card, last)
    if 0 < card < last:
        draw_change(pair, split, stops[card - 1].change, k=k, heading=False)


def _draw_steps(key: str, card: int, last: int) -> None:
    closing = card == last
    steps = (
        ("Back", "arrow_back", card - 1, card == 0, "tour_back"),
        ("Again", "replay", 0, False, "tour_again")
        if closing
        else ("Next" if card else "Start", "arrow_forward", card + 1, False, "tour_next"),
    )
    with st.container(horizontal=True):
        for title, icon, target, disabled, name in steps:
            st.button(
                title,
                icon=f":material/{icon}:",
                type="primary" if name == "tour_next" else "secondary",
                on_click=st.session_state.__setitem__,
                args=(key, target),
                disabled=disabled,
                key=name,
            )


def _draw_end(
    split: SplitComparison, pair: Pair, stops: tuple[Stop, ...], figures: Task[Figures], *, closing: bool
) -> None:
    """Draw the opening or the closing card, with the figures over all claims."""
    first, second = map(label, pair.names)
    if not closing:
        st.markdown(f"##### {first} and {second}, in {len(stops)} examples")
        st.markdown(
            "An explanation tree needs premises that *entail* a claim, not ones that only *resemble* it. "
            f"The examples are those of {len(split.gold):,} claims, over {len(split.corpus):,} premises, on "
            "which the two differ most."
        )
        if not stops:
            st.info("Both rank all reference premises equally: no examples.", icon=":material/balance:")
        _draw_headline(split, pair)
        return
    better = sum(stop.better for stop in stops)
    st.markdown("##### Summary")
    st.markdown(
        f"{second} is better on {better} of {len(stops)} examples, {first} on {len(stops) - better}. "
        "Examples are extremes; over all claims:"
    )
    _draw_headline(split, pair)
    if (measured := await_value(figures, waiting="Computing intervals and tests …")) is not None:
        st.caption(_interval_words(measured[PROTOCOL]["MAP"], pair.names))


def _interval_words(figure: ComparedFigure, names: tuple[str, str]) -> str:
    """Return both mean average precisions and their difference, with 95 % intervals."""
    paired = figure.paired
    sides = ", ".join(
        f"{label(name)} {value:.3f} [{low:.3f}, {high:.3f}]"
        for name, value, (low, high) in zip(
            names, (paired.first, paired.second), figure.intervals, strict=True
        )
    )
    return (
        f"Mean average precision over {paired.queries:,} claims: {sides}; difference "
        f"{paired.difference:+.3f} [{paired.low:+.3f}, {paired.high:+.3f}] "
        f"(95 % bootstrap intervals over claims), p {paired.p_shown}."
    )


def _draw_headline(split: SplitComparison, pair: Pair) -> None:
    names = f"{pair.names[0]} → {pair.names[1]}"
    st.caption(label(names))
    cells = st.columns(3)
    # Without intervals, which take seconds.
    plain = [evaluation.figures()[PROTOCOL] for evaluation in split.evaluations]
    titles = {"MAP": "Mean average precision", "Hit@10": "Reference premises in top 10"}
    for cell, (measure, title) in zip(cells, titles.items(), strict=False):
        before, after = (figures[measure] for figures in plain)
        change = f"{after - before:+.3f}"
        cell.metric(title, f"{before:.3f} → {after:.3f}", delta=change, border=True, help=names)
    first, second = (effort.reads_per_accepted for effort in split.efforts)
    reads_before, reads_after = ("?" if reads is None else f"{reads:.1f}" for reads in (first, second))
    cells[2].metric(
        "Read per accepted premise",
        f"{reads_before} → {reads_after}",
        delta=None if not first or second is None else f"{second / first - 1:+.0%}",
        delta_color="inverse",
        border=True,
        help=names,
    )
