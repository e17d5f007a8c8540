"""Archived corpora: hidden from every list until they are restored."""

from __future__ import annotations

import streamlit as st

from entail.data.text import count_of
from entail.errors import EntailError
from entail.settings import is_demo
from entail.trees.store.corpora import CorpusInfo
from entail.ui.shared.resources import Workspace
from entail.ui.shared.text import label

_TROUBLE = "corpus_archive_error"
"""Session key of what went wrong, until it is shown."""


def draw_archive_button(shared: Workspace, author: str | None, corpus: CorpusInfo) -> None:
    """Draw the button that archives a corpus, or restores an archived one."""
    if trouble := st.session_state.pop(_TROUBLE, None):
        st.error(label(trouble))
    if shared.database.read_only or is_demo():
        return
    st.button(
        "Restore" if corpus.archived else "Archive",
        icon=":material/unarchive:" if corpus.archived else ":material/archive:",
        help=None if corpus.archived else "Hidden from lists, not deleted; trees over it stay",
        disabled=author is None,
        key=f"archive-{corpus.id}",
        on_click=_archive,
        args=(shared, author, corpus),
    )


def _archive(shared: Workspace, author: str, corpus: CorpusInfo) -> None:
    try:
        shared.corpora.archive(corpus.id, author=author, archived=not corpus.archived)
    except EntailError as error:
        st.session_state[_TROUBLE] = str(error)


def draw_archived(shared: Workspace, author: str | None) -> None:
    """Draw the archived corpora, if there are any."""
    archived = shared.corpora.corpora(archived=True)
    if not archived:
        return
    with st.expander(f"Archived ({len(archived)})", icon=":material/archive:"):
        for corpus in archived:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{label(corpus.name)} :gray[{count_of(corpus.count, 'premise')}]")
                draw_archive_button(shared, author, corpus)
