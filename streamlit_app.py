"""Home: who is at work, the trees, the corpora. Every other page is a file in pages/."""

import streamlit as st

from entail.ui.author import with_mark
from entail.ui.chooser import draw_some, draw_start
from entail.ui.exchange import draw_import
from entail.ui.shell import page
from entail.ui.words import ago, label

with page("Home") as (shared, author):
    trees = shared.log.trees()
    own = [tree for tree in trees if not tree.example]
    examples = [tree for tree in trees if tree.example]

    st.title("Explanation trees")
    st.markdown(
        "A tree shows *why* a claim holds: premises combine into intermediate conclusions, up to the "
        "hypothesis. Start with a claim, accept the facts that explain it, go on below each of them."
    )
    left, right = st.columns([7, 4], gap="large")
    with left:
        st.subheader("Your team's trees")
        if trouble := st.session_state.pop("archive_error", None):
            st.error(label(trouble))
        if own:
            draw_some(shared, own, key="find_own", archive=True)
        else:
            st.info(
                "No tree yet. Start one with a claim of your own, or open an example.", icon=":material/park:"
            )
        archived = shared.log.trees(archived=True)
        if archived:
            with st.expander(f"Archived ({len(archived)})"):
                draw_some(shared, archived, key="find_archived", archive=True)
        st.subheader("Examples")
        st.caption(
            "Complete trees of EntailmentBank: see how it is done, or start your own from a hypothesis."
        )
        draw_some(shared, examples, key="find_example")
    with right:
        draw_start(shared, author)
        st.subheader("At work now")
        here = shared.authors.here()
        for presence in here:
            tree = next((t for t in trees if t.id == presence.tree_id), None)
            if tree is not None:
                st.markdown(
                    f":material/person: {with_mark(presence.author, verified=presence.verified)} on "
                    f"{label(tree.hypothesis, longest=70)}, :gray[{ago(presence.at)}]"
                )
        if not here:
            st.caption("Nobody has a tree open.")
        st.subheader("Corpora")
        for corpus in shared.corpora.corpora():
            st.markdown(
                f"**{label(corpus.name)}**  \n:gray[{corpus.count:,} facts, version {corpus.version}]"
            )
        st.page_link("pages/Corpora.py", label="Bring or edit facts", icon=":material/library_add:")
        draw_import(shared, author)
