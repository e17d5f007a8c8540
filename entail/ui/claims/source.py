"""Passages that the Claims page searches: a corpus, a file, or a folder on the server."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from entail.evaluation.passages.pool import Pool, corpus_pool, read_pool
from entail.progress import ProgressCallback
from entail.trees.store.corpus_versions import CorpusInfo
from entail.ui.claims.link import LINK
from entail.ui.shared.file_source import FileSource
from entail.ui.shared.resources import Workspace
from entail.ui.shared.tasks import TaskGroup
from entail.ui.shared.text import label


def _read(path: Path, name: str, report: ProgressCallback) -> Pool:
    return read_pool(path, name=name, progress=report)


_SOURCE = FileSource(
    link=LINK,
    part="over",
    label="Passages",
    unit="passages",
    folder="passage-files",
    prefix="file",
    read=_read,
    tasks=TaskGroup("passages", failure="the passages could not be read"),
    upload="SQuAD JSON, DPR JSON or TSV, NQ-open with passages, MS MARCO collection.tsv, BEIR corpus.jsonl, "
    "or a passage a line; also gzipped",
    server="File or BEIR folder on the server",
    placeholder="/data/dev-v1.1.json",
)


def pick_pool(shared: Workspace) -> Pool | None:
    """Draw the fields for the passages; return None while there are none."""
    picked = _SOURCE.pick(shared)
    if picked is None:
        return None
    if isinstance(picked, CorpusInfo):
        corpus = shared.corpora.corpus(picked.id, version=picked.version)
        return _corpus_pool(corpus.hash, corpus)
    known = f" · {len(picked.questions):,} questions with known passages" if picked.questions else ""
    remarks = "".join(f" · {remark}" for remark in picked.remarks)
    st.caption(f"{label(picked.name)}: {len(picked.corpus):,} passages{known}{remarks}")
    return picked


@st.cache_resource(show_spinner=False, max_entries=6)
def _corpus_pool(stamp: str, _corpus: object) -> Pool:
    return corpus_pool(_corpus)  # type: ignore[arg-type]  # Streamlit takes no type that it cannot hash
