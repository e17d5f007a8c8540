"""Chains: the facts that explain an answer, chosen one after another, each in the light of those before."""

import streamlit as st

from entail.errors import EntailError
from entail.ui.chains_choice import PARTS, pick_choice
from entail.ui.chains_compare import draw_compare, draw_gold
from entail.ui.chains_link import arrive, picks, write
from entail.ui.chains_source import pick_source
from entail.ui.chains_steps import build, draw_chain
from entail.ui.shell import page
from entail.ui.words import label

with page("Chains") as (shared, author):
    st.title("Chains of facts")
    arrive()
    try:
        source = pick_source(shared)
        choice = pick_choice(source.facts) if source is not None else None
        if source is not None and choice is not None:
            decided = picks(source.about)
            write((*source.parts, *PARTS), decided)
            scene = build(
                source.about,
                source.question,
                source.facts,
                choice.builder,
                length=choice.length,
                picks=decided,
            )
            draw_chain(scene)
            draw_gold(scene)
            draw_compare(scene, choice.scorers)
    except EntailError as error:
        st.error(label(str(error)), icon=":material/error:")
