"""Authoring page: the tree and its candidates in one run, and its commands."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import streamlit as st

from entail.data.records import Corpus
from entail.errors import ConflictError, EntailError, TeamError, UndoError
from entail.index.protocol import PremiseIndex
from entail.runtime.tasks import Task
from entail.teams.comments import Thread
from entail.teams.moves import Piece
from entail.teams.projects import Project
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
    Restore,
    TypedAct,
    Undo,
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
from entail.trees.review.suggestions import Candidate, basis_of, shown_of, suggest
from entail.trees.store.authors import Presence
from entail.trees.store.shares import Share, Shares
from entail.ui.components.inbox import KeyPress, NodeEvent, listen
from entail.ui.frame.author import Visitor, visitor
from entail.ui.links.route import is_served
from entail.ui.shared.resources import Workspace
from entail.ui.trees.models import (
    POOL,
    Offer,
    Ranking,
    StepCheck,
    Suggester,
    current_check,
    current_reranker,
    current_suggester,
    keyword_index,
    ranking_of,
    rerank_index,
)
from entail.ui.trees.screen import Screen, screen_of


@dataclass(frozen=True)
class TreePage:
    """Tree in one browser tab, as one run of the page reads and draws it, and its commands.

    Attributes:
        building: Task that makes the index.
        index: Index, None while the run began without it: one answer for a whole run.
        share: Its read-only link, if this server answers links.
        piece: Piece that it is, if any.
        project: Its project.
        threads: Comments on it.
        candidates: Candidates from the first up to the furthest page seen.
        shown: Candidates on the screen.
        evidence: Evidence of a judgement on them.
        offer: Proposals of a scorer, where they are shown.
        reranker: Name and revision of the re-ranker of the retrieved list, if it is used.
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
    reranker: tuple[str, str] | None = None
    presences: tuple[Presence, ...] = ()
    share: Share | None = None
    piece: Piece | None = None
    project: Project | None = None
    threads: tuple[Thread, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    shown: tuple[Candidate, ...] = ()
    evidence: Evidence | None = None
    offer: Offer | None = None

    @property
    def author(self) -> str | None:
        """Name of the author, read when it is needed: the name may be given after the page was drawn."""
        return self.visitor.name

    @property
    def evidence_by_seq(self) -> Mapping[int, Evidence]:
        """Evidence of the judgements, by seq, as the run began."""
        return self.screen.judged[1]

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
        """Whether the tree cannot be changed: read-only database, a demo, or a piece that is not open."""
        is_open = self.piece is None or self.piece.is_open_to(self.author)
        return not (is_open and self.shared.log.is_editable(self.summary.id))

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
        screen = self.screen
        page = replace(self, history=screen.history, candidates=(), evidence=None, offer=None)
        try:
            if page.suggester is not None and screen.listing != "retrieved":
                page = page._propose(page.suggester)
            elif page.index is not None and len(page.corpus):
                page = page._retrieve(page.index)
        except EntailError as error:  # an encoder is loaded by the first query
            screen.notice = ("error", str(error))
        return replace(page, shown=page.candidates[screen.page * PAGE : (screen.page + 1) * PAGE])

    def _retrieve(self, index: PremiseIndex) -> TreePage:
        screen, node = self.screen, self.node
        if self.reranker is not None:
            index = rerank_index(index, self.corpus, self.reranker)
        revision, k = index.manifest.revision, (screen.furthest + 1) * PAGE
        candidates = suggest(self.tree, node.id, self.corpus, index, k=k, query=screen.query)
        screen.rank_by(f"{revision}, {self.corpus_version}, {screen.query or node.text}")
        return self._offer(candidates, index.name, revision, screen.query)

    def _propose(self, suggester: Suggester) -> TreePage:
        """Return the page with the proposals of a scorer; none while they are computed."""
        screen, tree, node_id = self.screen, self.tree, self.screen.selected
        query, basis = screen.query, basis_of(tree, node_id)
        if screen.listing == "draft":
            query, draft_basis = None, screen.drafts.get(node_id)
            if draft_basis is not None and draft_basis.sentence != basis.sentence:
                draft_basis = None
            screen.rank_by(f"{suggester}, {self.corpus_version}, {draft_basis}")
            offer = suggester.offer_draft(tree, node_id, self.corpus, draft_basis)
        elif self.index is None:
            return self
        else:
            among = self.index.manifest.revision
            # An accepted premise makes another list, whose candidates the author has not seen.
            parts = (suggester, among, self.corpus_version, query or basis.sentence, basis.after)
            screen.rank_by(str(parts))
            count = POOL + len(basis.accepted)
            pool = suggest(tree, node_id, self.corpus, self.index, k=count, query=query)
            open_candidates = [candidate for candidate in pool if not candidate.is_child][:POOL]
            offer = suggester.offer_next(basis, open_candidates, among=among)
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
            case "undo" | "redo" as verb:
                self.act(verb)
            case "accept" if candidate:
                self.act(Accept(node=screen.selected, premise=candidate.premise), self.evidence)
            case "reject" if candidate:
                self.act(Reject(node=screen.selected, premise=candidate.premise), self.evidence)
            case "withdraw" if candidate and candidate.is_child and self.may_withdraw(candidate):
                self.act(Remove(node=str(candidate.in_tree)))
            case "finish" if self.unjudged:
                premises = tuple(candidate.premise for candidate in self.unjudged)
                self.act(Finish(node=screen.selected, premises=premises), self.evidence)
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
                    self.act(Reorder(node=parent, order=order))

    def may_withdraw(self, candidate: Candidate) -> bool:
        """Return whether an accepted candidate is in the tree with nothing below it that would go, too."""
        return candidate.in_tree is not None and not self.tree.node(candidate.in_tree).children

    def handle_event(self, event: NodeEvent) -> None:
        """Apply an event of the graph or the outline: an act, a proposed step, or one on the screen.

        A line from a premise to its own conclusion opens the dialog for a conclusion between them, to any
        other node the one that moves the premise there.
        """
        screen, nodes = self.screen, self.tree.nodes
        if event.kind == "move":
            self.act(Move(node=event.node, parent=event.to))
        elif event.kind == "dialog":
            if event.node in nodes and event.to in ("edit", "move", "remove"):
                screen.select(event.node)
                self.run(Command("dialog", event.to))
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

    def act(self, act: Act | str, evidence: Evidence | None = None) -> bool:
        """Write an act to the log, of `undo` and `redo` the author's last one; return whether it was saved.

        Without an author, it waits for the name.
        """
        return self._save(act, self.screen.history.seq, evidence)

    def _save(self, act: Act | str, base: int, evidence: Evidence | None) -> bool:
        screen, log, tree_id, author = self.screen, self.shared.log, self.summary.id, self.author
        if not author:
            screen.dialog, screen.unnamed = "name", (act, base, evidence)
            return False
        try:
            if isinstance(act, str):
                history = (log.undo if act == "undo" else log.redo)(tree_id, author=author)
            else:
                history = log.act(tree_id, act, author=author, base=base, evidence=evidence)
        except ConflictError as error:
            screen.notice = ("conflict", str(error))
            if not isinstance(act, str):
                # The author sees the newer version and the change; a retry is based on it.
                newest = log.history(tree_id)
                screen.update(newest)
                screen.recovery = restore_text(act, newest, base=base) or screen.recovery
            return False
        except UndoError as error:
            screen.notice = ("stale", str(error))
            return False
        except EntailError as error:
            screen.notice = ("error", str(error))
            return False
        screen.notice = None
        screen.update(history)
        last = history.events[-1].act
        if isinstance(last, Undo) and (skipped := history.skipped(last)):
            done, passed = (history.describe(event) for event in (history.event(last.seq), skipped))
            screen.notice = ("stale", f"Undone: you {done}. Skipped, as later acts need it: you {passed}.")
        if screen.recovery == act:
            screen.recovery = None
        return True

    def resume(self) -> None:
        """Save the act that waited for its author's name; the page keeps its sentence if that fails."""
        screen, unnamed, recovery = self.screen, self.screen.unnamed, self.screen.recovery
        screen.dialog = screen.unnamed = None
        if unnamed is not None and not self._save(*unnamed) and screen.recovery == recovery:
            act = unnamed[0]
            screen.recovery = act if isinstance(act, TypedAct) and act.text else recovery

    def restore(self, seq: int) -> None:
        """Return the tree to its state after an act."""
        self.act(Restore(seq=seq))

    def recover(self) -> None:
        """Save the sentence that a conflict left over."""
        if self.screen.recovery is not None:
            self.act(self.screen.recovery)


def open_tree(shared: Workspace, tree_id: str, choice: str, *, keywords: bool = False) -> TreePage:
    """Read a tree and what belongs to it, in one transaction; start its index if need be.

    `choice` is a retriever, or `ACTIVE` for that of the tree's corpus, combined with keyword match if
    `keywords`.

    Raises:
        UnknownTreeError: If there is no such tree.
        DamagedTreeError: If its log cannot be read.
    """
    corpus, version, name, project = Corpus("none", ()), 0, None, None
    screen = screen_of(tree_id)
    with shared.log.snapshot():
        history, summary = shared.log.history(tree_id), shared.log.summary(tree_id)
        if screen.judged[0] != history.seq:
            screen.judged = history.seq, shared.log.evidence(tree_id)
        viewer = shared.viewer
        threads = tuple(shared.comments.threads(tree_id, actor=viewer))
        if piece := shared.work.piece_of(tree_id, actor=viewer):
            with suppress(TeamError):  # who is no member any more sees their own trees
                project = shared.projects.project(piece.id.project_id, actor=viewer)
        if summary.corpus_id is not None:
            info = shared.corpora.info(summary.corpus_id)
            version, name = (project and project.corpus_version) or info.version, info.name
            corpus = shared.corpora.corpus(info.id, version=version)
        presences = tuple(shared.authors.list_presences(shared.log.viewer))
        share = Shares(shared.database).of_tree(tree_id, viewer=viewer) if is_served() else None
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
        building.value or keyword_index(corpus, building),
        ranking,
        current_check(),
        current_suggester() if len(corpus) else None,
        current_reranker(),
        presences,
        share,
        piece,
        project,
        threads,
    )


def start_page(page: TreePage) -> TreePage:
    """Search the candidates and start to listen to keys."""
    with st.spinner("Searching premises …", show_time=True):
        page = page.with_candidates()
    listen(keys=LISTENED, key="keyboard", stamp=page.stamp, on_press=page.handle_key)
    return page
