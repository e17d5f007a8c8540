"""Direction: which of two sentences entails the other; a table of pairs; search by direction."""

import streamlit as st

from entail.ui.components.elements import show_errors
from entail.ui.direction.encoder import PAIR, TABLE, pick_mode
from entail.ui.direction.pair import draw_pair
from entail.ui.direction.search import draw_search
from entail.ui.direction.table import draw_table
from entail.ui.frame.shell import page

with page("Direction") as (shared, author):
    st.title("Direction of entailment")
    choice = pick_mode()
    if choice is None:
        st.stop()
    mode, encoder = choice
    with show_errors():
        if mode == PAIR:
            draw_pair(encoder)
        elif (loaded := encoder.load()) is not None:
            if mode == TABLE:
                draw_table(loaded)
            else:
                draw_search(shared, loaded)
