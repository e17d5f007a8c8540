"""Home: who is at work, the trees, the corpora. Every other page is a file in pages/."""

import streamlit as st

from entail.ui.chooser import draw_start, draw_trees
from entail.ui.exchange import draw_import
from entail.ui.shell import begin
from entail.ui.words import ago, label

shared, author = begin("Home")
trees = shared.log.trees()
own = [tree for tree in trees if not tree.example]
examples = [tree for tree in trees if tree.example]

st.title("Explanation trees")
st.markdown(
    "A tree shows *why* a claim holds: premises combine into intermediate conclusions, up to the hypothesis. "
    "Start with a claim, accept the facts that explain it, go on below each of them."
)
left, right = st.columns([7, 4], gap="large")
with left:
    st.subheader("Your team's trees")
    if own:
        draw_trees(shared, own, archive=True)
    else:
        st.info("No tree yet. Start one here on the right, or open an example below.", icon=":material/park:")
    archived = shared.log.trees(archived=True)
    if archived:
        with st.expander(f"Archived ({len(archived)})"):
            draw_trees(shared, archived, archive=True)
    st.subheader("Examples")
    st.caption(
        "Complete trees of EntailmentBank: see how it is done, or start your own from a hypothesis."
    )
    words = st.text_input("Find an example", key="find_example", placeholder="Words in the hypothesis")
    found = [tree for tree in examples if words.lower() in tree.hypothesis.lower()]
    draw_trees(shared, found[:12])
    if len(found) > 12:
        st.caption(f"{len(found) - 12} more: type a word to find them.")
with right:
    draw_start(shared, author)
    st.subheader("At work now")
    here = shared.authors.here()
    for presence in here:
        tree = next((t for t in trees if t.id == presence.tree_id), None)
        if tree is not None:
            st.markdown(
                f":material/person: **{label(presence.author)}** on {label(tree.hypothesis, longest=70)}, "
                f":gray[{ago(presence.at)}]"
            )
    if not here:
        st.caption("Nobody has a tree open.")
    st.subheader("Corpora")
    for corpus in shared.corpora.corpora():
        st.markdown(f"**{label(corpus.name)}**  \n:gray[{corpus.count:,} facts, version {corpus.version}]")
    st.page_link("pages/Corpora.py", label="Bring or edit facts", icon=":material/library_add:")
    draw_import(shared, author)
