"""Fields of the Claims page: passages, retrievers, judge, link, and claims that the user edited."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from entail.answering.reader import list_readers
from entail.data.bundled import SAMPLE_NAME
from entail.data.reading import read_content
from entail.evaluation.passages.pool import Pool, corpus_pool, read_pool
from entail.judge.judges import list_judges
from entail.registry.models import active_name
from entail.runtime.tasks import Task, TaskGroup, finish
from entail.settings import load_settings
from entail.ui.shared.form import upload_limit
from entail.ui.shared.link import Link
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, retrievers
from entail.ui.shared.text import label
from entail.ui.shared.waiting import await_value

PARTS = ("question", "answer", "over", "left", "right", "k", "by", "reader")

LONGEST = 5000
"""Most characters of a question, an answer or a claim."""

LINK = Link(
    "claims",
    (*PARTS, "claim"),
    called={"over": "corpus or file", "left": "retriever", "right": "retriever", "by": "judge"},
)

TUNING = ("dpr-minilm", "dpr-minilm-tuned")
"""Names of the packaged encoders without and with entailment tuning."""

_POOLS = TaskGroup("passages", failure="the passages could not be read")
_UPLOAD, _NO_MODEL = "upload", "nobody"


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
        questions = f" · {len(pool.questions):,} questions with reference passages" if pool.questions else ""
        columns = label(", ".join(pool.unread_columns))
        unread = f" · columns not read: {columns}" if columns else ""
        st.caption(f"{label(pool.name)}: {len(pool.corpus):,} passages{questions}{unread}")
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


def pick_pair() -> tuple[str, str]:
    """Draw the fields of both retrievers and return their names."""
    names = retrievers()
    usual = next(
        (pair for pair in (TUNING, ("bm25", "minilm")) if {*pair} <= {*names}), (names[0], names[-1])
    )
    left, right = (
        LINK.pick(
            part, part.capitalize(), {name: model_label(name) for name in names}, first, draw=cell.selectbox
        )
        for cell, part, first in zip(st.columns(2), ("left", "right"), usual, strict=True)
    )
    if left == right:
        st.info(f"Both sides are {label(model_label(left))}. Choose another retriever on one side.")
    return left, right


def pick_judge() -> str | None:
    """Draw the field for the judge of the passages and return its name, None without one."""
    names = list_judges()
    first = active_name("judge", names)
    judge = _pick_model("by", "Judge", names, first=first, help_="How likely a passage entails the claim.")
    if not names:
        st.caption(
            ":material/info: No NLI cross-encoder yet. Train one with `entail train judge`, or pull one on "
            "the Models page."
        )
    return judge


def pick_reader() -> str | None:
    """Draw the field for the reader of answers and return its name; None without one."""
    names = list_readers()
    if not names:
        return None
    return _pick_model(
        "reader",
        "Reader",
        names,
        first=active_name("reader", names),
        help_="Marks the answer in the passages.",
    )


def _pick_model(part: str, title: str, names: Sequence[str], *, first: str | None, help_: str) -> str | None:
    titles = {name: model_label(name) for name in names} | {_NO_MODEL: "None"}
    choice = LINK.pick(part, title, titles, first or _NO_MODEL, help=help_)
    return None if choice == _NO_MODEL else choice
