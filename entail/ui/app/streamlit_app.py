"""Home: trees, corpora and present authors. Every other page is a file in pages/."""

import streamlit as st

from entail.ui.frame.author import with_mark
from entail.ui.frame.shell import page
from entail.ui.frame.walk import draw_walk_button, is_walking
from entail.ui.shared.text import ago, label
from entail.ui.trees.chooser import draw_example, draw_import, draw_start, draw_tree_list

with page("Home") as (shared, author):
    trees = shared.log.trees()
    own = [tree for tree in trees if not tree.example]
    examples = [tree for tree in trees if tree.example]

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
        for presence in present:
            tree = next((t for t in trees if t.id == presence.tree_id), None)
            if tree is not None:
                st.markdown(
                    f":material/person: {with_mark(presence.author, verified=presence.verified)} on "
                    f"{label(tree.hypothesis, longest=70)}, :gray[{ago(presence.at)}]"
                )
        draw_import(shared, author)
    with left:
        if trouble := st.session_state.pop("archive_error", None):
            st.error(label(trouble))
        if not own or is_walking():
            draw_example(shared, examples)
        if own:
            st.subheader("Your team's trees")
            draw_tree_list(shared, own, key="find_own", archive=True)
        archived = shared.log.trees(archived=True)
        if archived:
            with st.expander(f"Archived ({len(archived)})"):
                draw_tree_list(shared, archived, key="find_archived", archive=True)
        st.subheader("Examples")
        draw_tree_list(shared, examples, key="find_example")
