"""Authoring screen of one tree: its corpus, index and candidates, and the handling of keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import streamlit as st

from entail.data.records import Corpus
from entail.errors import EntailError
from entail.index.protocol import PremiseIndex
from entail.runtime.tasks import Task
from entail.trees.log.acts import Evidence
from entail.trees.log.event_log import TreeSummary
from entail.trees.log.tree import ROOT
from entail.trees.review.commands import LISTENED, PAGE, command_for
from entail.trees.review.suggestions import basis_of, shown_of, suggest
from entail.ui.components.keyboard import KeyPress, listen
from entail.ui.frame.author import Visitor, visitor
from entail.ui.shared.resources import Workspace
from entail.ui.shared.waiting import draw_progress
from entail.ui.trees.ranked_by import Ranking, ranking_of
from entail.ui.trees.reranking import ListReranker, current_reranker
from entail.ui.trees.screen import AuthoringSession, Screen, screen_of
from entail.ui.trees.step_check import StepCheck, current_check
from entail.ui.trees.suggester import POOL as NEXT_POOL
from entail.ui.trees.suggester import Suggester, current_suggester


@dataclass(frozen=True)
class TreeContext:
    """Tree in one browser tab, with the corpus and the index of its candidates."""

    shared: Workspace
    summary: TreeSummary
    corpus: Corpus
    corpus_version: int
    building: Task[PremiseIndex]
    screen: Screen
    visitor: Visitor
    ranking: Ranking = field(default_factory=Ranking)
    check: StepCheck | None = None
    suggester: Suggester | None = None
    reranker: ListReranker | None = None

    @cached_property
    def index(self) -> PremiseIndex | None:
        """Index, None if it was unfinished at the first access: one answer for a whole run."""
        return self.building.value


def open_tree(shared: Workspace, tree_id: str, choice: str, *, keywords: bool = False) -> TreeContext:
    """Return the context of a tree; start its index if need be.

    Args:
        shared: Stores.
        tree_id: Tree.
        choice: Retriever, or `ACTIVE` for the active one of the tree's corpus.
        keywords: Combine an encoder with keyword match.
    """
    summary = shared.log.summary(tree_id)
    info = shared.corpora.info(summary.corpus_id) if summary.corpus_id is not None else None
    corpus = shared.corpora.corpus(info.id, version=info.version) if info else Corpus("none", ())
    ranking = ranking_of(choice, info.name if info else None, keywords=keywords)
    return TreeContext(
        shared,
        summary,
        corpus,
        info.version if info else 0,
        ranking.get_or_start(corpus) if len(corpus) else Task(),
        screen_of(tree_id),
        visitor(),
        ranking,
        current_check(),
        current_suggester() if len(corpus) else None,
        current_reranker(),
    )


def start_session(context: TreeContext) -> AuthoringSession:
    """Load the session and start to listen to keys."""
    with st.spinner("Searching premises …", show_time=True):
        session = load_session(context)
    listen(
        keys=LISTENED, key="keyboard", stamp=stamp(session), on_press=lambda press: handle_key(context, press)
    )
    return session


def handle_key(context: TreeContext, press: KeyPress) -> None:
    """Run the command of a key.

    Called between two runs of the page: a run can be cut short, and the key would be lost.
    """
    screen = context.screen
    try:
        session = load_session(context)
    except EntailError as error:
        screen.notice = ("error", str(error))
        return
    if (press.key[-1].isdigit() or press.key == "f") and press.stamp != stamp(session):
        # It was meant for an older list: a digit may be another premise now, and finish would reject
        # candidates that the author has not seen.
        screen.notice = ("stale", f"Key {press.key} ignored: the list has just changed.")
        return
    command = command_for(
        press.key,
        tree=session.tree,
        selected=screen.selected,
        candidates=session.shown,
        collapsed=screen.collapsed,
    )
    if command is None:
        return
    if command.verb == "select":  # a node inside a collapsed one is shown
        screen.collapsed -= {node.id for node in session.tree.ancestors(command.target)}
    session.run(command)


def stamp(session: AuthoringSession) -> str:
    """Return an identifier of the list of candidates on the screen."""
    screen = session.screen
    keys = ",".join(candidate.premise.key for candidate in session.shown)
    means = f" {session.offer.means}" if session.offer is not None else ""
    return f"{screen.tree_id} {screen.selected}{means} {keys}"


def load_session(context: TreeContext) -> AuthoringSession:
    """Return the newest version of the tree with the candidates of the selected node."""
    screen, suggester = context.screen, context.suggester
    history = context.shared.log.history(context.summary.id)
    if screen.version == 0:
        screen.version = history.seq
    if screen.selected not in history.tree.nodes:
        screen.select(ROOT)
    session = AuthoringSession(
        context.shared.log, context.visitor, screen, history, proposes=suggester is not None
    )
    try:
        if suggester is not None and screen.listing != "retrieved":
            session = _propose(context, suggester, session)
        elif context.index is not None and len(context.corpus):
            session = _retrieve(context, context.index, session)
    except EntailError as error:  # an encoder is loaded by the first query
        screen.notice = ("error", str(error))
    return replace(session, shown=session.candidates[screen.page * PAGE : (screen.page + 1) * PAGE])


def _retrieve(context: TreeContext, index: PremiseIndex, session: AuthoringSession) -> AuthoringSession:
    screen, node = session.screen, session.node
    name, revision = index.name, index.manifest.revision
    reranker = context.reranker
    depth = reranker.depth if reranker is not None else 0
    count = max((screen.furthest + 1) * PAGE, depth)
    candidates = suggest(session.tree, node.id, context.corpus, index, k=count, query=screen.query)
    if reranker is not None:
        words = screen.query or node.text
        session = replace(session, reading=partial(reranker.read, words, candidates))
        if (reranked_candidates := reranker.arrange(words, candidates)) is not None:
            candidates, name = reranked_candidates, f"{name}+{reranker.name}"
            revision = f"{revision}+{reranker.revision}"
    screen.rank_by(f"{revision}, {context.corpus_version}, {screen.query or node.text}")
    candidates = candidates[: (screen.furthest + 1) * PAGE]  # a new ranking begins on its first page
    evidence = Evidence(
        retriever=name,
        revision=revision,
        corpus_version=context.corpus_version,
        query=screen.query or node.text,
        own_words=screen.query is not None,
        shown=shown_of(candidates),
    )
    return replace(session, candidates=candidates, evidence=evidence)


def _propose(context: TreeContext, suggester: Suggester, session: AuthoringSession) -> AuthoringSession:
    """Add the proposals of a scorer; none while they are computed."""
    screen, tree = session.screen, session.tree
    node_id, basis = screen.selected, basis_of(tree, screen.selected)
    words = None
    if screen.listing == "draft":
        draft_basis = screen.drafts.get(node_id)
        screen.rank_by(f"{suggester.key}, {context.corpus_version}, {draft_basis}")
        offer = suggester.offer_draft(tree, node_id, context.corpus, draft_basis)
    elif context.index is None:
        return session
    else:
        words, among = screen.query, context.index.manifest.revision
        # An accepted premise makes another list, whose candidates the author has not seen.
        query = words or basis.sentence
        screen.rank_by(f"{suggester.key}, {among}, {context.corpus_version}, {query}, {basis.after}")
        count = NEXT_POOL + len(basis.accepted)
        pool = suggest(tree, node_id, context.corpus, context.index, k=count, query=words)
        open_candidates = [candidate for candidate in pool if not candidate.is_child][:NEXT_POOL]
        offer = suggester.offer_next(tree, node_id, open_candidates, among=among)
    scorer = suggester.model
    if offer.proposal is None or scorer is None:
        return replace(session, offer=offer)
    candidates = offer.candidates[: (screen.furthest + 1) * PAGE]
    evidence = Evidence(
        retriever=scorer.name,
        revision=scorer.revision,
        corpus_version=context.corpus_version,
        query=words or basis.sentence,
        own_words=words is not None,
        shown=shown_of(candidates),
        proposal=offer.proposal,
    )
    return replace(
        session, candidates=candidates, evidence=evidence, list_length=len(offer.candidates), offer=offer
    )


def draw_building(context: TreeContext) -> None:
    """Draw the reason why there are no candidates yet."""
    if not len(context.corpus):
        st.info("This tree has no corpus. Write your own premises (key **w**).", icon=":material/edit_note:")
        return
    draw_progress(context.building)
    st.caption(
        "Choose another retriever meanwhile. The active one is set on the Models page."
        if context.ranking.problem is not None
        else "You can edit the tree meanwhile. Each premise is encoded only once."
    )
