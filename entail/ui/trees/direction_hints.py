"""Entailment between candidates and a node, and of a whole step: computed, filtered by, drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import streamlit as st

from entail.operations.tasks import Task, TaskGroup, finish
from entail.trees.review.suggestions import Candidate
from entail.ui.direction.encoder import gaussian_names, take_encoder
from entail.ui.shared.active import LazyModel, draw_notice, pick_model
from entail.ui.shared.text import certainty, label
from entail.ui.trees.screen import AuthoringSession, Screen

if TYPE_CHECKING:
    from entail.gausscse.directions import Directions, Only, Order, StepVerdict
    from entail.gausscse.verdict import Side, Verdict
    from entail.trees.log.tree import Tree

ONLY: Mapping[Only, str] = {
    "all": "All candidates",
    "entails": "Entails it",
    "is entailed by": "Follows from it",
    "neither": "No entailment",
}
ORDERS: Mapping[Order, str] = {
    "rank": "Rank",
    "similarity": "Strongest entailment",
    "margin": "Clearest direction",
}
ONLY_KEY, ORDER_KEY, BY_KEY = "arrows_only", "arrows_order", "arrows_by"
"""Widget keys of the filter, the order and the encoder."""

POOL = 50
"""Candidates that are filtered and ordered by entailment."""

WAIT = 0.15
"""Seconds that a page waits for the entailment that its list is filtered by."""

SOON = 0.05
"""Seconds that a page waits for entailment that is only displayed; a later rerun draws it."""

_VERDICTS = {
    "entails": ("green", "arrow_forward", "entails it"),
    "is entailed by": ("orange", "arrow_back", "follows from it"),
    "both ways": ("blue", "sync_alt", "equivalent"),
    "neither": ("gray", "block", "no entailment"),
}
_TRUNCATED: Mapping[tuple[Side, ...], str] = {
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
_HELP = (
    "Checks all premises of this step, joined by “and”, against its conclusion. The encoder was trained on "
    "everyday sentences, so take it as a hint."
)


@dataclass(frozen=True)
class DirectionHints(LazyModel["Directions"]):
    """Gaussian encoder that judges entailment in one run of the page, with the author's filter.

    Attributes:
        only: Entailment that is shown.
        order: Order of the list.
        names: Encoders that can be chosen, the active one first.
    """

    models: ClassVar[TaskGroup] = TaskGroup("direction hints", failure="the encoder could not be loaded")
    results: ClassVar[TaskGroup] = TaskGroup("verdicts", failure="the entailment could not be checked")

    name: str
    revision: str | None
    only: Only = "all"
    order: Order = "rank"
    names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str | None]:
        """Key of the encoder."""
        return (self.name, self.revision)

    def load(self) -> Directions:
        """Load the encoder."""
        from entail.gausscse.directions import Directions

        arrows = Directions(finish(take_encoder(self.name, self.revision, wait=0)))
        arrows.between(["a text"], "another")
        return arrows

    @property
    def is_plain(self) -> bool:
        """Whether the list is the retriever's own."""
        return (self.only, self.order) == ("all", "rank")

    def judge(
        self, sentence: str, candidates: Sequence[Candidate], *, wait: float = 0
    ) -> Task[list[Verdict]]:
        """Return the task that judges entailment between each candidate and a sentence."""
        texts = [candidate.premise.text for candidate in candidates]
        return self.start(
            ("arrows", sentence, *texts), lambda arrows, _: arrows.between(texts, sentence), wait=wait
        )

    def judge_step(self, tree: Tree, node_id: str, *, wait: float = 0) -> Task[StepVerdict] | None:
        """Return the task that judges a node's premises, joined, against it; None if it has no premises."""
        node = tree.node(node_id)
        if not node.children:
            return None
        premises = [tree.nodes[child].text for child in node.children]
        return self.start(
            ("step", node.text, *premises), lambda arrows, _: arrows.step(premises, node.text), wait=wait
        )

    def arrange(self, sentence: str, pool: Sequence[Candidate]) -> list[Candidate] | None:
        """Return the candidates filtered and ordered by entailment; None while it is computed.

        The list is unchanged if entailment cannot be judged.
        """
        from entail.gausscse.directions import arrange

        task = self.judge(sentence, pool, wait=WAIT)
        if task.error is not None:
            return list(pool)
        if task.value is None:
            return None
        return arrange(pool, task.value, only=self.only, order=self.order)


def current_hints() -> DirectionHints | None:
    """Return the entailment hints as this session's author set them; None without a Gaussian encoder."""
    found = gaussian_names()
    if not found:
        return None
    name, names = pick_model("direction", BY_KEY, found)
    only, order = st.session_state.get(ONLY_KEY, "all"), st.session_state.get(ORDER_KEY, "rank")
    return DirectionHints(name, found[name], only, order, tuple(names))


def draw_hints(hints: DirectionHints | None, session: AuthoringSession) -> Mapping[str, Verdict]:
    """Draw the entailment check of the selected step, and the filter of candidates by entailment.

    Returns:
        Premise key -> verdict on candidate and node; empty without an encoder, or while computed.
    """
    if hints is None:
        return {}
    draw_notice("direction")
    node = session.node
    step = hints.judge_step(session.tree, node.id, wait=SOON)
    check = step.value if step is not None else None
    if check is not None:
        st.caption(describe_step(check.verdict), help=f"By {label(hints.name)}. {_HELP}")
        if truncation := describe_truncation(check):
            st.caption(truncation)
    if session.offer is None:  # proposals keep their own order
        _draw_filter(hints)
    candidates = session.pool or session.shown
    verdicts = hints.judge(node.text, candidates, wait=SOON).value or []

    def tasks() -> list[Task[Any]]:
        of_step = hints.judge_step(session.tree, node.id)
        return [hints.judge(node.text, candidates), *([of_step] if of_step is not None else [])]

    # A task may have finished since it was read above: wait for what was not drawn, not for what is unknown.
    lacks = (session.pool and session.list_length is None) or (candidates and not verdicts)
    if error := next((task.error for task in tasks() if task.error is not None), None):
        st.caption(f":material/info: No entailment hints: {label(str(error), longest=200)}")
    elif lacks or (step is not None and check is None):
        _draw_wait(session.screen, tasks)
    return {candidate.premise.key: verdict for candidate, verdict in zip(candidates, verdicts, strict=False)}


def draw_no_match(hints: DirectionHints) -> None:
    """Draw that the filter leaves no candidate."""
    st.info(
        f"No match among the top {POOL} for “{ONLY[hints.only].lower()}”. Change the filter under "
        "**Entailment hints**.",
        icon=":material/filter_alt:",
    )


def describe_verdict(verdict: Verdict) -> str:
    """Return the entailment between a candidate and its node as Markdown."""
    text = _badge(verdict, *_VERDICTS[verdict.says])
    return f"{text} {_truncation(_TRUNCATED[verdict.truncated])}" if verdict.truncated else text


def describe_step(verdict: Verdict) -> str:
    """Return the entailment between the premises of a step and its conclusion as Markdown."""
    if verdict.says == "both ways" and verdict.margin < 0:
        words = "Nearly equivalent, but rather it entails its premises"
        return _badge(verdict, "orange", "warning", words)
    return _badge(verdict, *_STEPS[verdict.says])


def describe_truncation(step: StepVerdict) -> str:
    """Return the parts of a step that the encoder did not read as Markdown; empty if it read all."""
    parts = []
    if "first" in step.verdict.truncated:
        parts.append(f"{step.read} of {step.count} premises read in full")
    if "second" in step.verdict.truncated:
        parts.append("the sentence only in part")
    return _truncation(f"Truncated: {', '.join(parts)}") if parts else ""


def _badge(verdict: Verdict, colour: str, icon: str, words: str) -> str:
    confidence = f" ({certainty(verdict.sure)} confidence)" if verdict.sure is not None else ""
    return f":{colour}[:material/{icon}: {words}{confidence}]"


def _truncation(words: str) -> str:
    return f":orange[:material/content_cut: {words}]"


def _draw_filter(hints: DirectionHints) -> None:
    with st.popover(
        "Entailment hints"
        if hints.is_plain
        else f"Entailment hints: {ONLY[hints.only]} · {ORDERS[hints.order]}",
        icon=":material/moving:" if hints.is_plain else ":material/filter_alt:",
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
