"""The authoring screen's state in one browser tab, and what a command does to it and to the tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import streamlit as st

from entail.errors import ConflictError, EntailError, LockedDatabaseError
from entail.trees.acts import Accept, Act, Evidence, Finish, Reject, Reorder
from entail.trees.log import TreeLog
from entail.trees.proposals import Basis, basis_of
from entail.trees.replay import History
from entail.trees.suggestions import Candidate
from entail.trees.tree import ROOT
from entail.trees.wording import describe
from entail.ui.author import Visitor
from entail.ui.commands import PAGE, Command, moved
from entail.ui.suggester import LISTS, Listing, Offer

LOCKED = (
    "Somebody else is writing to the database just now, so this was not saved. Nothing was lost, and what "
    "you typed is kept: try again in a moment."
)
"""What is said where an act finds the database locked."""


@dataclass(frozen=True)
class Kept:
    """An act that could not be saved for now, because somebody else was writing; equal if it does the same.

    Attributes:
        what: The act, or `undo` or `redo`.
        words: The same in words.
        do: Tries it; what it is based on is what its author saw.
    """

    what: Act | str
    words: str = field(compare=False)
    do: Callable[[], History] = field(compare=False)


@dataclass
class Screen:
    """Where the author is on one tree.

    Attributes:
        tree_id: The tree.
        selected: Node whose candidates are shown.
        seen: Seq of the version on the screen; acts are based on it.
        page: Which ten candidates are shown.
        furthest: Highest page looked at for this node and query; `finish` rejects up to there.
        query: The author's own words, None for the node's text.
        ranks: Revision of what ranked the candidates on the screen; None before there were any.
        collapsed: Nodes whose premises the graph hides.
        show_rejected: Whether the graph shows rejected premises.
        dialog: Name of the dialog to open in this run.
        notice: What stood in the way of the last act: (`error`, `conflict`, `locked` or `stale`, words).
        kept: Acts that are not saved yet, because somebody else was writing; the oldest first.
        saved: When the last act was confirmed.
        listing: Which list is shown, where a scorer of facts is here: what was retrieved, or its proposals.
        drafts: Node -> what the chain rests on that was drafted for it last.
    """

    tree_id: str
    selected: str = ROOT
    seen: int = 0
    page: int = 0
    furthest: int = 0
    query: str | None = None
    ranks: str | None = None
    collapsed: frozenset[str] = frozenset()
    show_rejected: bool = False
    dialog: str | None = None
    notice: tuple[str, str] | None = None
    kept: tuple[Kept, ...] = ()
    saved: datetime | None = None
    listing: Listing = "retrieved"
    drafts: dict[str, Basis] = field(default_factory=dict)

    def select(self, node_id: str) -> None:
        """Show the candidates of another node."""
        if node_id != self.selected:
            self.selected, self.page, self.furthest, self.query = node_id, 0, 0, None

    def turn(self, step: int) -> None:
        """Turn to the next or previous candidates."""
        self.page = max(0, self.page + step)
        self.furthest = max(self.furthest, self.page)

    def rank_by(self, revision: str) -> None:
        """Begin at the first candidates where another encoder ranks them: it is another list.

        What was looked at of the old one was not looked at in the new one, and `finish` must not reject it.
        """
        if self.ranks not in (None, revision):
            self.page = self.furthest = 0
        self.ranks = revision

    def turn_to(self, listing: str) -> None:
        """Show another list; for an empty name the one that comes next."""
        names = list(LISTS)
        after = names[(names.index(self.listing) + 1) % len(names)]
        self.listing = next((name for name in names if name == listing), after)

    def search(self, words: str | None) -> None:
        """Search with the author's own words, or with the node's text for None."""
        self.query, self.page, self.furthest = (words or "").strip() or None, 0, 0


def screen_of(tree_id: str) -> Screen:
    """Return this tab's screen for a tree."""
    screens: dict[str, Screen] = st.session_state.setdefault("screens", {})
    return screens.setdefault(tree_id, Screen(tree_id))


@dataclass(frozen=True)
class Desk:
    """What a command needs at hand: the log and what is on the screen.

    Attributes:
        log: The trees.
        visitor: Who is at work.
        screen: Where they are.
        history: The newest version of the tree.
        shown: The candidates on the screen.
        looked_at: Those up to there, from the first.
        evidence: What a judgement on them rests on.
        pool: Where the author asked for some or for another order: the candidates that they are picked from.
        offered: How many are offered, None for all of the corpus, or while they are picked.
        offer: What a scorer of facts proposes, where its proposals are shown.
        proposes: Whether there is a scorer that can.
    """

    log: TreeLog
    visitor: Visitor
    screen: Screen
    history: History
    shown: tuple[Candidate, ...]
    looked_at: tuple[Candidate, ...]
    evidence: Evidence | None
    pool: tuple[Candidate, ...] = ()
    offered: int | None = None
    offer: Offer | None = None
    proposes: bool = False

    @property
    def author(self) -> str | None:
        """Who is at work now: a desk set before the name was given serves the click that came after."""
        return self.visitor.name

    @cached_property
    def closed(self) -> bool:
        """Whether the tree can be looked at only: the database is read-only, or a demo's team made it."""
        return not self.log.takes_acts(self.screen.tree_id)

    def run(self, command: Command) -> None:
        """Do what the command says; what it came to stands in the screen's notice."""
        match command.verb:
            case "select":
                self.screen.select(command.target)
            case "page":
                if command.step < 0 or len(self.shown) == PAGE:
                    self.screen.turn(command.step)
            case "dialog":
                self.screen.dialog = command.target
            case "toggle":
                self.screen.show_rejected = not self.screen.show_rejected
            case "undo" | "redo":
                self.take_back(command.verb)
            case "accept" | "reject":
                self._judge(command)
            case "finish":
                self._finish()
            case "list" if self.proposes:
                self.screen.turn_to(command.target)
            case "draft" if self.proposes:
                node = self.screen.selected
                self.screen.drafts[node] = basis_of(self.history.tree, node)
                self.screen.turn_to("draft")
            case "reorder":
                order = moved(self.history.tree, command.target, command.step)
                parent = self.history.tree.node(command.target).parent
                if order and parent:
                    self.act(Reorder(node=parent, order=order), keep=True)

    def act(self, act: Act, *, evidence: Evidence | None = None, keep: bool = False) -> bool:
        """Put an act into the log; return whether it was taken.

        With `keep`, one that finds somebody else writing is kept on the screen, to be tried again.
        """
        author, screen = self.author, self.screen
        if author is None:
            screen.dialog = "name"
            return False
        base, words = screen.seen, describe(act, self.history.texts)
        return self._try(
            Kept(
                act,
                words,
                lambda: self.log.act(screen.tree_id, act, author=author, base=base, evidence=evidence),
            ),
            keep=keep,
        )

    def take_back(self, verb: str) -> bool:
        """Undo or redo the author's own last act; return whether it was taken."""
        author, screen = self.author, self.screen
        if author is None:
            screen.dialog = "name"
            return False
        if verb == "undo" and screen.kept and not isinstance(screen.kept[-1].what, str):
            # The last act is one that was never saved.
            screen.notice = ("stale", f"Taken back before it was saved: {screen.kept[-1].words}.")
            screen.kept = screen.kept[:-1]
            return True
        do = self.log.undo if verb == "undo" else self.log.redo
        kept = Kept(verb, f"{verb} of your last act", lambda: do(screen.tree_id, author=author))
        return self._try(kept, keep=True)

    def try_again(self) -> None:
        """Try the acts that were kept, the oldest first, up to the first that is not taken."""
        for kept in self.screen.kept:
            if not self._try(kept, keep=True):
                return

    def _judge(self, command: Command) -> None:
        premise = next((c.premise for c in self.shown if c.premise.key == command.target), None)
        if premise is None:
            return
        kind = Accept if command.verb == "accept" else Reject
        self.act(kind(node=self.screen.selected, premise=premise), evidence=self.evidence, keep=True)

    def _finish(self) -> None:
        open_ = tuple(c.premise for c in self.looked_at if c.judgement is None and c.in_tree is None)
        if not open_:
            why = (
                "every candidate shown so far is judged already, or in the tree; key n shows more"
                if self.looked_at
                else "no candidates are shown"
            )
            kind = self.history.tree.node(self.screen.selected).kind
            self.screen.notice = (
                "stale",
                f"Finishing this {kind} would reject the candidates that are shown and open, but {why}. "
                "So nothing was done.",
            )
            return
        self.act(Finish(node=self.screen.selected, premises=open_), evidence=self.evidence, keep=True)

    def _try(self, act: Kept, *, keep: bool) -> bool:
        screen = self.screen
        try:
            history = act.do()
        except LockedDatabaseError:
            if keep and act not in screen.kept:
                screen.kept += (act,)
            screen.notice = ("locked", LOCKED)
            return False
        except EntailError as error:
            # After a conflict the author sees the newer version with the change named; the same act again is
            # based on it.
            screen.kept = _without(act, screen.kept)
            screen.notice = ("conflict" if isinstance(error, ConflictError) else "error", str(error))
            return False
        screen.kept = _without(act, screen.kept)
        screen.seen, screen.notice = history.seq, None
        screen.saved = history.events[-1].at
        if screen.selected not in history.tree.nodes:
            screen.select(ROOT)
        return True


def _without(act: Kept, kept: tuple[Kept, ...]) -> tuple[Kept, ...]:
    return tuple(other for other in kept if other != act)
