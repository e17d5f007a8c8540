"""Corpora: upload, search, correct and retire premises."""

import streamlit as st

from entail.ui.corpora.premises import draw_archived, draw_changes, draw_growth, draw_premises, draw_upload
from entail.ui.frame.shell import page
from entail.ui.shared.corpus_choice import pick_corpus
from entail.ui.shared.text import label

with page("Corpora", "The premises that trees are built from.") as (shared, author):
    corpora = shared.corpora.corpora()
    left, right = st.columns([7, 4], gap="large")
    with right:
        draw_upload(shared, author)
    with left:
        if not corpora:
            st.info(
                "No corpus yet. Upload one: a text file with one premise a line is enough.",
                icon=":material/library_add:",
            )
            draw_archived(shared, author)
            st.stop()
        corpus = pick_corpus(corpora, shared.log.trees(), author, key="corpus")
        st.caption(
            f"Version {corpus.version} · by {label(corpus.created_by)}"
            + (f" · {label(corpus.licence)}" if corpus.licence else "")
            + (f" · from {label(corpus.source)}" if corpus.source else "")
        )
        draw_premises(shared, author, corpus)
        draw_growth(shared, author, corpus)
        draw_changes(shared, corpus)
        draw_archived(shared, author)
