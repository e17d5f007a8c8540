"""Claims: questions as claims that passages entail, and search with them."""

import streamlit as st

from entail.runtime.models import model_cache
from entail.ui.claims.fields import LINK, OF_RELEVANCE, PARTS, load_link, pick_pair, pick_pool
from entail.ui.claims.judges import pick_judges, to_address
from entail.ui.claims.passages import draw_passages
from entail.ui.claims.question import draw_question
from entail.ui.claims.relevance import draw_relevance_figures
from entail.ui.claims.table import draw_table
from entail.ui.components.elements import pick_view, show_errors
from entail.ui.frame.shell import page

ONE, MANY, RELEVANCE = "one", "many", "relevance"
MODES = {ONE: "One question", MANY: "Many questions", RELEVANCE: "Relevance analysis"}

with page("Claims") as (shared, author):
    st.title("Questions as claims")
    load_link()
    mode = LINK.pick("mode", "Mode", MODES, ONE, draw=pick_view)
    with show_errors():
        if mode == MANY:
            LINK.save_to_url(PARTS)
            draw_table()
        elif mode == RELEVANCE:
            draw_relevance_figures(shared)
        else:
            top = st.container()
            st.divider()
            st.subheader("Passages")
            source, sides, judged = st.columns([3, 4, 3], gap="medium")
            with source:
                pool = pick_pool(shared)
            with sides:
                pair = pick_pair()
            with judged:
                judges = pick_judges()
            with top:
                asked = draw_question(pool.questions.values() if pool else ())
            further = to_address(judges)
            if asked is not None and asked.edited:
                further["claim"] = asked.claim
            parts = ("mode", "question", "answer", "over", "left", "right", "k", "beside")
            LINK.save_to_url((*parts, *OF_RELEVANCE), further=further)
            if pool is not None and asked is not None:
                draw_passages(pool, asked, pair, judges)
    model_cache().warm()
