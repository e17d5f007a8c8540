"""What all sessions share: the database, the encoders, the indexes; loaded once, behind the page."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from entail.data.records import Corpus
from entail.data.text import fold
from entail.errors import EntailError
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.settings import load_settings
from entail.trees.authors import Authors
from entail.trees.corpora import CorpusStore
from entail.trees.database import Database, open_database
from entail.trees.log import TreeLog
from entail.ui.works import Work, Works

if TYPE_CHECKING:
    from entail.encoders.biencoder import BiEncoder
    from entail.jobs.jobs import Jobs

_LABELS: Mapping[str, str] = {
    "minilm": "MiniLM (meaning)",
    "aeenc-minilm": "AE-Enc MiniLM (debiased)",
    "tfidf": "TF-IDF (shared words)",
    "bm25": "BM25 (shared words)",
}

WARM_AFTER = 0.3
"""Seconds between the first page and the loading of the encoder, in which the browser draws."""


@dataclass(frozen=True)
class Workspace:
    """The stores of one database."""

    database: Database
    log: TreeLog
    corpora: CorpusStore
    authors: Authors


@st.cache_resource(show_spinner="Opening the database …")
def workspace() -> Workspace:
    """Return the installation's stores; opens, migrates and seeds the database at the first call."""
    from entail.trees.seed import seed_sample

    database = open_database()
    if not database.read_only:
        seed_sample(database)
    return Workspace(database, TreeLog(database), CorpusStore(database), Authors(database))


class Shelf:
    """Indexes by retriever and corpus content, built once, each in a thread of its own.

    At most `capacity` are kept; what was used least recently goes first.
    """

    def __init__(self, capacity: int = 12) -> None:
        self._lock = threading.Lock()
        self._indexes = Works(capacity, failure="the index could not be built")
        self._encoders: dict[str, BiEncoder] = {}
        self._making: dict[tuple[str, str], threading.Lock] = {}
        self._warmed: set[str] = set()

    def take(self, name: str, corpus: Corpus, *, wait: float = 1.0) -> Work[PremiseIndex]:
        """Return the index of this corpus, waiting up to `wait` seconds for it to be built."""
        return self._indexes.take(
            (name, corpus.hash), lambda report: self._build(name, corpus, report), wait=wait
        )

    def warm(self, name: str = "minilm") -> None:
        """Begin, once a process, to load an encoder behind the page, so that a first typed query waits less.

        Called when a page is drawn, not before: imports of this size would hold up its first drawing.
        """
        with self._lock:
            if name in self._warmed:
                return
            self._warmed.add(name)
        threading.Thread(target=self._warm, args=(name,), name=f"warm {name}", daemon=True).start()

    def _warm(self, name: str) -> None:
        time.sleep(WARM_AFTER)
        try:
            # The first text takes longer than those after it.
            self.encoder(name).encode_queries(["a text"])
        except EntailError:
            return  # whoever searches with it is told
        # What was imported stays: the collector need not walk half a million objects that never go.
        gc.collect()
        gc.freeze()

    def encoder(self, name: str) -> BiEncoder:
        """Return the one copy of an encoder in this process."""
        from entail.encoders.biencoder import BiEncoder
        from entail.encoders.catalogue import resolve

        with self._lock:
            if name not in self._encoders:
                self._encoders[name] = BiEncoder(resolve(name))
            return self._encoders[name]

    def _alone(self, corpus: Corpus, encoder: BiEncoder | None) -> contextlib.AbstractContextManager[object]:
        """Let encoders with one premise tower take turns: the second finds the first one's vectors."""
        if encoder is None:
            return contextlib.nullcontext()
        place = (corpus.hash, encoder.premise_revision)
        with self._lock:
            return self._making.setdefault(place, threading.Lock())

    def _build(self, name: str, corpus: Corpus, report: ProgressCallback) -> PremiseIndex:
        from entail.index.retriever import retriever

        encoder = None if name in ("tfidf", "bm25") else self.encoder(name)
        with self._alone(corpus, encoder):
            held = [index for index in self._indexes.made() if isinstance(index, PremiseIndex)]
            beside = [index for index in held if index.manifest.corpus_hash == corpus.hash]
            return retriever(
                name,
                corpus,
                encoder=encoder,
                beside=beside,
                cache_dir=load_settings().vectors_dir,
                progress=report,
            )


@st.cache_resource(show_spinner=False)
def shelf() -> Shelf:
    """Return the process's shelf of indexes."""
    return Shelf()


@st.cache_resource(show_spinner=False)
def comparisons() -> Works:
    """Return the process's comparisons: figures of two retrievers over many trees."""
    return Works(16, failure="the comparison could not be made")


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """Return the installation's jobs: one object, which reads each line of a job once, whoever looks."""
    from entail.jobs.jobs import Jobs

    return Jobs()


def retrievers() -> list[str]:
    """Return the retrievers in reach: the packaged encoder, the lexical ones, those under `models/`."""
    from entail.index.retriever import retriever_names

    return sorted(retriever_names(), key=lambda name: name != "minilm")


def retriever_label(name: str) -> str:
    """Return how a person calls a retriever."""
    return _LABELS.get(name, name)


def retriever_name(name: str) -> str:
    """Return the same within a sentence, without what it goes by."""
    return retriever_label(name).partition(" (")[0]


def revisions() -> dict[str, str | None]:
    """Return the retrievers that are here with their revisions; lexical ones are what they are called."""
    from entail.encoders.catalogue import catalogue
    from entail.index.retriever import LEXICAL

    return dict.fromkeys(LEXICAL) | {entry.name: entry.revision for entry in catalogue()}


@st.cache_data(show_spinner=False, ttl=60)
def gold(corpus_id: str | None) -> dict[str, dict[str, str]]:
    """Return what the example trees of a corpus say: folded node text -> its premises, folded -> raw."""
    log = workspace().log
    known: dict[str, dict[str, str]] = {}
    for summary in log.trees(corpus_id=corpus_id):
        if not summary.example:
            continue
        tree = log.history(summary.id).tree
        for node in tree.nodes.values():
            if node.children:
                children = known.setdefault(fold(node.text), {})
                children.update({fold(tree.nodes[c].text): tree.nodes[c].text for c in node.children})
    return known
