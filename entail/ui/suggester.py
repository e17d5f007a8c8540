"""What comes next below a node, by a scorer of facts: loaded behind the page, asked in threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import streamlit as st

from entail.arcf.listing import ListedScorer, list_scorers
from entail.errors import EncoderError
from entail.trees.acts import Proposal
from entail.trees.proposals import (
    Basis,
    basis_of,
    chain_candidates,
    departures,
    is_decided,
    not_proposed,
    ordered,
)
from entail.ui.chains_works import SCORING, grounds, held_builder, scorers, take_scorer
from entail.ui.in_use import follow
from entail.ui.resources import WARM_AFTER
from entail.ui.works import Work, Works, failed

if TYPE_CHECKING:
    from entail.arcf.next_premise import Draft
    from entail.arcf.scorer import Scorer
    from entail.arcf.stepwise import Told
    from entail.data.records import Corpus
    from entail.encoders.pairs import Pair
    from entail.index.protocol import Floats
    from entail.progress import ProgressCallback
    from entail.trees.acts import Means
    from entail.trees.suggestions import Candidate
    from entail.trees.tree import Tree

Listing = Literal["retrieved", "next", "draft"]
"""Which list of candidates is shown: what was retrieved, or what a scorer proposes by either means."""

LISTS: Mapping[Listing, str] = {"retrieved": "Retrieved", "next": "Next premise", "draft": "Chain"}

BY_KEY = "proposed_by"
"""Key of the field, and so of the choice in the session."""

POOL = 60
"""Candidates that are ordered by how well they go on, and neighbours of each sentence of a chain."""

WAIT = 0.15
"""Seconds that a page waits for proposals before it says that they are in the making."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Offer:
    """What a scorer proposes for a node in one run of the page.

    Attributes:
        means: How.
        work: What it is made by; None where no chain was asked for.
        ask: Asks for the same again, and begins it where that was not possible before.
        candidates: The proposals, best or first in the chain first; empty while they are in the making.
        proposal: What the log keeps of how they came about.
        told: Of `next`: the scores.
        draft: Of `draft`: the chain.
        departed: Of `draft`: in what the tree is no longer what it was drafted for.
        waiting: Proposals that are not decided.
    """

    means: Means
    work: Work[Told] | Work[Draft] | None = None
    ask: Callable[[], Work[Told] | Work[Draft]] | None = field(default=None, repr=False)
    candidates: tuple[Candidate, ...] = ()
    proposal: Proposal | None = None
    told: Told | None = None
    draft: Draft | None = None
    departed: tuple[str, ...] = ()
    waiting: int = 0


@dataclass(frozen=True)
class Suggester:
    """A scorer of facts in one run of the page.

    Attributes:
        listed: The scorer.
        names: Those that can be picked, what is usual first.
        works: What was loaded.
        asked: What was asked of it.
        scorers: As `entail.ui.chains_works` keeps them.
        grounds: As `entail.ui.chains_works` keeps them.
    """

    listed: ListedScorer
    works: Works = field(repr=False)
    asked: Works = field(repr=False)
    scorers: Works = field(repr=False)
    grounds: Works = field(repr=False)
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The scorer's."""
        return self.listed.name

    @property
    def scorer(self) -> Scorer | None:
        """The scorer, where it is in memory."""
        loading = self.works.look(self._place)
        return cast("Scorer | None", loading.value) if loading is not None else None

    def begin(self) -> None:
        """Begin, once a process, to load the scorer behind the page.

        Called when a page is drawn, not before: it would hold up the first drawing.
        """
        if self.works.look(self._place) is None:
            self.works.take(self._place, self._load, wait=0)

    def again(self) -> None:
        """Forget what failed, so that it is tried again."""
        for works in (self.works, self.asked, self.scorers, self.grounds):
            works.drop_failed()

    def next(self, basis: Basis, candidates: Sequence[str], *, wait: float = 0) -> Work[Told]:
        """Return how well each candidate goes on from what was accepted, in the making where it is not known.

        Until `begin` is through, nothing is begun here.
        """

        def make(scorer: Scorer, report: ProgressCallback) -> Told:
            from entail.arcf.next_premise import score_next

            with SCORING:
                return score_next(scorer, basis.sentence, basis.accepted, candidates)

        return self._ask(("next", basis.sentence, basis.accepted, tuple(candidates)), make, wait=wait)

    def draft(self, basis: Basis, corpus: Corpus, *, wait: float = 0) -> Work[Draft]:
        """Return a chain that goes on from what was accepted, in the making where it is not known."""

        def make(scorer: Scorer, report: ProgressCallback) -> Draft:
            from entail.arcf.next_premise import draft_chain
            from entail.arcf.stepwise import ScoredSteps, corpus_facts

            builder = held_builder(corpus_facts(corpus), scorer, k=POOL, works=self.grounds)

            def score(pairs: Sequence[Pair]) -> Floats:
                with SCORING:  # a step at a time: others have their turn between
                    return scorer.pairs.score(pairs)

            return draft_chain(
                basis.sentence,
                basis.accepted,
                cast(ScoredSteps, builder.steps),
                builder.around,
                never=not_proposed(basis, corpus),
                score=score,
                progress=report,
            )

        return self._ask(("draft", basis, corpus.hash), make, wait=wait)

    def offer_next(self, tree: Tree, node_id: str, pool: Sequence[Candidate], *, among: str) -> Offer:
        """Return the candidates of a retriever in the order in which they go on best.

        Args:
            tree: The tree.
            node_id: The node.
            pool: The retriever's best that do not stand below the node.
            among: The retriever's revision.
        """
        basis, texts = basis_of(tree, node_id), [candidate.premise.text for candidate in pool]
        work = self.next(basis, texts, wait=WAIT)
        offer = Offer("next", work, lambda: self.next(basis, texts))
        if work.value is None:
            return offer
        found = ordered(pool, work.value.scores)
        made = Proposal(means="next", after=basis.after, k=len(pool), among=among)
        return replace(offer, candidates=found, proposal=made, told=work.value)

    def offer_draft(self, tree: Tree, node_id: str, corpus: Corpus, basis: Basis | None) -> Offer:
        """Return the chain that was asked for at a node, with what became of its premises since.

        Args:
            tree: The tree.
            node_id: The node.
            corpus: Its corpus.
            basis: What the chain rests on; None where none was asked for.
        """
        if basis is None:
            return Offer("draft")
        work = self.draft(basis, corpus, wait=WAIT)
        offer = Offer("draft", work, lambda: self.draft(basis, corpus))
        if work.value is None:
            return offer
        chain = chain_candidates(tree, node_id, corpus, work.value.facts, work.value.scores)
        return replace(
            offer,
            candidates=chain,
            proposal=Proposal(means="draft", after=basis.after, k=POOL),
            draft=work.value,
            departed=departures(basis, tree, node_id, chain),
            waiting=sum(not is_decided(candidate, tree, node_id) for candidate in chain),
        )

    @property
    def _place(self) -> tuple[str, str, str]:
        return ("suggester", self.listed.name, self.listed.stamp)

    def _ask(
        self, what: Hashable, make: Callable[[Scorer, ProgressCallback], _Value], *, wait: float
    ) -> Work[_Value]:
        loading = self.works.look(self._place)
        if loading is None or not loading.done.is_set():
            return Work()
        if loading.value is None:
            return failed(loading.error or EncoderError(f"{self.name} could not be loaded"))
        scorer = cast("Scorer", loading.value)
        place = (scorer.revision, what)
        before = self.asked.look(place)
        if before is not None and before.error is not None:
            return failed(before.error)  # what failed is tried again when the author says so
        return self.asked.take(place, lambda report: make(scorer, report), wait=wait)

    def _load(self, report: ProgressCallback) -> Scorer:
        from entail.arcf.next_premise import score_next

        time.sleep(WARM_AFTER)
        work = take_scorer(self.listed, works=self.scorers, wait=0)
        work.done.wait()
        if work.value is None:
            raise work.error or EncoderError(f"{self.name} could not be loaded")
        with SCORING:
            score_next(work.value, "a text", (), ["another"])  # the first takes longer than those after it
        return work.value


def suggester() -> Suggester | None:
    """Return the scorer that proposes, as this session's author chose; None where none can.

    One that learnt on single facts cannot: it does not see what was accepted. Shared words would propose what
    looks like the sentence, which is what retrieval is for.
    """
    usable = {one.name: one for one in list_scorers() if one.problem is None and one.form.scheme == "arcf"}
    if not usable:
        return None
    usual = follow("chains", BY_KEY, usable)
    by = st.session_state.get(BY_KEY)
    if by is not None and by not in usable:  # it is gone, and no field can stand at it
        del st.session_state[BY_KEY]
        by = None
    names = sorted(usable, key=lambda name: name != usual)
    return Suggester(usable[by or names[0]], _loaded(), _asked(), scorers(), grounds(), tuple(names))


@st.cache_resource(show_spinner=False)
def _loaded() -> Works:
    return Works(3, failure="the scorer could not be loaded")


@st.cache_resource(show_spinner=False)
def _asked() -> Works:
    return Works(256, failure="the proposals could not be made")
