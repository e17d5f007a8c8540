"""Arrows on the authoring screen: what a candidate does to its node, what a step's premises do together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.ui.direction_arrows import (
    BY_KEY,
    ONLY,
    ONLY_KEY,
    ORDER_KEY,
    ORDERS,
    POOL,
    SOON,
    Pointer,
    texts_of,
)
from entail.ui.in_use import draw_notice
from entail.ui.screen import Desk, Screen
from entail.ui.words import certainty, label
from entail.ui.works import Work

if TYPE_CHECKING:
    from entail.gausscse.arrows import StepVerdict
    from entail.gausscse.verdict import Verdict, Which

_ARROWS = {
    "entails": ("green", "arrow_forward", "entails it"),
    "is entailed by": ("orange", "arrow_back", "follows from it"),
    "both ways": ("blue", "sync_alt", "both ways"),
    "neither": ("gray", "block", "neither way"),
}
_TRUNCATED: Mapping[tuple[Which, ...], str] = {
    ("first",): "truncated: only its beginning was read",
    ("second",): "truncated: of the sentence only the beginning was read",
    ("first", "second"): "truncated: of both only the beginning was read",
}
_STEPS = {
    "entails": ("green", "check_circle", "Together the premises entail it"),
    "is entailed by": ("orange", "warning", "The other way round: it entails its premises"),
    "both ways": ("blue", "sync_alt", "Together the premises say the same as it"),
    "neither": ("gray", "help", "Together the premises do not entail it yet"),
}


def draw_arrows(pointer: Pointer | None, desk: Desk) -> Mapping[str, Verdict]:
    """Draw the check of the step at the selected node and what picks candidates by their arrows.

    Returns:
        Premise key -> what the candidate does to the node; empty without an encoder, or while it is told.
    """
    if pointer is None:
        return {}
    draw_notice("direction")
    screen, tree = desk.screen, desk.history.tree
    sentence = tree.node(screen.selected).text
    step = pointer.step(tree, screen.selected, wait=SOON)
    check = step.value if step is not None else None
    if check is not None:
        st.caption(step_in_words(check.verdict, pointer.name), help=_HELP)
        if left_out := left_out_in_words(check):
            st.caption(left_out)
    if desk.offer is None:  # what is proposed keeps its own order
        _draw_fields(pointer)
    candidates = desk.pool or desk.shown
    verdicts = pointer.at(sentence, candidates)

    def now() -> list[Work[Any]]:
        again = pointer.step(tree, screen.selected)
        return [pointer.tell(sentence, texts_of(candidates)), *([again] if again is not None else [])]

    # What this run came too early for may be there by now: it goes by what was drawn, not by what is known.
    lacks = (desk.pool and desk.offered is None) or (candidates and not verdicts)
    if error := next((work.error for work in now() if work.error is not None), None):
        st.caption(f":material/info: No arrows: {label(str(error), longest=200)}")
    elif lacks or (step is not None and check is None):
        _draw_wait(screen, now)
    return verdicts


def draw_nothing_left(pointer: Pointer) -> None:
    """Draw that no candidate is of the kind that was asked for."""
    st.info(
        f"None of the {POOL} best candidates: {ONLY[pointer.asked.only].lower()}. Choose others under "
        "**Arrows**.",
        icon=":material/filter_alt:",
    )


def arrow_in_words(verdict: Verdict) -> str:
    """Return what a candidate does to its node, as Markdown."""
    colour, icon, words = _ARROWS[verdict.says]
    told = f":{colour}[:material/{icon}: {words}{_figures(verdict)}]"
    return f"{told} {_cut(_TRUNCATED[verdict.truncated])}" if verdict.truncated else told


def step_in_words(verdict: Verdict, name: str) -> str:
    """Return what the premises of a step do to its conclusion, as Markdown."""
    colour, icon, words = _STEPS[verdict.says]
    if verdict.says == "both ways" and verdict.margin < 0:
        colour, icon, words = (
            "orange",
            "warning",
            "They say much the same, but rather it entails its premises",
        )
    return f":{colour}[:material/{icon}: {words}{_figures(verdict)}], says {label(name)}"


def left_out_in_words(step: StepVerdict) -> str:
    """Return what of a step was not read, as Markdown; nothing where all of it was."""
    told = []
    if "first" in step.verdict.truncated:
        read = (
            f"the first {step.read} of {step.count} were read whole, of the next at most the beginning"
            if step.read
            else "of the first only the beginning was read"
        )
        told.append(f"the premises together are longer than what the encoder reads; {read}, and no more")
    if "second" in step.verdict.truncated:
        told.append("of the sentence only the beginning was read")
    return _cut(f"truncated: {'; '.join(told)}") if told else ""


def _cut(words: str) -> str:
    return f":orange[:material/content_cut: {words}]"


def _figures(verdict: Verdict) -> str:
    sure = f", {certainty(verdict.sure)}" if verdict.sure is not None else ""
    return f" ({verdict.margin:+.2f}{sure})"


_HELP = (
    "All premises of this step, joined by “and”, against its conclusion. In brackets the margin, the "
    "difference of the two similarities in logits: above 0 where, if one entails the other, it is the "
    "premises; and how sure the encoder is. It was trained on pairs of everyday sentences: take it as a hint."
)


def _draw_fields(pointer: Pointer) -> None:
    asked = pointer.asked
    with st.popover(
        "Arrows" if asked.is_plain else f"Arrows: {ONLY[asked.only]} · {ORDERS[asked.order]}",
        icon=":material/moving:" if asked.is_plain else ":material/filter_alt:",
        width="stretch",
        help="Candidates by what they do to this sentence",
    ):
        st.selectbox(
            "Show",
            list(ONLY),
            format_func=lambda only: ONLY[only],
            key=ONLY_KEY,
            persist_state="session",
            help=f"Of the {POOL} best candidates.",
        )
        st.selectbox(
            "Order",
            list(ORDERS),
            format_func=lambda order: ORDERS[order],
            key=ORDER_KEY,
            persist_state="session",
        )
        if len(pointer.names) > 1:
            st.selectbox(
                "Told by",
                pointer.names,
                key=BY_KEY,
                persist_state="session",
                help="An encoder of Gaussians; another one is loaded behind the page.",
            )
        st.caption(
            f"By {label(pointer.name)}. In brackets the margin, the difference of the two similarities in "
            "logits: above 0 where, if one entails the other, it is the candidate."
        )


@st.fragment(run_every=0.5)
def _draw_wait(screen: Screen, now: Callable[[], list[Work[Any]]]) -> None:
    if screen.dialog is None and all(work.done.is_set() for work in now()):
        st.rerun()
    st.caption(":material/hourglass_empty: Telling directions …")
