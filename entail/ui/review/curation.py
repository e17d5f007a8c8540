"""Agreed tree of a hypothesis, and what its copies have beyond it, to be taken by key or click."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from entail.data.text import count_of
from entail.errors import EntailError
from entail.teams.curation import Comparison
from entail.teams.differences import Difference, Kind
from entail.teams.moves import Piece
from entail.teams.permissions import allowed
from entail.trees.log.tree import Tree
from entail.ui.components.elements import show_errors, toast_errors
from entail.ui.components.graph import draw_graph
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, spoken
from entail.ui.work.pieces import move

_KINDS: Mapping[Kind, tuple[str, str]] = {
    "premise": ("add_circle", "Premise"),
    "conclusion": ("call_merge", "Conclusion"),
    "wording": ("edit", "Wording"),
}

_LISTED = 9
"""Differences on the screen at a time: as many as digits."""


def draw_begin(shared: Workspace, author: str, pieces: list[Piece]) -> None:
    """Draw the button that begins the agreed tree of a hypothesis with two copies or more."""
    missing = sum(piece.submitted_seq is None for piece in pieces)
    if missing:
        st.caption(
            f"Submitted: {len(pieces) - missing} of {len(pieces)} copies. The agreed tree begins with all."
        )
        return
    if not allowed(shared.database, author, "oversee", pieces[0].id.project_id).allowed:
        st.caption("A reviewer begins the agreed tree.")
        return
    if st.button("Begin the agreed tree", icon=":material/merge:", type="primary", key="begin_agreed"):
        with show_errors():
            shared.curation.begin(pieces[0].id, actor=author)
            st.rerun()
    st.caption("It begins with all that the copies agree on.")


def draw_curation(shared: Workspace, author: str, comparison: Comparison) -> None:
    """Draw the agreed tree, with whose each node was, and the open differences."""
    piece = comparison.piece
    is_open = piece.state == "in progress" and allowed(shared.database, author, "curate", piece.id).allowed
    left, right = st.columns([3, 2], gap="medium")
    with right:
        if is_open:
            _draw_differences(shared, author, comparison)
        if is_open or piece.state != "in progress":
            _draw_end(shared, author, comparison)
    with left:
        tree = comparison.history.tree
        selected = st.session_state.get("review_node")
        with st.container(key="agreed-tree"):
            draw_graph(
                tree,
                selected=selected if selected in tree.nodes else None,
                notes=_origins(shared, author, piece),
                key=f"agreed-{piece.tree_id}",
                on_event=lambda event: st.session_state.update(review_node=event.node),
            )
        st.page_link(
            "pages/Trees.py", label="Edit on the Trees page", query_params={"tree": str(piece.tree_id)}
        )


def _origins(shared: Workspace, author: str, piece: Piece) -> dict[str, str]:
    """Return node -> whose it was, for the hover cards."""
    lines = {}
    for node, origin in shared.curation.provenance(piece.id, actor=author).items():
        names = ", ".join(map(shown_name, origin.authors))
        wording = ", ".join(map(shown_name, origin.wording))
        lines[node] = f"From {names}" + (f"; worded by {wording}" if wording != names else "")
    return lines


def _draw_differences(shared: Workspace, author: str, comparison: Comparison) -> None:
    rows = comparison.open
    st.markdown(f"**What they do not agree on** ({len(rows):,})")
    if not rows:
        st.caption("Nothing is left to decide.")
    for number, row in enumerate(rows[:_LISTED], start=1):
        _draw_difference(shared, author, comparison, row, number)
    if len(rows) > _LISTED:
        st.caption(f"{len(rows) - _LISTED:,} more follow.")
    if comparison.left:
        with st.expander(f"Left out ({len(comparison.left)})"):
            for row in comparison.left:
                st.button(
                    label(row.text, longest=120),
                    icon=":material/undo:",
                    key=f"offer-{row.key}",
                    type="tertiary",
                    help="Offer it again",
                    on_click=_guard(
                        partial(shared.curation.leave, comparison, row, actor=author, leave=False)
                    ),
                )


def draw_difference(row: Difference, tree: Tree, *, holders: str = "") -> None:
    """Draw what a tree lacks, and where it would have it."""
    icon, kind = _KINDS[row.kind]
    parent = tree.nodes.get(row.place)
    with st.container(gap=None):
        st.markdown(f":material/{icon}: {label(row.text, longest=200)}")
        under = f" · below {label(parent.text, longest=60)}" if parent is not None else ""
        replaced = f" · replaces {count_of(len(row.replaces), 'conclusion')}" if row.replaces else ""
        st.caption(f"{kind}{holders}{under}{replaced}")


def _draw_difference(
    shared: Workspace, author: str, comparison: Comparison, row: Difference, number: int
) -> None:
    names = ", ".join(shown_name(comparison.copies[at].annotator or "") for at in sorted(row.copies))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        draw_difference(row, comparison.history.tree, holders=f" of {label(names)}")
        st.button(
            spoken("Take", row.text),
            key=f"take-{row.key}",
            shortcut=str(number),
            on_click=_guard(partial(shared.curation.take, comparison, row, actor=author)),
        )
        st.button(
            spoken("Leave", row.text),
            key=f"leave-{row.key}",
            type="tertiary",
            on_click=_guard(partial(shared.curation.leave, comparison, row, actor=author)),
        )


def _draw_end(shared: Workspace, author: str, comparison: Comparison) -> None:
    piece = comparison.piece
    with st.container(horizontal=True, gap="small"):
        if piece.state != "in progress":
            if allowed(shared.database, author, "reopen", piece.id).allowed:
                st.button("Reopen", key="reopen", on_click=move, args=(shared, author, piece, "reopen"))
            return
        st.button(
            "Accept as agreed",
            icon=":material/check_circle:",
            type="secondary" if comparison.open else "primary",
            key="agree",
            on_click=move,
            args=(shared, author, piece, "agree"),
        )
        for number, copy in enumerate(comparison.copies):
            st.button(
                f"All of {label(shown_name(copy.annotator or ''))}",
                key=f"whole-{number}",
                on_click=_guard(partial(shared.curation.take_whole, comparison, number, actor=author)),
                help="Take this copy as a whole",
            )


def _guard(act: Callable[[], object]) -> Callable[[], None]:
    """Return a handler that shows a refusal as a toast."""

    def handle() -> None:
        with toast_errors():
            act()

    return handle


def compare(shared: Workspace, author: str, pieces: list[Piece]) -> Comparison | None:
    """Return the agreed tree next to its copies, None if there is none yet."""
    try:
        return shared.curation.compare(pieces[0].id, actor=author)
    except EntailError:
        return None
