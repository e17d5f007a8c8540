"""Direction: which of two sentences entails the other; a table of pairs; search by direction."""

import streamlit as st

from entail.ui.components.elements import show_errors
from entail.ui.direction.encoder import PAIR, SEARCH, TABLE, pick
from entail.ui.direction.pair import draw_pair
from entail.ui.direction.search import draw_search
from entail.ui.direction.table import draw_table
from entail.ui.frame.shell import page

with page("Direction") as (shared, author):
    st.title("Direction of entailment")
    choice = pick()
    if choice is None:
        st.stop()
    with show_errors():
        if choice.mode == PAIR:
            draw_pair(choice.encoder)
        elif choice.mode == TABLE:
            draw_table(choice.encoder)
        elif choice.mode == SEARCH:
            draw_search(shared, choice.encoder)
