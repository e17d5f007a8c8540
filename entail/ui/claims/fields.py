"""Fields of the Claims page: passages and their retrievers, the link, and the claims that the user edited."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from entail.data.bundled import SAMPLE_NAME
from entail.data.reading import read_content
from entail.encoders.catalogue import catalogue
from entail.encoders.weights import read_object
from entail.errors import EncoderError
from entail.evaluation.passages.pool import Pool, corpus_pool, read_pool
from entail.runtime.tasks import Task, TaskGroup, finish
from entail.settings import load_settings
from entail.ui.shared.form import upload_limit
from entail.ui.shared.link import Link
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, retrievers
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

PARTS = ("question", "answer", "over", "left", "right", "k", "beside")

LONGEST = 5000
"""Most characters of a question, an answer or a claim."""

LINK = Link(
    "claims",
    (*PARTS, "claim", "by"),
    called={"over": "corpus or file", "left": "retriever", "right": "retriever", "by": "judge"},
)

UNTUNED, TUNED = "dpr-minilm", "dpr-minilm-tuned"
"""Names of the packaged encoders."""

_POOLS = TaskGroup("passages", failure="the passages could not be read")
_UPLOAD = "upload"


def load_link() -> None:
    """Take over a new address."""
    if LINK.load_from_url() and (claim := LINK.requested("claim")):
        edits()[(LINK.requested("question") or "").strip()] = claim[:LONGEST]


def edits() -> dict[str, str]:
    """Return the user's claims by question, without those that were not edited."""
    claims: dict[str, str] = st.session_state.setdefault("claims_edits", {})
    return claims


def pick_pool(shared: Workspace) -> Pool | None:
    """Draw the fields for the passages; return None while there are none.

    No path can be typed: whoever sees the page could read any file of the server.
    """
    folder = load_settings().data_dir / "passage-files"
    corpora = {f"corpus-{info.id}": info for info in shared.corpora.corpora() if info.count}
    files = {f"file-{path.name}": path for path in sorted(folder.glob("*")) if path.name[:1] != "."}
    names = {key: f"{info.name} ({info.count:,} passages)" for key, info in corpora.items()}
    names |= {key: path.name for key, path in files.items()} | {_UPLOAD: "Upload a file …"}
    sample = next((key for key, info in corpora.items() if info.name == SAMPLE_NAME), next(iter(names)))
    choice = LINK.pick(
        "over",
        "Passages",
        names,
        sample,
        help=f"Lists also the files in the folder {folder.name} of the data folder, of any size.",
    )
    if choice in corpora:
        info = corpora[choice]
        corpus = shared.corpora.corpus(info.id, version=info.version)
        return finish(_POOLS.get_or_start(corpus.hash, lambda _: corpus_pool(corpus)))
    task = _upload() if choice == _UPLOAD else _open(files[choice])
    pool = await_value(task, waiting="Reading …") if task is not None else None
    if pool is not None:
        questions = f" · {len(pool.questions):,} questions with known passages" if pool.questions else ""
        remarks = "".join(f" · {remark}" for remark in pool.remarks)
        st.caption(f"{label(pool.name)}: {len(pool.corpus):,} passages{questions}{remarks}")
    return pool


def _open(path: Path) -> Task[Pool]:
    """Return the task that reads a file or a folder, again if one of its files has changed."""
    stats = [file.stat() for file in (path, *sorted(path.glob("*")))]
    stamp = tuple((stat.st_mtime_ns, stat.st_size) for stat in stats)
    return _POOLS.get_or_start(
        (str(path), stamp), lambda report: read_pool(path, name=path.name, progress=report)
    )


def _upload() -> Task[Pool] | None:
    file = st.file_uploader(
        "SQuAD JSON, DPR JSON or TSV, NQ-open with passages, MS MARCO collection.tsv, BEIR corpus.jsonl, or "
        "a passage a line; also gzipped",
        key="claims_upload",
        max_upload_size=upload_limit(),
    )
    if file is None:
        st.info("Upload a file. It stays in memory only.", icon=":material/upload_file:")
        return None
    content, name = file.getvalue(), file.name
    return _POOLS.get_or_start(
        (_UPLOAD, name, hashlib.sha256(content).hexdigest()),
        lambda report: read_content(content, name, lambda path: read_pool(path, name=name, progress=report)),
    )


def tuned_encoders() -> list[str]:
    """Return the encoders tuned on masked claims, directly or before their contrastive stage."""
    names = [
        entry.name
        for entry in catalogue()
        if entry.problem is None
        and (entry.method == "tuning" or (entry.method == "dpr" and _was_tuned(entry.path)))
    ]
    return sorted(names, key=lambda name: (name != TUNED, name))


def _was_tuned(folder: Path | None) -> bool:
    """Return whether `entail.json` says that a contrastive stage started from a tuned encoder."""
    try:
        return folder is not None and bool(read_object(folder / "entail.json").get("tuned"))
    except EncoderError:  # being replaced; the catalogue shows the problem
        return False


def default_pair(names: Sequence[str], tuned: Sequence[str]) -> tuple[str, str]:
    """Return the retrievers of a first visit: without tuning and, if there is one, with it.

    >>> default_pair(["minilm", "bm25", "tfidf"], [])
    ('bm25', 'minilm')
    >>> default_pair(["minilm", "bm25", "dpr-minilm", "mine"], ["mine"])
    ('dpr-minilm', 'mine')
    """
    plain = UNTUNED if UNTUNED in names else "minilm"
    if tuned:
        return plain if plain in names else names[0], tuned[0]
    return ("bm25", plain) if plain in names else (names[0], names[-1])


def pick_pair() -> tuple[str, str]:
    """Draw the fields of both retrievers; without a tuned one, also how to get one."""
    names, tuned = retrievers(), tuned_encoders()

    def called(name: str) -> str:
        is_unclear = name in tuned and "tuned" not in name
        return f"{model_label(name)}, tuned" if is_unclear else model_label(name)

    titles = ("Without tuning", "With tuning") if tuned else ("Left", "Right")
    left, right = (
        cell.selectbox(title, names, key=LINK.init_widget(part, names, first), format_func=called)
        for cell, title, part, first in zip(
            st.columns(2), titles, ("left", "right"), default_pair(names, tuned), strict=True
        )
    )
    if not tuned:
        st.caption(
            ":material/info: No encoder with entailment tuning yet. Train one with `entail train tuning`, "
            "then `entail train dpr`."
        )
    if left == right:
        st.info(f"Both sides are {label(model_label(left))}. Choose another retriever on one side.")
    return left, right
