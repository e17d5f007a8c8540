"""Claims: a question as a claim that passages entail, and search with it."""

import streamlit as st

from entail.runtime.models import model_cache
from entail.ui.claims.fields import LINK, PARTS, load_link, pick_judge, pick_pair, pick_pool, pick_reader
from entail.ui.claims.passages import draw_passages
from entail.ui.claims.question import draw_question
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page

with page("Claims", "A question, turned into a claim that a passage entails if it has the answer.") as (
    shared,
    author,
):
    load_link()
    with show_errors():
        top = st.container()
        st.divider()
        st.subheader("Passages")
        source, sides, judged = st.columns([3, 4, 3], gap="medium")
        with source:
            pool = pick_pool(shared)
        with sides:
            pair = pick_pair()
        with judged:
            judge, reader = pick_judge(), pick_reader()
        with top:
            asked = draw_question(pool.questions.values() if pool else ())
        further = {"claim": asked.claim} if asked is not None and asked.edited else {}
        LINK.save_to_url(PARTS, further=further)
        if pool is not None and asked is not None:
            draw_passages(pool, asked, pair, judge, reader)
    model_cache().warm()
