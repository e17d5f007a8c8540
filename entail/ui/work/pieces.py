"""Pieces of a project: the next one, one's own, and a table of all to filter and assign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from entail.teams.moves import Piece
from entail.teams.permissions import allowed
from entail.teams.policy import STATES, Action, State
from entail.teams.projects import Project
from entail.ui.components.elements import draw_table, pick_view, show_errors, toast_errors
from entail.ui.frame.author import lacks_name, with_mark
from entail.ui.frame.shell import count_waiting
from entail.ui.frame.sign_in import shown_name
from entail.ui.review.comments import draw_mentions
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import ago, label, local, spoken
from entail.ui.trees.chooser import show_tree

BADGES: dict[State, tuple[str, str]] = {
    "open": ("radio_button_unchecked", "gray"),
    "in progress": ("edit", "blue"),
    "submitted": ("upload", "orange"),
    "in review": ("rate_review", "orange"),
    "accepted": ("check_circle", "green"),
    "sent back": ("undo", "red"),
    "dropped": ("do_not_disturb_on", "gray"),
}
"""Icon and colour of each state."""


_MOVES: Mapping[State, Sequence[tuple[str, str, Action]]] = {
    "open": [("Take", "play_arrow", "take")],
    "in progress": [("Release", "output", "release"), ("Submit", "upload", "submit")],
    "sent back": [("Submit", "upload", "submit")],
    "submitted": [("Take back", "undo", "take back")],
}
"""Title, icon and action of the moves that an annotator can make from each state."""

_DONE: Mapping[str, str] = {
    "take": "took it",
    "assign": "assigned it",
    "drop": "dropped it",
    "release": "released it",
    "submit": "submitted it",
    "take back": "took it back",
    "review": "began the review",
    "accept": "accepted it",
    "send back": "sent it back",
    "curate": "began the agreed tree",
    "agree": "accepted the agreed tree",
    "reopen": "opened it again",
    "undo": "undid the move before",
    "import": "imported it",
}
"""Action of a move -> its words in the log."""


def badge(state: State) -> str:
    """Return a state as Markdown."""
    icon, colour = BADGES[state]
    return f":{colour}-badge[:material/{icon}: {state}]"


def draw_next(shared: Workspace, author: str | None, project: Project) -> None:
    """Draw the counts of pieces by state and the button that takes the next piece."""
    counts = shared.work.counts(project.id, actor=shared.viewer)
    total = sum(counts.values()) - counts.get("dropped", 0)
    annotates = allowed(shared.database, shared.viewer, "annotate", project.id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="work-next"):
        if author is None:
            lacks_name("work")
        elif annotates.allowed and st.button(
            "Next", icon=":material/play_arrow:", type="primary", key="next_piece"
        ):
            with show_errors():
                piece = shared.work.next_piece(project.id, actor=author)
                if piece is not None and piece.tree_id:
                    show_tree(piece.tree_id)
                st.info(
                    "Nothing is left for you: every hypothesis has its annotators.",
                    icon=":material/done_all:",
                )
        words = [f"{badge(state)} {counts[state]:,}" for state in STATES if counts.get(state)]
        done = f" :gray[{counts.get('accepted', 0) / total:.0%} accepted]" if total else ""
        st.markdown((" ".join(words) or "No hypotheses yet.") + done, width="content")


def draw_own(shared: Workspace, author: str | None, project: Project) -> None:
    """Draw the pieces of the author, those to work on first."""
    pieces = shared.work.pieces(project.id, actor=author, mine=True) if author else []
    if author:
        draw_mentions(shared.comments, author)
    if not pieces:
        st.caption("Nothing is yours yet." + (" *Next* hands you the first hypothesis." if author else ""))
        return
    first: list[State] = ["sent back", "in progress", "open"]
    rank = {state: at for at, state in enumerate([*first, *(s for s in STATES if s not in first)])}
    for piece in sorted(pieces, key=lambda piece: rank[piece.state]):
        _draw_piece(shared, shared.viewer, piece)


def _draw_piece(shared: Workspace, author: str, piece: Piece) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(gap=None):
            st.markdown(label(piece.hypothesis, longest=160))
            st.caption(f"{badge(piece.state)} {ago(piece.at)}{_reason(shared, author, piece)}")
        if not piece.id.copy:
            address = {"project": piece.id.project_id, "hypothesis": str(piece.id.number)}
            st.page_link("pages/Review.py", label="Agreed tree", query_params=address)
            return
        for title, icon, action in _MOVES.get(piece.state, ()):
            st.button(
                spoken(title, f"{title}: {piece.hypothesis}"),
                icon=f":material/{icon}:",
                key=f"{action}-{piece.id.number}.{piece.id.copy}",
                on_click=move,
                args=(shared, author, piece, action),
                type="tertiary",
            )
        if piece.tree_id and piece.annotator == author:
            st.page_link("pages/Trees.py", label="Open", query_params={"tree": piece.tree_id})


def _reason(shared: Workspace, author: str, piece: Piece) -> str:
    if piece.state != "sent back":
        return ""
    last = shared.work.moves(piece.id, actor=author)[-1]
    return f" · {label(shown_name(last.author))}: {label(last.reason, longest=300)}"


def move(shared: Workspace, author: str, piece: Piece, action: Action, reason: str = "") -> None:
    """Move a piece, or take it; a refusal is a toast."""
    with toast_errors():
        if action == "take":
            shared.work.take(piece.id, actor=author)
        else:
            shared.work.move(piece.id, action, actor=author, reason=reason)
        count_waiting.clear()


def draw_all(shared: Workspace, author: str | None, project: Project, *, manages: bool) -> None:
    """Draw a table of all pieces that the author may see, by state; owners assign the selected ones."""
    actor = shared.viewer
    pieces = shared.work.pieces(project.id, actor=actor)
    present = [state for state in STATES if any(piece.state == state for piece in pieces)]
    state = pick_view("State", ["all", *present], default="all", key="piece_state")
    rows = [piece for piece in pieces if state in ("all", piece.state)]
    table = pd.DataFrame(
        {
            "hypothesis": [piece.hypothesis for piece in rows],
            "copy": [piece.id.copy or "agreed" for piece in rows],
            "state": [piece.state for piece in rows],
            "annotator": [shown_name(piece.annotator or "") for piece in rows],
            "assigned to": [piece.assignee or "" for piece in rows],
            "last move": [piece.at for piece in rows],
        }
    ).astype({"copy": str})
    selection = draw_table(
        table,
        height=min(420, 40 + 35 * len(table)),
        key="pieces",
        column_config={"last move": st.column_config.DatetimeColumn(format="D MMM, HH:mm")},
        on_select="rerun",
        selection_mode="multi-row",
    )
    selected = [rows[at] for at in selection.selection.rows if at < len(rows)]
    if len(selected) == 1:
        _draw_log(shared, actor, selected[0])
    if not manages:
        return
    members = shared.projects.members(project.id, actor=actor)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        assignee = st.selectbox("Assign to", [None, *members], format_func=lambda name: name or "no one")
        if st.button("Assign", disabled=not selected, key="assign"):
            with show_errors():
                for piece in selected:
                    shared.work.assign(piece.id, assignee, actor=actor)
                st.rerun()
        if st.button(
            "Drop",
            icon=":material/do_not_disturb_on:",
            disabled=not selected,
            key="drop",
            help="Copies that will not come: those of the other annotators no longer wait for them.",
        ):
            with show_errors():
                for piece in selected:
                    shared.work.move(piece.id, "drop", actor=actor)
                st.rerun()
        if st.button("Assign the open ones evenly", icon=":material/balance:", key="assign_evenly"):
            with show_errors():
                number = shared.work.assign_evenly(project.id, actor=actor)
                st.session_state["work_notice"] = f"{number:,} assigned"
                st.rerun()


def _draw_log(shared: Workspace, actor: str, piece: Piece) -> None:
    """Draw the moves of a piece, and the button that undoes the last one if it is the actor's."""
    moves = shared.work.moves(piece.id, actor=actor)
    for row in moves:
        reason = f": {label(row.reason, longest=300)}" if row.reason and row.action != "undo" else ""
        author = with_mark(row.author, verified=row.verified)
        st.caption(f"{local(row.at):%d %b %H:%M} · {author} {_DONE.get(row.action, row.action)}{reason}")
    is_own = bool(moves) and moves[-1].author == actor and moves[-1].action not in ("undo", "import")
    if is_own and st.button("Undo the last move", icon=":material/undo:", key="undo_move"):
        with show_errors():
            shared.work.undo(piece.id, actor=actor)
            st.rerun()
