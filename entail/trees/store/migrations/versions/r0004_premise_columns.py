"""Further columns of a premise in the file that it was imported from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column; premises of earlier versions have none."""
    op.add_column("premises", sa.Column("extra", sa.JSON))
