"""Home: trees, corpora and present authors. Every other page is a file in pages/."""

import streamlit as st

from entail.ui.frame.author import with_mark
from entail.ui.frame.shell import page
from entail.ui.frame.walk import draw_walk_button, is_walking
from entail.ui.home.cards import draw_examples, draw_own
from entail.ui.shared.text import ago, label
from entail.ui.trees.chooser import draw_example, draw_import, draw_start

with page(
    "Home",
    "A tree shows *why* a claim holds: premises combine into intermediate conclusions, up to the hypothesis.",
) as (shared, author):
    trees = shared.log.trees()
    own = [tree for tree in trees if not tree.example]
    left, right = st.columns([4, 7], gap="large")
    with left:
        draw_start(shared, author)
        with st.container(key="ways", gap="small"):
            draw_walk_button()
            st.page_link(
                "pages/Corpora.py",
                label="Bring your own corpus",
                icon=":material/library_add:",
                width="stretch",
            )
        if present := shared.authors.list_presences(shared.log.viewer):
            st.subheader("Active now")
        claims = {tree.id: label(tree.hypothesis, longest=70) for tree in trees}
        for presence in present:
            if claim := claims.get(presence.tree_id):
                name = with_mark(presence.author, verified=presence.verified)
                st.markdown(f":material/person: {name} on {claim}, :gray[{ago(presence.at)}]")
        draw_import(shared, author)
    with right:
        if is_walking() or not own:
            draw_example(shared, trees)
        if own:
            draw_own(shared, own)
        draw_examples([tree for tree in trees if tree.example])
