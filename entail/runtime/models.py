"""Encoders, judges, re-rankers and indexes in the memory of a process, each loaded once."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakSet

from entail.answering.reader import Reader
from entail.answering.reader import load_reader as read_reader
from entail.data.records import Corpus
from entail.encoders.catalogue import EncoderEntry, Tower, model_folder, resolve
from entail.encoders.cross.reranker import Reranker
from entail.encoders.device import give_back_memory
from entail.encoders.encoder import BiEncoder, Floats
from entail.encoders.gaussian.distributions import EncodesGaussians
from entail.encoders.gaussian.encoder import GaussianEncoder
from entail.encoders.towers import Towers
from entail.errors import EncoderError, EntailError
from entail.index.factory import LEXICAL, retriever
from entail.index.gaussian import Direction, GaussianIndex
from entail.index.protocol import PremiseIndex
from entail.judge.judges import NliJudge
from entail.judge.steps import StepVerifier
from entail.memory import CACHE, Cache, size_in_bytes
from entail.progress import ProgressCallback
from entail.runtime.batching import Batcher, Lane, current_call, source
from entail.runtime.tasks import Task, TaskGroup, failed, finish

SHARED_WORDS = "+bm25"
"""Suffix of an encoder's name for a hybrid with BM25, as in `entail.index.factory`."""

WARM_AFTER = 0.3
"""Seconds before an encoder is loaded in the background, so that the browser can draw first."""

VERSION_SECONDS = 600
"""Seconds without use after which an index is freed that another version of its corpus has replaced."""

INDEXES = TaskGroup("indexes", failure="the index could not be built")
"""Indexes by retriever, its revision, corpus content, and direction of an index of Gaussians."""

CROSS = TaskGroup("cross-encoders", failure="the model could not be loaded")
"""Judges, re-rankers and readers by name and revision."""


class SharedEncoder(BiEncoder):
    """The process's copy of an encoder, which encodes texts of several requests over HTTP together.

    Pages and the construction of an index bypass its queue, one forward pass at a time. `since` and `used`
    are the times at which its weights were loaded and last used, in seconds since 1970; `size_bytes` is the
    size of its weights, 0 until then.
    """

    def __init__(self, encoder: str | EncoderEntry) -> None:
        super().__init__(encoder)
        self.batcher: Batcher[Lane, Floats] = Batcher(self.name)
        self.since = self.used = 0.0
        self.size_bytes = 0

    def encode(
        self,
        texts: Sequence[str],
        tower: Tower,
        *,
        normalised: bool = True,
        progress: ProgressCallback | None = None,
    ) -> Floats:
        """Return vectors, shape (texts, d); see `BiEncoder.encode`."""
        call, lane = current_call.get(None), Lane(tower, normalised)
        if call is None or not texts:
            from entail.runtime.metrics import BATCHES

            BATCHES.labels(self.name, source.get()).observe(len(texts))
            return self.encode_now(texts, lane, progress=progress)
        return call.result(self.batcher.submit(texts, lane, self.encode_now))

    def encode_now(
        self, texts: Sequence[str], lane: Lane, *, progress: ProgressCallback | None = None
    ) -> Floats:
        """Return vectors without waiting for other requests."""
        return super().encode(texts, lane.tower, normalised=lane.normalised, progress=progress)

    def _loaded(self) -> Towers:
        towers = super()._loaded()
        self.used = time.time()
        self.since = self.since or self.used
        self.size_bytes = self.size_bytes or size_in_bytes(towers)
        return towers


class ModelCache:
    """Encoders in memory, and indexes keyed by retriever, revision and corpus content.

    An index is built once, in a thread of its own, and kept in the process's task cache. That of another
    version of a corpus is made from it at once, and shares its vectors.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoders: Cache[str, SharedEncoder] = Cache("encoders")
        self._making: dict[tuple[str, str], threading.Lock] = {}
        self._built: WeakSet[PremiseIndex] = WeakSet()
        self._warmed: set[str] = set()
        self._corpora: dict[str, str] = {}

    def get_or_start(
        self, name: str, corpus: Corpus, *, direction: Direction = "entailing", wait: float = 1.0
    ) -> Task[PremiseIndex]:
        """Return the task that builds a corpus's index, and wait up to `wait` seconds for it.

        Only an index of Gaussians has a direction.
        """
        try:
            revision = model_revision(name)
        except EncoderError as error:
            return failed(error)
        return INDEXES.get_or_start(
            (name, revision, corpus.hash, direction),
            lambda report: self._build(name, corpus, direction, report),
            wait=wait,
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

    def encoder(self, name: str) -> SharedEncoder:
        """Return the process's copy of an encoder, renewed when its revision changes.

        Raises:
            EncoderError: If there is no encoder of this name.
        """
        entry = resolve(name)
        with self._lock:
            encoder = self._encoders.get(name)
            if encoder is None or encoder.entry.revision != entry.revision:
                encoder = SharedEncoder(entry)
                self._encoders.put(name, encoder, size=0)
            return encoder

    @property
    def encoders(self) -> list[SharedEncoder]:
        """Encoders whose weights are in memory."""
        return [encoder for _, encoder in self._encoders.items() if encoder.loaded]

    def corpus_name(self, corpus_hash: str) -> str:
        """Return the name of a corpus that has an index."""
        return self._corpora.get(corpus_hash, "")

    def loaded(self, name: str) -> SharedEncoder | None:
        """Return an encoder whose weights are in memory, None if they are not."""
        encoder = self._encoders.get(name)
        return encoder if encoder is not None and encoder.loaded else None

    def cancel(self, corpus_hash: str) -> None:
        """Stop building the indexes of a corpus."""
        for key, task in INDEXES.tasks().items():
            if isinstance(key, tuple) and key[2] == corpus_hash and not task.done.is_set():
                task.cancelled.set()

    def release(self, name: str) -> None:
        """Free a model and all values in memory that were made by it; the next use loads it again."""
        with CACHE.lock:
            for key, entry in list(CACHE.entries.items()):
                if entry.is_evictable and _mentions(key[1], name):
                    del CACHE.entries[key]
        gc.collect()
        give_back_memory()

    def build(
        self,
        name: str,
        corpus: Corpus,
        *,
        cached: bool = True,
        existing: Sequence[PremiseIndex] = (),
        progress: ProgressCallback | None = None,
    ) -> PremiseIndex:
        """Return an index by the process's copy of its encoder; see `entail.index.factory.retriever`."""
        encoder: SharedEncoder | EncodesGaussians | None = self._encoder_of(name)
        if isinstance(encoder, SharedEncoder) and encoder.entry.gaussian is not None:
            encoder = GaussianEncoder(encoder)
        return retriever(name, corpus, encoder=encoder, existing=existing, cached=cached, progress=progress)

    def _encoder_of(self, retriever: str) -> SharedEncoder | None:
        return None if retriever in LEXICAL else self.encoder(retriever.partition("+")[0])

    def _premise_lock(
        self, corpus: Corpus, encoder: BiEncoder | None
    ) -> contextlib.AbstractContextManager[object]:
        """Return the lock of a premise tower: a second encoder on it reuses the first one's vectors."""
        if encoder is None:
            return contextlib.nullcontext()
        key = (corpus.hash, encoder.premise_revision)
        with self._lock:
            return self._making.setdefault(key, threading.Lock())

    def _build(
        self, name: str, corpus: Corpus, direction: Direction, report: ProgressCallback
    ) -> PremiseIndex:
        with self._premise_lock(corpus, self._encoder_of(name)):
            # The lock is free before the task has the index, so the next holder finds it here.
            with self._lock:
                existing = list(self._built)
            index = self.build(name, corpus, existing=existing, progress=report)
            if isinstance(index, GaussianIndex):
                index.prepare(direction, progress=report)
            with self._lock:
                self._built.add(index)
                self._corpora[corpus.hash] = corpus.name
            self._release_versions(corpus)
            return index

    def _release_versions(self, corpus: Corpus) -> None:
        """Free the indexes of other versions of a corpus that are no longer used."""
        with self._lock:
            versions = {key for key, name in self._corpora.items() if name == corpus.name} - {corpus.hash}
        INDEXES.drop(
            *(
                key
                for key, task in INDEXES.tasks().items()
                if isinstance(key, tuple)
                and key[2] in versions
                and task.done.is_set()
                and time.time() - task.used > VERSION_SECONDS
            )
        )


def _mentions(key: object, name: str) -> bool:
    """Return whether a key of the cache has a model by its name, its revision, or as part of a retriever."""
    if isinstance(key, tuple):
        return any(_mentions(part, name) for part in key)
    return isinstance(key, str) and (key == name or key.startswith((f"{name}+", f"{name}@")))


def model_revision(name: str) -> str | None:
    """Return the revision of a retriever's weights, None for lexical ones.

    Raises:
        EncoderError: If there is no encoder of this name.
    """
    return None if name in LEXICAL else resolve(name.partition("+")[0]).revision


@functools.cache
def model_cache() -> ModelCache:
    """Return the process's encoders and indexes."""
    return ModelCache()


def load_reranker(name: str, revision: str) -> Reranker:
    """Return the process's copy of a re-ranker, loaded at the first call of its revision.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    return finish(CROSS.get_or_start(("reranker", name, revision), lambda _: Reranker(name), wait=0))


def load_judge(name: str) -> NliJudge:
    """Return the process's copy of a cross-encoder by name, folder or Hub id, loaded at the first call.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    return finish(CROSS.get_or_start(("judge", name, judge_stamp(name)), lambda _: NliJudge(name), wait=0))


def load_verifier(name: str) -> StepVerifier:
    """Return the process's copy of a check of steps by name, loaded at the first call.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    return finish(
        CROSS.get_or_start(("steps", name, judge_stamp(name)), lambda _: StepVerifier(name), wait=0)
    )


def load_reader(name: str) -> Reader:
    """Return the process's copy of a reader under `models/`, loaded at the first call.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    return finish(
        CROSS.get_or_start(("reader", name, judge_stamp(name)), lambda _: read_reader(name), wait=0)
    )


def judge_stamp(name: str) -> int:
    """Return a stamp that changes when a judge or reader under `models/` is replaced; 0 for others."""
    try:
        return ((model_folder(name) or Path(name)) / "entail.json").stat().st_mtime_ns
    except (OSError, ValueError):
        return 0
