"""Screen of a tree: what lasts of it in a browser tab, from run to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import streamlit as st

from entail.trees.log.acts import Act, Evidence
from entail.trees.log.replay import History
from entail.trees.log.tree import ROOT
from entail.trees.review.suggestions import Basis
from entail.ui.components.inbox import NodeEvent

Listing = Literal["retrieved", "next", "draft"]
"""List of candidates: retrieved, or proposed by a scorer by either means."""

LISTS: Mapping[Listing, str] = {"retrieved": "Retrieved", "next": "Next premise", "draft": "Chain"}


@dataclass
class Screen:
    """View of one tree in one browser tab, which lasts from run to run.

    Attributes:
        history: Newest version of the tree that this tab knows; acts are based on it.
        page: Index of the ten candidates shown.
        furthest: Highest page seen for this node and query; `finish` rejects up to there.
        query: Search words of the author, None for the node's text.
        ranks: Identifier of the ranking on the screen, None before the first.
        dialog: Name of the dialog to open in this run.
        goal: Conclusion of the step that the dialog proposes, None if it proposes none.
        notice: Reason why the last act failed: (`error`, `conflict` or `stale`, message).
        recovery: Act that saves the input of a conflicting one in another way; kept until saved or dismissed.
        unnamed: Act that waits for its author's name, the version that its author saw, and its evidence.
        drafts: Node -> basis of the chain drafted for it last.
        sent: Number of dialogs that saved an act: the next has other, empty fields.
        judged: Version of the tree and the evidence of its judgements, by seq.
    """

    tree_id: str
    history: History = field(init=False, repr=False)
    selected: str = ROOT
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
    unnamed: tuple[Act | str, int, Evidence | None] | None = None
    listing: Listing = "retrieved"
    drafts: dict[str, Basis] = field(default_factory=dict)
    sent: int = 0
    judged: tuple[int, Mapping[int, Evidence]] = (0, MappingProxyType({}))

    def update(self, history: History) -> None:
        """Continue with another version of the tree, in which the selected node may be gone."""
        self.history = history
        if self.selected not in history.tree.nodes:
            self.select(ROOT)

    def select(self, node_id: str) -> None:
        """Show the candidates of another node."""
        if node_id != self.selected:
            self.selected = node_id
            self.search(None)

    def apply(self, event: NodeEvent) -> None:
        """Apply a click in the graph or the outline: select, collapse, expand; a double click does both."""
        if event.kind in ("select", "open"):
            self.select(event.node)
        if event.kind in ("open", "expand"):
            self.collapsed -= {event.node}
        elif event.kind == "collapse":
            self.collapsed |= {event.node}
        elif event.kind == "toggle":
            self.collapsed ^= {event.node}

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

    def dismiss_notice(self) -> None:
        """Hide the reason why the last act failed."""
        self.notice = self.recovery = None


def screen_of(tree_id: str) -> Screen:
    """Return this tab's screen for a tree."""
    screens: dict[str, Screen] = st.session_state.setdefault("screens", {})
    return screens.setdefault(tree_id, Screen(tree_id))


def close_dialogs() -> None:
    """Record that a dialog was dismissed, so that the next run does not open it again."""
    for screen in st.session_state.get("screens", {}).values():
        screen.dialog = screen.unnamed = None
