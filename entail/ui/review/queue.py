"""Queue of a reviewer: hypotheses with submitted copies, and the copies of the chosen one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import streamlit as st

from entail.teams.moves import Piece
from entail.teams.permissions import allowed
from entail.teams.policy import Action
from entail.teams.projects import Project
from entail.trees.log.tree import Tree
from entail.ui.components.elements import pick_view, show_errors
from entail.ui.components.graph import show_picture
from entail.ui.frame.shell import count_waiting
from entail.ui.frame.sign_in import shown_name
from entail.ui.review.comments import draw_comments
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, spoken
from entail.ui.work.pieces import badge, move

_ADDRESS = "review:address"
"""Session key of the hypothesis that the page's address named last."""

_TO_REVIEW = {"submitted", "in review"}


def pick_hypothesis(shared: Workspace, author: str, project: Project) -> list[Piece]:
    """Draw the hypotheses with submitted trees; return the pieces of the chosen one, the agreed first."""
    by_number: dict[int, list[Piece]] = defaultdict(list)
    for piece in shared.work.pieces(project.id, actor=author):
        by_number[piece.id.number].append(piece)
    waiting = {n: p for n, p in by_number.items() if any(piece.state in _TO_REVIEW for piece in p)}
    done = {n: p for n, p in by_number.items() if n not in waiting and any(q.submitted_seq for q in p)}
    titles = {"waiting": f"To review ({len(waiting):,})", "done": f"Reviewed ({len(done):,})"}
    which = pick_view("Queue", list(titles), default="waiting", format_func=titles.get, key="review_queue")
    listed = waiting if which == "waiting" else done
    address = st.query_params.get("hypothesis", "")
    if address.isdigit() and int(address) in by_number and st.session_state.get(_ADDRESS) != address:
        st.session_state["review_number"], st.session_state[_ADDRESS] = int(address), address
    current: int | None = st.session_state.get("review_number")
    if current not in by_number:
        current = next(iter(listed), None)
    for number, pieces in list(listed.items())[:50]:
        st.button(
            label(pieces[0].hypothesis, longest=110),
            key=f"hypothesis-{number}",
            type="primary" if number == current else "tertiary",
            on_click=st.session_state.update,
            args=({"review_number": number},),
            help=", ".join(piece.state for piece in pieces),
        )
    if not listed:
        st.caption("Nothing is waiting." if which == "waiting" else "Nothing is reviewed yet.")
    return by_number[current] if current is not None else []


def draw_copies(
    shared: Workspace, author: str, copies: Sequence[Piece], trees: Sequence[Tree | None]
) -> None:
    """Draw the copies side by side, each with its state and what a reviewer can do."""
    for column, piece, tree in zip(st.columns(len(copies)), copies, trees, strict=True):
        with column, st.container(border=True):
            with st.container(horizontal=True, horizontal_alignment="distribute"):
                st.markdown(
                    f"**{label(shown_name(piece.annotator or 'not taken'))}** {badge(piece.state)}",
                    width="content",
                )
                if tree is not None:
                    st.page_link("pages/Trees.py", label="Open", query_params={"tree": str(piece.tree_id)})
            if tree is None:
                st.caption("Not submitted yet")
                continue
            show_picture(tree)
            with st.container(horizontal=True, gap="xsmall"):
                _draw_moves(shared, author, piece)
                threads = shared.comments.threads(str(piece.tree_id), actor=author)
                draw_comments(shared.comments, str(piece.tree_id), tree, threads, author)


def _draw_moves(shared: Workspace, author: str, piece: Piece) -> None:
    def may(action: Action) -> bool:
        return bool(author) and allowed(shared.database, author, action, piece.id).allowed

    name, key = shown_name(piece.annotator or ""), f"{piece.id.number}.{piece.id.copy}"
    if may("accept"):
        st.button(
            spoken("Accept", f"the tree of {name}"),
            icon=":material/check:",
            key=f"accept_copy-{key}",
            on_click=move,
            args=(shared, author, piece, "accept"),
        )
    if may("send back"):
        with st.popover("Send back", icon=":material/undo:"), st.form(f"send-{key}", border=False):
            reason = st.text_area("Reason", placeholder=f"What should {name} change?", key=f"reason-{key}")
            if st.form_submit_button("Send back", type="primary"):
                with show_errors():
                    shared.work.move(piece.id, "send back", actor=author, reason=reason)
                    count_waiting.clear()
                    st.rerun()
