"""Read-only links to trees and comparisons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from entail.trees.store.schema import Utc

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table; there are no links yet."""
    op.create_table(
        "shares",
        sa.Column("token", sa.String(43), primary_key=True),
        sa.Column("tree_id", sa.String(8), sa.ForeignKey("trees.id")),
        sa.Column("comparison", sa.JSON),
        sa.Column("author", sa.String(60), sa.ForeignKey("authors.name"), nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.Column("verified", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_index("ix_shares_tree_id", "shares", ["tree_id"])
