"""Models page: encoders, training, and the Hub."""

import streamlit as st

from entail.ui.components.elements import pick_view
from entail.ui.frame.shell import page
from entail.ui.models.encoders import draw_encoders
from entail.ui.models.hub import draw_hub
from entail.ui.models.training import draw_training

VIEWS = {"Encoders": draw_encoders, "Training": draw_training, "Hub": draw_hub}

with page("Models") as (shared, author):
    st.title("Models")
    view = pick_view("View", tuple(VIEWS), default="Encoders", key="models_view", bind="query-params")
    VIEWS[view](shared, author)
