"""Index of the words of premises."""

from __future__ import annotations

from alembic import op

from entail.trees.store.search import create_index

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the index of all premises."""
    create_index(op.get_bind())
