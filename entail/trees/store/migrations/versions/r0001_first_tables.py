"""First tables: authors, corpora by versions, trees as event logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from entail.trees.store.schema import Utc

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "authors",
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("folded", sa.String(240), nullable=False),
        sa.Column("entered_at", Utc, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_authors"),
        sa.UniqueConstraint("folded", name="uq_authors_folded"),
    )
    op.create_table(
        "corpora",
        sa.Column("id", sa.String(8), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("folded", sa.String(400), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("licence", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_corpora"),
        sa.UniqueConstraint("folded", name="uq_corpora_folded"),
    )
    op.create_table(
        "corpus_changes",
        sa.Column("corpus_id", sa.String(8), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("change", sa.String(16), nullable=False),
        sa.Column("author", sa.String(60), nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.Column("added", sa.Integer, nullable=False),
        sa.Column("retired", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("corpus_id", "version", name="pk_corpus_changes"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name="fk_corpus_changes_corpus_id"),
        sa.ForeignKeyConstraint(["author"], ["authors.name"], name="fk_corpus_changes_author"),
    )
    op.create_table(
        "premises",
        sa.Column("corpus_id", sa.String(8), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("key", sa.String(16), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("source_id", sa.Text),
        sa.Column("added", sa.Integer, nullable=False),
        sa.Column("retired", sa.Integer),
        sa.Column("corrects", sa.String(16)),
        sa.PrimaryKeyConstraint("corpus_id", "position", name="pk_premises"),
        sa.UniqueConstraint("corpus_id", "key", "added", name="uq_premises_corpus_id_key_added"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name="fk_premises_corpus_id"),
        sa.ForeignKeyConstraint(
            ["corpus_id", "added"],
            ["corpus_changes.corpus_id", "corpus_changes.version"],
            name="fk_premises_added_in",
        ),
        sa.ForeignKeyConstraint(
            ["corpus_id", "retired"],
            ["corpus_changes.corpus_id", "corpus_changes.version"],
            name="fk_premises_retired_in",
        ),
    )
    op.create_table(
        "trees",
        sa.Column("id", sa.String(8), nullable=False),
        sa.Column("corpus_id", sa.String(8)),
        sa.Column("hypothesis", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("created_by", sa.String(60), nullable=False),
        sa.Column("changed_at", Utc, nullable=False),
        sa.Column("changed_by", sa.String(60), nullable=False),
        sa.Column("authors", sa.JSON, nullable=False),
        sa.Column("premises", sa.Integer, nullable=False),
        sa.Column("steps", sa.Integer, nullable=False),
        sa.Column("judgements", sa.Integer, nullable=False),
        sa.Column("example", sa.Boolean, nullable=False),
        sa.Column("archived_at", Utc),
        sa.Column("archived_by", sa.String(60)),
        sa.PrimaryKeyConstraint("id", name="pk_trees"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name="fk_trees_corpus_id"),
        sa.ForeignKeyConstraint(["created_by"], ["authors.name"], name="fk_trees_created_by"),
        sa.ForeignKeyConstraint(["changed_by"], ["authors.name"], name="fk_trees_changed_by"),
        sa.ForeignKeyConstraint(["archived_by"], ["authors.name"], name="fk_trees_archived_by"),
    )
    op.create_index("ix_trees_changed_at", "trees", ["changed_at"])
    op.create_table(
        "events",
        sa.Column("tree_id", sa.String(8), nullable=False),
        sa.Column("seq", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("author", sa.String(60), nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.Column("act", sa.String(16), nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("evidence", sa.JSON),
        sa.PrimaryKeyConstraint("tree_id", "seq", name="pk_events"),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name="fk_events_tree_id"),
        sa.ForeignKeyConstraint(["author"], ["authors.name"], name="fk_events_author"),
    )
    op.create_table(
        "presence",
        sa.Column("tree_id", sa.String(8), nullable=False),
        sa.Column("author", sa.String(60), nullable=False),
        sa.Column("node", sa.String(40), nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.PrimaryKeyConstraint("tree_id", "author", name="pk_presence"),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name="fk_presence_tree_id"),
        sa.ForeignKeyConstraint(["author"], ["authors.name"], name="fk_presence_author"),
    )
    op.create_index("ix_presence_at", "presence", ["at"])
