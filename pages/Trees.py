"""The authoring screen: candidates on the left, the tree on the right."""

import streamlit as st

from entail.errors import UnknownTreeError
from entail.ui import authoring
from entail.ui.candidates import draw_candidates
from entail.ui.chooser import draw_chooser, leave_tree
from entail.ui.demo import draw_theirs
from entail.ui.dialogs import open_dialog
from entail.ui.direction_panel import draw_arrows, draw_nothing_left
from entail.ui.export import draw_export
from entail.ui.learning import draw_learning, draw_offer
from entail.ui.learning_dialog import draw_learning_dialog
from entail.ui.panes import panes
from entail.ui.proposals_panel import draw_lists, draw_proposed
from entail.ui.ranked_by import chosen, draw_ranked_by, with_words
from entail.ui.resources import gold, shelf
from entail.ui.shell import page
from entail.ui.start_question import asks_to_start
from entail.ui.toolbar import draw_notice, draw_toolbar
from entail.ui.views import draw_view
from entail.ui.watch import draw_watch
from entail.ui.words import label

with page("Trees") as (shared, author):
    tree_id = st.query_params.get("tree") or (None if asks_to_start() else st.session_state.get("tree"))
    if tree_id is None:
        draw_chooser(shared, author)
        st.stop()
    try:
        shared.log.summary(tree_id)
    except UnknownTreeError as error:
        st.error(label(str(error), longest=300))
        draw_chooser(shared, author)
        st.stop()
    st.session_state["tree"] = st.query_params["tree"] = tree_id

    place = authoring.take_place(shared, tree_id, chosen(), words=with_words())
    desk = authoring.take_seat(place)
    tree, screen = desk.history.tree, desk.screen
    screen.seen = desk.history.seq

    title, side = st.columns([5, 2])
    title.markdown(f"#### {label(tree.root.text, longest=240)}")
    with side:
        draw_watch(shared, desk, place.ranking)
        st.button("All trees", icon=":material/list:", on_click=leave_tree, type="tertiary", key="all_trees")
    draw_notice(desk)
    draw_theirs(desk)
    with panes():
        left, right = st.columns([5, 8], gap="medium")
    with left, st.container(key="candidates"):
        node = tree.node(screen.selected)
        words = screen.query or node.text
        st.caption(
            ("Searched with your own words for this " if screen.query else "What explains this ") + node.kind
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{label(words, longest=600)}**")
            if screen.query:
                st.button("Node's own text", on_click=screen.search, args=(None,), type="tertiary", key="own")
        draw_ranked_by(place.ranking)
        draw_offer(place)
        draw_lists(place.suggester, desk)
        if place.index is None and desk.offer is None:
            authoring.draw_building(place)
        elif draw_proposed(place, desk):
            arrows = draw_arrows(place.pointer, desk)
            if place.pointer and desk.offer is None and desk.offered == 0:
                draw_nothing_left(place.pointer)
            draw_candidates(
                desk,
                total=len(place.corpus),
                gold=gold(place.summary.corpus_id).get(node.folded, {}),
                revision=place.corpus.hash[:8],
                arrows=arrows,
            )
        draw_learning(place, desk)
    with right:
        with st.container(key="tree-head", horizontal=True, horizontal_alignment="distribute"):
            view = st.segmented_control(
                "View",
                ("Graph", "Outline", "History"),
                default="Graph",
                label_visibility="collapsed",
                key="view",
            )
            draw_export(shared, desk, place.corpus)
        with st.container(key="tools"):
            draw_toolbar(desk)
        with st.container(key="tree-body"):
            draw_view(view or "Graph", shared, desk)
    if screen.dialog == "learn":
        draw_learning_dialog(place, desk)
    elif screen.dialog:
        open_dialog(screen.dialog, desk)
    shelf().warm(place.ranking.encoder)
    if place.pointer:
        place.pointer.begin()
    if place.suggester:
        place.suggester.begin()
