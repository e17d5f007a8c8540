"""Models of the Trees page: its retriever, and those loaded behind it to check, re-rank and propose."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st

from entail.arcf.scoring.scorer import list_scorers
from entail.data.records import Corpus
from entail.encoders.catalogue import PACKAGED
from entail.errors import EntailError
from entail.index.factory import LEXICAL
from entail.index.factory import rerank as read_again
from entail.index.protocol import PremiseIndex
from entail.judge.steps import State, StepVerdict, list_verifiers
from entail.progress import ProgressCallback
from entail.registry.models import Active, active, active_name
from entail.registry.roles import list_usable
from entail.runtime.chains import GROUNDS, SCORERS, SCORING, take_builder, take_scorer
from entail.runtime.models import (
    SHARED_WORDS,
    judge_stamp,
    load_reranker,
    load_verifier,
    model_cache,
)
from entail.runtime.tasks import Task, TaskGroup, failed, finish
from entail.trees.log.acts import Proposal
from entail.trees.review.suggestions import (
    Basis,
    Candidate,
    candidates_of,
    excluded_positions,
    rerank,
)
from entail.ui.shared.resources import retrievers
from entail.ui.shared.text import certainty

if TYPE_CHECKING:
    from entail.arcf.chains.next_premise import Draft
    from entail.arcf.scoring.premises import PremiseScorer, StepScores
    from entail.arcf.scoring.scorer import Scorer
    from entail.encoders.cross.reranker import Reranker
    from entail.index.protocol import Floats
    from entail.trees.log.acts import Means
    from entail.trees.log.tree import Node, Tree

_Value = TypeVar("_Value")

Step = tuple[tuple[str, ...], str]
"""Premises and conclusion."""

ACTIVE = "@active"
"""Choice of the active retriever; not a valid name of an encoder."""

RETRIEVER_KEY, KEYWORDS_KEY, RERANKS_KEY = "retriever", "shared_words", "reranks"
"""Widget keys of the choice of a retriever, and of the switches of keyword match and re-ranking."""

POOL = 60
"""Candidates to re-rank as next premises, and neighbours of each sentence of a chain."""

LARGE = 20_000
"""Premises that take a minute to encode, so that keywords rank first."""

SOON = 0.05
"""Seconds that a page waits for a verdict before it is drawn without it."""

JUDGE_AFTER = 1.5
"""Seconds after its first step before the judge is loaded."""

WAIT = 0.15
"""Seconds that a page waits for proposals before it shows progress."""

_VERDICTS = TaskGroup("verdicts", failure="the entailment could not be checked")

_CHECKING = threading.Lock()
"""Held by the check of a step: one after the other, as they share the cores."""

_RERANKERS = TaskGroup("re-rankers", failure="the re-ranker could not be loaded")
_PROPOSALS = TaskGroup("proposals", failure="the proposals could not be made")


@dataclass(frozen=True)
class Ranking:
    """Retriever that ranks the candidates: the corpus's active one, or another one chosen by hand.

    The active one follows every promotion and rollback at the next run of the page; a choice by hand stays.

    Attributes:
        choice: `ACTIVE`, or the name of a retriever.
        active: Retriever active when the page was drawn; None if another one was chosen, or on errors.
        problem: Reason why the active encoder cannot rank.
        keywords: Whether an encoder is combined with keyword match.
    """

    choice: str = ACTIVE
    corpus: str | None = None
    active: Active | None = None
    problem: EntailError | None = None
    keywords: bool = False

    @property
    def base(self) -> str:
        """Name of the retriever without keyword match."""
        return self.active.encoder if self.active is not None else self.choice

    @property
    def name(self) -> str:
        """Name of the retriever."""
        return f"{self.base}{SHARED_WORDS}" if self.keywords and self.base not in LEXICAL else self.base

    @property
    def encoder(self) -> str:
        """Encoder that a typed query needs; the packaged one if none does."""
        return PACKAGED if self.base in LEXICAL or self.problem is not None else self.base

    @property
    def is_outdated(self) -> bool:
        """Whether another retriever has become active.

        Raises:
            PromotionError: If the registry cannot be read.
        """
        return self.active is not None and self.active != active(self.corpus)

    def get_or_start(self, corpus: Corpus) -> Task[PremiseIndex]:
        """Return the task that builds the index of a corpus."""
        if self.problem is not None:
            return failed(self.problem)
        return model_cache().get_or_start(self.name, corpus)


def keyword_index(corpus: Corpus, encoding: Task[PremiseIndex]) -> PremiseIndex | None:
    """Return the index by keywords that serves while premises are encoded; None before it is built.

    Over a large corpus it is built first, over others only once premises are being encoded.
    """
    if encoding.value is not None or (encoding.progress is None and len(corpus) < LARGE):
        return None
    return model_cache().get_or_start("bm25", corpus, wait=0).value


def selected_retriever() -> str:
    """Return the session's choice; `ACTIVE` if there is none or the retriever was removed."""
    choice = str(st.session_state.get(RETRIEVER_KEY, ACTIVE))
    return choice if choice in retrievers() else ACTIVE


def ranking_of(choice: str, corpus: str | None, *, keywords: bool = False) -> Ranking:
    """Return the ranking of a corpus; its `problem` says if the active encoder cannot be used."""
    if choice != ACTIVE:
        return Ranking(choice, corpus, keywords=keywords)
    now, problem = None, None
    try:
        now = active(corpus)
        now.check()
    except EntailError as error:
        problem = error
    return Ranking(choice, corpus, now, problem, keywords)


@lru_cache
def _wait_for_page(judge: str) -> None:
    """Wait before a judge is first loaded, which would hold up the first page of a fresh server."""
    time.sleep(JUDGE_AFTER)


@dataclass(frozen=True)
class StepCheck:
    """Check of steps behind the page; its model is loaded by the first of them."""

    name: str
    stamp: int

    def start(self, step: Step, *, wait: float = 0) -> Task[StepVerdict]:
        """Return the task of the verdict on a step, which is checked once."""

        def make(_: ProgressCallback) -> StepVerdict:
            _wait_for_page(self.name)
            with _CHECKING:
                return load_verifier(self.name).check([step])[0]

        return _VERDICTS.get_or_start((self, step), make, wait=wait, retry=False)

    def start_all(self, tree: Tree) -> dict[str, Task[StepVerdict]]:
        """Return the tasks of all steps of a tree by the node of the conclusion."""
        return {node.id: self.start(step_of(tree, node)) for node in tree.walk() if node.children}


def current_check() -> StepCheck | None:
    """Return the active check; None if none is installed."""
    name = active_name("steps", list_verifiers())
    return StepCheck(name, judge_stamp(name)) if name else None


def step_of(tree: Tree, node: Node) -> Step:
    """Return the premises of a node, and its text."""
    return tuple(tree.nodes[child].text for child in node.children), node.text


_STATES: Mapping[State, str] = {
    "holds": "The premises explain it",
    "not yet": "The premises do not explain it yet",
    "cannot tell": "The check cannot tell whether the premises explain it",
}


def describe_step(verdict: StepVerdict) -> str:
    """Return whether a step holds; the per cent are rounded down, as a limit of 90% would else seem reached.

    >>> describe_step(StepVerdict(0.899, "cannot tell"))
    'The check cannot tell whether the premises explain it (89%)'
    """
    share = verdict.probability
    if 0.01 <= share < 0.99:
        share = floor(100 * share) / 100
    return f"{_STATES[verdict.state]} ({certainty(share)})"


def explain_step(verdict: StepVerdict, premises: Sequence[str]) -> list[str]:
    """Return what a step lacks: words of the conclusion that no premise has, and premises that add nothing.

    >>> explain_step(StepVerdict(0.12, "not yet", missing=("sun",), idle=(1,)), ["ice melts", "it rains"])
    ['No premise says: sun', 'Adds nothing: it rains']
    """
    missing = [f"No premise says: {', '.join(verdict.missing)}"] if verdict.missing else []
    return [*missing, *(f"Adds nothing: {premises[at]}" for at in verdict.idle)]


class CachedReranker:
    """Re-ranker that reads each list once: a page searches again with each act and each key."""

    def __init__(self, reranker: Reranker) -> None:
        self.name, self.revision, self.form = reranker.name, reranker.revision, reranker.form
        self._read = lru_cache(maxsize=256)(reranker.score)

    def score(self, query: str, premises: Sequence[str]) -> Floats:
        """Return how much each premise explains a query."""
        return self._read(query, tuple(premises))


def current_reranker() -> tuple[str, str] | None:
    """Return name and revision of the active re-ranker if this session's author switched it on."""
    usable = list_usable("reranker") if st.session_state.get(RERANKS_KEY) else {}
    name = active_name("reranker", usable)
    return (name, usable[name]) if name is not None else None


def rerank_index(index: PremiseIndex, corpus: Corpus, reranker: tuple[str, str]) -> PremiseIndex:
    """Return an index whose nearest premises a re-ranker reads again.

    Raises:
        EncoderError: If it cannot be loaded.
    """
    loading = _RERANKERS.get_or_start(reranker, lambda _: CachedReranker(load_reranker(*reranker)), wait=0)
    return read_again(index, corpus, cast("Reranker", finish(loading)))


@dataclass(frozen=True)
class Offer:
    """Proposals of a scorer for a node in one run of the page.

    Attributes:
        task: Task of the scores of `next` or the chain of `draft`; None if no chain was requested.
        candidates: Proposals, the best or the first of the chain first; empty while they are computed.
        proposal: Record of their origin for the log.
    """

    means: Means
    task: Task[Any] | None = None
    candidates: tuple[Candidate, ...] = ()
    proposal: Proposal | None = None


@dataclass(frozen=True)
class Suggester:
    """Scorer of chains behind the page, loaded by its first task; a failed one starts again after `retry`."""

    name: str
    revision: str | None

    def start(self, key: Hashable, make: Callable[[Scorer, ProgressCallback], _Value]) -> Task[_Value]:
        """Return a task that needs the scorer."""

        def run(report: ProgressCallback) -> _Value:
            return make(finish(take_scorer(self.name, self.revision, wait=0)), report)

        return _PROPOSALS.get_or_start((self, key), run, wait=WAIT, retry=False)

    def retry(self) -> None:
        """Drop the failed tasks, so that they start again."""
        for group in (_PROPOSALS, SCORERS, GROUNDS):
            group.drop_failed()

    def offer_next(self, basis: Basis, pool: Sequence[Candidate], *, among: str) -> Offer:
        """Return candidates of a retriever of this revision, re-ranked as next premises of a node."""
        from entail.arcf.chains.next_premise import score_next

        texts = [candidate.premise.text for candidate in pool]

        def make(scorer: Scorer, _: ProgressCallback) -> StepScores:
            with SCORING:
                return score_next(scorer, basis.sentence, basis.accepted, texts)

        task = self.start(("next", basis.sentence, basis.accepted, *texts), make)
        if task.value is None:
            return Offer("next", task)
        proposal = Proposal(means="next", after=basis.after, k=len(pool), among=among)
        return Offer("next", task, rerank(pool, task.value.scores), proposal)

    def offer_draft(self, tree: Tree, node_id: str, corpus: Corpus, basis: Basis | None) -> Offer:
        """Return the chain drafted for a node on a basis, if one was requested, as the tree judges it now."""
        from entail.arcf.chains.chain import corpus_facts
        from entail.arcf.chains.next_premise import draft_chain

        if basis is None:
            return Offer("draft")

        def make(scorer: Scorer, report: ProgressCallback) -> Draft:
            builder = finish(take_builder(corpus_facts(corpus), scorer, k=POOL, wait=0))
            return draft_chain(
                basis.sentence,
                basis.accepted,
                cast("PremiseScorer", builder.steps),
                builder.around,
                never=excluded_positions(basis, corpus),
                lock=SCORING,  # one step at a time, so that other tasks are served in between
                progress=report,
            )

        task = self.start(("draft", basis, corpus.hash), make)
        if task.value is None:
            return Offer("draft", task)
        facts = [corpus.premises[fact] for fact in task.value.facts]
        chain = candidates_of(tree, node_id, list(zip(facts, task.value.scores, strict=True)))
        return Offer("draft", task, chain, Proposal(means="draft", after=basis.after, k=POOL))


def current_suggester() -> Suggester | None:
    """Return the active scorer of chains; None if none is available."""
    usable = {scorer.name: scorer for scorer in list_scorers() if scorer.problem is None}
    name = active_name("chains", usable)
    return Suggester(name, usable[name].revision) if name is not None else None
