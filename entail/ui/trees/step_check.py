"""Entailment check of a whole step: its premises, joined, against its conclusion.

Candidates carry no such verdict: on EntailmentBank dev it tells gold premises worse from hard negatives than
the retriever does (`docs/results/gausscse_trees.md`). Of whole steps it finds most of the reversed ones and
calls hardly any other reversed, so that is worth a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import streamlit as st

from entail.operations.tasks import Task, TaskGroup, finish
from entail.ui.direction.encoder import gaussian_names, take_encoder
from entail.ui.shared.active import LazyModel, draw_notice, pick_model
from entail.ui.shared.text import certainty, label
from entail.ui.trees.screen import AuthoringSession, draw_wait

if TYPE_CHECKING:
    from entail.gausscse.directions import Directions, StepVerdict
    from entail.trees.log.tree import Tree

BY_KEY = "arrows_by"
"""Session key of the encoder."""

SOON = 0.05
"""Seconds that a page waits for a verdict; a later rerun draws it."""

_STEPS = {
    "entails": ("green", "check_circle", "Supported by its premises"),
    "is entailed by": ("orange", "warning", "Reversed: it entails its premises"),
    "both ways": ("blue", "sync_alt", "Equivalent to its premises"),
}
"""Verdicts worth showing; many correct steps come out as `neither`, which would be a false alarm."""

_HELP = (
    "Checks all premises of this step, joined by “and”, against its conclusion. The encoder was trained on "
    "everyday sentences, so take it as a hint."
)


@dataclass(frozen=True)
class StepCheck(LazyModel["Directions"]):
    """Gaussian encoder that judges steps in one run of the page."""

    models: ClassVar[TaskGroup] = TaskGroup("direction hints", failure="the encoder could not be loaded")
    results: ClassVar[TaskGroup] = TaskGroup("verdicts", failure="the entailment could not be checked")

    def load(self) -> Directions:
        """Load the encoder."""
        from entail.gausscse.directions import Directions

        directions = Directions(finish(take_encoder(self.name, self.revision, wait=0)))
        directions.between(["a text"], "another")
        return directions

    def judge(self, tree: Tree, node_id: str, *, wait: float = 0) -> Task[StepVerdict] | None:
        """Return the task that judges a node's premises, joined, against it; None if it has no premises."""
        node = tree.node(node_id)
        if not node.children:
            return None
        premises = [tree.nodes[child].text for child in node.children]
        return self.start(
            ("step", node.text, *premises),
            lambda directions, _: directions.step(premises, node.text),
            wait=wait,
        )


def current_check() -> StepCheck | None:
    """Return the check by the active Gaussian encoder; None if none is installed."""
    revisions = gaussian_names()
    if not revisions:
        return None
    name, _ = pick_model("direction", BY_KEY, revisions)
    return StepCheck(name, revisions[name])


def draw_step_check(check: StepCheck | None, session: AuthoringSession) -> None:
    """Draw the verdict on the selected step, once it is known."""
    if check is None:
        return
    draw_notice("direction")
    task = check.judge(session.tree, session.node.id, wait=SOON)
    if task is None:
        return
    if task.value is not None:
        if words := describe_step(task.value):
            st.caption(words, help=f"By {label(check.name)}. {_HELP}")
    elif task.error is None:
        judge = partial(check.judge, session.tree, session.node.id)
        draw_wait(session.screen, judge, lambda _: "Checking entailment")


def describe_step(step: StepVerdict) -> str:
    """Return the entailment between the premises of a step and its conclusion as Markdown; empty for none."""
    verdict = step.verdict
    if verdict.says not in _STEPS:
        return ""
    if verdict.says == "both ways" and verdict.margin < 0:
        colour, icon, words = "orange", "warning", "Nearly equivalent, but rather it entails its premises"
    else:
        colour, icon, words = _STEPS[verdict.says]
    confidence = f" ({certainty(verdict.sure)} confidence)" if verdict.sure is not None else ""
    parts = [f":{colour}[:material/{icon}: {words}{confidence}]"]
    if "first" in verdict.truncated:
        parts.append(f"{step.read} of {step.count} premises read in full")
    if "second" in verdict.truncated:
        parts.append("the sentence read only in part")
    return " · ".join(parts)
