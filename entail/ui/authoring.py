"""Puts together what the authoring screen shows: tree, corpus, index, candidates, presses of keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import streamlit as st

from entail.data.records import Corpus
from entail.errors import EntailError
from entail.index.protocol import PremiseIndex
from entail.trees.acts import Evidence
from entail.trees.log import TreeSummary
from entail.trees.proposals import basis_of, proposal_evidence, still_open
from entail.trees.suggestions import Candidate, evidence_of, suggest
from entail.trees.tree import ROOT, Tree
from entail.ui.author import Visitor, visitor
from entail.ui.commands import LISTENED, PAGE, command_for
from entail.ui.direction_arrows import POOL, Pointer, pointer
from entail.ui.keyboard import KeyPress, listen
from entail.ui.ranked_by import Ranking, ranking_of
from entail.ui.resources import Workspace
from entail.ui.screen import Desk, Screen, screen_of
from entail.ui.suggester import POOL as NEXT_POOL
from entail.ui.suggester import Offer, Suggester, suggester
from entail.ui.words import label
from entail.ui.works import Work


@dataclass(frozen=True)
class Place:
    """One tree in one tab, with the corpus and the index that its candidates come from."""

    shared: Workspace
    summary: TreeSummary
    corpus: Corpus
    corpus_version: int
    building: Work[PremiseIndex]
    screen: Screen
    visitor: Visitor
    ranking: Ranking = field(default_factory=Ranking)
    pointer: Pointer | None = None
    suggester: Suggester | None = None

    @cached_property
    def index(self) -> PremiseIndex | None:
        """The index, None if it was still built when the place was taken: one answer for a whole run."""
        return self.building.value


def take_place(shared: Workspace, tree_id: str, choice: str, *, words: bool = False) -> Place:
    """Return the place at a tree, its index taken from the shelf.

    Args:
        shared: The stores.
        tree_id: The tree.
        choice: A retriever, or `ACTIVE` for what is active for the tree's corpus.
        words: Whether shared words count beside an encoder.
    """
    summary = shared.log.summary(tree_id)
    if summary.corpus_id is None:
        corpus, version, ranking = Corpus("none", ()), 0, ranking_of(choice, None, words=words)
    else:
        info = shared.corpora.info(summary.corpus_id)
        corpus, version = shared.corpora.corpus(info.id, version=info.version), info.version
        ranking = ranking_of(choice, info.name, words=words)
    building = ranking.take(corpus) if len(corpus) else Work[PremiseIndex]()
    screen = screen_of(tree_id)
    proposing = suggester() if len(corpus) else None
    return Place(shared, summary, corpus, version, building, screen, visitor(), ranking, pointer(), proposing)


def take_seat(place: Place) -> Desk:
    """Return the desk as it is now, and listen to the keys from here on."""
    with st.spinner("Looking for premises …", show_time=True):
        desk = set_desk(place)
    listen(keys=LISTENED, key="keyboard", stamp=stamp(desk), on_press=lambda press: take_press(place, press))
    return desk


def take_press(place: Place, press: KeyPress) -> None:
    """Do what a key says.

    Called before a run of the page, never within one: a run can be cut short, and a press would be lost.
    """
    try:
        desk = set_desk(place)
    except EntailError as error:
        place.screen.notice = ("error", str(error))
        return
    if (press.key[-1].isdigit() or press.key == "f") and press.stamp != stamp(desk):
        # It was meant for what stood there then: a digit may be another premise now, and finish would reject
        # candidates that its author has not seen.
        desk.screen.notice = ("stale", f"Key {press.key}: the list changed meanwhile, so nothing was done.")
        return
    screen, tree = desk.screen, desk.history.tree
    command = command_for(
        press.key, tree=tree, selected=screen.selected, shown=desk.shown, collapsed=screen.collapsed
    )
    if command is None:
        return
    if command.verb == "select":  # who goes into a collapsed node wants to see where
        screen.collapsed -= {node.id for node in tree.ancestors(command.target)}
    desk.run(command)


def stamp(desk: Desk) -> str:
    """Return what identifies the list of candidates on the screen."""
    screen = desk.screen
    shown = ",".join(candidate.premise.key for candidate in desk.shown)
    means = f" {desk.offer.means}" if desk.offer is not None else ""
    return f"{screen.tree_id} {screen.selected}{means} {shown}"


def set_desk(place: Place) -> Desk:
    """Return the desk as it is now: the newest version of the tree, the candidates of the selected node."""
    screen = place.screen
    history = place.shared.log.history(place.summary.id)
    if screen.seen == 0:
        screen.seen = history.seq
    if screen.selected not in history.tree.nodes:
        screen.select(ROOT)
    listed = _Listed()
    try:
        if place.suggester is not None and screen.listing != "retrieved":
            listed = _proposed(place, place.suggester, history.tree)
        elif place.index is not None and len(place.corpus):
            listed = _retrieved(place, place.index, history.tree)
    except EntailError as error:  # the first typed query finds out whether the encoder can be loaded
        screen.notice = ("error", str(error))
    shown = listed.looked_at[screen.page * PAGE : (screen.page + 1) * PAGE]
    return Desk(
        place.shared.log,
        place.visitor,
        screen,
        history,
        shown,
        listed.looked_at,
        listed.evidence,
        listed.pool,
        listed.offered,
        listed.offer,
        place.suggester is not None,
    )


@dataclass(frozen=True)
class _Listed:
    """The list of the selected node: what of it was looked at, and what a judgement rests on; see `Desk`."""

    looked_at: tuple[Candidate, ...] = ()
    evidence: Evidence | None = None
    pool: tuple[Candidate, ...] = ()
    offered: int | None = None
    offer: Offer | None = None


def _retrieved(place: Place, index: PremiseIndex, tree: Tree) -> _Listed:
    screen, pool = place.screen, tuple[Candidate, ...]()
    offered: int | None = None
    arrows = place.pointer if place.pointer is not None and not place.pointer.asked.is_plain else None
    revision = index.manifest.revision
    screen.rank_by(f"{revision}, {arrows.asked}" if arrows is not None else revision)
    node, k = tree.node(screen.selected), (screen.furthest + 1) * PAGE
    looked_at = suggest(
        tree,
        screen.selected,
        place.corpus,
        index,
        k=POOL if arrows is not None else k,
        query=screen.query,
    )
    if arrows is not None:
        # Nothing is shown until it is known what: finish rejects what was on the screen.
        pool, picked = looked_at, arrows.listed(node.text, looked_at)
        offered, looked_at = (None, ()) if picked is None else (len(picked), tuple(picked[:k]))
    evidence = evidence_of(
        looked_at,
        index,
        corpus_version=place.corpus_version,
        query=screen.query or node.text,
        own_words=screen.query is not None,
    )
    return _Listed(looked_at, evidence, pool, offered)


def _proposed(place: Place, suggester: Suggester, tree: Tree) -> _Listed:
    """Return what a scorer proposes; nothing while it is in the making, as with arrows."""
    screen, node_id = place.screen, place.screen.selected
    basis = basis_of(tree, node_id)
    if screen.listing == "draft":
        drafted = screen.drafts.get(node_id)
        screen.rank_by(f"{suggester.listed}, {drafted}")
        offer = suggester.offer_draft(tree, node_id, place.corpus, drafted)
    elif place.index is None:
        return _Listed()
    else:
        among = place.index.manifest.revision
        # What is accepted makes another list: what was looked at of the one before was not of this one.
        screen.rank_by(f"{suggester.listed}, {among}, {basis.after}")
        count = NEXT_POOL + len(basis.accepted)
        pool = suggest(tree, node_id, place.corpus, place.index, k=count, query=screen.query)
        pool = still_open(pool, tree, node_id, k=NEXT_POOL)
        offer = suggester.offer_next(tree, node_id, pool, among=among)
    looked_at = offer.candidates[: (screen.furthest + 1) * PAGE]
    scorer = suggester.scorer
    if offer.proposal is None or scorer is None:
        return _Listed(offer=offer)
    words = screen.query if screen.listing == "next" else None
    evidence = proposal_evidence(
        looked_at,
        offer.proposal,
        scorer=scorer.name,
        revision=scorer.revision,
        corpus_version=place.corpus_version,
        query=words or basis.sentence,
        own_words=words is not None,
    )
    return _Listed(looked_at, evidence, offered=len(offer.candidates), offer=offer)


def draw_building(place: Place) -> None:
    """Draw why there are no candidates yet."""
    if not len(place.corpus):
        st.info("This tree has no corpus. Write premises yourself (key **w**).", icon=":material/edit_note:")
        return
    draw_progress(place.building)
    if place.ranking.problem is not None:
        st.caption("Rank by another one meanwhile; what is active is changed on the Models page.")
        return
    st.caption("The tree can be read and edited meanwhile. Each sentence is encoded once and kept.")


def draw_progress(
    work: Work[Any], *, waiting: str = "Preparing the search …", key: str | None = None
) -> None:
    """Draw how far something is, and go on by itself once it is there; or say what went wrong.

    Args:
        work: The work.
        waiting: What it does, as long as it tells no progress.
        key: Of the button that tries again, where several things on a page may go wrong at once.
    """
    if work.error is not None:
        st.error(label(str(work.error)))
        st.button("Try again", icon=":material/refresh:", key=key)
    else:
        _poll(work, waiting)


@st.fragment(run_every=0.4)
def _poll(work: Work[Any], waiting: str) -> None:
    if work.done.is_set():
        st.rerun()
    progress = work.progress
    if progress is None:
        st.progress(0.0, text=waiting)
    else:
        st.progress(progress.fraction, text=str(progress))
