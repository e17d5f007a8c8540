"""Entailment check of whole steps: the premises of each, joined, against its conclusion.

Candidates carry no such verdict: most steps that lack a premise are not supported yet
(`docs/results/step_check.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, cast

import streamlit as st

from entail.judge.judges import THRESHOLD, judge_steps, list_judges
from entail.runtime.models import judge_stamp, load_judge
from entail.runtime.tasks import Task, TaskGroup
from entail.ui.shared.active import LazyModel
from entail.ui.shared.text import certainty, label
from entail.ui.trees.screen import AuthoringSession, draw_wait

if TYPE_CHECKING:
    from entail.judge.judges import NliJudge
    from entail.trees.log.tree import Node, Tree

Step = tuple[tuple[str, ...], str]
"""Premises and conclusion."""

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

    def judge(self, steps: Sequence[Step], *, wait: float = 0) -> Task[list[float]]:
        """Return the task of P(premises, joined, entail the conclusion) of each step."""
        return self.start(
            tuple(steps), lambda judge, _: cast("list[float]", judge_steps(judge, steps).tolist()), wait=wait
        )

    def recall(self, tree: Tree) -> dict[str, str]:
        """Return the verdicts in memory, as words, by the node of the conclusion; check nothing."""
        conclusions = [node for node in tree.walk() if node.children]
        steps = {node.id: self.results.peek((self.key, (step_of(tree, node),))) for node in conclusions}
        values = {id: cast("list[float]", task.value) for id, task in steps.items() if task and task.value}
        return {id: _words(value) for id, (value,) in values.items()}


def current_check() -> StepCheck | None:
    """Return the check by the first judge; None if none is installed."""
    names = list_judges()
    return StepCheck(names[0], str(judge_stamp(names[0]))) if names else None


def step_of(tree: Tree, node: Node) -> Step:
    """Return the premises of a node, and its text."""
    return tuple(tree.nodes[child].text for child in node.children), node.text


def draw_step_check(check: StepCheck | None, session: AuthoringSession) -> None:
    """Draw the verdict on the selected step, once it is known."""
    if check is None or not session.node.children:
        return
    values = _await_values(check, session, [step_of(session.tree, session.node)])
    if values is not None:
        st.caption(describe_step(values[0]), help=f"By {label(check.name)}. {_HELP}")


def draw_steps(check: StepCheck | None, session: AuthoringSession) -> None:
    """Draw all steps of the tree, the least supported first; a click selects the conclusion."""
    tree = session.tree
    nodes = [node for node in tree.walk() if node.children]
    if check is None:
        st.info("No judge of entailment is installed.", icon=":material/info:")
    elif not nodes:
        st.caption("No step yet.")
    elif (values := _await_values(check, session, [step_of(tree, node) for node in nodes])) is not None:
        for value, node in sorted(zip(values, nodes, strict=True), key=itemgetter(0)):
            with st.container(gap="xxsmall"):
                st.button(
                    label(node.text, longest=200),
                    key=f"step-{node.id}",
                    type="tertiary",
                    on_click=session.screen.select,
                    args=(node.id,),
                )
                st.caption(describe_step(value))


def _await_values(check: StepCheck, session: AuthoringSession, steps: Sequence[Step]) -> list[float] | None:
    """Return the probabilities of steps; draw that they are awaited, or why there are none."""
    task = check.judge(steps, wait=SOON)
    if task.error is not None:
        st.caption(f":material/error: {label(str(task.error))}")
    elif task.value is None:
        draw_wait(session.screen, partial(check.judge, steps), lambda _: "Checking entailment")
    return task.value


def describe_step(probability: float) -> str:
    """Return whether a step holds, by the probability of its entailment, as Markdown.

    >>> describe_step(0.12)
    ':gray[:material/pending: Not yet supported by its premises (12%)]'
    """
    colour, icon = ("green", "check_circle") if probability >= THRESHOLD else ("gray", "pending")
    return f":{colour}[:material/{icon}: {_words(probability)}]"


def _words(probability: float) -> str:
    holds = "Supported" if probability >= THRESHOLD else "Not yet supported"
    return f"{holds} by its premises ({certainty(probability)})"
