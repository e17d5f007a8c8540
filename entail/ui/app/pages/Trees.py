"""Trees: the authoring screen, with candidates on the left and the tree on the right."""

import streamlit as st

from entail.errors import DamagedTreeError, UnknownTreeError
from entail.runtime.models import model_cache
from entail.ui.components.elements import pick_view
from entail.ui.frame.shell import page
from entail.ui.shared.resources import reference_premises
from entail.ui.shared.start_question import asks_to_start
from entail.ui.shared.text import label
from entail.ui.trees import authoring
from entail.ui.trees.candidates import draw_candidates
from entail.ui.trees.chooser import draw_chooser, draw_demo_notice, leave_tree, start_request
from entail.ui.trees.dialogs import open_dialog
from entail.ui.trees.learning import draw_learning, draw_learning_dialog, draw_learnt_encoder
from entail.ui.trees.proposals import draw_proposals
from entail.ui.trees.ranked_by import includes_keywords, selected_retriever
from entail.ui.trees.reranking import draw_reranking
from entail.ui.trees.step_check import draw_step_check, draw_steps, step_of
from entail.ui.trees.toolbar import draw_notice, draw_order, draw_search, draw_tools, draw_undo, draw_watch
from entail.ui.trees.views import draw_export, draw_view, panes

VIEWS = ("Graph", "Outline", "Steps", "History")

with page("Trees") as (shared, author):
    tree_id = st.query_params.get("tree") or (None if asks_to_start() else st.session_state.get("tree"))
    if tree_id is None:
        draw_chooser(shared, author)
        st.stop()
    try:
        shared.log.history(tree_id)
    except (UnknownTreeError, DamagedTreeError) as error:
        st.session_state.pop("tree", None)
        longest = 600 if isinstance(error, DamagedTreeError) else 300
        st.error(label(str(error), longest=longest), icon=":material/error:")
        draw_chooser(shared, author)
        st.stop()
    st.session_state["tree"] = st.query_params["tree"] = tree_id

    context = authoring.open_tree(shared, tree_id, selected_retriever(), keywords=includes_keywords())
    session = authoring.start_session(context)
    tree, screen = session.tree, session.screen
    screen.version = session.history.seq

    with st.container(key="tree-top", horizontal=True, horizontal_alignment="distribute", gap="small"):
        st.button(
            "All trees", icon=":material/arrow_back:", on_click=leave_tree, type="tertiary", key="all_trees"
        )
        draw_watch(shared, session, context.ranking)
    draw_notice(session)
    draw_demo_notice(session)
    with panes():
        left, right = st.columns(2, gap="medium")
    with left, st.container(key="candidates", gap="small"):
        node = session.node
        with st.container(key="candidates-head", gap="xxsmall"):
            st.caption(("Your search for this " if screen.query else "Premises for this ") + node.kind)
            st.markdown(f"# {label(screen.query or node.text, longest=600)}")
            verdict = st.container()  # filled last: it is computed while the rest is drawn
            if context.check and node.children:
                context.check.judge([step_of(tree, node)])
        with st.container(key="order", horizontal=True, vertical_alignment="center", gap="xsmall"):
            draw_order(context, session)
            draw_search(session)
        draw_reranking(session)
        draw_learnt_encoder(context)
        if context.index is None and session.offer is None:
            authoring.draw_building(context)
        elif draw_proposals(context, session):
            draw_candidates(
                session,
                total=len(context.corpus),
                gold=reference_premises(context.summary.corpus_id).get(node.folded, {}),
                revision=context.corpus.hash[:8],
            )
        draw_learning(context, session)
    with right:
        with st.container(key="tree-bar", horizontal=True, vertical_alignment="center", gap="xsmall"):
            with st.container(key="tree-head", width="content"):
                view = pick_view("View", VIEWS, default="Graph", key="view")
            with st.container(key="undo-redo", horizontal=True, width="content", gap="xsmall"):
                draw_undo(session)
            with st.container(key="export", width="content"):
                draw_export(shared, session, context.corpus)
        with st.container(key="tools", horizontal=True, gap="xsmall"):
            draw_tools(session)
        with st.container(key="tree-body"):
            if view == "Steps":
                draw_steps(context.check, session)
            else:
                draw_view(view, shared, session, context.check)
    with verdict:
        draw_step_check(context.check, session)
    if screen.dialog == "learn":
        draw_learning_dialog(context, session)
    elif screen.dialog:
        open_dialog(screen.dialog, session)
    start_request().new_tree = None  # the new tree is open
    model_cache().warm(context.ranking.encoder)
    if context.check:
        context.check.start_loading()
    if context.suggester:
        context.suggester.start_loading()
    if context.reranker:
        context.reranker.start_loading()
