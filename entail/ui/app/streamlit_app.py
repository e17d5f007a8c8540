"""Home: trees, corpora and present authors. Every other page is a file in pages/."""

import streamlit as st

from entail.ui.frame.author import with_mark
from entail.ui.frame.shell import page
from entail.ui.shared.text import ago, label
from entail.ui.trees.chooser import draw_import, draw_start, draw_tree_list

with page("Home") as (shared, author):
    trees = shared.log.trees()
    own = [tree for tree in trees if not tree.example]
    examples = [tree for tree in trees if tree.example]

    st.title("Explanation trees")
    st.markdown(
        "A tree shows *why* a claim holds: premises combine into intermediate conclusions, up to the "
        "hypothesis. Start with a claim, accept the premises that explain it, then explain each premise in "
        "turn."
    )
    left, right = st.columns([7, 4], gap="large")
    with left:
        st.subheader("Your team's trees")
        if trouble := st.session_state.pop("archive_error", None):
            st.error(label(trouble))
        if own:
            draw_tree_list(shared, own, key="find_own", archive=True)
        else:
            st.info("No tree yet. Start one, or open an example.", icon=":material/park:")
        archived = shared.log.trees(archived=True)
        if archived:
            with st.expander(f"Archived ({len(archived)})"):
                draw_tree_list(shared, archived, key="find_archived", archive=True)
        st.subheader("Examples")
        st.caption("Complete trees of EntailmentBank.")
        draw_tree_list(shared, examples, key="find_example")
    with right:
        draw_start(shared, author)
        st.subheader("Active now")
        present = shared.authors.list_presences()
        for presence in present:
            tree = next((t for t in trees if t.id == presence.tree_id), None)
            if tree is not None:
                st.markdown(
                    f":material/person: {with_mark(presence.author, verified=presence.verified)} on "
                    f"{label(tree.hypothesis, longest=70)}, :gray[{ago(presence.at)}]"
                )
        if not present:
            st.caption("Nobody has a tree open.")
        st.subheader("Corpora")
        for corpus in shared.corpora.corpora():
            st.markdown(
                f"**{label(corpus.name)}**  \n:gray[{corpus.count:,} premises, version {corpus.version}]"
            )
        st.page_link("pages/Corpora.py", label="Upload or edit corpora", icon=":material/library_add:")
        draw_import(shared, author)
