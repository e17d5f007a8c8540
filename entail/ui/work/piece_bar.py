"""Bar of a piece on the Trees page: its project, state and guidelines, and its moves."""

from __future__ import annotations

import streamlit as st

from entail.teams.moves import Piece
from entail.teams.policy import Action
from entail.ui.components.elements import show_errors
from entail.ui.frame.sign_in import shown_name
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label, without_images
from entail.ui.trees.chooser import show_tree
from entail.ui.trees.page import TreePage
from entail.ui.work.pieces import badge, move

_MOVES: dict[str, tuple[str, str, Action]] = {
    "in progress": ("Submit", "upload", "submit"),
    "sent back": ("Submit", "upload", "submit"),
    "submitted": ("Take back", "undo", "take back"),
}


def draw_piece(page: TreePage) -> None:
    """Draw the bar of the piece that the tree is, nothing where it is none."""
    piece, project, shared, author = page.piece, page.project, page.shared, page.author or ""
    if piece is None or project is None:
        return
    with st.container(key="piece", horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link(
            "pages/Work.py",
            label=f"{label(project.name)}, hypothesis {piece.id.number}",
            icon=":material/assignment:",
            query_params={"project": project.id},
        )
        st.markdown(badge(piece.state), width="content")
        with st.popover("Guidelines", icon=":material/menu_book:"):
            versions = shared.projects.guidelines(project.id, actor=author)
            st.markdown(
                without_images(versions[0].text) if versions else "This project has no guidelines yet."
            )
        if piece.annotator != author:
            st.caption(f"{label(shown_name(piece.annotator or ''))} has it", width="content")
            return
        if piece.state in _MOVES and piece.id.copy:
            title, icon, action = _MOVES[piece.state]
            st.button(
                title,
                icon=f":material/{icon}:",
                key="piece_move",
                type="primary" if action == "submit" else "secondary",
                on_click=move,
                args=(shared, author, piece, action),
            )
        if piece.state in ("submitted", "accepted") and st.button("Next", icon=":material/play_arrow:"):
            _open_next(shared, author, piece)
    if piece.state == "sent back":
        last = shared.work.moves(piece.id, actor=author)[-1]
        st.warning(f"{label(shown_name(last.author))}: {label(last.reason)}", icon=":material/undo:")


def _open_next(shared: Workspace, author: str, piece: Piece) -> None:
    with show_errors():
        following = shared.work.next_piece(piece.id.project_id, actor=author)
        if following is not None and following.tree_id:
            show_tree(following.tree_id)
        st.toast("Nothing is left for you in this project.", icon=":material/done_all:")
