"""Graph, outline, steps, history and exports of a tree, and the two panes of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from entail.judge.steps import State, StepVerdict
from entail.runtime.tasks import Task
from entail.trees.log.replay import History
from entail.trees.review.provenance import describe_provenance
from entail.ui.components.elements import pick_view
from entail.ui.components.graph import draw_graph, graph_view
from entail.ui.components.inbox import draw_splitter, read_assets, save_png
from entail.ui.components.tree_view import draw_outline
from entail.ui.links.control import draw_tree_link
from entail.ui.shared.model_names import model_name
from entail.ui.shared.resources import revisions
from entail.ui.shared.text import label
from entail.ui.trees.candidates import draw_wait
from entail.ui.trees.history import draw_history
from entail.ui.trees.models import SOON, Step, describe_step, explain_step, step_of
from entail.ui.trees.page import TreePage

VIEWS = ("Graph", "Outline", "Steps", "History")

_MARKS: Mapping[State, tuple[str, str]] = {
    "holds": ("green", "check_circle"),
    "not yet": ("gray", "pending"),
    "cannot tell": ("gray", "help"),
}
"""Colour and icon of each state."""

_HINT = "A hint from shared words and from {name}. It can miss a premise that looks right but is wrong."


def draw_view(page: TreePage, view: str) -> None:
    """Draw the view of this name; the graph with the verdicts of the check that are known."""
    screen, tree = page.screen, page.tree
    options: dict[str, Any] = {
        "selected": screen.selected,
        "collapsed": screen.collapsed,
        "show_rejected": screen.show_rejected,
        "key": f"{view.lower()}-{screen.tree_id}",
        "on_event": page.handle_event,
    }
    if view == "History":
        draw_history(page)
    elif view == "Steps":
        _draw_steps(page)
    elif view == "Outline":
        draw_outline(tree, **options)
    else:
        tasks = page.check.start_all(tree) if page.check is not None else {}
        verdicts = {id: task.value for id, task in tasks.items() if task.value is not None}
        words = {id: describe_step(verdict) for id, verdict in verdicts.items()}
        options["notes"] = {id: "\n".join(filter(None, (line, words.get(id)))) for id, line in _origins(page)}
        options["meters"] = {id: verdict.probability for id, verdict in verdicts.items()}
        draw_graph(tree, author=page.author, editable=not page.is_locked, **options)


def _origins(page: TreePage) -> Iterator[tuple[str, str]]:
    """Yield each node with the ranking that it was accepted from, empty for other nodes."""
    available = revisions()
    for node in page.tree.nodes.values():
        origin = ""
        if node.origin == "accept" and (ranking := page.evidence_by_seq.get(node.seq)):
            act = page.history.event(node.seq).act
            origin = describe_provenance(act, ranking, available, display_name=model_name)
        yield node.id, origin[:1].upper() + origin[1:]


def draw_step_check(page: TreePage) -> None:
    """Draw the verdict on the selected step, once it is known."""
    if page.check is None or not page.node.children:
        return
    step = step_of(page.tree, page.node)
    task = page.check.start(step, wait=SOON)
    if task.error is not None:
        st.caption(f":material/error: {label(str(task.error))}")
    elif task.value is not None:
        _draw_verdict(task.value, step, help=_HINT.format(name=label(model_name(page.check.name))))


def list_pending(page: TreePage) -> list[Task[StepVerdict]]:
    """Return the checks of steps that a page which is drawn now does not have."""
    tasks = page.check.start_all(page.tree).values() if page.check is not None else ()
    return [task for task in tasks if not task.done.is_set()]


def await_checks(page: TreePage, pending: Sequence[Task[StepVerdict]]) -> None:
    """Draw that steps are being checked, and draw the page again with all their verdicts."""
    if pending:
        draw_wait(page.screen, pending, "Checking the steps")


def _draw_steps(page: TreePage) -> None:
    """Draw all steps of the tree, the least supported first; a click selects the conclusion."""
    tasks = page.check.start_all(page.tree) if page.check is not None else {}
    if not tasks:
        st.caption("No step yet." if page.check else "No check of steps is installed.")
    for error in {str(task.error) for task in tasks.values() if task.error is not None}:
        st.caption(f":material/error: {label(error)}")
    verdicts = [(task.value, page.tree.nodes[id]) for id, task in tasks.items() if task.value is not None]
    for verdict, node in sorted(verdicts, key=lambda row: row[0].probability):
        with st.container(gap="xxsmall"):
            st.button(
                label(node.text, longest=200),
                key=f"step-{node.id}",
                type="tertiary",
                on_click=page.screen.select,
                args=(node.id,),
            )
            _draw_verdict(verdict, step_of(page.tree, node))


def _draw_verdict(verdict: StepVerdict, step: Step, help: str | None = None) -> None:
    colour, icon = _MARKS[verdict.state]
    st.caption(f":{colour}[:material/{icon}: {describe_step(verdict)}]", help=help)
    for line in explain_step(verdict, step[0]):
        st.caption(label(line, longest=200))


def draw_export(page: TreePage) -> None:
    """Draw the read-only link and the download buttons; a file is made when its button is pressed."""
    from entail.trees import formats
    from entail.trees.formats.tables import source_ids

    tree_id, screen = page.summary.id, page.screen
    view = graph_view(f"graph-{tree_id}")
    visible: dict[str, Any] = {"with_rejected": screen.show_rejected, "start": view.focus}

    name = formats.file_stem(page.tree.root.text)

    def marked() -> History:
        return page.history.marked(page.shared.log.review(tree_id))

    def judged() -> str:
        ids = source_ids(page.corpus)
        return formats.to_judged_csv({tree_id: (marked(), page.evidence_by_seq)}, ids=ids)

    def picture() -> str:
        return formats.to_svg(marked().tree, direction=view.direction, **visible)

    files: tuple[tuple[str, str, Callable[[], str | bytes]], ...] = (
        ("EntailmentBank JSONL", ".jsonl", lambda: formats.to_jsonl([marked().tree])),
        ("Web page (HTML)", ".html", lambda: formats.to_html(marked().tree, direction=view.direction)),
        ("Picture (SVG)", ".svg", picture),
        ("Plain text", ".txt", lambda: formats.to_text(marked().tree)),
        ("GraphML", ".graphml", lambda: formats.to_graphml(marked().tree)),
        ("Graphviz (DOT)", ".dot", lambda: formats.to_dot(marked().tree)),
        ("Judged pairs (CSV)", ".csv", judged),
    )
    with st.popover("Share", icon=":material/ios_share:"):
        draw_tree_link(page.shared, tree_id, page.share, page.author)
        st.markdown("**Download**")
        with st.container(gap="xsmall"):
            if st.button("Picture (PNG)", key=f"export-{tree_id}-.png", width="stretch"):
                save_png(picture(), name=f"{name}.png")
            for title, suffix, make in files:
                st.download_button(
                    title,
                    data=make,
                    file_name=f"{name}{suffix}",
                    key=f"export-{tree_id}-{suffix}",
                    on_click="ignore",
                    width="stretch",
                )


PANES = {
    "Candidates": (".st-key-candidates",),
    "Tree": (".st-key-tree-head", ".st-key-export", ".st-key-tools", ".st-key-tree-body"),
}
"""Panes, of which a narrow screen shows one at a time, and their containers."""


def draw_panes() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Lay out the two panes, with a handle between them, or on narrow screens a switch; return both."""
    with st.container(key="panes-switch"):
        pane = pick_view("Show", list(PANES), default="Candidates", key="pane", width="stretch")
    hidden = ", ".join(part for name in PANES if name != pane for part in PANES[name])
    st.html(f"<style>{read_assets('panes.css').replace('HIDDEN', hidden)}</style>")
    with st.container(key="panes"):
        left, middle, right = st.columns(3, gap="xxsmall")
    with middle:
        draw_splitter()
    return left, right
