"""Choice of a corpus: the one that an author most likely wants, until one is picked."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from entail.trees.installation.seed import HELD_OUT_ID
from entail.trees.log.event_log import TreeSummary
from entail.trees.store.corpora import CorpusInfo


def default_corpus(
    corpora: Sequence[CorpusInfo], trees: Sequence[TreeSummary], author: str | None
) -> CorpusInfo:
    """Return the corpus of the author's last tree, else the one that the author imported last.

    Without either, that of the team's last tree, else the largest that is not the held-out one. `trees` has
    the last changed first.
    """
    corpora_by_id = {corpus.id: corpus for corpus in corpora}
    used = [(corpora_by_id.get(tree.corpus_id or ""), tree) for tree in trees]
    imported = sorted(corpora, key=lambda corpus: corpus.created_at, reverse=True)
    likely = (
        *(corpus for corpus, tree in used if author in tree.authors),
        *(corpus for corpus in imported if corpus.created_by == author),
        *(corpus for corpus, tree in used if not tree.example),
    )
    return next(filter(None, likely), None) or max(
        corpora, key=lambda corpus: (corpus.id != HELD_OUT_ID, corpus.count)
    )


def pick_corpus(
    corpora: Sequence[CorpusInfo],
    trees: Sequence[TreeSummary],
    author: str | None,
    *,
    key: str,
) -> CorpusInfo:
    """Draw the list of corpora and return the chosen one, the default until one is picked."""
    ids = {corpus.id: corpus for corpus in corpora}
    # The name may be entered, or a tree started, after the first drawing; the picked one may be archived.
    if not st.session_state.get(f"{key}:touched") or st.session_state.get(key) not in ids:
        basis, first = st.session_state.get(f"{key}:default", (None, ""))
        # On an open page it stays, though a colleague's edit makes another tree the author's last.
        if key not in st.session_state or basis != author or first not in ids:
            first = default_corpus(corpora, trees, author).id
            st.session_state[f"{key}:default"] = author, first
        st.session_state[key] = first
    picked = st.selectbox(
        "Corpus",
        list(ids),
        format_func=lambda id: ids[id].name,  # the browser keeps the label, so that no figure may stand in it
        key=key,
        on_change=keep_picked,
        args=(key,),
    )
    return ids[picked]


def keep_picked(key: str) -> None:
    """Let the corpus on the screen count, also where a name is entered that would have another one."""
    st.session_state[f"{key}:touched"] = True


def preselect(key: str, corpus_id: str) -> None:
    """Pick a corpus for a list that is drawn later."""
    st.session_state[key] = corpus_id
    keep_picked(key)
