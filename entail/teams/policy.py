"""Defaults of permissions: which role does what to a piece of work, in which state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from entail.trees.store.copies import ANNOTATORS, REVIEWERS, WRITABLE

Role = Literal["owner", "reviewer", "annotator", "reader"]
State = Literal["open", "in progress", "submitted", "in review", "accepted", "sent back", "dropped"]
ProjectAction = Literal["view", "annotate", "export", "oversee", "manage"]
PieceAction = Literal["take", "assign", "drop", "release", "submit", "take back", "edit", "comment"]
ReviewAction = Literal["review", "accept", "send back", "curate", "agree", "reopen"]
Action = ProjectAction | PieceAction | ReviewAction

ROLES: tuple[Role, ...] = get_args(Role)
STATES: tuple[State, ...] = get_args(State)

_OWNER: tuple[Role, ...] = ("owner",)
_REVIEWERS: tuple[Role, ...] = ("owner", "reviewer")
_ANNOTATORS: tuple[Role, ...] = ("owner", "reviewer", "annotator")
_WRITABLE: tuple[State, ...] = ("in progress", "sent back")
assert (_REVIEWERS, _ANNOTATORS, _WRITABLE) == (REVIEWERS, ANNOTATORS, WRITABLE)


@dataclass(frozen=True)
class Rule:
    """Permission of an action.

    Attributes:
        roles: Roles that may.
        states: States of a piece in which they may; none for an action on the whole project.
        own: Whether only the annotator of the piece may.
        agreed: Whether the piece is an agreed tree (True), an annotator's copy (False) or either.
        to: State that the action leads to; None if it leaves it.
    """

    roles: tuple[Role, ...]
    states: tuple[State, ...] = ()
    own: bool = False
    agreed: bool | None = False
    to: State | None = None


RULES: Mapping[Action, Rule] = {
    "view": Rule(ROLES),
    "annotate": Rule(_ANNOTATORS),
    "export": Rule(_REVIEWERS),
    "oversee": Rule(_REVIEWERS),
    "manage": Rule(_OWNER),
    "take": Rule(_ANNOTATORS, ("open",), to="in progress"),
    "assign": Rule(_OWNER, ("open", "in progress", "sent back"), to="open"),
    "drop": Rule(_OWNER, ("open", "in progress"), to="dropped"),
    "release": Rule(_ANNOTATORS, _WRITABLE, own=True, to="open"),
    "submit": Rule(_ANNOTATORS, _WRITABLE, own=True, to="submitted"),
    "take back": Rule(_ANNOTATORS, ("submitted",), own=True, to="in progress"),
    "edit": Rule(_ANNOTATORS, _WRITABLE, own=True),
    "comment": Rule(_ANNOTATORS, STATES, agreed=None),
    "review": Rule(_REVIEWERS, ("submitted",), to="in review"),
    "accept": Rule(_REVIEWERS, ("submitted", "in review"), to="accepted"),
    "send back": Rule(_REVIEWERS, ("submitted", "in review", "accepted"), to="sent back"),
    "curate": Rule(_REVIEWERS, ("open", "in progress"), agreed=True, to="in progress"),
    "agree": Rule(_REVIEWERS, ("in progress",), agreed=True, to="accepted"),
    "reopen": Rule(_REVIEWERS, ("accepted",), agreed=True, to="in progress"),
}
