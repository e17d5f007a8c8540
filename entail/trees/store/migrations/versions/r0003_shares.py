"""Read-only links to trees and comparisons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from entail.trees.store.schema import Utc

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; there are no links yet."""
    op.create_table(
        "shares",
        sa.Column("token", sa.String(43), nullable=False),
        sa.Column("tree_id", sa.String(8)),
        sa.Column("comparison", sa.JSON),
        sa.Column("author", sa.String(60), nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.Column("verified", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("token", name="pk_shares"),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name="fk_shares_tree_id"),
        sa.ForeignKeyConstraint(["author"], ["authors.name"], name="fk_shares_author"),
    )
    op.create_index("ix_shares_tree_id", "shares", ["tree_id"])
