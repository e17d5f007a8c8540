"""Read-only links to a tree or to a comparison of retrievers, by tokens that cannot be guessed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from entail.errors import TeamError, UnknownTreeError
from entail.trees.store import schema
from entail.trees.store.authors import enter, is_signed_in
from entail.trees.store.copies import hides, keeps_in
from entail.trees.store.database import Database

TOKEN_BYTES, TOKEN_LENGTH = 32, 43
"""Random bytes of a token, and its characters."""


@dataclass(frozen=True, slots=True)
class Share:
    """Link to a tree in its newest version, or to a comparison (JSON) that was kept as it was."""

    token: str
    tree_id: str | None
    comparison: Any
    author: str
    at: datetime
    verified: bool


class Shares:
    """Links of one database.

    The link of a tree is for those who may export its project: they make, see and revoke it. It leads nowhere
    while the tree is a hidden copy.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def share_tree(self, tree_id: str, *, author: str) -> Share:
        """Return the link of a tree, a new one if there is none.

        Raises:
            UnknownTreeError: If the author sees no such tree.
            TeamError: If they may not export its project.
        """
        trees = schema.trees.c
        hidden = hides(trees.id, author, enforced=is_signed_in(author))
        with self._database.writing() as connection:
            if connection.scalar(sa.select(trees.id).where(trees.id == tree_id, ~hidden)) is None:
                raise UnknownTreeError(f"there is no tree {tree_id!r}; nothing was shared")
            _require_export(connection, sa.literal(tree_id), author)
            shares = _select(connection, schema.shares.c.tree_id == tree_id)
            return shares[0] if shares else _insert(connection, author, tree_id, None)

    def share_comparison(self, comparison: Any, *, author: str) -> Share:
        """Keep a comparison, given as JSON, and return its new link."""
        with self._database.writing() as connection:
            return _insert(connection, author, None, comparison)

    def find(self, token: str) -> Share | None:
        """Return the link with this token; None without one, or if its tree is archived or hidden."""
        if len(token) != TOKEN_LENGTH or not token.isascii():
            return None
        shares, trees = schema.shares.c, schema.trees.c
        archived = sa.exists().where(trees.id == shares.tree_id, trees.archived_at.is_not(None))
        return next(self._read((shares.token == token) & ~archived & ~hides(shares.tree_id)), None)

    def of_tree(self, tree_id: str, *, viewer: str) -> Share | None:
        """Return the link of a tree, None without one or for a viewer who may not export its project."""
        table = schema.shares.c
        return next(self._read((table.tree_id == tree_id) & ~_keeps_in(table.tree_id, viewer)), None)

    def comparisons(self) -> list[Share]:
        """Return the links to comparisons, the newest first."""
        return list(self._read(schema.shares.c.tree_id.is_(None)))

    def revoke(self, token: str, *, author: str) -> None:
        """Remove a link, so that it leads nowhere; raises as `share_tree`."""
        own = schema.shares.c.token == token
        with self._database.writing() as connection:
            tree_id = sa.select(schema.shares.c.tree_id).where(own).scalar_subquery()
            _require_export(connection, tree_id, author)
            connection.execute(sa.delete(schema.shares).where(own))

    def _read(self, condition: sa.ColumnElement[bool]) -> Iterator[Share]:
        with self._database.reading() as connection:
            return iter(_select(connection, condition))


def _require_export(connection: sa.Connection, tree_id: sa.ColumnElement[str], author: str) -> None:
    if connection.scalar(sa.select(_keeps_in(tree_id, author))):
        message = "refused: links of a project are for its owners and reviewers; ask one of them"
        raise TeamError(message, reason="role")


def _keeps_in(tree_id: sa.ColumnElement[str], author: str) -> sa.ColumnElement[bool]:
    return keeps_in(tree_id, author, enforced=is_signed_in(author))


def _select(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> list[Share]:
    table = schema.shares
    rows = sa.select(table).where(condition).order_by(table.c.at.desc(), table.c.token)
    return [Share(**row._mapping) for row in connection.execute(rows)]


def _insert(connection: sa.Connection, author: str, tree_id: str | None, comparison: Any) -> Share:
    token, name = secrets.token_urlsafe(TOKEN_BYTES), enter(connection, author)
    share = Share(token, tree_id, comparison, name, datetime.now(UTC), is_signed_in(author))
    row = {field.name: getattr(share, field.name) for field in fields(share)}
    connection.execute(sa.insert(schema.shares).values(row))
    return share
