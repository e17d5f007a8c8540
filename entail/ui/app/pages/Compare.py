"""Compare: two retrievers side by side, over a claim, a tree or many of them."""

import streamlit as st

from entail.runtime.models import model_cache
from entail.ui.compare.bias import draw_similarity_bias
from entail.ui.compare.choice import (
    BIAS,
    LINK,
    QUERY,
    TREE,
    draw_fields,
    offer_example,
    pick_source,
    save_link,
    take_pair,
)
from entail.ui.compare.query import draw_query, draw_share, pick_query
from entail.ui.compare.split import draw_trees, pick_tree
from entail.ui.components.elements import show_errors
from entail.ui.frame.shell import page
from entail.ui.shared.resources import reference_premises

with page("Compare", "Two retrievers rank the premises of the same claim.") as (shared, author):
    corpora = shared.corpora.corpora()
    if not corpora:
        st.info("No corpus yet. Upload one on the Corpora page.", icon=":material/library_add:")
        st.stop()
    LINK.load_from_url()
    choice = draw_fields(corpora)
    info, query, source = choice.corpus, "", None
    with show_errors():
        if choice.mode == QUERY:
            query = pick_query(shared, info.id, reference_premises(info.id), (choice.left, choice.right))
        else:
            source = (pick_tree if choice.mode == TREE else pick_source)(shared, info)
        save_link(choice.mode)
        if choice.mode == QUERY and not query:
            st.info("Enter a claim.", icon=":material/edit:")
            offer_example(QUERY)
        elif query or source:
            corpus = source.corpus if source else shared.corpora.corpus(info.id, version=info.version)
            pair = take_pair(shared, corpus, choice)
            if pair is None:
                st.stop()
            if source is None:
                comparison = draw_query(pair, query, k=choice.depth)
                draw_share(shared, comparison, pair, info, author)
            elif choice.mode == BIAS:
                draw_similarity_bias(pair, source)
            else:
                draw_trees(pair, source, k=choice.depth, alone=choice.mode == TREE)
    model_cache().warm()
