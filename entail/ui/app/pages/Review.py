"""Review: submitted copies of a hypothesis, compared, accepted or sent back; and the agreed tree."""

import streamlit as st

from entail.ui.components.elements import draw_sentence
from entail.ui.frame.author import ask_name
from entail.ui.frame.shell import page
from entail.ui.review.curation import compare, draw_begin, draw_curation
from entail.ui.review.queue import draw_copies, pick_hypothesis
from entail.ui.work.projects import draw_no_project, pick_project

with page("Review", "Compare the copies of a hypothesis, and agree on one tree.") as (shared, author):
    project = pick_project(shared)
    if project is None:
        draw_no_project(shared, author)
        st.stop()
    if author is None:
        ask_name("review")
        st.stop()
    left, right = st.columns([1, 3], gap="large")
    with left:
        pieces = pick_hypothesis(shared, author, project)
    copies = [piece for piece in pieces if piece.id.copy and piece.state != "dropped"]
    with right:
        if not copies:
            st.stop()
        draw_sentence(copies[0].hypothesis, level=3)
        trees = [
            shared.log.history(str(piece.tree_id)).tree if piece.submitted_seq is not None else None
            for piece in copies
        ]
        if len(copies) > 1:
            comparison = compare(shared, author, copies)
            if comparison is None:
                draw_begin(shared, author, copies)
            else:
                draw_curation(shared, author, comparison)
        draw_copies(shared, author, copies, trees)
