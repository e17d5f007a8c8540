"""What all sessions share: the database, the encoders, the indexes; loaded once, behind the page."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from entail.data.records import Corpus
from entail.data.text import fold
from entail.errors import EncoderError, EntailError
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.settings import is_demo, load_settings
from entail.trees.authors import Authors
from entail.trees.corpora import CorpusStore
from entail.trees.database import Database, open_database
from entail.trees.log import TreeLog
from entail.ui.works import Work, Works, failed

if TYPE_CHECKING:
    from entail.encoders.biencoder import BiEncoder
    from entail.jobs.jobs import Jobs

_LABELS: Mapping[str, str] = {
    "minilm": "MiniLM (meaning)",
    "aeenc-minilm": "AE-Enc MiniLM (debiased)",
    "gausscse-minilm": "GaussCSE MiniLM (direction)",
    "arcf-minilm": "ARCF MiniLM (chains)",
    "tfidf": "TF-IDF (shared words)",
    "bm25": "BM25 (shared words)",
    "ngrams": "TF-IDF (shared parts of words)",
}

LEXICAL = ("tfidf", "bm25", "ngrams")
"""Retrievers that need no encoder, as in `entail.index.retriever`, whose import takes its time."""

SHARED_WORDS = "+bm25"
"""Behind an encoder's name: a share of BM25 beside it, as `entail.index.retriever` has it."""

_COMMIT = 40

WARM_AFTER = 0.3
"""Seconds between the first page and the loading of the encoder, in which the browser draws."""


@dataclass(frozen=True)
class Workspace:
    """The stores of one database; in a demo the trees of one visitor beside it.

    Attributes:
        database: The team's.
        log: Its trees, in a demo the visitor's as well.
        corpora: Its corpora.
        authors: Its authors.
        held: What has to live as long as the stores do.
    """

    database: Database
    log: TreeLog
    corpora: CorpusStore
    authors: Authors
    held: object = None

    @property
    def takes_trees(self) -> bool:
        """Whether trees can be begun here: in a demo each visitor's own."""
        return self.log.writable


def workspace() -> Workspace:
    """Return the installation's stores; opens, migrates and seeds the database at the first call."""
    shared = _stores()
    if not is_demo():
        return shared
    from entail.ui.demo import visitor_log

    return replace(shared, log=visitor_log(shared.log, shared.corpora))


@st.cache_resource(show_spinner="Opening the database …")
def _stores() -> Workspace:
    from entail.trees.demo import open_shown
    from entail.trees.seed import seed_sample

    database, held = open_shown() if is_demo() else (open_database(), None)
    if not database.read_only:
        seed_sample(database)
    return Workspace(database, TreeLog(database), CorpusStore(database), Authors(database), held)


class Shelf:
    """Indexes by retriever, its revision and corpus content, built once, each in a thread of its own.

    At most `capacity` are kept; what was used least recently goes first.
    """

    def __init__(self, capacity: int = 12) -> None:
        self._lock = threading.Lock()
        self._indexes = Works(capacity, failure="the index could not be built")
        self._encoders: dict[str, tuple[str | None, BiEncoder]] = {}
        self._making: dict[tuple[str, str], threading.Lock] = {}
        self._warmed: set[str] = set()

    def take(self, name: str, corpus: Corpus, *, wait: float = 1.0) -> Work[PremiseIndex]:
        """Return the index of this corpus, waiting up to `wait` seconds for it to be built."""
        try:
            revision = _revision(name)
        except EncoderError as error:
            return failed(error)
        return self._indexes.take(
            (name, revision, corpus.hash), lambda report: self._build(name, corpus, report), wait=wait
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
        """Return the one copy of an encoder in this process; a new one where other weights have its name.

        Raises:
            EncoderError: If the name leads nowhere.
        """
        from entail.encoders.biencoder import BiEncoder
        from entail.encoders.catalogue import resolve

        entry = resolve(name)
        with self._lock:
            held = self._encoders.get(name)
            if held is None or held[0] != entry.revision:
                held = self._encoders[name] = (entry.revision, BiEncoder(entry))
            return held[1]

    def held(self, name: str) -> BiEncoder | None:
        """Return the copy of an encoder whose weights are in memory, None if they are not."""
        with self._lock:
            _, encoder = self._encoders.get(name, (None, None))
        return encoder if encoder is not None and encoder.loaded else None

    def release(self, name: str) -> None:
        """Let go of an encoder and of its indexes; whoever searches with it next has it loaded again."""
        from entail.encoders.device import give_back_memory

        with self._lock:
            self._encoders.pop(name, None)
        names = (name, f"{name}{SHARED_WORDS}")
        self._indexes.drop(lambda place: isinstance(place, tuple) and place[0] in names)
        gc.collect()
        give_back_memory()

    def _alone(self, corpus: Corpus, encoder: BiEncoder | None) -> contextlib.AbstractContextManager[object]:
        """Let encoders with one premise tower take turns: the second finds the first one's vectors."""
        if encoder is None:
            return contextlib.nullcontext()
        place = (corpus.hash, encoder.premise_revision)
        with self._lock:
            return self._making.setdefault(place, threading.Lock())

    def _build(self, name: str, corpus: Corpus, report: ProgressCallback) -> PremiseIndex:
        from entail.index.retriever import retriever

        encoder = None if name in LEXICAL else self.encoder(name.removesuffix(SHARED_WORDS))
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


def _revision(name: str) -> str | None:
    from entail.encoders.catalogue import resolve

    return None if name in LEXICAL else resolve(name.removesuffix(SHARED_WORDS)).revision


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
    """Return how a person calls a retriever.

    >>> retriever_label("minilm+bm25")
    'MiniLM (meaning), and shared words'
    >>> retriever_label("tfidf"), retriever_label("org/model@0123456789012345678901234567890123456789")
    ('TF-IDF (shared words)', 'org/model@0123456')
    """
    if name.endswith(SHARED_WORDS):
        return f"{retriever_label(name.removesuffix(SHARED_WORDS))}, and shared words"
    hub_id, _, commit = name.partition("@")
    if "/" in hub_id and len(commit) == _COMMIT:
        return f"{hub_id}@{commit[:7]}"
    return _LABELS.get(name, name)


def retriever_name(name: str) -> str:
    """Return the same within a sentence, without what it goes by.

    >>> retriever_name("minilm+bm25")
    'MiniLM and shared words'
    """
    alone = retriever_label(name.removesuffix(SHARED_WORDS)).partition(" (")[0]
    return f"{alone} and shared words" if name.endswith(SHARED_WORDS) else alone


def revisions() -> dict[str, str | None]:
    """Return the retrievers and scorers that are here with their revisions; lexical ones are their names."""
    from entail.arcf.listing import scorer_revisions
    from entail.encoders.catalogue import catalogue
    from entail.promotion import pointers

    try:
        promoted = {pointer.encoder: pointer.revision for pointer in pointers() if pointer.encoder}
    except EntailError:  # who ranks by what is active is told
        promoted = {}
    listed = {entry.name: entry.revision for entry in catalogue()}
    listed |= scorer_revisions()
    return dict.fromkeys(LEXICAL) | {name: at for name, at in promoted.items() if "/" in name} | listed


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
