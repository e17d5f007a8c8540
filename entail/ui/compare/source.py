"""Trees of a comparison, from the database or a file, with their candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from entail.data.records import Corpus, ExplanationTree
from entail.settings import load_settings
from entail.trees.store.corpus_versions import CorpusInfo
from entail.ui.compare.choice import LINK
from entail.ui.shared.form import upload_limit
from entail.ui.shared.resources import Workspace, workspace

EXAMPLES, TEAM, FILE = "examples", "team", "file"
KINDS = {
    EXAMPLES: "Example trees",
    TEAM: "Your team's trees",
    FILE: "An EntailmentBank file",
}
_UPLOAD = "Upload one …"
_OWN = "Only the file's own premises"
_ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Source:
    """Trees with the corpus in which their premises are looked for; `stamp` changes when a tree does."""

    name: str
    stamp: Hashable
    trees: tuple[ExplanationTree, ...]
    corpus: Corpus


def splits_dir() -> Path:
    """Return the folder whose EntailmentBank files can be picked: `splits` in the data folder."""
    return load_settings().data_dir / "splits"


def pick_source(shared: Workspace, info: CorpusInfo) -> Source | None:
    """Draw the fields for the trees, and return them; None, explained, while there are none."""
    columns = st.columns([2, 3])
    kind = columns[0].selectbox(
        "Trees",
        list(KINDS),
        format_func=KINDS.__getitem__,
        key=LINK.init_widget("trees", list(KINDS), EXAMPLES),
    )
    corpus = shared.corpora.corpus(info.id, version=info.version)
    if kind == FILE:
        with columns[1]:
            return _pick_file(corpus)
    found = tuple(
        (tree.id, tree.seq)
        for tree in shared.log.trees(corpus_id=info.id)
        if tree.example == (kind == EXAMPLES) and tree.steps
    )
    if not found:
        st.info(
            "No tree over this corpus has premises yet: accept some on the Trees page, or take a file."
            if kind == TEAM
            else "No example tree is built from this corpus: take a file, or another corpus.",
            icon=":material/park:",
        )
        return None
    columns[1].caption(f"{len(found):,} trees with premises, over {info.count:,} premises.")
    return Source(KINDS[kind], found, stored_trees(found), corpus)


@st.cache_resource(show_spinner="Reading the trees …", max_entries=16)
def stored_trees(trees: tuple[tuple[str, int], ...]) -> tuple[ExplanationTree, ...]:
    """Return trees of the database, named by id and seq, as official rows."""
    from entail.trees.formats.entailment_bank import refold

    log = workspace().log
    return tuple(refold(log.history(tree_id).tree) for tree_id, _ in trees)


def _pick_file(corpus: Corpus) -> Source | None:
    folder = splits_dir()
    there = sorted(path.name for path in folder.glob("*") if path.name.endswith(_ENDINGS))
    chosen = _UPLOAD
    if there:
        options = [*there, _UPLOAD]
        chosen = st.selectbox("File", options, key=LINK.init_widget("file", options, there[0]))
    if chosen == _UPLOAD:
        file = st.file_uploader(
            "EntailmentBank JSONL (.jsonl, .jsonl.gz)",
            key="compare_upload",
            max_upload_size=upload_limit(),
            help=f"Files in the folder {folder.name} of the data folder can be picked without an upload.",
        )
        if file is None:
            st.info(
                "Upload a split, such as task_2/dev.jsonl, to compare the two on all of its trees.",
                icon=":material/upload_file:",
            )
            return None
        name, content = file.name, file.getvalue()
    else:
        name, content = chosen, (folder / chosen).read_bytes()
    own = st.radio("Candidates", (corpus.name, _OWN), key="compare_candidates", horizontal=True) == _OWN
    stamp = hashlib.sha256(content).hexdigest()
    trees, sentences = _read(stamp, name, content)
    return Source(name, stamp, trees, sentences if own else corpus)


@st.cache_resource(show_spinner="Reading the file …", max_entries=4)
def _read(stamp: str, _name: str, _content: bytes) -> tuple[tuple[ExplanationTree, ...], Corpus]:
    from entail.data.corpora import read_corpus
    from entail.data.entailment_bank.trees import read_trees

    trees = tuple(read_trees(_content, name=_name))
    return trees, read_corpus(_content, name=_name, skip_too_long=True).corpus
