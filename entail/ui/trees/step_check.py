"""Entailment check of a whole step: its premises, joined, against its conclusion.

Candidates carry no such verdict: a single premise seldom entails a conclusion (`docs/results/step_check.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import streamlit as st

from entail.judge.judges import list_judges
from entail.judge.steps import THRESHOLD, judge_steps
from entail.operations.judges import judge_stamp, load_judge
from entail.operations.tasks import Task, TaskGroup
from entail.ui.shared.active import LazyModel
from entail.ui.shared.text import certainty, label
from entail.ui.trees.screen import AuthoringSession, draw_wait

if TYPE_CHECKING:
    from entail.judge.judges import NliJudge
    from entail.trees.log.tree import Tree

SOON = 0.05
"""Seconds that a page waits for a verdict; a later rerun draws it."""

_HELP = (
    "Reads all premises of this step, joined by “and”, together with its conclusion. The judge learnt from "
    "everyday sentences, so take it as a hint."
)


@dataclass(frozen=True)
class StepCheck(LazyModel["NliJudge"]):
    """Judge of entailment that checks steps in one run of the page."""

    models: ClassVar[TaskGroup] = TaskGroup("step judges", failure="the judge could not be loaded")
    results: ClassVar[TaskGroup] = TaskGroup("verdicts", failure="the entailment could not be checked")

    def load(self) -> NliJudge:
        """Load the judge."""
        judge = load_judge(self.name)
        judge.entailment(["a text"], ["another"])
        return judge

    def judge(self, tree: Tree, node_id: str, *, wait: float = 0) -> Task[float] | None:
        """Return the task of P(a node's premises, joined, entail it); None if it has no premises."""
        node = tree.node(node_id)
        if not node.children:
            return None
        premises = [tree.nodes[child].text for child in node.children]
        return self.start(
            ("step", node.text, *premises),
            lambda judge, _: float(judge_steps(judge, [(premises, node.text)])[0]),
            wait=wait,
        )


def current_check() -> StepCheck | None:
    """Return the check by the first judge; None if none is installed."""
    names = list_judges()
    return StepCheck(names[0], str(judge_stamp(names[0]))) if names else None


def draw_step_check(check: StepCheck | None, session: AuthoringSession) -> None:
    """Draw the verdict on the selected step, once it is known."""
    if check is None:
        return
    task = check.judge(session.tree, session.node.id, wait=SOON)
    if task is None:
        return
    if task.value is not None:
        st.caption(describe_step(task.value), help=f"By {label(check.name)}. {_HELP}")
    elif task.error is None:
        judge = partial(check.judge, session.tree, session.node.id)
        draw_wait(session.screen, judge, lambda _: "Checking entailment")


def describe_step(probability: float) -> str:
    """Return whether a step holds, by the probability of its entailment, as Markdown.

    >>> describe_step(0.12)
    ':gray[:material/pending: Not yet supported by its premises (12%)]'
    """
    colour, icon, words = "gray", "pending", "Not yet supported by its premises"
    if probability >= THRESHOLD:
        colour, icon, words = "green", "check_circle", "Supported by its premises"
    return f":{colour}[:material/{icon}: {words} ({certainty(probability)})]"
