"""Authors who signed in: whom their provider says they are, and which acts were done under such a name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns; whatever is there was done under names that were typed."""
    op.add_column("authors", sa.Column("issuer", sa.Text))
    op.add_column("authors", sa.Column("subject", sa.String(255)))
    op.add_column("authors", sa.Column("called", sa.String(60)))
    op.create_index("uq_authors_issuer_subject", "authors", ["issuer", "subject"], unique=True)
    for table in ("events", "corpus_changes", "presence"):
        op.add_column(table, sa.Column("verified", sa.Boolean, nullable=False, server_default=sa.false()))
