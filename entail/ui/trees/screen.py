"""State of the authoring screen in one browser tab, and the commands that change it and the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import streamlit as st

from entail.errors import ConflictError, EntailError, LockedDatabaseError
from entail.runtime.tasks import Task
from entail.trees.log.acts import Accept, Act, Evidence, Finish, Reject, Remove, Reorder, TypedAct, describe
from entail.trees.log.event_log import TreeLog
from entail.trees.log.replay import History
from entail.trees.log.tree import ROOT, Node, Tree
from entail.trees.review.commands import PAGE, Command, restore_text, swap_siblings
from entail.trees.review.suggestions import Basis, Candidate, basis_of
from entail.ui.frame.author import Visitor
from entail.ui.trees.suggester import Offer

Listing = Literal["retrieved", "next", "draft"]
"""List of candidates: retrieved, or proposed by a scorer by either means."""

LISTS: Mapping[Listing, str] = {"retrieved": "Retrieved", "next": "Next premise", "draft": "Chain"}

LOCKED = "Not saved: the database is locked by another write. Your input is kept, so try again in a moment."
"""Notice of an act that finds the database locked."""


@dataclass(frozen=True)
class PendingAct:
    """Act that waits for a locked database; two are equal if they do the same.

    Attributes:
        act: The act, or `undo` or `redo`.
        description: The act as text.
        run: Tries it.
        base: Seq of the version that its author saw.
    """

    act: Act | str
    description: str = field(compare=False)
    run: Callable[[], History] = field(compare=False)
    base: int = field(default=0, compare=False)


@dataclass
class Screen:
    """View of one tree in one browser tab.

    Attributes:
        selected: Node whose candidates are shown.
        version: Seq of the version on the screen, on which acts are based.
        page: Index of the ten candidates shown.
        furthest: Highest page seen for this node and query; `finish` rejects up to there.
        query: Search words of the author, None for the node's text.
        ranks: Identifier of the ranking on the screen, None before the first.
        collapsed: Nodes whose premises the graph hides.
        dialog: Name of the dialog to open in this run.
        goal: Conclusion of the step that the dialog proposes, None if it proposes none.
        notice: Reason why the last act failed: (`error`, `conflict`, `locked` or `stale`, message).
        recovery: Act that saves the input of a conflicting one in another way; kept until saved or dismissed.
        unnamed: Act that waits for its author's name.
        pending: Acts not saved yet because the database was locked, the oldest first.
        drafts: Node -> basis of the chain drafted for it last.
        sent: Number of dialogs that saved an act. The next has other fields, empty even if the run between
            the two was cut short.
    """

    tree_id: str
    selected: str = ROOT
    version: int = 0
    page: int = 0
    furthest: int = 0
    query: str | None = None
    ranks: str | None = None
    collapsed: frozenset[str] = frozenset()
    show_rejected: bool = False
    dialog: str | None = None
    goal: str | None = None
    notice: tuple[str, str] | None = None
    recovery: Act | None = None
    unnamed: Callable[[], object] | None = None
    pending: tuple[PendingAct, ...] = ()
    listing: Listing = "retrieved"
    drafts: dict[str, Basis] = field(default_factory=dict)
    sent: int = 0

    def select(self, node_id: str) -> None:
        """Show the candidates of another node."""
        if node_id != self.selected:
            self.selected, self.page, self.furthest, self.query = node_id, 0, 0, None

    def turn(self, step: int) -> None:
        """Show the next or previous candidates."""
        self.page = max(0, self.page + step)
        self.furthest = max(self.furthest, self.page)

    def rank_by(self, revision: str) -> None:
        """Return to the first page if the ranking changed: its model, its corpus or its query.

        The author has not seen the candidates of the new list, so `finish` must not reject them.
        """
        if self.ranks not in (None, revision):
            self.page = self.furthest = 0
        self.ranks = revision

    def turn_to(self, listing: str) -> None:
        """Show the list of this name; for an empty name, the next list."""
        names = list(LISTS)
        following = names[(names.index(self.listing) + 1) % len(names)]
        self.listing = next((name for name in names if name == listing), following)

    def search(self, words: str | None) -> None:
        """Search with the author's words; with the node's text for None."""
        self.query, self.page, self.furthest = (words or "").strip() or None, 0, 0

    def toggle_rejected(self) -> None:
        """Show or hide the rejected premises."""
        self.show_rejected = not self.show_rejected

    def dismiss_notice(self) -> None:
        """Hide the reason why the last act failed."""
        self.notice = self.recovery = None

    def discard_pending(self) -> None:
        """Give up the acts that wait for the database."""
        self.pending, self.notice = (), None


def screen_of(tree_id: str) -> Screen:
    """Return this tab's screen for a tree."""
    screens: dict[str, Screen] = st.session_state.setdefault("screens", {})
    return screens.setdefault(tree_id, Screen(tree_id))


def close_dialogs() -> None:
    """Record that a dialog was dismissed, so that the next run does not open it again."""
    for screen in st.session_state.get("screens", {}).values():
        screen.dialog = screen.unnamed = None


@st.fragment(run_every=0.4)
def draw_wait(
    screen: Screen, task_of: Callable[[], Task[Any] | None], describe: Callable[[Task[Any] | None], str]
) -> None:
    """Draw what is awaited, and the page again once it is there; not below an open dialog."""
    task = task_of()
    if screen.dialog is None and (task is None or task.done.is_set()):
        st.rerun()
    st.caption(f":material/hourglass_empty: {describe(task)} …")


@dataclass(frozen=True)
class AuthoringSession:
    """Tree, candidates and log that the commands of the screen work on.

    Attributes:
        visitor: Author at work.
        history: Newest version of the tree.
        proposes: Whether a scorer is available.
        shown: Candidates on the screen.
        candidates: Candidates from the first up to the furthest page seen.
        evidence: Evidence of a judgement on them.
        list_length: Length of the list, None for the whole corpus.
        offer: Proposals of a scorer, where they are shown.
        reading: Returns the task that re-ranks the list; None if it is not re-ranked.
    """

    log: TreeLog
    visitor: Visitor
    screen: Screen
    history: History
    proposes: bool = False
    shown: tuple[Candidate, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    evidence: Evidence | None = None
    list_length: int | None = None
    offer: Offer | None = None
    reading: Callable[[], Task[Any]] | None = None

    @property
    def author(self) -> str | None:
        """Name of the author, read when it is needed: the name may be given after the session was loaded."""
        return self.visitor.name

    @property
    def tree(self) -> Tree:
        """Newest version of the tree."""
        return self.history.tree

    @property
    def node(self) -> Node:
        """Selected node."""
        return self.tree.node(self.screen.selected)

    @cached_property
    def is_locked(self) -> bool:
        """Whether the tree cannot be changed: read-only database, or a team's tree in a demo."""
        return not self.log.is_editable(self.screen.tree_id)

    @property
    def unjudged(self) -> tuple[Candidate, ...]:
        """Candidates seen so far that are neither judged nor in the tree."""
        return tuple(
            candidate
            for candidate in self.candidates
            if candidate.judgement is None and candidate.in_tree is None
        )

    def run(self, command: Command) -> None:
        """Run a command; the screen's notice has the reason if it fails."""
        match command.verb:
            case "select":
                self.screen.select(command.target)
            case "page":
                if command.step < 0 or len(self.shown) == PAGE:
                    self.screen.turn(command.step)
            case "dialog":
                self.screen.dialog, self.screen.goal = command.target, None
            case "toggle":
                self.screen.toggle_rejected()
            case "undo" | "redo":
                self._undo_or_redo(command.verb)
            case "accept" | "reject":
                self._judge(command)
            case "withdraw":
                self._withdraw(command.target)
            case "finish":
                self._finish()
            case "list" if self.proposes:
                self.screen.turn_to(command.target)
            case "draft" if self.proposes:
                node = self.screen.selected
                self.screen.drafts[node] = basis_of(self.tree, node)
                self.screen.turn_to("draft")
            case "reorder":
                order = swap_siblings(self.tree, command.target, command.step)
                parent = self.tree.node(command.target).parent
                if order and parent:
                    self.act(Reorder(node=parent, order=order), keep=True)

    def act(self, act: Act, *, evidence: Evidence | None = None, keep: bool = False) -> bool:
        """Write an act to the log; return whether it was saved.

        Args:
            act: The act.
            evidence: Evidence of a judgement.
            keep: Keep the act on the screen for a retry if the database is locked.
        """
        base, tree_id = self.screen.version, self.screen.tree_id
        return self._write(
            act,
            describe(act, self.history.texts),
            lambda author: self.log.act(tree_id, act, author=author, base=base, evidence=evidence),
            keep=keep,
            base=base,
        )

    def retry_pending(self) -> None:
        """Retry the pending acts, the oldest first, up to the first that fails."""
        for act in self.screen.pending:
            if not self._try(act, keep=True):
                return

    def _undo_or_redo(self, verb: str) -> None:
        screen = self.screen
        if verb == "undo" and screen.pending:  # the last act was never saved
            screen.notice = ("stale", f"Undone before it was saved: {screen.pending[-1].description}.")
            screen.pending = screen.pending[:-1]
            return
        run = self.log.undo if verb == "undo" else self.log.redo
        description = f"{verb} of your last act"
        # Not kept while the database is locked: later, the last act may be another.
        self._write(verb, description, lambda author: run(screen.tree_id, author=author), keep=False)

    def _judge(self, command: Command) -> None:
        premise = next((c.premise for c in self.shown if c.premise.key == command.target), None)
        if premise is None:
            return
        kind = Accept if command.verb == "accept" else Reject
        self.act(kind(node=self.screen.selected, premise=premise), evidence=self.evidence, keep=True)

    def may_withdraw(self, candidate: Candidate) -> bool:
        """Whether an accepted candidate is in the tree with nothing below it that would go, too."""
        return candidate.in_tree is not None and not self.tree.node(candidate.in_tree).children

    def _withdraw(self, key: str) -> None:
        candidate = next((c for c in self.shown if c.premise.key == key and c.is_child), None)
        if candidate is not None and candidate.in_tree is not None and self.may_withdraw(candidate):
            self.act(Remove(node=candidate.in_tree), keep=True)

    def _finish(self) -> None:
        if not self.unjudged:
            reason = (
                "every candidate shown so far is judged or in the tree. Key n shows more"
                if self.candidates
                else "no candidates are shown"
            )
            self.screen.notice = ("stale", f"Nothing to reject: {reason}.")
            return
        premises = tuple(candidate.premise for candidate in self.unjudged)
        self.act(Finish(node=self.screen.selected, premises=premises), evidence=self.evidence, keep=True)

    def _write(
        self,
        act: Act | str,
        description: str,
        run: Callable[[str], History],
        *,
        keep: bool,
        base: int = 0,
    ) -> bool:
        if (author := self.author) is None:
            self.screen.dialog = "name"
            self.screen.unnamed = lambda: self._resume(act, description, run, keep=keep, base=base)
            return False
        return self._try(PendingAct(act, description, lambda: run(author), base), keep=keep)

    def _resume(
        self, act: Act | str, description: str, run: Callable[[str], History], *, keep: bool, base: int
    ) -> None:
        """Write an act that waited for its author's name; the page keeps its sentence if that fails."""
        recovery = self.screen.recovery
        saved = self._write(act, description, run, keep=keep, base=base)
        if saved or self.screen.recovery != recovery:
            return
        if isinstance(act, TypedAct) and act.text:
            self.screen.recovery = act

    def _try(self, act: PendingAct, *, keep: bool) -> bool:
        screen = self.screen
        try:
            history = act.run()
        except LockedDatabaseError:
            if keep and act not in screen.pending:
                screen.pending += (act,)
            screen.notice = ("locked", LOCKED)
            return False
        except EntailError as error:
            # After a conflict the author sees the newer version and the change; a retry is based on it.
            screen.pending = tuple(other for other in screen.pending if other != act)
            screen.notice = ("conflict" if isinstance(error, ConflictError) else "error", str(error))
            if isinstance(error, ConflictError) and not isinstance(act.act, str):
                newest = self.log.history(screen.tree_id)
                restored = restore_text(act.act, newest, base=act.base)
                screen.recovery = restored or screen.recovery
            return False
        screen.pending = tuple(other for other in screen.pending if other != act)
        screen.version, screen.notice = history.seq, None
        if screen.recovery == act.act:
            screen.recovery = None
        if screen.selected not in history.tree.nodes:
            screen.select(ROOT)
        return True
