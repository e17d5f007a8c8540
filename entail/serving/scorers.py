"""Scorers of facts in memory, and corpora prepared for them."""

from __future__ import annotations

import contextvars
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from entail.arcf.chains.chain import NearestSteps, StepScorer, corpus_facts
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scoring.premises import PremiseScorer
from entail.arcf.scoring.scorer import ListedScorer, Scorer, list_scorers, load_scorer
from entail.data.records import Corpus
from entail.errors import UnknownEncoderError
from entail.evaluation.chains import TFIDF, fact_similarities
from entail.registry.models import active_name

MAX_CORPORA = 4
"""Prepared corpora in memory; the least recently used is evicted."""

T = TypeVar("T")


class Scorers:
    """Scorers of facts by name, loaded on first use.

    Attributes:
        thread: Executor of the one thread that calls `prepare` and scores, one request at a time.
    """

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="score")
        self._loaded: dict[str, tuple[str | None, Scorer]] = {}
        self._cache: OrderedDict[Hashable, object] = OrderedDict()

    def available(self) -> dict[str, ListedScorer]:
        """Return the usable scorers under `models/`, by name."""
        return {scorer.name: scorer for scorer in list_scorers() if scorer.problem is None}

    def default(self) -> str:
        """Return the active scorer of chains; falls back to shared words (`tfidf`)."""
        return active_name("chains", list(self.available())) or TFIDF

    def revision(self, name: str) -> str | None:
        """Return the revision of a scorer in memory, else None."""
        loaded = self._loaded.get(name)
        return loaded[1].revision if loaded is not None else None

    def prepare(
        self, name: str, corpus: Corpus, *, k: int, cache: bool
    ) -> tuple[Scorer | None, StepScorer, Neighbourhoods]:
        """Return a scorer (None for `tfidf`), its steps over a corpus, and k neighbours of each fact.

        Raises:
            UnknownEncoderError: If the scorer is not served.
        """
        scorer = None if name == TFIDF else self._scorer(name)
        metric = scorer.form.metric if scorer is not None else TFIDF
        facts = corpus_facts(corpus)
        near = self._cached((corpus.hash, metric), lambda: fact_similarities(facts, metric), cache=cache)
        neighbourhoods = Neighbourhoods(facts, k=k, metric=metric, similarities=near)
        if scorer is None:
            return None, NearestSteps(neighbourhoods), neighbourhoods
        key = (corpus.hash, scorer.revision)
        return scorer, self._cached(key, lambda: PremiseScorer(scorer, facts), cache=cache), neighbourhoods

    def _scorer(self, name: str) -> Scorer:
        listed = self.available()
        if name not in listed:
            names = ", ".join([TFIDF, *listed])
            raise UnknownEncoderError(
                f"no scorer of this name is served; available: {names}. `entail train arcf` makes one"
            )
        revision = listed[name].revision
        loaded = self._loaded.get(name)
        if loaded is None or loaded[0] != revision:
            loaded = self._loaded[name] = (revision, load_scorer(name, precision="auto"))
        return loaded[1]

    def _cached(self, key: Hashable, make: Callable[[], T], *, cache: bool) -> T:
        if not cache:
            return make()
        if key not in self._cache:
            # For all requests, so it does not end with this one: a new context has no check that cancels.
            self._cache[key] = contextvars.Context().run(make)
        self._cache.move_to_end(key)
        while len(self._cache) > 2 * MAX_CORPORA:
            self._cache.popitem(last=False)
        return cast(T, self._cache[key])  # a key always has values of one type
