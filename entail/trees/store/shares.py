"""Read-only links to a tree or to a comparison of retrievers, by tokens that cannot be guessed."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from entail.errors import UnknownTreeError
from entail.trees.store import schema
from entail.trees.store.authors import enter, is_signed_in
from entail.trees.store.database import Database

TOKEN_BYTES, TOKEN_LENGTH = 32, 43
"""Random bytes of a token, and its characters."""


@dataclass(frozen=True, slots=True)
class Share:
    """Link to a tree, or to a comparison that was kept as it was.

    Attributes:
        token: Secret part of the link.
        tree_id: The tree, which is shown in its newest version; None for a comparison.
        comparison: The comparison as JSON, None for a tree.
        author: Author of the link.
        at: Time when it was made.
        verified: Whether the author was signed in.
    """

    token: str
    tree_id: str | None
    comparison: Any
    author: str
    at: datetime
    verified: bool


class Shares:
    """Links of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def share_tree(self, tree_id: str, *, author: str) -> Share:
        """Return the link of a tree, a new one if there is none.

        Raises:
            UnknownTreeError: If there is no such tree.
        """
        with self._database.writing() as connection:
            trees = schema.trees
            if connection.scalar(sa.select(trees.c.id).where(trees.c.id == tree_id)) is None:
                raise UnknownTreeError(
                    f"expected a tree with the id {tree_id}, found none; nothing was shared"
                )
            shares = _select(connection, schema.shares.c.tree_id == tree_id)
            return shares[0] if shares else _insert(connection, author, tree_id=tree_id)

    def share_comparison(self, comparison: Any, *, author: str) -> Share:  # noqa: ANN401 - JSON is of any type
        """Keep a comparison, given as JSON, and return its new link."""
        with self._database.writing() as connection:
            return _insert(connection, author, comparison=comparison)

    def find(self, token: str) -> Share | None:
        """Return the link with this token, None if there is none, it was revoked, or its tree is archived."""
        if len(token) != TOKEN_LENGTH or not token.isascii():
            return None
        shares, trees = schema.shares, schema.trees
        archived = sa.exists().where(trees.c.id == shares.c.tree_id, trees.c.archived_at.is_not(None))
        with self._database.reading() as connection:
            return next(iter(_select(connection, (shares.c.token == token) & ~archived)), None)

    def of_tree(self, tree_id: str) -> Share | None:
        """Return the link of a tree, None without one."""
        with self._database.reading() as connection:
            return next(iter(_select(connection, schema.shares.c.tree_id == tree_id)), None)

    def comparisons(self) -> list[Share]:
        """Return the links to comparisons, the newest first."""
        with self._database.reading() as connection:
            return _select(connection, schema.shares.c.tree_id.is_(None))

    def revoke(self, token: str) -> None:
        """Remove a link; it leads nowhere from now on."""
        with self._database.writing() as connection:
            connection.execute(sa.delete(schema.shares).where(schema.shares.c.token == token))


def _select(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> list[Share]:
    table = schema.shares
    rows = sa.select(table).where(condition).order_by(table.c.at.desc(), table.c.token)
    return [Share(**row._mapping) for row in connection.execute(rows)]


def _insert(connection: sa.Connection, author: str, **content: Any) -> Share:  # noqa: ANN401 - tree or comparison
    share = Share(
        token=secrets.token_urlsafe(TOKEN_BYTES),
        tree_id=content.get("tree_id"),
        comparison=content.get("comparison"),
        author=enter(connection, author),
        at=datetime.now(UTC),
        verified=is_signed_in(author),
    )
    row = {name: getattr(share, name) for name in Share.__slots__}
    connection.execute(sa.insert(schema.shares).values(row))
    return share
