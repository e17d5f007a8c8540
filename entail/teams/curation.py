"""Agreed trees: begun with what all copies of a hypothesis agree on, completed by a reviewer's choices.

The agreed tree is copy 0 of the hypothesis, a tree with a log of its own. Each choice is logged with the
copies that have what was chosen: every node says whose it was, and a later curation goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from entail.errors import ConflictError, TeamError
from entail.teams.differences import Difference, consensus, differences, take_whole
from entail.teams.moves import Piece, lock_piece, read_piece, record_move, select_pieces
from entail.teams.permissions import PieceId, is_piece, require
from entail.trees.log.acts import Act, Edit, Event
from entail.trees.log.event_log import TreeLog, insert_trees
from entail.trees.log.replay import CREATED, History
from entail.trees.log.tree import Tree
from entail.trees.store import schema
from entail.trees.store.authors import enter, is_signed_in
from entail.trees.store.database import Database

_choices, _pieces = schema.choices, schema.pieces


@dataclass(frozen=True)
class Comparison:
    """Agreed tree of a hypothesis next to its copies.

    Attributes:
        piece: The agreed tree's piece.
        history: The agreed tree with its log.
        copies: Pieces of the copies, in order.
        trees: Their trees, in the same order.
        open: Differences without a choice yet, those first that most copies have.
        left: Differences that a reviewer left out.
    """

    piece: Piece
    history: History
    copies: tuple[Piece, ...]
    trees: tuple[Tree, ...]
    open: tuple[Difference, ...]
    left: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Authors of a node: annotators whose copies have it, or the reviewer; likewise of its wording."""

    authors: tuple[str, ...]
    wording: tuple[str, ...]


class Curation:
    """Agreed trees of a database. Methods raise `TeamError` if the actor may not curate."""

    def __init__(self, database: Database, log: TreeLog) -> None:
        self._database, self._log = database, log

    def begin(self, piece: PieceId, *, actor: str) -> Comparison:
        """Begin the agreed tree of a piece's hypothesis, or go on with it.

        Raises:
            TeamError: If not all copies are submitted, or there is only one.
        """
        agreed = piece.agreed
        hypotheses = schema.hypotheses.c
        same = (hypotheses.project_id == agreed.project_id) & (hypotheses.number == agreed.number)
        with self._database.writing() as connection:
            require(connection, actor, "oversee", agreed.project_id)
            # Of two reviewers who begin at the same moment, the second goes on with the tree of the first.
            connection.execute(sa.select(hypotheses.number).where(same).with_for_update())
            copies = _submitted(connection, agreed)
            row = {**agreed._asdict(), "state": "open", "at": datetime.now(UTC), "moves": 0}
            if connection.scalar(sa.select(_pieces.c.state).where(is_piece(agreed))) is None:
                connection.execute(sa.insert(_pieces).values(row))
            locked = lock_piece(connection, agreed)
            if locked.state == "open":
                self._start(connection, locked, copies, actor)
        return self.compare(agreed, actor=actor)

    def _start(self, connection: sa.Connection, piece: Piece, copies: Sequence[Piece], actor: str) -> None:
        require(connection, actor, "curate", piece.id)
        trees = [self._log.viewed_by(actor).history(copy.tree_id or "").tree for copy in copies]
        corpus = sa.select(schema.projects.c.corpus_id).where(schema.projects.c.id == piece.id.project_id)
        act, name = consensus(trees), enter(connection, actor)
        (tree_id,) = insert_trees(connection, [act], author=actor, corpus_id=connection.scalar(corpus))
        row = {**piece.id._asdict(), "tree_id": tree_id, "annotator": name}
        connection.execute(sa.insert(schema.copies).values(row))
        record_move(connection, piece, "curate", state="in progress", annotator=name, actor=actor)
        holders = [copy.tree_id or "" for copy in copies]
        _add_choice(connection, tree_id, "begin", holders, actor=actor, seqs=(CREATED, CREATED))

    def compare(self, piece: PieceId, *, actor: str) -> Comparison:
        """Return the agreed tree of a piece's hypothesis next to its copies."""
        with self._database.reading() as connection:
            require(connection, actor, "view", piece.project_id)
            copies = _submitted(connection, piece.agreed)
            row = connection.execute(select_pieces().where(is_piece(piece.agreed))).first()
            if row is None:
                raise TeamError("this hypothesis has no agreed tree yet; begin one", reason="unknown")
            own = read_piece(row)
            left = _left(connection, own.tree_id or "")
        log = self._log.viewed_by(actor)
        history = log.history(own.tree_id or "")
        trees = tuple(log.history(copy.tree_id or "").tree for copy in copies)
        rows = differences(history.tree, trees)
        return Comparison(
            own,
            history,
            tuple(copies),
            trees,
            tuple(row for row in rows if row.key not in left),
            tuple(row for row in rows if row.key in left),
        )

    def take(self, comparison: Comparison, difference: Difference, *, actor: str) -> History:
        """Take a difference from the copies that have it; raises as `TreeLog.act` if the tree has changed."""
        holders = [comparison.copies[number].tree_id or "" for number in sorted(difference.copies)]
        return self._act(comparison, difference.acts, difference.key, holders, actor)

    def take_whole(self, comparison: Comparison, number: int, *, actor: str) -> History:
        """Take a whole copy, by its position in the comparison, in place of what the agreed tree has."""
        acts = take_whole(comparison.history.tree, comparison.trees[number])
        if not acts:
            return comparison.history
        return self._act(comparison, acts, None, [comparison.copies[number].tree_id or ""], actor)

    def _act(
        self, comparison: Comparison, acts: Sequence[Act], key: str | None, holders: list[str], actor: str
    ) -> History:
        tree_id, base = comparison.piece.tree_id or "", comparison.history.seq

        def note(connection: sa.Connection, events: Sequence[Event]) -> None:
            if key is None and events[0].seq > base + 1:
                raise ConflictError("not saved: another reviewer has changed the agreed tree", changes=())
            seqs = events[0].seq, events[-1].seq
            _add_choice(connection, tree_id, "take", holders, actor=actor, difference=key, seqs=seqs)

        return self._log.act_all(tree_id, acts, author=actor, base=base, note=note)

    def leave(
        self, comparison: Comparison, difference: Difference, *, actor: str, leave: bool = True
    ) -> None:
        """Leave a difference out, so that it is not offered again; with `leave` false offer it again."""
        with self._database.writing() as connection:
            require(connection, actor, "curate", comparison.piece.id)
            lock_piece(connection, comparison.piece.id)
            holders = [comparison.copies[number].tree_id or "" for number in sorted(difference.copies)]
            _add_choice(
                connection,
                comparison.piece.tree_id or "",
                "leave" if leave else "offer",
                holders,
                actor=actor,
                difference=difference.key,
            )

    def provenance(self, piece: PieceId, *, actor: str) -> Mapping[str, Provenance]:
        """Return whose each node of an agreed tree was, by node id."""
        comparison = self.compare(piece, actor=actor)
        history = comparison.history
        with self._database.reading() as connection:
            holders = _holders(connection, comparison.piece.tree_id or "")
            table = schema.copies.c
            rows = connection.execute(sa.select(table.tree_id, table.annotator)).all()
        names = {row.tree_id: row.annotator for row in rows}

        def authors(seq: int, author: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(names[tree_id] for tree_id in holders.get(seq, ()))) or (author,)

        wordings = {
            event.act.node: authors(event.seq, event.author)
            for event in history.events
            if event.seq in history.footprints and isinstance(event.act, Edit)
        }
        origins = {node.id: authors(node.seq, node.author) for node in history.tree.nodes.values()}
        return {node: Provenance(origin, wordings.get(node, origin)) for node, origin in origins.items()}


def _submitted(connection: sa.Connection, agreed: PieceId) -> list[Piece]:
    """Return the copies of a hypothesis but dropped ones, all of them submitted."""
    same = (_pieces.c.project_id == agreed.project_id) & (_pieces.c.number == agreed.number)
    due = same & (_pieces.c.copy > 0) & (_pieces.c.state != "dropped")
    rows = connection.execute(select_pieces().where(due))
    copies = [read_piece(row) for row in rows]
    if len(copies) < 2:
        raise TeamError(
            "there are no two copies of this hypothesis to curate; accept the tree", reason="state"
        )
    if waiting := [copy for copy in copies if copy.submitted_seq is None]:
        raise TeamError(
            f"an agreed tree needs all copies submitted; {len(waiting)} of {len(copies)} are not yet",
            reason="state",
        )
    return copies


def _add_choice(
    connection: sa.Connection,
    tree_id: str,
    choice: str,
    holders: list[str],
    *,
    actor: str,
    difference: str | None = None,
    seqs: tuple[int | None, int | None] = (None, None),
) -> None:
    last = sa.select(sa.func.max(_choices.c.number)).where(_choices.c.tree_id == tree_id)
    row = {
        "tree_id": tree_id,
        "number": (connection.scalar(last) or 0) + 1,
        "choice": choice,
        "difference": difference,
        "holders": holders,
        "first_seq": seqs[0],
        "last_seq": seqs[1],
        "author": enter(connection, actor),
        "at": datetime.now(UTC),
        "verified": is_signed_in(actor),
    }
    connection.execute(sa.insert(_choices).values(row))


def _left(connection: sa.Connection, tree_id: str) -> set[str]:
    """Return the differences whose last choice is to leave them."""
    query = sa.select(_choices.c.difference, _choices.c.choice).where(_choices.c.tree_id == tree_id)
    last = {row.difference: row.choice for row in connection.execute(query.order_by(_choices.c.number))}
    return {difference for difference, choice in last.items() if choice == "leave"}


def _holders(connection: sa.Connection, tree_id: str) -> dict[int, list[str]]:
    """Return seq -> the trees that have what the act with it took."""
    query = sa.select(_choices).where(_choices.c.tree_id == tree_id, _choices.c.first_seq.is_not(None))
    return {
        seq: row.holders
        for row in connection.execute(query)
        for seq in range(row.first_seq, row.last_seq + 1)
    }
