"""Compare: two retrievers side by side on one query."""

import streamlit as st

from entail.data.text import fold
from entail.errors import EntailError
from entail.evaluation.comparison import compare
from entail.ui.authoring import draw_progress
from entail.ui.compare import comparison_csv, draw_comparison
from entail.ui.resources import gold, retriever_label, retrievers, shelf
from entail.ui.shell import page
from entail.ui.words import label

with page("Compare") as (shared, author):
    st.title("Compare retrievers")
    corpora = shared.corpora.corpora()
    if not corpora:
        st.info("There is no corpus yet. Bring one on the Corpora page.", icon=":material/library_add:")
        st.stop()
    names = retrievers()
    top = st.columns([3, 2, 2, 1])
    corpus_info = top[0].selectbox("Corpus", corpora, format_func=lambda c: f"{c.name} ({c.count:,} facts)")
    first = top[1].selectbox("Left", names, index=names.index("tfidf"), format_func=retriever_label)
    second = top[2].selectbox(
        "Right", names, key="compare_right", index=names.index("minilm"), format_func=retriever_label
    )
    k = top[3].selectbox("Depth", (10, 20, 50, 100), index=1)

    known = gold(corpus_info.id)
    trees = shared.log.trees(corpus_id=corpus_info.id)
    # Claims whose premises are known come first: on them the two sides can be told right from wrong.
    claims = sorted({tree.hypothesis for tree in trees}, key=lambda claim: (fold(claim) not in known, claim))
    picked = st.selectbox("A claim of one of the trees", claims, key="compare_pick")
    typed = st.text_input("or a sentence of your own", key="compare_query", max_chars=2000)
    query = typed.strip() or picked or ""
    if not query:
        st.info("Type a sentence to search with.", icon=":material/edit:")
        st.stop()

    corpus = shared.corpora.corpus(corpus_info.id, version=corpus_info.version)
    left, right = (shelf().take(name, corpus) for name in (first, second))
    for building in (left, right):
        if building.index is None:
            draw_progress(building)
            st.stop()
    try:
        with st.spinner("Searching …", show_time=True):
            comparison = compare(
                query, corpus, (left.index, right.index), k=k, gold=known.get(fold(query), {})
            )
    except EntailError as error:
        st.error(label(str(error)))
        st.stop()
    st.markdown(f"##### {label(query, longest=600)}")
    draw_comparison(comparison)
    st.download_button(
        "Download (CSV)",
        comparison_csv(comparison),
        file_name="comparison.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    shelf().warm()
