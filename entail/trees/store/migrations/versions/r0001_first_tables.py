"""First tables: authors, corpora by versions, trees as event logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column, Integer, String, Text

from entail.trees.store.schema import Utc

revision = "0001"
down_revision = None


def _reference(
    name: str, column: str, *, length: int = 8, primary_key: bool = False, nullable: bool = True
) -> Column[str]:
    is_nullable = nullable and not primary_key
    return Column(name, String(length), sa.ForeignKey(column), primary_key=primary_key, nullable=is_nullable)


def _author(name: str, *, primary_key: bool = False, nullable: bool = True) -> Column[str]:
    return _reference(name, "authors.name", length=60, primary_key=primary_key, nullable=nullable)


def upgrade() -> None:
    """Make the first tables; constraints are named by the convention of the schema."""
    op.create_table(
        "authors",
        Column("name", String(60), primary_key=True),
        Column("folded", String(240), nullable=False, unique=True),
        Column("entered_at", Utc, nullable=False),
    )
    op.create_table(
        "corpora",
        Column("id", String(8), primary_key=True),
        Column("name", String(100), nullable=False),
        Column("folded", String(400), nullable=False, unique=True),
        Column("version", Integer, nullable=False),
        Column("count", Integer, nullable=False),
        Column("licence", Text, nullable=False),
        Column("source", Text, nullable=False),
    )
    op.create_table(
        "corpus_changes",
        _reference("corpus_id", "corpora.id", primary_key=True),
        Column("version", Integer, primary_key=True),
        Column("change", String(16), nullable=False),
        _author("author", nullable=False),
        Column("at", Utc, nullable=False),
        Column("added", Integer, nullable=False),
        Column("retired", Integer, nullable=False),
    )
    changes = ["corpus_changes.corpus_id", "corpus_changes.version"]
    op.create_table(
        "premises",
        _reference("corpus_id", "corpora.id", primary_key=True),
        Column("position", Integer, primary_key=True),
        Column("key", String(16), nullable=False),
        Column("text", Text, nullable=False),
        Column("source_id", Text),
        Column("added", Integer, nullable=False),
        Column("retired", Integer),
        Column("corrects", String(16)),
        sa.UniqueConstraint("corpus_id", "key", "added"),
        sa.ForeignKeyConstraint(["corpus_id", "added"], changes, name="fk_premises_added_in"),
        sa.ForeignKeyConstraint(["corpus_id", "retired"], changes, name="fk_premises_retired_in"),
    )
    op.create_table(
        "trees",
        Column("id", String(8), primary_key=True),
        _reference("corpus_id", "corpora.id"),
        Column("hypothesis", Text, nullable=False),
        Column("seq", Integer, nullable=False),
        Column("created_at", Utc, nullable=False),
        _author("created_by", nullable=False),
        Column("changed_at", Utc, nullable=False),
        _author("changed_by", nullable=False),
        Column("authors", sa.JSON, nullable=False),
        Column("premises", Integer, nullable=False),
        Column("steps", Integer, nullable=False),
        Column("judgements", Integer, nullable=False),
        Column("example", Boolean, nullable=False),
        Column("archived_at", Utc),
        _author("archived_by"),
    )
    op.create_index("ix_trees_changed_at", "trees", ["changed_at"])
    op.create_table(
        "events",
        _reference("tree_id", "trees.id", primary_key=True),
        Column("seq", Integer, primary_key=True, autoincrement=False),
        _author("author", nullable=False),
        Column("at", Utc, nullable=False),
        Column("act", String(16), nullable=False),
        Column("payload", sa.JSON, nullable=False),
        Column("evidence", sa.JSON),
    )
    op.create_table(
        "presence",
        _reference("tree_id", "trees.id", primary_key=True),
        _author("author", primary_key=True),
        Column("node", String(40), nullable=False),
        Column("at", Utc, nullable=False),
    )
    op.create_index("ix_presence_at", "presence", ["at"])
