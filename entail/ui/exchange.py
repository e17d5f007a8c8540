"""Trees that come in from files."""

from __future__ import annotations

import streamlit as st

from entail.errors import EntailError
from entail.settings import MAX_UPLOAD_MB
from entail.ui.author import asks_who
from entail.ui.chooser import pick_corpus
from entail.ui.demo import closed
from entail.ui.resources import Workspace, gold
from entail.ui.words import label


def upload_limit() -> int:
    """Return the largest upload in MB: what the readers take, or less where the web server takes less."""
    return min(MAX_UPLOAD_MB, int(st.get_option("server.maxUploadSize")))


def draw_import(shared: Workspace, author: str | None) -> None:
    """Draw the field that takes EntailmentBank JSONL, a tree a row, or GraphML, a tree a file."""
    if closed("no trees can be imported"):
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
            st.warning(asks_who())
            return
        try:
            count = import_trees(shared, file.getvalue(), name=file.name, author=author, corpus_id=corpus_id)
        except EntailError as error:
            st.error(label(str(error)))
            return
        gold.clear()
        are = "tree is" if count == 1 else "trees are"
        st.session_state["import_notice"] = f"{count} {are} imported, into the list of your team's trees."
        st.rerun()


def import_trees(shared: Workspace, content: bytes, *, name: str, author: str, corpus_id: str | None) -> int:
    """Make a tree of every row; all of them or, when one cannot be read, none. The name says the format.

    Raises:
        DataError: If the file or a row is malformed, with its line, or the name has an unknown ending.
    """
    from entail.trees.formats.convert import read_acts

    corpus = shared.corpora.corpus(corpus_id) if corpus_id else None
    acts = read_acts(content, name=name, corpus=corpus)
    return len(shared.log.create_all(acts, author=author, corpus_id=corpus_id))
