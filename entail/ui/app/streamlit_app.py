"""Home: trees, corpora and present authors. Every other page is a file in pages/."""

import streamlit as st

from entail.ui.frame.author import with_mark
from entail.ui.frame.shell import page
from entail.ui.frame.walk import draw_walk_button, is_walking
from entail.ui.shared.text import ago, label
from entail.ui.trees.chooser import draw_example, draw_import, draw_start, draw_trees

with page("Home") as (shared, author):
    trees = shared.log.trees()
    st.title("Explanation trees")
    st.markdown(
        "A tree shows *why* a claim holds: premises combine into intermediate conclusions, up to the "
        "hypothesis."
    )
    left, right = st.columns([7, 4], gap="large")
    with right:
        draw_start(shared, author)
        with st.container(key="ways", gap="small"):
            draw_walk_button()
            st.page_link(
                "pages/Corpora.py",
                label="Bring your own corpus",
                icon=":material/library_add:",
                width="stretch",
            )
        if present := shared.authors.list_presences():
            st.subheader("Active now")
        claims = {tree.id: label(tree.hypothesis, longest=70) for tree in trees}
        for presence in present:
            if claim := claims.get(presence.tree_id):
                name = with_mark(presence.author, verified=presence.verified)
                st.markdown(f":material/person: {name} on {claim}, :gray[{ago(presence.at)}]")
        draw_import(shared, author)
    with left:
        if is_walking() or all(tree.example for tree in trees):
            draw_example(shared, trees)
        draw_trees(shared, trees)
