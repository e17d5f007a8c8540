"""Compare: two retrievers side by side, over a claim, a tree or many of them."""

import streamlit as st

from entail.errors import EntailError
from entail.ui import compare_choice, compare_link
from entail.ui.compare_bias import draw_similarity_bias
from entail.ui.compare_pair import take_pair
from entail.ui.compare_query import draw_query, pick_query
from entail.ui.compare_source import Source, pick_source
from entail.ui.compare_split import draw_split
from entail.ui.compare_tour import draw_tour
from entail.ui.compare_tree import draw_tree, pick_tree
from entail.ui.resources import gold, shelf
from entail.ui.shell import page
from entail.ui.words import label

with page("Compare") as (shared, author):
    st.title("Compare retrievers")
    corpora = shared.corpora.corpora()
    if not corpora:
        st.info("There is no corpus yet. Bring one on the Corpora page.", icon=":material/library_add:")
        st.stop()
    compare_link.arrive()
    choice = compare_choice.pick(corpora)
    info, query, tree, source = choice.corpus, "", None, None
    try:
        if choice.mode == compare_choice.QUERY:
            query = pick_query(shared, info.id, gold(info.id))
        elif choice.mode == compare_choice.TREE:
            tree = pick_tree(shared, info.id)
        else:
            source = pick_source(shared, info)
        compare_link.write(choice.mode)
        if choice.mode == compare_choice.QUERY and not query:
            st.info("Type a sentence to search with.", icon=":material/edit:")
        elif query or tree or source:
            corpus = (
                source.corpus
                if isinstance(source, Source)
                else shared.corpora.corpus(info.id, version=info.version)
            )
            pair = take_pair(shared, corpus, info, choice.left, choice.right)
            if pair is None:
                st.stop()
            if query:
                draw_query(pair, query, k=choice.depth)
            elif tree:
                draw_tree(pair, tree, k=choice.depth)
            elif source and choice.mode == compare_choice.SPLIT:
                draw_split(pair, source, k=choice.depth)
            elif source and choice.mode == compare_choice.BIAS:
                draw_similarity_bias(pair, source)
            elif source:
                draw_tour(pair, source, k=choice.depth)
                compare_link.write(choice.mode)
    except EntailError as error:
        st.error(label(str(error)))
    shelf().warm()
