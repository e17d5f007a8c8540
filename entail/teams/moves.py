"""Pieces of work and their moves from state to state, which are a log like that of a tree."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, cast

import sqlalchemy as sa

from entail.errors import TeamError
from entail.teams.permissions import PieceId, is_piece
from entail.teams.policy import State
from entail.trees.store import schema
from entail.trees.store.authors import enter, is_signed_in
from entail.trees.store.copies import WRITABLE


@dataclass(frozen=True, slots=True)
class Piece:
    """Piece of work.

    Attributes:
        id: Its project, number of the hypothesis, and copy.
        hypothesis: Text of the hypothesis.
        state: Where it stands.
        annotator: Author who has it; of an agreed tree the reviewer who began it.
        assignee: Member to whom it was assigned, by name or e-mail.
        at: Time of its last move, in UTC.
        moves: Number of its moves.
        tree_id: Tree of the annotator, None before it is taken.
        submitted_seq: Seq of that tree when it was first submitted; what agreement is about.
    """

    id: PieceId
    hypothesis: str
    state: State
    annotator: str | None
    assignee: str | None
    at: datetime
    moves: int
    tree_id: str | None
    submitted_seq: int | None

    def is_open_to(self, author: str | None) -> bool:
        """Whether an author may change its tree now, as far as state and authorship decide."""
        return self.state in WRITABLE and (self.id.copy == 0 or self.annotator in (None, author))


@dataclass(frozen=True, slots=True)
class Move:
    """Move of a piece: action, state and annotator after it, seq of the tree then, and who did it when."""

    seq: int
    action: str
    state: State
    annotator: str | None
    tree_seq: int | None
    reason: str
    author: str
    at: datetime
    verified: bool


def select_pieces() -> sa.Select[tuple[object, ...]]:
    """Return the query of pieces for `read_piece`, the order of work first."""
    pieces, hypotheses, copies = schema.pieces, schema.hypotheses, schema.copies
    own = sa.and_(*(copies.c[name] == pieces.c[name] for name in (*PieceId._fields, "annotator")))
    same = sa.and_(*(hypotheses.c[name] == pieces.c[name] for name in ("project_id", "number")))
    columns = (hypotheses.c.text, copies.c.tree_id, copies.c.submitted_seq)
    query = sa.select(pieces, *columns).select_from(pieces.join(hypotheses, same).outerjoin(copies, own))
    return query.order_by(pieces.c.project_id, hypotheses.c.position, pieces.c.copy)


def read_piece(row: sa.Row[tuple[object, ...]]) -> Piece:
    """Return the piece of a row of `select_pieces`."""
    values = row._mapping
    names = [field.name for field in fields(Piece)][2:]
    id = PieceId(*(values[name] for name in PieceId._fields))
    return Piece(id, values["text"], **{name: values[name] for name in names})


def lock_piece(connection: sa.Connection, piece: PieceId) -> Piece:
    """Return a piece that no one else changes before the end of the transaction."""
    query = select_pieces().where(is_piece(piece)).with_for_update(of=schema.pieces)
    if (row := connection.execute(query).first()) is None:
        raise TeamError(f"there is no piece {piece}; its project may have been removed", reason="unknown")
    return read_piece(row)


def tree_of(connection: sa.Connection, piece: PieceId, annotator: str | None) -> tuple[str, int] | None:
    """Return id and seq of an annotator's tree of a piece, None before there is one."""
    copies, trees = schema.copies.c, schema.trees.c
    same = sa.and_(*(copies[name] == value for name, value in piece._asdict().items()))
    query = sa.select(trees.id, trees.seq).where(
        same, copies.annotator == annotator, trees.id == copies.tree_id
    )
    row = connection.execute(query).first()
    return (row.id, row.seq) if row is not None else None


def record_move(
    connection: sa.Connection,
    piece: Piece,
    action: str,
    *,
    state: State,
    annotator: str | None,
    actor: str,
    reason: str = "",
    tree_seq: int | None = None,
) -> Piece:
    """Move a locked piece and log it with the seq of its tree, which is looked up by default.

    Raises:
        TeamError: If its annotator has another copy already; the transaction has to end then.
    """
    at, name = datetime.now(UTC), enter(connection, actor)
    if tree_seq is None and (tree := tree_of(connection, piece.id, annotator or piece.annotator)) is not None:
        tree_seq = tree[1]
    values: dict[str, Any] = {"state": state, "annotator": annotator, "at": at, "moves": piece.moves + 1}
    try:
        connection.execute(sa.update(schema.pieces).where(is_piece(piece.id)).values(**values))
    except sa.exc.IntegrityError as error:
        raise TeamError(
            f"{annotator} has another copy of this hypothesis already; each is for another annotator",
            reason="own",
        ) from error
    row = {
        **piece.id._asdict(),
        "seq": piece.moves + 1,
        "action": action,
        "state": state,
        "annotator": annotator,
        "tree_seq": tree_seq,
        "reason": reason.strip(),
        "author": name,
        "at": at,
        "verified": is_signed_in(actor),
    }
    connection.execute(sa.insert(schema.moves).values(row))
    return replace(piece, **values)


def read_moves(connection: sa.Connection, piece: PieceId) -> list[Move]:
    """Return the moves of a piece, in order."""
    table = schema.moves
    same = sa.and_(*(table.c[name] == value for name, value in piece._asdict().items()))
    columns = (table.c[field.name] for field in fields(Move))
    rows = connection.execute(sa.select(*columns).where(same).order_by(table.c.seq))
    return [Move(*cast("tuple[object, ...]", row)) for row in rows]  # type: ignore[arg-type]  # in the order of its fields
