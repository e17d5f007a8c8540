"""Direction: which of two sentences entails the other; search by direction."""

import streamlit as st

from entail.ui.components.elements import show_errors
from entail.ui.direction.views import draw_direction
from entail.ui.frame.shell import page

with page("Direction") as (shared, author):
    st.title("Direction of entailment")
    with show_errors():
        draw_direction(shared)
