"""Chains: premises that explain an answer, chosen one after another."""

import streamlit as st

from entail.ui.chains.page import draw_page
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page

with page("Chains") as (shared, author):
    st.title("Chains")
    with show_errors():
        draw_page(shared)
