"""Models page: encoders, training, and the Hub."""

import streamlit as st

from entail.ui.frame.shell import page
from entail.ui.models.encoders import draw_encoders
from entail.ui.models.hub import draw_hub
from entail.ui.models.training import draw_training

VIEWS = {"Encoders": draw_encoders, "Training": draw_training, "Hub": draw_hub}

with page("Models") as (shared, author):
    st.title("Models")
    view = st.segmented_control(
        "View",
        tuple(VIEWS),
        default="Encoders",
        required=True,
        label_visibility="collapsed",
        key="models_view",
        bind="query-params",
    )
    VIEWS[view or "Encoders"](shared, author)
