"""Graph, outline, history and exports of a tree, and the two panes of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import streamlit as st

from entail.data.records import Corpus
from entail.trees.log.acts import Evidence, Move, Redo, Undo
from entail.trees.log.replay import History
from entail.trees.review.provenance import describe_provenance, describe_retriever
from entail.ui.components.elements import pick_view
from entail.ui.components.graph import draw_graph, graph_view
from entail.ui.components.inbox import NodeEvent
from entail.ui.components.outline import draw_outline
from entail.ui.frame.author import with_mark
from entail.ui.links.control import draw_tree_link
from entail.ui.shared.model_names import model_name
from entail.ui.shared.resources import Workspace, revisions
from entail.ui.shared.text import label, local
from entail.ui.trees.screen import AuthoringSession, Screen
from entail.ui.trees.step_check import StepCheck


def draw_view(view: str, shared: Workspace, session: AuthoringSession, check: StepCheck | None) -> None:
    """Draw the view of this name; the graph with the verdicts of the check that are known."""
    screen, tree = session.screen, session.tree
    if view == "History":
        draw_history(session.history, shared.log.evidence(screen.tree_id))
        return
    draw = draw_outline
    if view == "Graph":
        draw = partial(
            draw_graph,
            height=640,
            author=session.author,
            editable=not session.is_locked,
            verdicts=check.recall(tree) if check is not None else {},
        )
    draw(
        tree,
        selected=screen.selected,
        collapsed=screen.collapsed,
        show_rejected=screen.show_rejected,
        key=f"{view.lower()}-{screen.tree_id}",
        on_event=lambda event: handle_event(session, event),
    )


def handle_event(session: AuthoringSession, event: NodeEvent) -> None:
    """Apply an event of the graph or the outline: an act on the tree, a proposed step, or one on the screen.

    A box dragged onto another moves there; where the log refuses that, the screen's notice has the reason. A
    line from a premise to its own conclusion opens the dialog for a conclusion between them, to any other
    node the one that moves the premise there.
    """
    screen, nodes = session.screen, session.tree.nodes
    if event.kind == "move":
        session.act(Move(node=event.node, parent=event.to), keep=True)
    elif event.kind != "connect":
        apply_event(screen, event)
    elif event.node in nodes and event.to in nodes:
        screen.select(event.node)
        screen.dialog = "conclude" if nodes[event.node].parent == event.to else "move"
        screen.goal = event.to


def apply_event(screen: Screen, event: NodeEvent) -> None:
    """Apply an event of the graph or the outline to the screen, which both share.

    A click selects. A double click selects and expands. A toggle collapses or expands; the outline names
    which.
    """
    if event.kind in ("select", "open"):
        screen.select(event.node)
    if event.kind in ("open", "expand"):
        screen.collapsed -= {event.node}
    elif event.kind == "collapse":
        screen.collapsed |= {event.node}
    elif event.kind == "toggle":
        screen.collapsed ^= {event.node}


_LONGEST = 100


def draw_history(history: History, evidence: Mapping[int, Evidence]) -> None:
    """Draw the last hundred events with the ranking behind each judgement; undone acts are struck through."""
    available = revisions()
    for event in reversed(history.events[-_LONGEST:]):
        words = label(history.describe(event))
        if event.seq in history.out_of_force and not isinstance(event.act, Undo | Redo):
            words = f"~~{words}~~ (undone)"
        if ranking := evidence.get(event.seq):
            retriever = describe_retriever(ranking, available, display_name=model_name)
            words += f"  \n:gray[{label(describe_provenance(event.act, ranking, retriever))}]"
        author = with_mark(event.author, verified=event.verified)
        st.markdown(f":gray[{event.seq} · {local(event.at):%d %b %H:%M:%S}] {author}  {words}")
    if len(history.events) > _LONGEST:
        st.caption(f"{len(history.events) - _LONGEST} older acts are in the log and in every backup.")


def draw_export(shared: Workspace, session: AuthoringSession, corpus: Corpus) -> None:
    """Draw the read-only link and the download buttons; a file is made when its button is pressed."""
    from entail.trees import formats

    tree, tree_id, history, screen = session.tree, session.screen.tree_id, session.history, session.screen
    view = graph_view(f"graph-{tree_id}")

    def judged() -> str:
        return formats.to_judged_csv({tree_id: (history, shared.log.evidence(tree_id))})

    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        (
            "EntailmentBank JSONL",
            ".jsonl",
            "application/jsonl",
            lambda: formats.to_jsonl([tree], corpus=corpus),
        ),
        (
            "Web page (HTML)",
            ".html",
            "text/html",
            lambda: formats.to_html(tree, direction=view.direction),
        ),
        (
            "Picture (SVG)",
            ".svg",
            "image/svg+xml",
            lambda: formats.to_svg(
                tree,
                with_rejected=screen.show_rejected,
                direction=view.direction,
                start=view.focus,
            ),
        ),
        ("GraphML", ".graphml", "application/xml", lambda: formats.to_graphml(tree)),
        ("Graphviz (DOT)", ".dot", "text/vnd.graphviz", lambda: formats.to_dot(tree)),
        ("Judged pairs (CSV)", ".csv", "text/csv", judged),
    )
    with st.popover("Share", icon=":material/ios_share:"):
        draw_tree_link(shared, tree_id, session.author)
        st.markdown("**Download**")
        for name, suffix, mime, make in files:
            st.download_button(
                name,
                data=make,
                file_name=f"tree-{tree_id}{suffix}",
                mime=mime,
                key=f"export-{tree_id}-{suffix}",
                on_click="ignore",
                width="stretch",
            )


PANES = ("Candidates", "Tree")
"""Panes, of which a narrow screen shows one at a time."""

NARROW = 640
"""Width in pixels up to which Streamlit stacks columns."""

_STYLE = """
<style>
  @media (min-width: {above}px) {{ *:has(> .st-key-panes-switch) {{ display: none; }} }}
  @media (max-width: {narrow}px) {{
    /* A bar at the bottom, in reach of a thumb: the panes, undo and redo. */
    .st-key-panes-switch, .st-key-undo-redo {{ position: fixed; bottom: 0; z-index: 99; height: 3.5rem;
      padding: .6rem .5rem; }}
    .st-key-panes-switch {{ left: 0; width: 100% !important; padding-right: 7.2rem;
      border-top: 1px solid #8884; backdrop-filter: blur(30px); }}
    .st-key-undo-redo {{ right: 0; width: 7rem !important; flex-wrap: nowrap; justify-content: end; }}
    [data-testid="stMainBlockContainer"] {{ padding-bottom: 5rem; }}
    /* Hidden, but with a size: a graph without one cannot fit itself. */
    {hidden} {{ position: absolute; width: 100%; height: 0; overflow: hidden; visibility: hidden; }}
  }}
</style>
"""
_PARTS = {
    "Candidates": (".st-key-candidates",),
    "Tree": (".st-key-tree-head", ".st-key-export", ".st-key-tools", ".st-key-tree-body"),
}


@contextmanager
def panes() -> Iterator[None]:
    """Lay out the two panes, with a switch between them on narrow screens.

    The containers inside have the keys `candidates`, `tree-head`, `undo-redo`, `export`,
    `tools` and `tree-body`.
    """
    with st.container(key="panes-switch"):
        pane = pick_view("Show", PANES, default=PANES[0], key="pane", width="stretch")
    hidden = ", ".join(part for name in PANES if name != pane for part in _PARTS[name])
    st.html(_STYLE.format(narrow=NARROW, above=NARROW + 1, hidden=hidden))
    with st.container(key="panes"):
        yield
