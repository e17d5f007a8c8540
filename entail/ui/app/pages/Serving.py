"""Serving page: traffic, models in memory, requests to try."""

import streamlit as st

from entail.ui.frame.shell import page
from entail.ui.serving.page import draw_serving

with page("Serving", "What answers requests: traffic, models in memory, and every endpoint to try.") as (
    shared,
    author,
):
    st.title("Serving")
    st.caption("What the app and its HTTP API serve: traffic, models in memory, and requests to try.")
    draw_serving(shared, author)
