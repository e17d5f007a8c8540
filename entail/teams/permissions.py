"""Permissions: whether an actor may do an action to a resource, and which resources an action is open on.

An actor is an author; a resource is a project, by id, or a piece. One expression of SQL gives the reason
against an action, none if it is allowed, so a whole list is one question. Roles count for authors who signed
in (`SignedIn`); a typed name is not checked against them, states and authorship are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from entail.errors import TeamError
from entail.teams.policy import RULES, Action, Rule
from entail.trees.store.authors import is_signed_in
from entail.trees.store.copies import is_member
from entail.trees.store.database import Database
from entail.trees.store.schema import pieces, projects


class PieceId(NamedTuple):
    """Piece of work: the copy of a hypothesis that one annotator makes; copy 0 is the agreed tree."""

    project_id: str
    number: int
    copy: int

    @property
    def agreed(self) -> PieceId:
        """The agreed tree of its hypothesis."""
        return self._replace(copy=0)


Resource = str | PieceId
"""Project, by id, or piece."""


@dataclass(frozen=True)
class Decision:
    """Answer on a permission; `reason` is that of `TeamError`, None if it is allowed."""

    allowed: bool
    reason: str | None
    message: str = ""


def reason_against(actor: str, action: Action) -> sa.ColumnElement[Any]:
    """Return the reason against an action as an expression over `pieces`, or over `projects`."""
    rule = RULES[action]
    project_id = pieces.c.project_id if rule.states else projects.c.id
    project = projects.alias().c
    archived = sa.exists().where(project.id == project_id, project.archived_at.is_not(None))
    cases: list[tuple[sa.ColumnElement[bool], str]] = []
    if is_signed_in(actor):
        cases.append((~is_member(project_id, actor, rule.roles), "role"))
    if rule.states or action == "annotate":
        cases.append((archived, "archived"))
    if rule.states:
        if rule.agreed is not None:
            cases.append(((pieces.c.copy == 0) != rule.agreed, "state"))
        if rule.own:
            cases.append((sa.func.coalesce(pieces.c.annotator, "") != actor, "own"))
        cases.append((pieces.c.state.not_in(rule.states), "state"))
    return sa.case(*cases, else_=None) if cases else sa.null()


def is_piece(piece: PieceId) -> sa.ColumnElement[bool]:
    """Return a condition: whether a row of `pieces` is this one."""
    return sa.and_(*(pieces.c[name] == value for name, value in piece._asdict().items()))


def decide(connection: sa.Connection, actor: str, action: Action, resource: Resource) -> Decision:
    """Return whether an actor may do an action, in the caller's transaction."""
    rule = RULES[action]
    if isinstance(resource, PieceId):
        columns: tuple[sa.ColumnElement[Any], ...] = (pieces.c.state, pieces.c.annotator)
        condition = is_piece(resource)
    else:
        columns, condition = (sa.literal(""), sa.literal("")), projects.c.id == resource
    if isinstance(resource, PieceId) != bool(rule.states):
        raise ValueError(f"{action!r} is no action on {resource!r}")
    query = sa.select(reason_against(actor, action), *columns).where(condition)
    row = connection.execute(query).first()
    if row is None:
        return Decision(False, "unknown", f"there is no {_name(resource)}; it may have been removed")
    reason, state, annotator = row
    return Decision(reason is None, reason, _explain(reason, action, rule, actor, state, annotator))


def _name(resource: Resource) -> str:
    if isinstance(resource, str):
        return f"project {resource!r}"
    return f"piece {resource.number}.{resource.copy} in project {resource.project_id!r}"


def _explain(
    reason: str | None, action: Action, rule: Rule, actor: str, state: str, annotator: str | None
) -> str:
    match reason:
        case "role":
            return f"{action!r} is for the roles {', '.join(rule.roles)}; ask an owner of the project"
        case "archived":
            return "the project is archived; an owner can restore it"
        case "own":
            return f"{action!r} is for the annotator of the piece, {annotator or 'no one yet'}, not {actor}"
        case "state":
            return f"{action!r} needs a piece that is {' or '.join(rule.states)}; this one is {state}"
    return ""


def require(connection: sa.Connection, actor: str, action: Action, resource: Resource) -> None:
    """Raise `TeamError` with the reason if an actor may not do an action."""
    decision = decide(connection, actor, action, resource)
    if decision.reason is not None:
        raise TeamError(f"refused: {decision.message}", reason=decision.reason)


def allowed(database: Database, actor: str, action: Action, resource: Resource) -> Decision:
    """Return whether an actor may do an action to a project or a piece.

    Example:
        >>> allowed(database, "Ada", "submit", piece).message  # doctest: +SKIP
        "'submit' needs a piece that is in progress or sent back; this one is accepted"
    """
    with database.reading() as connection:
        return decide(connection, actor, action, resource)


def allowed_pieces(database: Database, actor: str, action: Action, project_id: str) -> list[PieceId]:
    """Return the pieces of a project that an actor may do an action to."""
    columns = (pieces.c[name] for name in PieceId._fields)
    query = sa.select(*columns).where(
        pieces.c.project_id == project_id, reason_against(actor, action).is_(None)
    )
    with database.reading() as connection:
        return [PieceId(*row) for row in connection.execute(query.order_by(*PieceId._fields))]
