"""Fields of the Claims page: passages and their retrievers, the link, and the claims that the user edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from entail.encoders.catalogue import catalogue
from entail.encoders.weights import read_object
from entail.errors import EncoderError
from entail.evaluation.passages.pool import Pool, corpus_pool, read_pool
from entail.index.factory import LEXICAL
from entail.runtime.tasks import TaskGroup, finish
from entail.trees.store.corpora import CorpusInfo
from entail.ui.shared.file_source import FileSource
from entail.ui.shared.link import Link
from entail.ui.shared.model_names import model_label
from entail.ui.shared.resources import Workspace, retrievers
from entail.ui.shared.text import label

OF_RELEVANCE = ("judge", "questions", "pairs", "encoders")
"""Parts of the link that belong to the relevance analysis."""

PARTS = (
    *("mode", "question", "answer", "claim", "over", "left", "right", "k", "beside", "by"),
    *OF_RELEVANCE,
)

LONGEST = 5000
"""Most characters of a question, an answer or a claim."""

LINK = Link(
    "claims",
    PARTS,
    called={
        "over": "corpus or file",
        "left": "retriever",
        "right": "retriever",
        "by": "judge",
        "questions": "number of questions",
        "pairs": "number of pairs",
    },
)

BETWEEN = "|"
"""Separator of several names in a part of the link."""

UNTUNED, TUNED = "dpr-minilm", "dpr-minilm-tuned"
"""Names of the packaged encoders."""

_POOLS = TaskGroup("passages", failure="the passages could not be read")
_PASSAGES = FileSource(
    link=LINK,
    part="over",
    label="Passages",
    unit="passages",
    folder="passage-files",
    prefix="file",
    read=lambda path, name, report: read_pool(path, name=name, progress=report),
    tasks=_POOLS,
    upload="SQuAD JSON, DPR JSON or TSV, NQ-open with passages, MS MARCO collection.tsv, BEIR corpus.jsonl, "
    "or a passage a line; also gzipped",
)


def load_link() -> None:
    """Take over a new address."""
    if LINK.load_from_url() and (claim := LINK.requested("claim")):
        store_edit(LINK.requested("question") or "", claim[:LONGEST])


def edited_claim(question: str) -> str | None:
    """Return the user's claim for a question, None if it was not edited."""
    return _edits().get(question.strip())


def store_edit(question: str, claim: str | None) -> None:
    """Store the user's claim for a question; None removes it."""
    if claim is None:
        _edits().pop(question.strip(), None)
    else:
        _edits()[question.strip()] = claim


def _edits() -> dict[str, str]:
    edits: dict[str, str] = st.session_state.setdefault("claims_edits", {})
    return edits


def pick_pool(shared: Workspace) -> Pool | None:
    """Draw the fields for the passages; return None while there are none."""
    picked = _PASSAGES.pick(shared)
    if isinstance(picked, CorpusInfo):
        corpus = shared.corpora.corpus(picked.id, version=picked.version)
        return finish(_POOLS.get_or_start(corpus.hash, lambda _: corpus_pool(corpus)))
    if picked is not None:
        questions = f" · {len(picked.questions):,} questions with known passages" if picked.questions else ""
        remarks = "".join(f" · {remark}" for remark in picked.remarks)
        st.caption(f"{label(picked.name)}: {len(picked.corpus):,} passages{questions}{remarks}")
    return picked


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


def pick_encoders() -> list[str]:
    """Draw the field for one or two encoders."""
    names = [name for name in retrievers() if name not in LEXICAL]
    usual = default_pair(names, tuned) if (tuned := tuned_encoders()) else names[:1]
    return pick_several(
        "Encoders",
        names,
        usual,
        key="claims_retrievers",
        part="encoders",
        format_func=model_label,
        most=2,
        placeholder="One or two encoders",
        help_="Dense retrievers only.",
    )


def pick_several(
    name: str,
    names: Sequence[str],
    usual: Sequence[str],
    *,
    key: str,
    part: str,
    format_func: Callable[[str], str],
    most: int | None = None,
    placeholder: str,
    help_: str,
) -> list[str]:
    """Draw a field for several names, which a part of the link begins, and return the selected ones."""
    if key not in st.session_state:
        requested = LINK.requested(part)
        st.session_state[key] = list(dict.fromkeys(usual if requested is None else requested.split(BETWEEN)))
    st.session_state[key] = [name for name in st.session_state[key] if name in names][:most]
    selection = st.multiselect(
        name,
        names,
        key=key,
        format_func=format_func,
        max_selections=most,
        placeholder=placeholder,
        help=help_,
    )
    return list(selection)
