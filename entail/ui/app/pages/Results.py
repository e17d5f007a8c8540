"""Results page: the measured figures, to show and to print."""

import streamlit as st

from entail.ui.frame.shell import page
from entail.ui.results.figures import draw_cards

with page("What it can do"):
    st.title("What it can do")
    draw_cards()
