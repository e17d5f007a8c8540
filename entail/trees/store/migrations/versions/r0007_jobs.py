"""Jobs, workers and active models, which an earlier version kept in tables with a version of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from entail.trees.store.schema import Utc

revision = "0007"
down_revision = "0006"

_TEXTS = ("cancel", "progress", "outcome", "result", "placed", "inputs", "checkpoint")


def upgrade() -> None:
    """Make the tables that are not there."""
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(30), primary_key=True),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("queued", Utc, nullable=False),
        sa.Column("home", sa.String(16)),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("machine", sa.String(16)),
        sa.Column("beat", sa.Float),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("spec", "status")),
        *(sa.Column(name, sa.Text) for name in _TEXTS),
        if_not_exists=True,
    )
    is_open = sa.column("open", sa.Boolean)
    op.create_index(
        "uq_jobs_open_name",
        "jobs",
        ["name"],
        unique=True,
        sqlite_where=is_open,
        postgresql_where=is_open,
        if_not_exists=True,
    )
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.String(30), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "workers",
        sa.Column("machine", sa.String(16), primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("beat", sa.Float, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "active_models",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
        if_not_exists=True,
    )
    op.drop_table("state_version", if_exists=True)
