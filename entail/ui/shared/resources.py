"""Resources shared by all sessions: database, encoders, indexes, jobs; each loaded once."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakSet

import streamlit as st

from entail.data.records import Corpus
from entail.data.text import fold
from entail.encoders.catalogue import catalogue, resolve
from entail.encoders.device import give_back_memory
from entail.encoders.encoder import BiEncoder
from entail.errors import EncoderError, EntailError
from entail.index.factory import LEXICAL, retriever, retriever_names
from entail.index.protocol import PremiseIndex
from entail.progress import ProgressCallback
from entail.registry.pointers import list_pointers
from entail.settings import is_demo
from entail.trees.log.event_log import TreeLog
from entail.trees.store.authors import Authors
from entail.trees.store.corpora import CorpusStore
from entail.trees.store.database import Database, open_database
from entail.trees.store.demo import open_shown
from entail.trees.store.seed import seed_sample
from entail.ui.shared.demo import visitor_log
from entail.ui.shared.tasks import Task, TaskGroup, failed

if TYPE_CHECKING:
    from entail.jobs.jobs import Jobs

_LABELS: Mapping[str, str] = {
    "minilm": "MiniLM (meaning)",
    "aeenc-minilm": "AE-Enc MiniLM (debiased)",
    "gausscse-minilm": "GaussCSE MiniLM (direction)",
    "arcf-minilm": "ARCF MiniLM (chains)",
    "tfidf": "TF-IDF (keywords)",
    "bm25": "BM25 (keywords)",
    "ngrams": "TF-IDF (parts of words)",
}

SHARED_WORDS = "+bm25"
"""Suffix of an encoder's name for a hybrid with BM25, as in `entail.index.factory`."""

_COMMIT = 40

WARM_AFTER = 0.3
"""Seconds before an encoder is loaded in the background, so that the browser can draw first."""


@dataclass(frozen=True)
class Workspace:
    """Stores of one database; in a demo with the trees of one visitor in its log.

    Attributes:
        owner: Object that must live as long as the stores, such as a temporary folder.
    """

    database: Database
    log: TreeLog
    corpora: CorpusStore
    authors: Authors
    owner: object = None

    @property
    def accepts_trees(self) -> bool:
        """Whether trees can be started here; in a demo, the visitor's own."""
        return self.log.writable


def workspace() -> Workspace:
    """Return the stores; open, migrate and seed the database at the first call."""
    shared = _stores()
    if not is_demo():
        return shared
    return replace(shared, log=visitor_log(shared.log, shared.corpora))


@st.cache_resource(show_spinner="Opening the database …")
def _stores() -> Workspace:
    database, owner = open_shown() if is_demo() else (open_database(), None)
    if not database.read_only:
        seed_sample(database)
    return Workspace(database, TreeLog(database), CorpusStore(database), Authors(database), owner)


INDEXES = TaskGroup("indexes", failure="the index could not be built")
"""Indexes by retriever, its revision and corpus content."""


class ModelCache:
    """Encoders in memory, and indexes keyed by retriever, revision and corpus content.

    An index is built once, in a thread of its own, and kept in the process's task cache.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoders: dict[str, tuple[str | None, BiEncoder]] = {}
        self._making: dict[tuple[str, str], threading.Lock] = {}
        self._built: WeakSet[PremiseIndex] = WeakSet()
        self._warmed: set[str] = set()

    def get_or_start(self, name: str, corpus: Corpus, *, wait: float = 1.0) -> Task[PremiseIndex]:
        """Return the task that builds a corpus's index, and wait up to `wait` seconds for it."""
        try:
            revision = _revision(name)
        except EncoderError as error:
            return failed(error)
        return INDEXES.get_or_start(
            (name, revision, corpus.hash), lambda report: self._build(name, corpus, report), wait=wait
        )

    def warm(self, name: str = "minilm") -> None:
        """Load an encoder in the background, once a process, to shorten the first query.

        Call it after a page is drawn: its imports would delay the drawing.
        """
        with self._lock:
            if name in self._warmed:
                return
            self._warmed.add(name)
        threading.Thread(target=self._warm, args=(name,), name=f"warm {name}", daemon=True).start()

    def _warm(self, name: str) -> None:
        time.sleep(WARM_AFTER)
        try:
            # The first text is the slowest.
            self.encoder(name).encode_queries(["a text"])
        except EntailError:
            return  # a search shows the error
        # Imported modules stay: the collector need not walk half a million permanent objects.
        gc.collect()
        gc.freeze()

    def encoder(self, name: str) -> BiEncoder:
        """Return the process's copy of an encoder, renewed when its revision changes.

        Raises:
            EncoderError: If there is no encoder of this name.
        """
        entry = resolve(name)
        with self._lock:
            known = self._encoders.get(name)
            if known is None or known[0] != entry.revision:
                known = self._encoders[name] = (entry.revision, BiEncoder(entry))
            return known[1]

    def loaded(self, name: str) -> BiEncoder | None:
        """Return an encoder whose weights are in memory, None if they are not."""
        with self._lock:
            _, encoder = self._encoders.get(name, (None, None))
        return encoder if encoder is not None and encoder.loaded else None

    def release(self, name: str) -> None:
        """Free an encoder and its indexes; the next search loads it again."""
        with self._lock:
            self._encoders.pop(name, None)
        names = (name, f"{name}{SHARED_WORDS}")
        INDEXES.drop(*(key for key in INDEXES.tasks() if isinstance(key, tuple) and key[0] in names))
        gc.collect()
        give_back_memory()

    def _premise_lock(
        self, corpus: Corpus, encoder: BiEncoder | None
    ) -> contextlib.AbstractContextManager[object]:
        """Return the lock of a premise tower: a second encoder on it reuses the first one's vectors."""
        if encoder is None:
            return contextlib.nullcontext()
        key = (corpus.hash, encoder.premise_revision)
        with self._lock:
            return self._making.setdefault(key, threading.Lock())

    def _build(self, name: str, corpus: Corpus, report: ProgressCallback) -> PremiseIndex:
        encoder = None if name in LEXICAL else self.encoder(name.removesuffix(SHARED_WORDS))
        with self._premise_lock(corpus, encoder):
            # The lock is free before the task has the index, so the next holder finds it here.
            with self._lock:
                existing = list(self._built)
            index = retriever(name, corpus, encoder=encoder, existing=existing, progress=report)
            with self._lock:
                self._built.add(index)
            return index


def _revision(name: str) -> str | None:
    return None if name in LEXICAL else resolve(name.removesuffix(SHARED_WORDS)).revision


@st.cache_resource(show_spinner=False)
def model_cache() -> ModelCache:
    """Return the process's encoders and indexes."""
    return ModelCache()


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """Return the installation's jobs: one object, which reads each job event once for all sessions."""
    from entail.jobs.jobs import Jobs

    return Jobs()


def retrievers() -> list[str]:
    """Return the available retrievers: the packaged encoder, the lexical ones, those under `models/`."""
    return sorted(retriever_names(), key=lambda name: name != "minilm")


def retriever_label(name: str) -> str:
    """Return the display name of a retriever.

    >>> retriever_label("minilm+bm25")
    'MiniLM (meaning) + keywords'
    >>> retriever_label("tfidf"), retriever_label("org/model@0123456789012345678901234567890123456789")
    ('TF-IDF (keywords)', 'org/model@0123456')
    """
    if name.endswith(SHARED_WORDS):
        return f"{retriever_label(name.removesuffix(SHARED_WORDS))} + keywords"
    hub_id, _, commit = name.partition("@")
    if "/" in hub_id and len(commit) == _COMMIT:
        return f"{hub_id}@{commit[:7]}"
    return _LABELS.get(name, name)


def retriever_name(name: str) -> str:
    """Return the display name without the explanation in brackets, for a sentence.

    >>> retriever_name("minilm+bm25")
    'MiniLM + keywords'
    """
    name_only = retriever_label(name.removesuffix(SHARED_WORDS)).partition(" (")[0]
    return f"{name_only} + keywords" if name.endswith(SHARED_WORDS) else name_only


def revisions() -> dict[str, str | None]:
    """Return the revisions of the available retrievers and scorers, None for lexical ones."""
    from entail.arcf.scoring.scorer import scorer_revisions  # loads SciPy

    try:
        promoted = {pointer.encoder: pointer.revision for pointer in list_pointers() if pointer.encoder}
    except EntailError:  # the field "Ranked by" shows the error
        promoted = {}
    listed = {entry.name: entry.revision for entry in catalogue()}
    listed |= scorer_revisions()
    return dict.fromkeys(LEXICAL) | {name: at for name, at in promoted.items() if "/" in name} | listed


@st.cache_data(show_spinner=False, ttl=60)
def reference_premises(corpus_id: str | None) -> dict[str, dict[str, str]]:
    """Return the premises in a corpus's example trees: folded node text -> folded premise -> premise."""
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
