"""The scorers of facts that a server answers with, each in one copy, and facts made ready for them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from entail.arcf.listing import ListedScorer, list_scorers
from entail.arcf.neighbourhoods import Neighbourhoods
from entail.arcf.scorer import Scorer, load_scorer
from entail.arcf.stepwise import NearestSteps, ScoredSteps, StepScorer, corpus_facts
from entail.data.records import Corpus
from entail.errors import UnknownEncoderError
from entail.evaluation.chains import TFIDF, fact_similarities
from entail.roles import first_in_use
from entail.serving.batching import Call, out_of_time

KEPT = 4
"""Corpora that stay ready for a scorer; the one that was used least recently goes first."""

T = TypeVar("T")


@dataclass(frozen=True)
class Ready:
    """What builds chains over some facts.

    Attributes:
        name: The scorer's, or `tfidf`.
        revision: Of its weights; None where there are none.
        method: `tfidf`, `single-fact` or `arcf`.
        steps: What scores.
        around: What is visible.
    """

    name: str
    revision: str | None
    method: str
    steps: StepScorer
    around: Neighbourhoods


class Scorers:
    """Scorers of facts by name, loaded when first asked for; one request is scored at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scoring = threading.Lock()
        self._loaded: dict[str, tuple[str, Scorer]] = {}
        self._ready: OrderedDict[Hashable, object] = OrderedDict()

    def listed(self) -> dict[str, ListedScorer]:
        """Return the scorers that may be asked for, by name: those under `models/` that can be used."""
        return {one.name: one for one in list_scorers() if one.problem is None}

    def default(self) -> str:
        """Return what scores where nothing is named: the scorer in use for chains, else shared words."""
        chains = [one.name for one in self.listed().values() if one.form.scheme == "arcf"]
        return first_in_use("chains", chains) or TFIDF

    def revision(self, name: str) -> str | None:
        """Return the revision of a scorer that is in memory, else None."""
        held = self._loaded.get(name)
        return held[1].revision if held is not None else None

    def ready(self, name: str, corpus: Corpus, *, k: int, keep: bool) -> Ready:
        """Return what builds chains over a corpus; called while scoring, see `alone`.

        Args:
            name: A scorer's, or `tfidf`.
            corpus: The facts.
            k: Neighbours of each.
            keep: Whether the facts are the installation's, so that what was made of them stays.

        Raises:
            UnknownEncoderError: If no such scorer is served.
        """
        scorer = None if name == TFIDF else self._scorer(name)
        metric = scorer.form.metric if scorer is not None else TFIDF
        facts = corpus_facts(corpus)
        near = self._kept((corpus.hash, metric), lambda: fact_similarities(facts, metric), keep=keep)
        around = Neighbourhoods(facts, k=k, metric=metric, similarities=near)
        if scorer is None:
            return Ready(TFIDF, None, TFIDF, NearestSteps(around), around)
        steps = self._kept((corpus.hash, scorer.revision), lambda: ScoredSteps(scorer, facts), keep=keep)
        return Ready(name, scorer.revision, scorer.form.scheme, steps, around)

    @contextmanager
    def alone(self, call: Call) -> Iterator[None]:
        """Wait until nothing else is scored.

        Raises:
            ServingError: If that takes longer than the request has.
        """
        if not self._scoring.acquire(timeout=max(0.0, call.left)):
            raise out_of_time()
        try:
            yield
        finally:
            self._scoring.release()

    def _scorer(self, name: str) -> Scorer:
        listed = self.listed()
        if name not in listed:
            here = ", ".join([TFIDF, *listed])
            raise UnknownEncoderError(
                f"no scorer of this name is served; here are: {here}. `entail train arcf` makes one"
            )
        stamp = listed[name].stamp
        with self._lock:
            held = self._loaded.get(name)
            if held is None or held[0] != stamp:
                held = self._loaded[name] = (stamp, load_scorer(name, precision="auto"))
            return held[1]

    def _kept(self, place: Hashable, make: Callable[[], T], *, keep: bool) -> T:
        if not keep:
            return make()
        with self._lock:
            if place not in self._ready:
                self._ready[place] = make()
            self._ready.move_to_end(place)
            while len(self._ready) > 2 * KEPT:
                self._ready.popitem(last=False)
            return cast(T, self._ready[place])  # whoever names a place makes one kind of value there
