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
from entail.trees.suggestions import Candidate, evidence_of, suggest
from entail.trees.tree import ROOT
from entail.ui.author import Visitor, visitor
from entail.ui.commands import LISTENED, PAGE, command_for
from entail.ui.direction_arrows import POOL, Pointer, pointer
from entail.ui.keyboard import KeyPress, listen
from entail.ui.ranked_by import Ranking, ranking_of
from entail.ui.resources import Workspace
from entail.ui.screen import Desk, Screen, screen_of
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

    @cached_property
    def index(self) -> PremiseIndex | None:
        """The index, None if it was still built when the place was taken: one answer for a whole run."""
        return self.building.value


def take_place(shared: Workspace, tree_id: str, choice: str) -> Place:
    """Return the place at a tree, its index taken from the shelf.

    Args:
        shared: The stores.
        tree_id: The tree.
        choice: A retriever, or `ACTIVE` for what is active for the tree's corpus.
    """
    summary = shared.log.summary(tree_id)
    if summary.corpus_id is None:
        corpus, version, ranking = Corpus("none", ()), 0, ranking_of(choice, None)
    else:
        info = shared.corpora.info(summary.corpus_id)
        corpus, version = shared.corpora.corpus(info.id, version=info.version), info.version
        ranking = ranking_of(choice, info.name)
    building = ranking.take(corpus) if len(corpus) else Work[PremiseIndex]()
    screen = screen_of(tree_id)
    return Place(shared, summary, corpus, version, building, screen, visitor(), ranking, pointer())


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
    return f"{screen.tree_id} {screen.selected} {shown}"


def set_desk(place: Place) -> Desk:
    """Return the desk as it is now: the newest version of the tree, the candidates of the selected node."""
    screen = place.screen
    history = place.shared.log.history(place.summary.id)
    if screen.seen == 0:
        screen.seen = history.seq
    if screen.selected not in history.tree.nodes:
        screen.select(ROOT)
    looked_at: tuple[Candidate, ...] = ()
    pool: tuple[Candidate, ...] = ()
    evidence: Evidence | None = None
    offered: int | None = None
    arrows = place.pointer if place.pointer is not None and not place.pointer.asked.is_plain else None
    if place.index is not None and len(place.corpus):
        revision = place.index.manifest.revision
        screen.rank_by(f"{revision}, {arrows.asked}" if arrows is not None else revision)
        node, k = history.tree.node(screen.selected), (screen.furthest + 1) * PAGE
        query = screen.query or node.text
        try:
            looked_at = suggest(
                history.tree,
                screen.selected,
                place.corpus,
                place.index,
                k=POOL if arrows is not None else k,
                query=screen.query,
            )
            if arrows is not None:
                # Nothing is shown until it is known what: finish rejects what was on the screen.
                pool, listed = looked_at, arrows.listed(node.text, looked_at)
                offered, looked_at = (None, ()) if listed is None else (len(listed), tuple(listed[:k]))
            evidence = evidence_of(
                looked_at,
                place.index,
                corpus_version=place.corpus_version,
                query=query,
                own_words=screen.query is not None,
            )
        except EntailError as error:  # the first typed query finds out whether the encoder can be loaded
            screen.notice = ("error", str(error))
    shown = looked_at[screen.page * PAGE : (screen.page + 1) * PAGE]
    return Desk(place.shared.log, place.visitor, screen, history, shown, looked_at, evidence, pool, offered)


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


def draw_progress(work: Work[Any], *, waiting: str = "Preparing the search …") -> None:
    """Draw how far something is, and go on by itself once it is there; or say what went wrong.

    Args:
        work: The work.
        waiting: What it does, as long as it tells no progress.
    """
    if work.error is not None:
        st.error(label(str(work.error)))
        st.button("Try again", icon=":material/refresh:")
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
