"""Entailment hints on the authoring screen: of each candidate, and of the premises of a step together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from entail.ui.shared.active import draw_notice
from entail.ui.shared.tasks import Task
from entail.ui.shared.text import certainty, label
from entail.ui.trees.direction_hints import (
    BY_KEY,
    ONLY,
    ONLY_KEY,
    ORDER_KEY,
    ORDERS,
    POOL,
    SOON,
    DirectionHints,
    texts_of,
)
from entail.ui.trees.screen import AuthoringSession, Screen

if TYPE_CHECKING:
    from entail.gausscse.arrows import StepVerdict
    from entail.gausscse.verdict import Verdict, Which

_VERDICTS = {
    "entails": ("green", "arrow_forward", "entails it"),
    "is entailed by": ("orange", "arrow_back", "follows from it"),
    "both ways": ("blue", "sync_alt", "equivalent"),
    "neither": ("gray", "block", "no entailment"),
}
_TRUNCATED: Mapping[tuple[Which, ...], str] = {
    ("first",): "candidate truncated",
    ("second",): "sentence truncated",
    ("first", "second"): "candidate and sentence truncated",
}
_STEPS = {
    "entails": ("green", "check_circle", "Supported by its premises"),
    "is entailed by": ("orange", "warning", "Reversed: it entails its premises"),
    "both ways": ("blue", "sync_alt", "Equivalent to its premises"),
    "neither": ("gray", "help", "Not yet supported"),
}


def draw_hints(hints: DirectionHints | None, session: AuthoringSession) -> Mapping[str, Verdict]:
    """Draw the entailment check of the selected step, and the filter of candidates by entailment.

    Returns:
        Premise key -> verdict on candidate and node; empty without an encoder, or while computed.
    """
    if hints is None:
        return {}
    draw_notice("direction")
    screen, tree = session.screen, session.history.tree
    sentence = tree.node(screen.selected).text
    step = hints.judge_step(tree, screen.selected, wait=SOON)
    check = step.value if step is not None else None
    if check is not None:
        st.caption(describe_step(check.verdict), help=f"By {label(hints.name)}. {_HELP}")
        if truncation := describe_truncation(check):
            st.caption(truncation)
    if session.offer is None:  # proposals keep their own order
        _draw_filter(hints)
    candidates = session.pool or session.shown
    verdicts = hints.judge_shown(sentence, candidates)

    def tasks() -> list[Task[Any]]:
        of_step = hints.judge_step(tree, screen.selected)
        return [hints.judge(sentence, texts_of(candidates)), *([of_step] if of_step is not None else [])]

    # A task may have finished since it was read above: wait for what was not drawn, not for what is unknown.
    lacks = (session.pool and session.offered is None) or (candidates and not verdicts)
    if error := next((task.error for task in tasks() if task.error is not None), None):
        st.caption(f":material/info: No entailment hints: {label(str(error), longest=200)}")
    elif lacks or (step is not None and check is None):
        _draw_wait(screen, tasks)
    return verdicts


def draw_nothing_left(hints: DirectionHints) -> None:
    """Draw that the filter leaves no candidate."""
    st.info(
        f"No match among the top {POOL} for “{ONLY[hints.filter.only].lower()}”. Change the filter under "
        "**Entailment hints**.",
        icon=":material/filter_alt:",
    )


def describe_verdict(verdict: Verdict) -> str:
    """Return the entailment between a candidate and its node as Markdown."""
    colour, icon, words = _VERDICTS[verdict.says]
    text = f":{colour}[:material/{icon}: {words}{_confidence(verdict)}]"
    return f"{text} {_truncated(_TRUNCATED[verdict.truncated])}" if verdict.truncated else text


def describe_step(verdict: Verdict) -> str:
    """Return the entailment between the premises of a step and its conclusion as Markdown."""
    colour, icon, words = _STEPS[verdict.says]
    if verdict.says == "both ways" and verdict.margin < 0:
        colour, icon, words = "orange", "warning", "Nearly equivalent, but rather it entails its premises"
    return f":{colour}[:material/{icon}: {words}{_confidence(verdict)}]"


def describe_truncation(step: StepVerdict) -> str:
    """Return the parts of a step that the encoder did not read as Markdown; empty if it read all."""
    parts = []
    if "first" in step.verdict.truncated:
        parts.append(f"{step.read} of {step.count} premises read in full")
    if "second" in step.verdict.truncated:
        parts.append("the sentence only in part")
    return _truncated(f"Truncated: {', '.join(parts)}") if parts else ""


def _truncated(words: str) -> str:
    return f":orange[:material/content_cut: {words}]"


def _confidence(verdict: Verdict) -> str:
    return f" ({certainty(verdict.sure)} confidence)" if verdict.sure is not None else ""


_HELP = (
    "Checks all premises of this step, joined by “and”, against its conclusion. The encoder was trained on "
    "everyday sentences, so take it as a hint."
)


def _draw_filter(hints: DirectionHints) -> None:
    current = hints.filter
    with st.popover(
        "Entailment hints"
        if current.is_plain
        else f"Entailment hints: {ONLY[current.only]} · {ORDERS[current.order]}",
        icon=":material/moving:" if current.is_plain else ":material/filter_alt:",
        width="stretch",
        help="Filters and orders the candidates by entailment",
    ):
        st.selectbox(
            "Show",
            list(ONLY),
            format_func=lambda only: ONLY[only],
            key=ONLY_KEY,
            persist_state="session",
            help=f"Filters the top {POOL} candidates.",
        )
        st.selectbox(
            "Order",
            list(ORDERS),
            format_func=lambda order: ORDERS[order],
            key=ORDER_KEY,
            persist_state="session",
        )
        if len(hints.names) > 1:
            st.selectbox(
                "Encoder",
                hints.names,
                key=BY_KEY,
                persist_state="session",
                help="Gaussian encoder. A newly chosen one loads in the background.",
            )
        st.caption(f"By {label(hints.name)}.")


@st.fragment(run_every=0.5)
def _draw_wait(screen: Screen, tasks: Callable[[], list[Task[Any]]]) -> None:
    if screen.dialog is None and all(task.done.is_set() for task in tasks()):
        st.rerun()
    st.caption(":material/hourglass_empty: Checking entailment …")
