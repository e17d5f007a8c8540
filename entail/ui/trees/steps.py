"""Entailment check of whole steps on the screen: the premises of each, joined, against its conclusion.

Candidates carry no such verdict: most steps that lack a premise are not supported yet
(`docs/results/step_check.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter

import streamlit as st

from entail.judge.judges import THRESHOLD
from entail.ui.shared.text import label
from entail.ui.trees.models import SOON, Step, StepCheck, describe_step, step_of
from entail.ui.trees.page import TreePage
from entail.ui.trees.screen import draw_wait

_HELP = (
    "Reads all premises of this step, joined by “and”, together with its conclusion. The judge learnt from "
    "everyday sentences, so take it as a hint."
)


def draw_step_check(page: TreePage) -> None:
    """Draw the verdict on the selected step, once it is known."""
    if page.check is None or not page.node.children:
        return
    values = _await_values(page, page.check, [step_of(page.tree, page.node)])
    if values is not None:
        _draw_verdict(values[0], help=f"By {label(page.check.name)}. {_HELP}")


def draw_steps(page: TreePage) -> None:
    """Draw all steps of the tree, the least supported first; a click selects the conclusion."""
    nodes = [node for node in page.tree.walk() if node.children]
    if page.check is None or not nodes:
        st.caption("No step yet." if page.check else "No judge of entailment is installed.")
        return
    values = _await_values(page, page.check, [step_of(page.tree, node) for node in nodes])
    for value, node in sorted(zip(values or (), nodes, strict=False), key=itemgetter(0)):
        with st.container(gap="xxsmall"):
            st.button(
                label(node.text, longest=200),
                key=f"step-{node.id}",
                type="tertiary",
                on_click=page.screen.select,
                args=(node.id,),
            )
            _draw_verdict(value)


def _draw_verdict(probability: float, help: str | None = None) -> None:
    colour, icon = ("green", "check_circle") if probability >= THRESHOLD else ("gray", "pending")
    st.caption(f":{colour}[:material/{icon}: {describe_step(probability)}]", help=help)


def _await_values(page: TreePage, check: StepCheck, steps: Sequence[Step]) -> list[float] | None:
    """Return the probabilities of steps; draw that they are awaited, or why there are none."""
    task = check.judge(steps, wait=SOON)
    if task.error is not None:
        st.caption(f":material/error: {label(str(task.error))}")
    elif task.value is None:
        draw_wait(page.screen, partial(check.judge, steps), lambda _: "Checking entailment")
    return task.value
