"""Threads of comments on a tree, a node, a step or a rejected candidate, open or resolved."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from entail.errors import TeamError, UnknownTreeError
from entail.teams.permissions import PieceId, require
from entail.trees.store import schema
from entail.trees.store.authors import enter, fold_name, is_signed_in
from entail.trees.store.copies import hides
from entail.trees.store.database import Database

LONGEST_COMMENT = 10_000

_table = schema.comments


@dataclass(frozen=True, slots=True)
class Anchor:
    """Subject of a thread: the whole tree, a node, the step from its premises, or a candidate by key."""

    about: Literal["tree", "node", "step", "candidate"] = "tree"
    node: str | None = None
    key: str | None = None


WHOLE_TREE = Anchor()


@dataclass(frozen=True, slots=True)
class Comment:
    """Comment of an author; `mentions` has the names of those addressed as `@name`."""

    number: int
    text: str
    mentions: tuple[str, ...]
    author: str
    at: datetime
    verified: bool


@dataclass(frozen=True, slots=True)
class Thread:
    """Comments on one subject, the first one by its number; resolved by and when, if it is."""

    tree_id: str
    number: int
    anchor: Anchor
    comments: tuple[Comment, ...]
    resolved_at: datetime | None
    resolved_by: str | None


class Comments:
    """Comments of a database.

    Methods raise `UnknownTreeError` if the actor does not see the tree, `TeamError` if they may not comment.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, tree_id: str, text: str, *, actor: str, anchor: Anchor = WHOLE_TREE, thread: int | None = None
    ) -> int:
        """Add a comment, to a thread or as a new one about `anchor`; return its number.

        A reply opens a resolved thread again.
        """
        clean = text.strip()
        if not 1 <= len(clean) <= LONGEST_COMMENT:
            raise TeamError(f"a comment has 1 to {LONGEST_COMMENT:,} characters", reason="empty")
        with self._database.writing() as connection:
            require_comment(connection, tree_id, actor)
            own = _table.c.tree_id == tree_id
            number = (connection.scalar(sa.select(sa.func.max(_table.c.number)).where(own)) or 0) + 1
            if thread is not None:
                anchor = _find(connection, tree_id, thread)
                first = own & (_table.c.number == thread)
                connection.execute(sa.update(_table).where(first).values(resolved_at=None, resolved_by=None))
            row = {
                "tree_id": tree_id,
                "number": number,
                "thread": thread or number,
                **{field.name: getattr(anchor, field.name) for field in fields(Anchor)},
                "text": clean,
                "mentions": _mentions(clean, connection.scalars(sa.select(schema.authors.c.name))),
                "author": enter(connection, actor),
                "at": datetime.now(UTC),
                "verified": is_signed_in(actor),
            }
            connection.execute(sa.insert(_table).values(row))
        return number

    def resolve(self, tree_id: str, thread: int, *, actor: str, resolved: bool = True) -> None:
        """Resolve a thread, or open it again."""
        with self._database.writing() as connection:
            require_comment(connection, tree_id, actor)
            _find(connection, tree_id, thread)
            own = (_table.c.tree_id == tree_id) & (_table.c.number == thread)
            at, by = (datetime.now(UTC), enter(connection, actor)) if resolved else (None, None)
            connection.execute(sa.update(_table).where(own).values(resolved_at=at, resolved_by=by))

    def threads(self, tree_id: str, *, actor: str) -> list[Thread]:
        """Return the threads of a tree, the oldest first."""
        return self._threads(_table.c.tree_id == tree_id, actor)

    def all_threads(self, *, actor: str) -> list[Thread]:
        """Return the threads of all trees that an actor sees, by tree."""
        return self._threads(sa.true(), actor)

    def mentioning(self, actor: str) -> list[Thread]:
        """Return the open threads that mention an actor, on trees that they see."""
        first, comment = _table.alias(), _table.alias()
        same = [
            (row.c.tree_id == _table.c.tree_id) & (row.c.thread == _table.c.thread)
            for row in (first, comment)
        ]
        is_open = sa.exists().where(same[0], first.c.number == first.c.thread, first.c.resolved_at.is_(None))
        is_sqlite = self._database.engine.dialect.name == "sqlite"
        cells = sa.func.json_each if is_sqlite else sa.func.json_array_elements_text
        name = (
            cells(comment.c.mentions).table_valued(sa.column("value", sa.Text), joins_implicitly=True).c.value
        )
        return self._threads(is_open & sa.exists().where(same[1], name == actor), actor)

    def _threads(self, condition: sa.ColumnElement[bool], actor: str) -> list[Thread]:
        query = sa.select(_table).where(condition, _visible(actor))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(_table.c.tree_id, _table.c.number)).all()
        groups: dict[tuple[str, int], list[sa.Row[Any]]] = {}
        for row in rows:
            groups.setdefault((row.tree_id, row.thread), []).append(row)
        return [
            Thread(
                *key,
                Anchor(group[0].about, group[0].node, group[0].key),
                tuple(
                    Comment(row.number, row.text, tuple(row.mentions), row.author, row.at, row.verified)
                    for row in group
                ),
                group[0].resolved_at,
                group[0].resolved_by,
            )
            for key, group in groups.items()
        ]


def _visible(actor: str) -> sa.ColumnElement[bool]:
    return ~hides(_table.c.tree_id, actor, enforced=is_signed_in(actor))


def require_comment(connection: sa.Connection, tree_id: str, actor: str) -> None:
    """Refuse an actor who does not see a tree or may not comment on it; keep its comments for oneself."""
    trees, copies = schema.trees.c, schema.copies.c
    hidden = hides(trees.id, actor, enforced=is_signed_in(actor))
    query = sa.select(trees.id).where(trees.id == tree_id, ~hidden).with_for_update()
    if connection.scalar(query) is None:
        raise UnknownTreeError(f"there is no tree {tree_id!r}")
    piece = sa.select(*(copies[name] for name in PieceId._fields)).where(copies.tree_id == tree_id)
    if (row := connection.execute(piece).first()) is not None:
        require(connection, actor, "comment", PieceId(*row))


def _find(connection: sa.Connection, tree_id: str, thread: int) -> Anchor:
    query = sa.select(_table.c.about, _table.c.node, _table.c.key)
    query = query.where(_table.c.tree_id == tree_id, _table.c.number == thread, _table.c.thread == thread)
    if (row := connection.execute(query).first()) is None:
        raise TeamError(f"there is no thread {thread} on this tree; load it again", reason="unknown")
    return Anchor(*row)


def _mentions(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that follow an @, the longest where one begins with another."""
    folded = {fold_name(name): name for name in names}
    longest_first = sorted(folded, key=len, reverse=True)
    parts = [fold_name(part) for part in re.split(r"(?<!\w)@", text)[1:]]
    matches = (next((name for name in longest_first if part.startswith(name)), None) for part in parts)
    return list(dict.fromkeys(folded[match] for match in matches if match is not None))
