"""State of the authoring screen: a tree with its candidates, and the commands that change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import streamlit as st

from entail.data.records import Corpus
from entail.errors import ConflictError, EntailError, LockedDatabaseError
from entail.index.protocol import PremiseIndex
from entail.runtime.tasks import Task
from entail.trees.log.acts import (
    Accept,
    Act,
    Evidence,
    Finish,
    Move,
    Proposal,
    Reject,
    Remove,
    Reorder,
    TypedAct,
    describe,
)
from entail.trees.log.event_log import TreeSummary
from entail.trees.log.replay import History
from entail.trees.log.tree import Node, Tree
from entail.trees.review.commands import (
    LISTENED,
    PAGE,
    Command,
    command_for,
    restore_text,
    swap_siblings,
)
from entail.trees.review.decisions import DecisionCounts, count_decisions
from entail.trees.review.suggestions import Candidate, basis_of, shown_of, suggest
from entail.trees.store.authors import Presence
from entail.trees.store.shares import Share, Shares
from entail.ui.components.inbox import NodeEvent
from entail.ui.components.keyboard import KeyPress, listen
from entail.ui.frame.author import Visitor, visitor
from entail.ui.links.route import is_served
from entail.ui.shared.resources import Workspace
from entail.ui.trees.models import (
    POOL,
    ListReranker,
    Offer,
    StepCheck,
    Suggester,
    current_check,
    current_reranker,
    current_suggester,
)
from entail.ui.trees.ranked_by import Ranking, ranking_of
from entail.ui.trees.screen import PendingAct, Screen, screen_of

LOCKED = "Not saved: the database is locked by another write. Your input is kept, so try again in a moment."
"""Notice of an act that finds the database locked."""


@dataclass(frozen=True)
class TreePage:
    """Tree in one browser tab, as one run of the page reads and draws it, and its commands.

    Attributes:
        screen: What lasts from run to run.
        history: Version of the tree.
        building: Task that makes the index.
        index: Index, None while the run began without it: one answer for a whole run.
        decisions: Decisions on the corpus so far.
        presences: Authors at work on this tree.
        share: Its read-only link, if this server answers links.
        candidates: Candidates from the first up to the furthest page seen.
        shown: Candidates on the screen.
        evidence: Evidence of a judgement on them.
        offer: Proposals of a scorer, where they are shown.
        reading: Returns the task that re-ranks the list; None if it is not re-ranked.
    """

    shared: Workspace
    screen: Screen
    visitor: Visitor
    summary: TreeSummary
    history: History
    corpus: Corpus
    corpus_version: int
    building: Task[PremiseIndex]
    index: PremiseIndex | None
    ranking: Ranking = field(default_factory=Ranking)
    check: StepCheck | None = None
    suggester: Suggester | None = None
    reranker: ListReranker | None = None
    decisions: DecisionCounts = field(default_factory=DecisionCounts)
    presences: tuple[Presence, ...] = ()
    share: Share | None = None
    candidates: tuple[Candidate, ...] = ()
    shown: tuple[Candidate, ...] = ()
    evidence: Evidence | None = None
    offer: Offer | None = None
    reading: Callable[[], Task[Any]] | None = None

    @property
    def author(self) -> str | None:
        """Name of the author, read when it is needed: the name may be given after the page was drawn."""
        return self.visitor.name

    @property
    def tree(self) -> Tree:
        """This version of the tree."""
        return self.history.tree

    @property
    def node(self) -> Node:
        """Selected node."""
        return self.tree.node(self.screen.selected)

    @cached_property
    def is_locked(self) -> bool:
        """Whether the tree cannot be changed: read-only database, or a team's tree in a demo."""
        return not self.shared.log.is_editable(self.summary.id)

    @property
    def unjudged(self) -> tuple[Candidate, ...]:
        """Candidates seen so far that are neither judged nor in the tree."""
        return tuple(c for c in self.candidates if c.judgement is None and c.in_tree is None)

    @property
    def stamp(self) -> str:
        """Identifier of the list of candidates on the screen."""
        keys = ",".join(candidate.premise.key for candidate in self.shown)
        means = f" {self.offer.means}" if self.offer is not None else ""
        return f"{self.summary.id} {self.screen.selected}{means} {keys}"

    def with_candidates(self) -> TreePage:
        """Return the page with the newest version that this tab knows, and the candidates of its node."""
        page = replace(
            self, history=self.screen.history, candidates=(), evidence=None, offer=None, reading=None
        )
        screen = self.screen
        try:
            if page.suggester is not None and screen.listing != "retrieved":
                page = page._propose(page.suggester)
            elif page.index is not None and len(page.corpus):
                page = page._retrieve(page.index)
        except EntailError as error:  # an encoder is loaded by the first query
            screen.notice = ("error", str(error))
        return replace(page, shown=page.candidates[screen.page * PAGE : (screen.page + 1) * PAGE])

    def _retrieve(self, index: PremiseIndex) -> TreePage:
        screen, node, reranker = self.screen, self.node, self.reranker
        name, revision, query = index.name, index.manifest.revision, screen.query or node.text
        count = max((screen.furthest + 1) * PAGE, reranker.depth if reranker is not None else 0)
        candidates = suggest(self.tree, node.id, self.corpus, index, k=count, query=screen.query)
        reading = None
        if reranker is not None:
            reading = partial(reranker.read, query, candidates)
            if (arranged := reranker.arrange(query, candidates)) is not None:
                candidates, name = arranged, f"{name}+{reranker.name}"
                revision = f"{revision}+{reranker.revision}"
        screen.rank_by(f"{revision}, {self.corpus_version}, {query}")
        return replace(self._offer(candidates, name, revision, screen.query), reading=reading)

    def _propose(self, suggester: Suggester) -> TreePage:
        """Return the page with the proposals of a scorer; none while they are computed."""
        screen, tree, node_id = self.screen, self.tree, self.screen.selected
        query, basis = screen.query, basis_of(tree, node_id)
        if screen.listing == "draft":
            query, draft_basis = None, screen.drafts.get(node_id)
            screen.rank_by(f"{suggester.key}, {self.corpus_version}, {draft_basis}")
            offer = suggester.offer_draft(tree, node_id, self.corpus, draft_basis)
        elif self.index is None:
            return self
        else:
            among = self.index.manifest.revision
            # An accepted premise makes another list, whose candidates the author has not seen.
            parts = (suggester.key, among, self.corpus_version, query or basis.sentence, basis.after)
            screen.rank_by(str(parts))
            count = POOL + len(basis.accepted)
            pool = suggest(tree, node_id, self.corpus, self.index, k=count, query=query)
            open_candidates = [candidate for candidate in pool if not candidate.is_child][:POOL]
            offer = suggester.offer_next(tree, node_id, open_candidates, among=among)
        if offer.proposal is None:
            return replace(self, offer=offer)
        page = self._offer(offer.candidates, suggester.name, str(suggester.revision), query, offer.proposal)
        return replace(page, offer=offer)

    def _offer(
        self,
        candidates: tuple[Candidate, ...],
        name: str,
        revision: str,
        query: str | None,
        proposal: Proposal | None = None,
    ) -> TreePage:
        """Return the page with these candidates, up to the furthest page seen, and their evidence."""
        candidates = candidates[: (self.screen.furthest + 1) * PAGE]  # a new ranking begins on its first page
        evidence = Evidence(
            retriever=name,
            revision=revision,
            corpus_version=self.corpus_version,
            query=query or self.node.text,
            own_words=query is not None,
            shown=shown_of(candidates),
            proposal=proposal,
        )
        return replace(self, candidates=candidates, evidence=evidence)

    def run(self, command: Command) -> None:
        """Run a command; the screen's notice has the reason if it fails."""
        screen, target, step = self.screen, command.target, command.step
        candidate = next((c for c in self.shown if c.premise.key == target), None)
        match command.verb:
            case "select":
                screen.select(target)
            case "page" if step < 0 or len(self.shown) == PAGE:
                screen.turn(step)
            case "dialog":
                screen.dialog, screen.goal = target, None
            case "toggle":
                screen.show_rejected = not screen.show_rejected
            case "undo" if screen.pending:  # the last act was never saved
                screen.notice = ("stale", f"Undone before it was saved: {screen.pending[-1].description}.")
                screen.pending = screen.pending[:-1]
            case "undo" | "redo" as verb:
                # Not kept while the database is locked: later, the last act may be another.
                self.act(verb)
            case "accept" if candidate:
                self._judge(Accept(node=screen.selected, premise=candidate.premise))
            case "reject" if candidate:
                self._judge(Reject(node=screen.selected, premise=candidate.premise))
            case "withdraw" if candidate and candidate.is_child and self.may_withdraw(candidate):
                self.act(Remove(node=str(candidate.in_tree)), keep=True)
            case "finish" if self.unjudged:
                premises = tuple(candidate.premise for candidate in self.unjudged)
                self._judge(Finish(node=screen.selected, premises=premises))
            case "finish":
                screen.notice = ("stale", "Nothing to reject: no candidate here is open. Key n shows more.")
            case "list" if self.suggester:
                screen.turn_to(target)
            case "draft" if self.suggester:
                screen.drafts[screen.selected] = basis_of(self.tree, screen.selected)
                screen.turn_to("draft")
            case "reorder":
                order, parent = swap_siblings(self.tree, target, step), self.tree.node(target).parent
                if order and parent:
                    self.act(Reorder(node=parent, order=order), keep=True)

    def _judge(self, act: Act) -> None:
        self.act(act, evidence=self.evidence, keep=True)

    def may_withdraw(self, candidate: Candidate) -> bool:
        """Return whether an accepted candidate is in the tree with nothing below it that would go, too."""
        return candidate.in_tree is not None and not self.tree.node(candidate.in_tree).children

    def handle_event(self, event: NodeEvent) -> None:
        """Apply an event of the graph or the outline: an act, a proposed step, or one on the screen.

        A box dragged onto another moves there; where the log refuses that, the screen's notice has the
        reason. A line from a premise to its own conclusion opens the dialog for a conclusion between them, to
        any other node the one that moves the premise there.
        """
        screen, nodes = self.screen, self.tree.nodes
        if event.kind == "move":
            self.act(Move(node=event.node, parent=event.to), keep=True)
        elif event.kind != "connect":
            screen.apply(event)
        elif event.node in nodes and event.to in nodes:
            screen.select(event.node)
            screen.dialog = "conclude" if nodes[event.node].parent == event.to else "move"
            screen.goal = event.to

    def handle_key(self, press: KeyPress) -> None:
        """Run the command of a key.

        Called between two runs of the page: a run can be cut short, and the key would be lost.
        """
        screen, page = self.screen, self.with_candidates()
        if (press.key[-1].isdigit() or press.key == "f") and press.stamp != page.stamp:
            # It was meant for an older list: a digit may be another premise now, and finish would reject
            # candidates that the author has not seen.
            screen.notice = ("stale", f"Key {press.key} ignored: the list has just changed.")
            return
        command = command_for(
            press.key,
            tree=page.tree,
            selected=screen.selected,
            candidates=page.shown,
            collapsed=screen.collapsed,
        )
        if command is None:
            return
        if command.verb == "select":  # a node inside a collapsed one is shown
            screen.collapsed -= {node.id for node in page.tree.ancestors(command.target)}
        page.run(command)

    def act(self, act: Act | str, *, evidence: Evidence | None = None, keep: bool = False) -> bool:
        """Write an act to the log, of `undo` and `redo` the author's last one; return whether it was saved.

        `keep` leaves the act on the screen for a retry if the database is locked.
        """
        history = self.screen.history
        description = f"{act} of your last act" if isinstance(act, str) else describe(act, history.texts)
        return self.save(PendingAct(act, description, history.seq, evidence, keep))

    def save(self, pending: PendingAct) -> bool:
        """Write a pending act to the log, once its author is known; return whether it was saved."""
        screen, log, tree_id, act = self.screen, self.shared.log, self.summary.id, pending.act
        if not (author := pending.author or self.author):
            screen.dialog, screen.unnamed = "name", pending
            return False
        try:
            if isinstance(act, str):
                history = (log.undo if act == "undo" else log.redo)(tree_id, author=author)
            else:
                history = log.act(tree_id, act, author=author, base=pending.base, evidence=pending.evidence)
        except LockedDatabaseError:
            if pending.keep and pending not in screen.pending:
                screen.pending += (replace(pending, author=author),)
            screen.notice = ("locked", LOCKED)
            return False
        except EntailError as error:
            screen.pending = tuple(other for other in screen.pending if other != pending)
            screen.notice = ("conflict" if isinstance(error, ConflictError) else "error", str(error))
            if isinstance(error, ConflictError) and not isinstance(act, str):
                # The author sees the newer version and the change; a retry is based on it.
                newest = log.history(tree_id)
                screen.update(newest)
                screen.recovery = restore_text(act, newest, base=pending.base) or screen.recovery
            return False
        screen.pending = tuple(other for other in screen.pending if other != pending)
        screen.notice = None
        screen.update(history)
        if screen.recovery == act:
            screen.recovery = None
        return True

    def resume(self) -> None:
        """Save the act that waited for its author's name; the page keeps its sentence if that fails."""
        screen, pending = self.screen, self.screen.unnamed
        screen.dialog = screen.unnamed = None
        if pending is None:
            return
        recovery, act = screen.recovery, pending.act
        is_lost = not self.save(pending) and screen.recovery == recovery
        if is_lost and isinstance(act, TypedAct) and act.text:
            screen.recovery = act

    def recover(self) -> None:
        """Save the sentence that a conflict left over."""
        if self.screen.recovery is not None:
            self.act(self.screen.recovery, keep=True)

    def retry_pending(self) -> None:
        """Retry the pending acts, the oldest first, up to the first that fails."""
        for pending in self.screen.pending:
            if not self.save(pending):
                return


def open_tree(shared: Workspace, tree_id: str, choice: str, *, keywords: bool = False) -> TreePage:
    """Read a tree and what belongs to it, in one transaction; start its index if need be.

    `choice` is a retriever, or `ACTIVE` for that of the tree's corpus, combined with keyword match if
    `keywords`.

    Raises:
        UnknownTreeError: If there is no such tree.
        DamagedTreeError: If its log cannot be read.
    """
    corpus, version, name, decisions = Corpus("none", ()), 0, None, DecisionCounts()
    with shared.log.snapshot():
        history, summary = shared.log.history(tree_id), shared.log.summary(tree_id)
        if summary.corpus_id is not None:
            info = shared.corpora.info(summary.corpus_id)
            version, name = info.version, info.name
            corpus = shared.corpora.corpus(info.id, version=version)
            decisions = count_decisions(shared.log, corpus_id=info.id)
        presences = read_presences(shared, tree_id)
        share = Shares(shared.database).of_tree(tree_id) if is_served() else None
    screen = screen_of(tree_id)
    screen.update(history)
    ranking = ranking_of(choice, name, keywords=keywords)
    building = ranking.get_or_start(corpus) if len(corpus) else Task()
    return TreePage(
        shared,
        screen,
        visitor(),
        summary,
        history,
        corpus,
        version,
        building,
        building.value,
        ranking,
        current_check(),
        current_suggester() if len(corpus) else None,
        current_reranker(),
        decisions,
        presences,
        share,
    )


def read_presences(shared: Workspace, tree_id: str) -> tuple[Presence, ...]:
    """Return the authors at work on a tree."""
    return tuple(p for p in shared.authors.list_presences() if p.tree_id == tree_id)


def start_page(page: TreePage) -> TreePage:
    """Search the candidates and start to listen to keys."""
    with st.spinner("Searching premises …", show_time=True):
        page = page.with_candidates()
    listen(keys=LISTENED, key="keyboard", stamp=page.stamp, on_press=page.handle_key)
    return page
