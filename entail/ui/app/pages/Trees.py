"""Trees: the authoring screen, with candidates on the left and the tree on the right."""

import streamlit as st

from entail.errors import DamagedTreeError, UnknownTreeError
from entail.runtime.models import model_cache
from entail.ui.components.elements import draw_sentence, pick_view
from entail.ui.components.inbox import keep_claim
from entail.ui.frame.shell import page as framed
from entail.ui.review.comments import draw_comments
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.start_question import asks_to_start
from entail.ui.shared.text import label
from entail.ui.trees.candidates import draw_candidates, draw_order
from entail.ui.trees.chooser import address, comes_back, draw_chooser, leave_tree, start_request
from entail.ui.trees.models import KEYWORDS_KEY, selected_retriever, step_of
from entail.ui.trees.page import open_tree, start_page
from entail.ui.trees.toolbar import draw_notice, draw_search, draw_tools, draw_undo, draw_watch, open_dialog
from entail.ui.trees.views import (
    VIEWS,
    await_checks,
    draw_export,
    draw_panes,
    draw_step_check,
    draw_view,
    list_pending,
)
from entail.ui.work.piece_bar import draw_piece

with framed("Trees") as (shared, author):
    tree_id = st.query_params.get("tree")
    came_back = comes_back(tree_id)
    if tree_id is None and not came_back and not asks_to_start():
        tree_id = st.session_state.get("tree")
    if tree_id is None:
        if came_back:
            leave_tree()
        draw_chooser(shared, author)
        st.stop()
    try:
        keywords = bool(st.session_state.get(KEYWORDS_KEY, True))
        page = open_tree(shared, tree_id, selected_retriever(), keywords=keywords)
    except (UnknownTreeError, DamagedTreeError) as error:
        st.session_state.pop("tree", None)
        longest = 600 if isinstance(error, DamagedTreeError) else 300
        st.error(label(str(error), longest=longest), icon=":material/error:")
        draw_chooser(shared, author)
        st.stop()
    address(tree_id)
    if (linked := st.query_params.pop("node", None)) in page.tree.nodes:  # the place of a comment
        page.screen.select(str(linked))
    page = start_page(page)
    screen = page.screen
    keep_claim(started=page.tree.root.text)

    with st.container(key="tree-top", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.button(
            "All trees", icon=":material/arrow_back:", on_click=leave_tree, type="tertiary", key="all_trees"
        )
        with st.container(key="undo-redo", horizontal=True, width="content", gap="xsmall"):
            draw_undo(page)
        with st.container(key="tools", horizontal=True, width="content", gap="xsmall"):
            draw_tools(page)
        draw_watch(page)
    draw_piece(page)
    draw_notice(page)
    if page.is_locked:
        is_locked_in_demo("the team's trees cannot be changed: start one of your own")
    left, right = draw_panes()
    with left, st.container(key="candidates", gap="small"):
        node = page.node
        with st.container(key="candidates-head", gap="xxsmall"):
            st.caption(("Your search for this " if screen.query else "Premises for this ") + node.kind)
            draw_sentence(screen.query or node.text, level=1)
            verdict = st.container()  # filled last: it is computed while the rest is drawn
            if page.check and node.children:
                page.check.start(step_of(page.tree, node))
        with st.container(key="order", horizontal=True, vertical_alignment="center", gap="xsmall"):
            draw_order(page)
            draw_search(page)
        draw_candidates(page)
        if len(page.corpus):
            st.page_link(
                "pages/Models.py",
                label="Train on decisions",
                icon=":material/school:",
                query_params={"models_view": "Training", "job": "new"},
            )
    with right:
        with st.container(key="tree-bar", horizontal=True, vertical_alignment="center", gap="xsmall"):
            with st.container(key="tree-head", width="content"):
                view = pick_view("View", VIEWS, default="Graph", key="view")
            with st.container(key="export", width="content", horizontal=True, gap="xsmall"):
                if page.author is not None and not shared.database.read_only:
                    draw_comments(
                        shared.comments, tree_id, page.tree, page.threads, page.author, node=screen.selected
                    )
                draw_export(page)
        pending = list_pending(page)
        with st.container(key="tree-body"):
            draw_view(page, view)
    with verdict:
        if not screen.query:  # the verdict is on the node, not on what is searched for
            draw_step_check(page)
        await_checks(page, pending)
    open_dialog(page)
    start_request().new_tree = None  # the new tree is open
    model_cache().warm(page.ranking.encoder)
