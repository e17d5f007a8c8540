"""Models: the encoders in reach, their training, and the Hub."""

import streamlit as st

from entail.ui.models_encoders import draw_encoders
from entail.ui.models_hub import draw_hub
from entail.ui.models_training import draw_training
from entail.ui.shell import page

with page("Models") as (shared, author):
    st.title("Models")
    view = st.segmented_control(
        "View",
        ("Encoders", "Training", "Hub"),
        default="Encoders",
        required=True,
        label_visibility="collapsed",
        key="models_view",
        bind="query-params",
    )
    if view == "Training":
        draw_training(shared, author)
    elif view == "Hub":
        draw_hub(shared, author)
    else:
        draw_encoders(shared, author)
