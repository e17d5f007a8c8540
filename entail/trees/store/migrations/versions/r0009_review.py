"""Choices of reviewers on agreed trees, comments, and named versions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from entail.trees.store.schema import Utc

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "choices",
        _tree(),
        _number("number", primary_key=True),
        sa.Column("choice", sa.String(8), nullable=False),
        sa.Column("difference", sa.String(16)),
        sa.Column("holders", sa.JSON, nullable=False),
        sa.Column("first_seq", sa.Integer),
        sa.Column("last_seq", sa.Integer),
        *_by(),
        _verified(),
    )
    op.create_table(
        "comments",
        _tree(),
        _number("number", primary_key=True),
        _number("thread"),
        sa.Column("about", sa.String(10), nullable=False),
        sa.Column("node", sa.String(40)),
        sa.Column("key", sa.String(16)),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("mentions", sa.JSON, nullable=False),
        *_by(),
        _verified(),
        sa.Column("resolved_at", Utc),
        sa.Column("resolved_by", sa.String(60), sa.ForeignKey("authors.name")),
    )
    op.create_table(
        "versions",
        _tree(),
        sa.Column("name", sa.String(100), primary_key=True),
        _number("seq"),
        *_by(),
    )


def _tree() -> sa.Column[str]:
    return sa.Column("tree_id", sa.String(8), sa.ForeignKey("trees.id"), primary_key=True)


def _number(name: str, *, primary_key: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=primary_key, autoincrement=False, nullable=False)


def _by() -> tuple[sa.Column[str], sa.Column[object]]:
    author = sa.Column("author", sa.String(60), sa.ForeignKey("authors.name"), nullable=False)
    return author, sa.Column("at", Utc, nullable=False)


def _verified() -> sa.Column[bool]:
    return sa.Column("verified", sa.Boolean, nullable=False, server_default=sa.false())
