"""Work of a project: the queue of pieces, assignment, and moves from open to accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from entail.errors import TeamError
from entail.teams.moves import (
    Move,
    Piece,
    lock_piece,
    read_moves,
    read_piece,
    record_move,
    select_pieces,
    tree_of,
)
from entail.teams.permissions import PieceId, is_piece, require
from entail.teams.policy import RULES, Action, State
from entail.trees.log.acts import Create
from entail.trees.log.event_log import insert_trees
from entail.trees.log.replay import CREATED
from entail.trees.store import schema
from entail.trees.store.authors import enter, is_signed_in
from entail.trees.store.copies import (
    REVIEWERS,
    WRITABLE,
    has_taken,
    hides_work,
    is_member,
    is_person,
)
from entail.trees.store.database import Database

_TO, _TO_NO_ONE = "to ", "to no one"
"""Reasons of assignments."""

_pieces, _copies, _hypotheses, _projects = schema.pieces, schema.copies, schema.hypotheses, schema.projects


class Waiting(NamedTuple):
    """What waits for someone, over all projects: pieces to work on, and hypotheses to review."""

    work: int = 0
    review: int = 0


class Work:
    """Pieces of the projects of a database.

    Methods raise `TeamError` if a piece is unknown or the actor may not, see `entail.teams.permissions`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def next_piece(self, project_id: str, *, actor: str) -> Piece | None:
        """Give the next piece of the queue to an annotator, with a tree of its own; None if none is left.

        Pieces assigned to them come first, then those without an assignee or whose lease has ended. No one
        gets two copies of one hypothesis. Of many calls at the same moment none gets the piece of another.
        """
        with self._database.writing(wait_seconds=self._database.wait_seconds) as connection:
            require(connection, actor, "annotate", project_id)
            return self._claim(connection, project_id, actor, _pieces.c.project_id == project_id)

    def take(self, piece: PieceId, *, actor: str) -> Piece:
        """Give this piece to an annotator, as `next_piece`."""
        with self._database.writing() as connection:
            require(connection, actor, "annotate", piece.project_id)
            if claimed := self._claim(connection, piece.project_id, actor, is_piece(piece)):
                return claimed
            require(connection, actor, "take", piece)
            message = "refused: the piece is assigned to another member, or you have a copy of its hypothesis"
            raise TeamError(message, reason="own")

    def _claim(
        self, connection: sa.Connection, project_id: str, actor: str, condition: sa.ColumnElement[bool]
    ) -> Piece | None:
        name = enter(connection, actor)
        # Two claims of one annotator follow each other, so that the second sees the first.
        own_row = schema.authors.join(_projects, _projects.c.id == project_id)
        settings = sa.select(_projects.c.idle_hours, _projects.c.corpus_id).select_from(own_row)
        settings = settings.where(schema.authors.c.name == name)
        project = connection.execute(settings.with_for_update(of=schema.authors, key_share=True)).one()
        ended = _lease_ended(datetime.now(UTC) - timedelta(hours=project.idle_hours))
        free = (_pieces.c.copy > 0) & sa.or_(_pieces.c.state == "open", ended)
        own = sa.func.coalesce(is_person(_pieces.c.assignee, actor), sa.false())
        query = select_pieces().order_by(None)
        query = query.where(condition, free, own | _pieces.c.assignee.is_(None), ~_spoilt(actor, name))
        query = query.order_by(own.desc(), _hypotheses.c.position, _pieces.c.copy)
        row = connection.execute(query.limit(1).with_for_update(of=_pieces, skip_locked=True)).first()
        if row is None:
            return None
        piece = read_piece(row)
        reason = f"the lease of {piece.annotator} ended" if piece.annotator else ""
        begun = tree_of(connection, piece.id, name) if piece.moves else None
        tree_id = _start_tree(connection, piece, name, actor, project.corpus_id) if begun is None else ""
        step: dict[str, Any] = {"state": "in progress", "annotator": name, "reason": reason}
        tree_seq = CREATED if begun is None else begun[1]
        moved = record_move(connection, piece, "take", actor=actor, tree_seq=tree_seq, **step)
        if begun is not None:
            return _read(connection, piece.id)
        return replace(moved, tree_id=tree_id, submitted_seq=None)

    def pieces(
        self,
        project_id: str,
        *,
        actor: str,
        states: Collection[State] | None = None,
        mine: bool = False,
    ) -> list[Piece]:
        """Return the pieces that an actor may see, in the order of work; with `mine` their own alone."""
        own = sa.or_(
            sa.func.coalesce(_pieces.c.annotator, "") == actor,
            sa.func.coalesce(is_person(_pieces.c.assignee, actor), sa.false()),
        )
        visible = own if mine else sa.or_(own, ~hides_work(_pieces, actor, enforced=is_signed_in(actor)))
        query = select_pieces().where(_pieces.c.project_id == project_id, visible)
        if states is not None:
            query = query.where(_pieces.c.state.in_(states))
        with self._database.reading() as connection:
            require(connection, actor, "view", project_id)
            return [read_piece(row) for row in connection.execute(query)]

    def states(self, *, actor: str) -> Mapping[str, State]:
        """Return tree -> state of the piece that its annotator has now, of those that an actor sees."""
        same = sa.and_(*(_copies.c[name] == _pieces.c[name] for name in (*PieceId._fields, "annotator")))
        visible = ~hides_work(_pieces, actor, enforced=is_signed_in(actor))
        query = sa.select(_copies.c.tree_id, _pieces.c.state).join(_pieces, same).where(visible)
        with self._database.reading() as connection:
            return {row.tree_id: row.state for row in connection.execute(query)}

    def waiting(self, *, actor: str) -> Waiting:
        """Return what waits for an actor: own pieces, and for a reviewer hypotheses with those of others."""
        assigned = sa.func.coalesce(is_person(_pieces.c.assignee, actor), sa.false())
        work = sa.or_(
            (_pieces.c.annotator == actor) & _pieces.c.state.in_(WRITABLE),
            (_pieces.c.state == "open") & assigned,
        )
        review = (
            _pieces.c.state.in_(("submitted", "in review"))
            & (_pieces.c.annotator != actor)
            & is_member(_pieces.c.project_id, actor, REVIEWERS)
            & ~hides_work(_pieces, actor, enforced=is_signed_in(actor))
        )
        is_own = is_member(_projects.c.id, actor) if is_signed_in(actor) else sa.true()
        active = _projects.c.archived_at.is_(None) & is_own
        hypothesis = _pieces.c.project_id + sa.cast(_pieces.c.number, sa.String)
        query = sa.select(
            sa.func.count(sa.case((work, 1))), sa.func.count(sa.distinct(sa.case((review, hypothesis))))
        )
        query = query.select_from(_pieces.join(_projects, _projects.c.id == _pieces.c.project_id))
        with self._database.reading() as connection:
            return Waiting._make(connection.execute(query.where(active, _pieces.c.copy > 0)).one())

    def counts(self, project_id: str, *, actor: str) -> Mapping[State, int]:
        """Return the number of pieces by state, of those that an actor may see."""
        return Counter(piece.state for piece in self.pieces(project_id, actor=actor))

    def review_queue(self, project_id: str, *, actor: str) -> list[Piece]:
        """Return the pieces that wait for a reviewer, those first that wait longest; none of their own."""
        pieces = self.pieces(project_id, actor=actor, states=("submitted", "in review"))
        with self._database.reading() as connection:
            require(connection, actor, "oversee", project_id)
        return sorted((piece for piece in pieces if piece.annotator != actor), key=lambda piece: piece.at)

    def piece_of(self, tree_id: str, *, actor: str) -> Piece | None:
        """Return the piece that a tree is a copy of; None if it is of no project, or hidden from them."""
        columns = (_copies.c[name] for name in PieceId._fields)
        query = sa.select(*columns).where(_copies.c.tree_id == tree_id)
        query = query.where(~hides_work(_copies, actor, enforced=is_signed_in(actor)))
        with self._database.reading() as connection:
            row = connection.execute(query).first()
            return _read(connection, PieceId(*row)) if row is not None else None

    def assign(self, piece: PieceId, member: str | None, *, actor: str) -> None:
        """Assign a piece to a member, by name or e-mail, or to no one; what was written is kept."""
        with self._database.writing() as connection:
            require(connection, actor, "assign", piece)
            locked = lock_piece(connection, piece)
            if member is not None:
                _require_free(connection, piece, member)
            _assign(connection, locked, member, actor)

    def assign_evenly(self, project_id: str, *, actor: str) -> int:
        """Assign the open pieces without an assignee, as many to each annotator; return their number.

        A project without annotators assigns to its reviewers and owners. Pieces are left if no member may
        have another copy of their hypothesis.
        """
        with self._database.writing(wait_seconds=self._database.wait_seconds) as connection:
            require(connection, actor, "manage", project_id)
            members = _annotators(connection, project_id)
            mine = _pieces.c.project_id == project_id
            load = Counter(dict.fromkeys(members, 0))
            busy: dict[int, set[str]] = {}
            for piece in map(read_piece, connection.execute(select_pieces().where(mine, _pieces.c.copy > 0))):
                for member, names in members.items():
                    if piece.assignee == member or piece.annotator in names:
                        load[member] += 1
                        busy.setdefault(piece.id.number, set()).add(member)
            number = 0
            unassigned = (
                mine & _pieces.c.assignee.is_(None) & (_pieces.c.state == "open") & (_pieces.c.copy > 0)
            )
            query = select_pieces().where(unassigned).with_for_update(of=_pieces)
            for piece in map(read_piece, connection.execute(query).all()):
                held_by = busy.setdefault(piece.id.number, set())
                free = [member for member in members if member not in held_by]
                if free:
                    member = min(free, key=load.__getitem__)
                    _assign(connection, piece, member, actor)
                    held_by.add(member)
                    load[member] += 1
                    number += 1
            return number

    def move(self, piece: PieceId, action: Action, *, actor: str, reason: str = "") -> Piece:
        """Move a piece by an action that leads to a state, other than `take`, `assign` and `curate`.

        A copy that no one will submit is dropped, so that the others of its hypothesis need not wait for it.

        Raises:
            TeamError: If the actor may not, a piece is sent back without a reason, or a copy is the only one.
        """
        rule = RULES[action]
        if rule.to is None or action in ("take", "assign", "curate"):
            raise ValueError(f"{action!r} is no move")
        if action == "send back" and not reason.strip():
            raise TeamError("write the reason why the tree is sent back", reason="empty")
        with self._database.writing() as connection:
            locked = lock_piece(connection, piece)
            require(connection, actor, action, piece)
            if action == "take back":
                _require_unrevealed(connection, locked)
            if action == "submit":
                _note_submission(connection, locked)
            if action == "drop":
                _count_copies(connection, locked, -1)
            annotator = None if action == "release" else locked.annotator
            record_move(
                connection, locked, action, state=rule.to, annotator=annotator, actor=actor, reason=reason
            )
            if action in ("submit", "drop"):
                _reveal(connection, locked)
            return _read(connection, piece)

    def undo(self, piece: PieceId, *, actor: str) -> Piece:
        """Undo the last move of a piece, by who made it, as long as no one built on it."""
        with self._database.writing() as connection:
            locked = lock_piece(connection, piece)
            require(connection, actor, "view", piece.project_id)
            moves = read_moves(connection, piece)
            if not moves or moves[-1].author != actor or moves[-1].action in ("undo", "import"):
                raise TeamError("there is no move of yours to undo: the last one is another's", reason="own")
            last = moves[-1]
            tree = tree_of(connection, piece, locked.annotator)
            if tree is not None and last.tree_seq not in (None, tree[1]):
                raise TeamError("cannot undo: the tree has changed since", reason="state")
            if last.action in ("submit", "drop"):
                _require_unrevealed(connection, locked)
            if last.action == "drop":
                _count_copies(connection, locked, 1)
            if last.action == "assign":
                before_it = {"assignee": _assignee(moves[:-1])}
                connection.execute(sa.update(_pieces).where(is_piece(piece)).values(before_it))
            before = moves[-2] if len(moves) > 1 else None
            record_move(
                connection,
                locked,
                "undo",
                state=before.state if before else "open",
                annotator=before.annotator if before else None,
                actor=actor,
                reason=f"of {last.action!r}",
            )
            return _read(connection, piece)

    def moves(self, piece: PieceId, *, actor: str) -> list[Move]:
        """Return the log of a piece; none of one that the actor must not see yet."""
        visible = ~hides_work(_pieces, actor, enforced=is_signed_in(actor))
        with self._database.reading() as connection:
            if connection.scalar(sa.select(_pieces.c.moves).where(is_piece(piece), visible)) is None:
                return []
            return read_moves(connection, piece)


def _lease_ended(cutoff: datetime) -> sa.ColumnElement[bool]:
    """Return a condition: whether a piece is in progress, and neither moved nor changed since a time."""
    trees = schema.trees
    same = sa.and_(*(_copies.c[name] == _pieces.c[name] for name in (*PieceId._fields, "annotator")))
    active = sa.exists().where(same, trees.c.id == _copies.c.tree_id, trees.c.changed_at >= cutoff)
    return (_pieces.c.state == "in progress") & (_pieces.c.at < cutoff) & ~active


def _spoilt(actor: str, name: str) -> sa.ColumnElement[bool]:
    """Return a condition: whether the annotator has another copy, or may have seen one before it is due."""
    other = _pieces.alias()
    same = (other.c.project_id == _pieces.c.project_id) & (other.c.number == _pieces.c.number)
    apart = same & (other.c.copy != _pieces.c.copy) & (other.c.copy > 0)
    own = apart & sa.or_(
        other.c.annotator == name, is_person(other.c.assignee, actor), has_taken(other, name)
    )
    begun = apart & (_hypotheses.c.copies > 1) & has_taken(other)
    saw = is_member(_pieces.c.project_id, actor, REVIEWERS) & sa.exists().where(begun)
    lost = sa.func.coalesce(_pieces.c.annotator, "") == name  # their own, which they need not take
    return sa.or_(lost, sa.exists().where(own), saw)


def _start_tree(connection: sa.Connection, piece: Piece, name: str, actor: str, corpus_id: str | None) -> str:
    act = Create(hypothesis=piece.hypothesis)
    (tree_id,) = insert_trees(connection, [act], author=actor, corpus_id=corpus_id)
    row = {**piece.id._asdict(), "tree_id": tree_id, "annotator": name}
    connection.execute(sa.insert(_copies).values(row))
    return tree_id


def _read(connection: sa.Connection, piece: PieceId) -> Piece:
    return read_piece(connection.execute(select_pieces().where(is_piece(piece))).one())


def _names(connection: sa.Connection, member: str) -> set[str]:
    """Return the names under which a member is known as an author."""
    email = schema.authors.c.email == member
    return {member, *connection.scalars(sa.select(schema.authors.c.name).where(email))}


def _annotators(connection: sa.Connection, project_id: str) -> dict[str, set[str]]:
    """Return the annotators of a project, by member, with their names; its other members without any."""
    table = schema.members.c
    rows = connection.execute(
        sa.select(table.member, table.role)
        .where(table.project_id == project_id, table.role != "reader")
        .order_by(table.member)
    ).all()
    annotators = [row.member for row in rows if row.role == "annotator"] or [row.member for row in rows]
    return {member: _names(connection, member) for member in annotators}


def _require_free(connection: sa.Connection, piece: PieceId, member: str) -> None:
    """Refuse a member without the right role, or who has another copy of the hypothesis."""
    table = schema.members.c
    role = sa.select(table.role).where(table.project_id == piece.project_id, table.member == member)
    if connection.scalar(role) not in RULES["take"].roles:
        raise TeamError(
            f"{member} cannot annotate in this project; make them a member with that role first",
            reason="role",
        )
    names = _names(connection, member)
    same = (_pieces.c.project_id == piece.project_id) & (_pieces.c.number == piece.number)
    other = same & (_pieces.c.copy != piece.copy) & (_pieces.c.copy > 0)
    occupied = sa.or_(
        _pieces.c.annotator.in_(names), _pieces.c.assignee.in_(names), has_taken(_pieces, *names)
    )
    if connection.scalar(sa.select(_pieces.c.copy).where(other, occupied).limit(1)) is not None:
        raise TeamError(f"{member} has another copy of this hypothesis already", reason="own")


def _assign(connection: sa.Connection, piece: Piece, member: str | None, actor: str) -> None:
    connection.execute(sa.update(_pieces).where(is_piece(piece.id)).values(assignee=member))
    reason = f"{_TO}{member}" if member is not None else _TO_NO_ONE
    record_move(connection, piece, "assign", state="open", annotator=None, actor=actor, reason=reason)


def _assignee(moves: Sequence[Move]) -> str | None:
    """Return the member to whom a piece was assigned after some moves."""
    members: list[str | None] = [None]
    for move in moves:
        if move.action == "assign":
            members.append(move.reason.removeprefix(_TO) if move.reason != _TO_NO_ONE else None)
        elif move.action == "undo" and move.reason == "of 'assign'":
            members.pop()
    return members[-1]


def _count_copies(connection: sa.Connection, piece: Piece, change: int) -> None:
    """Change the number of copies of a hypothesis, which keeps one at least."""
    table = _hypotheses
    own = (table.c.project_id == piece.id.project_id) & (table.c.number == piece.id.number)
    values = {"copies": table.c.copies + change}
    if not connection.execute(sa.update(table).where(own, values["copies"] > 0).values(values)).rowcount:
        raise TeamError("this is the only copy of its hypothesis, which keeps it", reason="state")


def _require_unrevealed(connection: sa.Connection, piece: Piece) -> None:
    """Refuse to change which copies are due once the other annotators have seen them."""
    same = (_hypotheses.c.project_id == piece.id.project_id) & (_hypotheses.c.number == piece.id.number)
    least = 1 if piece.state == "dropped" else 2
    query = sa.select(_hypotheses.c.revealed_at).where(same, _hypotheses.c.copies >= least)
    if connection.scalar(query) is not None:
        raise TeamError(
            "annotators may have seen each other's copies since; a reviewer can send one back",
            reason="state",
        )


def _note_submission(connection: sa.Connection, piece: Piece) -> None:
    """Keep the seq of the first submission, which agreement is about."""
    tree = tree_of(connection, piece.id, piece.annotator)
    assert tree is not None, "a piece in progress has a tree"
    first = (_copies.c.tree_id == tree[0]) & _copies.c.submitted_seq.is_(None)
    connection.execute(sa.update(_copies).where(first).values(submitted_seq=tree[1]))


def _reveal(connection: sa.Connection, piece: Piece) -> None:
    """Show the copies of a hypothesis to each other's annotators once all are submitted, or one is left."""
    table = _hypotheses
    own = (table.c.project_id == piece.id.project_id) & (table.c.number == piece.id.number)
    # Two who submit at the same moment follow each other, so that the second sees the first.
    connection.execute(sa.select(table.c.number).where(own).with_for_update())
    same = (_pieces.c.project_id == piece.id.project_id) & (_pieces.c.number == piece.id.number)
    waiting = same & (_pieces.c.copy > 0) & _pieces.c.state.in_(("open", "in progress"))
    is_due = sa.or_(table.c.copies == 1, ~sa.exists().where(waiting))
    first = own & table.c.revealed_at.is_(None) & is_due
    connection.execute(sa.update(table).where(first).values(revealed_at=datetime.now(UTC)))
