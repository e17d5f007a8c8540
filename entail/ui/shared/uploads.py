"""Import of trees from files."""

from __future__ import annotations

import streamlit as st

from entail.errors import EntailError
from entail.settings import MAX_UPLOAD_MB
from entail.trees.log.wording import count_of
from entail.ui.frame.author import draw_name_request
from entail.ui.shared.demo import is_locked_in_demo
from entail.ui.shared.resources import Workspace, reference_premises
from entail.ui.shared.text import label
from entail.ui.trees.chooser import pick_corpus


def upload_limit() -> int:
    """Return the largest upload in MB that both the readers and the web server accept."""
    return min(MAX_UPLOAD_MB, int(st.get_option("server.maxUploadSize")))


def draw_import(shared: Workspace, author: str | None) -> None:
    """Draw the import of EntailmentBank JSONL (a tree a row) and GraphML (a tree a file)."""
    if is_locked_in_demo("no trees can be imported"):
        return
    notice = st.session_state.pop("import_notice", None)
    with st.expander("Import trees", icon=":material/upload_file:", expanded=notice is not None):
        if notice:
            st.success(notice)
        corpora = shared.corpora.corpora()
        corpus_id = (
            pick_corpus(corpora, shared.log.trees(), author, key="import_corpus").id if corpora else None
        )
        file = st.file_uploader(
            "EntailmentBank JSONL (.jsonl, .jsonl.gz) or GraphML (.graphml)",
            key="import_file",
            max_upload_size=upload_limit(),
        )
        if file is None or not st.button("Import", key="import_go", disabled=shared.database.read_only):
            return
        if author is None:
            draw_name_request(shared.authors)
            return
        try:
            count = import_trees(shared, file.getvalue(), name=file.name, author=author, corpus_id=corpus_id)
        except EntailError as error:
            st.error(label(str(error)))
            return
        reference_premises.clear()
        st.session_state["import_notice"] = f"Imported {count_of(count, 'tree')} into your team's trees."
        st.rerun()


def import_trees(shared: Workspace, content: bytes, *, name: str, author: str, corpus_id: str | None) -> int:
    """Import every row as a tree, or none if one is malformed; the file name decides the format.

    Raises:
        DataError: If a row is malformed, with its line, or the name has an unknown ending.
    """
    from entail.trees.formats.convert import read_acts

    corpus = shared.corpora.corpus(corpus_id) if corpus_id else None
    acts = read_acts(content, name=name, corpus=corpus)
    return len(shared.log.create_all(acts, author=author, corpus_id=corpus_id))
