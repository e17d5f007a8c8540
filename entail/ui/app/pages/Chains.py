"""Chains: premises that explain an answer, chosen one after another."""

import streamlit as st

from entail.ui.chains.choice import LINK, PARTS, draw_fields, load_link, load_picks
from entail.ui.chains.comparison import draw_compare, draw_gold
from entail.ui.chains.source import pick_source
from entail.ui.chains.steps import build, draw_chain
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page

with page("Chains") as (shared, author):
    st.title("Chains")
    load_link()
    with show_errors():
        source = pick_source(shared)
        choice = draw_fields(source.facts) if source is not None else None
        if source is not None and choice is not None:
            picks = load_picks(source.about)
            LINK.save_to_url((*source.parts, *PARTS), further=picks.to_address())
            scene = build(
                source.about,
                source.question,
                source.facts,
                choice.builder,
                length=choice.length,
                picks=picks,
            )
            draw_chain(scene)
            draw_gold(scene)
            draw_compare(scene, choice.scorers)
    LINK.mark_drawn()
