"""Over which passages the Claims page searches: a corpus of the app, a file, a folder on the server."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import streamlit as st

from entail.data.bundled import SAMPLE_NAME
from entail.errors import FormatError
from entail.progress import ProgressCallback
from entail.settings import is_demo, load_settings
from entail.ui.authoring import draw_progress
from entail.ui.claims_link import begin
from entail.ui.claims_pool import Pool, corpus_pool, read_pool
from entail.ui.exchange import upload_limit
from entail.ui.models_form import typed_path
from entail.ui.resources import Workspace
from entail.ui.words import label
from entail.ui.works import Work, Works

_UPLOAD, _TYPED = "upload", "server"


def files_dir() -> Path:
    """Return the folder whose files can be picked: `passage-files` in the data folder."""
    return load_settings().data_dir / "passage-files"


@st.cache_resource(show_spinner=False)
def _pools() -> Works:
    return Works(3, failure="the passages could not be read")


def pick_pool(shared: Workspace) -> Pool | None:
    """Draw the fields that say over which passages; None, explained, while there are none."""
    corpora = {f"corpus-{info.id}": info for info in shared.corpora.corpora() if info.count}
    there = {f"file-{path.name}": path for path in _files()}
    names = {key: f"{info.name} ({info.count:,} passages)" for key, info in corpora.items()}
    names |= {key: path.name for key, path in there.items()}
    names[_UPLOAD] = "Upload a file …"
    if not is_demo():  # a visitor has no business with the server's folders
        names[_TYPED] = "A file or BEIR folder on the server …"
    first = next((key for key, info in corpora.items() if info.name == SAMPLE_NAME), next(iter(names)))
    chosen = st.selectbox(
        "Passages",
        list(names),
        format_func=names.__getitem__,
        key=begin("over", list(names), first),
        help=f"Files in the folder {files_dir().name} of the data folder can be picked here.",
    )
    if chosen in corpora:
        info = corpora[chosen]
        corpus = shared.corpora.corpus(info.id, version=info.version)
        return _of_corpus(corpus.hash, corpus)
    work = _uploaded() if chosen == _UPLOAD else _server() if chosen == _TYPED else _take(there[chosen])
    if work is None:
        return None
    if work.value is None:
        draw_progress(work, waiting="Reading the passages …")
        return None
    pool = work.value
    known = f", questions whose passage is known: {len(pool.questions):,}" if pool.questions else ""
    remarks = "".join(f" · {remark}" for remark in pool.remarks)
    st.caption(f"{label(pool.name)}: {len(pool.corpus):,} passages{known}{remarks}")
    return pool


@st.cache_resource(show_spinner=False, max_entries=6)
def _of_corpus(stamp: str, _corpus: object) -> Pool:
    return corpus_pool(_corpus)  # type: ignore[arg-type]  # Streamlit takes no type that it cannot hash


def _files() -> list[Path]:
    folder = files_dir()
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _take(place: Path) -> Work[Pool]:
    def make(report: ProgressCallback) -> Pool:
        return read_pool(place, name=place.name, progress=report)

    watched = [place, *sorted(place.glob("corpus.jsonl*"))] if place.is_dir() else [place]
    stamps = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in watched if path.exists())
    return _pools().take((str(place), stamps), make)


def _uploaded() -> Work[Pool] | None:
    file = st.file_uploader(
        "Passages: SQuAD JSON, DPR JSON or TSV, NQ-open with passages, MS MARCO's collection.tsv, BEIR's "
        "corpus.jsonl, or one a line; also gzipped",
        key="claims_upload",
        max_upload_size=upload_limit(),
    )
    if file is None:
        st.info("Upload passages to search. They are held in memory.", icon=":material/upload_file:")
        return None
    content, name = file.getvalue(), file.name

    def make(report: ProgressCallback) -> Pool:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / ("passages.gz" if name.lower().endswith(".gz") else "passages")
            place.write_bytes(content)
            try:
                return read_pool(place, name=name, progress=report)
            except FormatError as error:
                raise FormatError(str(error).replace(str(place), name)) from error

    return _pools().take(("upload", name, hashlib.sha256(content).hexdigest()), make)


def _server() -> Work[Pool] | None:
    told = st.text_input(
        "The file on the server, or a BEIR folder",
        key="claims_path",
        max_chars=1000,
        placeholder="/data/dev-v1.1.json",
    )
    place = typed_path(told)
    return None if place is None else _take(place)
