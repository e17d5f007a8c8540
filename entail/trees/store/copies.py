"""Trees that are pieces of a project: who sees them, and who may change them now.

Annotators of one hypothesis work on copies of their own, which they do not see of each other until all are
submitted. A tree that is no piece of a project is seen and changed by all. `entail.teams.policy` says what
else a role may do.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from entail.errors import TeamError
from entail.trees.store.schema import authors, copies, hypotheses, members, moves, pieces, projects, trees

REVIEWERS = ("owner", "reviewer")
"""Roles that see the copies of all annotators, unless they annotate the same hypothesis."""

ANNOTATORS = (*REVIEWERS, "annotator")
"""Roles that may have pieces of their own."""

WRITABLE = ("in progress", "sent back")
"""States in which a tree can be changed."""


def is_person(member: sa.ColumnElement[str], author: str) -> sa.ColumnElement[bool]:
    """Return a condition: whether a member, by name or e-mail, is an author."""
    person = authors.alias()
    email = sa.select(person.c.email).where(person.c.name == author).scalar_subquery()
    # A provider lets people choose a name that looks like the e-mail of another.
    return member == email if "@" in author else sa.or_(member == author, member == email)


def is_member(
    project_id: sa.ColumnElement[str], author: str, roles: Collection[str] | None = None
) -> sa.ColumnElement[bool]:
    """Return a condition: whether an author has one of some roles, or any, in a project."""
    own = members.alias()
    rows = (own.c.project_id == project_id) & is_person(own.c.member, author)
    return sa.exists().where(rows if roles is None else rows & own.c.role.in_(roles))


def has_taken(work: sa.FromClause, *names: str) -> sa.ColumnElement[bool]:
    """Return a condition: whether a row of `pieces` has a tree of one of some authors, or of any."""
    copy = copies.alias()
    rows = sa.and_(*(copy.c[name] == work.c[name] for name in ("project_id", "number", "copy")))
    return sa.exists().where(rows & copy.c.annotator.in_(names) if names else rows)


def is_annotator(
    project_id: sa.ColumnElement[str], number: sa.ColumnElement[int], author: str
) -> sa.ColumnElement[bool]:
    """Return a condition: whether an author has, had or is to have a copy of a hypothesis."""
    piece = pieces.alias()
    same = (piece.c.project_id == project_id) & (piece.c.number == number) & (piece.c.copy > 0)
    own = sa.or_(has_taken(piece, author), is_person(piece.c.assignee, author))
    return sa.exists().where(same, own)


def hides(
    tree_id: sa.ColumnElement[str], viewer: str | None = None, *, enforced: bool = False
) -> sa.ColumnElement[bool]:
    """Return a condition: whether a tree must not be seen; see `hides_work`."""
    copy = copies.alias()
    return sa.exists().where(copy.c.tree_id == tree_id, hides_work(copy, viewer, enforced=enforced))


def hides_work(
    work: sa.FromClause, viewer: str | None = None, *, enforced: bool = False
) -> sa.ColumnElement[bool]:
    """Return a condition: whether rows of `copies` or `pieces` must not be seen.

    Args:
        work: The table.
        viewer: Author who looks; None for what everybody may see, such as training data and public links.
        enforced: Whether roles are, as the viewer signed in or would have to: then work in a project is for
            its members.
    """
    project_id, number = work.c.project_id, work.c.number
    hypothesis = hypotheses.alias().c
    secret = sa.exists().where(
        hypothesis.project_id == project_id,
        hypothesis.number == number,
        hypothesis.copies > 1,
        hypothesis.revealed_at.is_(None),
    )
    if viewer is None:
        return secret
    reviews = is_member(project_id, viewer, REVIEWERS) & ~is_annotator(project_id, number, viewer)
    condition: sa.ColumnElement[bool] = secret & ~reviews
    if enforced:
        condition = sa.or_(condition, ~is_member(project_id, viewer))
    return (sa.func.coalesce(work.c.annotator, "") != viewer) & condition


def select_review(tree_id: str) -> sa.Select[tuple[object, ...]]:
    """Return the query of the stand of a tree in its project: the columns of `Review`."""
    numbers = ("project_id", "number", "copy")
    piece = sa.and_(*(pieces.c[name] == copies.c[name] for name in numbers))
    last = sa.and_(*(moves.c[name] == copies.c[name] for name in numbers), moves.c.seq == pieces.c.moves)
    current = pieces.c.annotator == copies.c.annotator
    query = sa.select(
        copies.c.tree_id.label("tree"),
        projects.c.name.label("project"),
        copies.c.number,
        copies.c.copy,
        copies.c.annotator,
        sa.case((current, pieces.c.state), else_="released").label("state"),
        # Who has the piece now may be hidden from the author of a tree that was released.
        sa.case((current, moves.c.author), else_=copies.c.annotator).label("by"),
        sa.case((current, moves.c.at), else_=trees.c.changed_at).label("at"),
    )
    joined = copies.join(trees).join(projects, projects.c.id == copies.c.project_id).join(pieces, piece)
    return query.select_from(joined.join(moves, last)).where(copies.c.tree_id == tree_id)


def keeps_in(tree_id: sa.ColumnElement[str], author: str, *, enforced: bool) -> sa.ColumnElement[bool]:
    """Return a condition: whether an author must not let a tree out of its project, by a link or to the Hub.

    Owners and reviewers of the project may, and all where roles are not enforced.
    """
    if not enforced:
        return sa.false()
    copy = copies.alias()
    return sa.exists().where(copy.c.tree_id == tree_id, ~is_member(copy.c.project_id, author, REVIEWERS))


def require_own(connection: sa.Connection, tree_id: str) -> None:
    """Raise `TeamError` if a tree is a piece of a project."""
    if connection.scalar(sa.select(copies.c.project_id).where(copies.c.tree_id == tree_id)) is not None:
        raise TeamError("this tree is a piece of a project: it is archived with the project", reason="state")


def require_writable(connection: sa.Connection, tree_id: str, author: str, *, enforced: bool) -> None:
    """Raise `TeamError` unless an author may change a tree now; those of no project all may.

    The piece is locked until the end of the transaction, so that no act falls into a submission.
    """
    same = (pieces.c.project_id == copies.c.project_id) & (pieces.c.number == copies.c.number)
    query = sa.select(pieces, copies.c.annotator.label("writer"), projects.c.archived_at).join(
        copies, same & (pieces.c.copy == copies.c.copy)
    )
    query = query.join(projects, projects.c.id == pieces.c.project_id)
    query = query.where(copies.c.tree_id == tree_id).with_for_update(of=pieces)
    if (piece := connection.execute(query).first()) is None:
        return
    roles = ANNOTATORS if piece.copy else REVIEWERS
    role = sa.select(is_member(sa.literal(piece.project_id), author, roles))
    if enforced and not connection.scalar(role):
        message = f"not saved: this tree is for the roles {', '.join(roles)}; ask an owner of the project"
        raise TeamError(message, reason="role")
    if piece.archived_at is not None:
        raise TeamError("not saved: the project is archived; an owner can restore it", reason="archived")
    if piece.copy and author != piece.writer:
        raise TeamError(f"not saved: this copy is {piece.writer}'s, who alone changes it", reason="own")
    if piece.copy and piece.annotator != author:
        holder = f"{piece.annotator} has it now" if piece.annotator else "it is open to all"
        raise TeamError(
            f"not saved: your lease of this piece has ended, and {holder}; what you wrote before is kept. "
            "Take the next piece",
            reason="lease",
        )
    if piece.state not in WRITABLE:
        remedy = "; take it back to change it" if piece.state == "submitted" else ""
        message = f"not saved: this tree is {piece.state}, so it can only be read{remedy}"
        raise TeamError(message, reason="state")
