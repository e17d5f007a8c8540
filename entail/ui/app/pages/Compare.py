"""Compare: two retrievers side by side, over a claim, a tree or many of them."""

import streamlit as st

from entail.runtime.models import model_cache
from entail.ui.compare.bias import draw_similarity_bias
from entail.ui.compare.choice import (
    BIAS,
    LINK,
    QUERY,
    SPLIT,
    TREE,
    draw_fields,
    pick_source,
    save_link,
    take_pair,
)
from entail.ui.compare.query import draw_query, draw_share, pick_query
from entail.ui.compare.split import draw_split, draw_tree, pick_tree
from entail.ui.compare.tour import draw_tour
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page
from entail.ui.shared.resources import reference_premises

with page("Compare") as (shared, author):
    st.title("Compare retrievers")
    corpora = shared.corpora.corpora()
    if not corpora:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        st.stop()
    LINK.load_from_url()
    choice = draw_fields(corpora)
    info, query, tree, source = choice.corpus, "", None, None
    with show_errors():
        if choice.mode == QUERY:
            query = pick_query(shared, info.id, reference_premises(info.id), (choice.left, choice.right))
        elif choice.mode == TREE:
            tree = pick_tree(shared, info.id)
        else:
            source = pick_source(shared, info)
        save_link(choice.mode)
        if choice.mode == QUERY and not query:
            st.info("Enter a claim.", icon=":material/edit:")
        elif query or tree or source:
            corpus = source.corpus if source else shared.corpora.corpus(info.id, version=info.version)
            pair = take_pair(shared, corpus, choice)
            if pair is None:
                st.stop()
            if query:
                comparison = draw_query(pair, query, k=choice.depth)
                draw_share(shared, comparison, pair, info, author)
            elif tree:
                draw_tree(pair, tree, k=choice.depth)
            elif source and choice.mode == SPLIT:
                draw_split(pair, source, k=choice.depth)
            elif source and choice.mode == BIAS:
                draw_similarity_bias(pair, source)
            elif source:
                draw_tour(pair, source, k=choice.depth)
                save_link(choice.mode)
    model_cache().warm()
