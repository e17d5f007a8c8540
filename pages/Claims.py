"""Claims: questions as claims that passages entail, and what that is worth when passages are looked for."""

import streamlit as st

from entail.errors import EntailError
from entail.ui import claims_link
from entail.ui.claims_encoders import pick_pair
from entail.ui.claims_found import draw_found
from entail.ui.claims_judges import pick_judges, to_address
from entail.ui.claims_question import draw_question
from entail.ui.claims_relevance import draw_relevance_figures
from entail.ui.claims_source import pick_pool
from entail.ui.claims_table import draw_table
from entail.ui.resources import shelf
from entail.ui.shell import page
from entail.ui.words import label

ONE, MANY, RELEVANCE = "one", "many", "relevance"
MODES = {ONE: "One question", MANY: "Many questions", RELEVANCE: "What relevance is"}

with page("Claims") as (shared, author):
    st.title("Questions as claims")
    claims_link.arrive()
    mode = st.segmented_control(
        "What to do",
        list(MODES),
        format_func=MODES.__getitem__,
        key=claims_link.begin("mode", list(MODES), ONE),
        required=True,
        label_visibility="collapsed",
    )
    try:
        if mode == MANY:
            claims_link.write(claims_link.PARTS)
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
            claims_link.write((*parts, *claims_link.OF_RELEVANCE), further=further)
            if pool is not None and asked is not None:
                draw_found(pool, asked, (pair.left, pair.right), judges)
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
    shelf().warm()
