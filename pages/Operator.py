"""Operator: what runs here, what it takes, and what can be cleaned up."""

import streamlit as st

from entail.ui.operator import draw_operator
from entail.ui.shell import page

with page("Operator") as (shared, author):
    st.title("Operator")
    draw_operator(shared, author)
