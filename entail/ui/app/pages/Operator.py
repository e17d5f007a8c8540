"""Operator page: machine, storage, jobs, database and licences."""

import streamlit as st

from entail.ui.frame.shell import page
from entail.ui.operator.overview import draw_operator

with page("Operator") as (shared, author):
    st.title("Operator")
    draw_operator(shared, author)
