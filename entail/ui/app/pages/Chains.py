"""Chains: premises that explain an answer, chosen one after another."""

import streamlit as st

from entail.ui.chains.fields import LINK, PARTS, load_link, load_picks, pick_builder, pick_source
from entail.ui.chains.steps import build, draw_chain
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page

with page("Chains") as (shared, author):
    st.title("Chains")
    load_link()
    with show_errors():
        source = pick_source(shared)
        choice = pick_builder(source.facts) if source is not None else None
        if source is not None and choice is not None:
            builder, length = choice
            picks = load_picks(source.about)
            LINK.save_to_url(PARTS, further=picks.to_address())
            draw_chain(build(source, builder, length=length, picks=picks))
