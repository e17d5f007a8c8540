"""Operator page: machine, jobs and database."""

import streamlit as st

from entail.ui.frame.shell import page
from entail.ui.operator.views import draw_operator

with page("Operator") as (shared, author):
    st.title("Operator")
    draw_operator(shared, author)
