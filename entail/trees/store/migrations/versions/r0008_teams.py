"""Projects of teams: members, hypotheses, pieces of work with their copies and moves; e-mails of authors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from entail.trees.store.schema import Utc

revision = "0008"
down_revision = "0007"

_PIECE = ["project_id", "number", "copy"]
_PIECES = ["pieces.project_id", "pieces.number", "pieces.copy"]


def upgrade() -> None:
    """Make the tables; trees of earlier versions belong to no project."""
    op.add_column("authors", sa.Column("email", sa.String(255)))
    op.create_table(
        "projects",
        sa.Column("id", sa.String(8), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("folded", sa.String(400), nullable=False),
        sa.Column("corpus_id", sa.String(8), sa.ForeignKey("corpora.id")),
        sa.Column("corpus_version", sa.Integer),
        sa.Column("overlap", sa.Integer, nullable=False),
        sa.Column("share", sa.Float, nullable=False),
        sa.Column("shuffled", sa.Boolean, nullable=False),
        sa.Column("idle_hours", sa.Float, nullable=False),
        _time("created_at"),
        _author("created_by", nullable=False),
        sa.Column("archived_at", Utc),
        sa.UniqueConstraint("folded", name="uq_projects_folded"),
    )
    op.create_table(
        "guidelines",
        *_project("projects.id"),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
        _author("author", nullable=False),
        _time("at"),
    )
    op.create_table(
        "members",
        *_project("projects.id"),
        sa.Column("member", sa.String(255), primary_key=True),
        sa.Column("role", sa.String(10), nullable=False),
    )
    op.create_table(
        "hypotheses",
        *_project("projects.id"),
        _number("number", primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("key", sa.String(16), nullable=False),
        sa.Column("copies", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("source", sa.JSON),
        sa.Column("revealed_at", Utc),
        sa.UniqueConstraint("project_id", "key", name="uq_hypotheses_project_id_key"),
    )
    op.create_table(
        "pieces",
        *_project(),
        _number("number", primary_key=True),
        _number("copy", primary_key=True),
        sa.Column("state", sa.String(12), nullable=False),
        _author("annotator"),
        sa.Column("assignee", sa.String(255)),
        _time("at"),
        sa.Column("moves", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id", "number"],
            ["hypotheses.project_id", "hypotheses.number"],
            name="fk_pieces_hypothesis",
        ),
    )
    independent = sa.text("copy > 0")
    op.create_index(
        "uq_pieces_annotator",
        "pieces",
        ["project_id", "number", "annotator"],
        unique=True,
        sqlite_where=independent,
        postgresql_where=independent,
    )
    op.create_table(
        "copies",
        sa.Column("tree_id", sa.String(8), sa.ForeignKey("trees.id"), primary_key=True),
        sa.Column("project_id", sa.String(8), nullable=False),
        _number("number", nullable=False),
        _number("copy", nullable=False),
        _author("annotator", nullable=False),
        sa.Column("submitted_seq", sa.Integer),
        sa.ForeignKeyConstraint(_PIECE, _PIECES, name="fk_copies_piece"),
        sa.UniqueConstraint(*_PIECE, "annotator", name="uq_copies_project_id_number_copy_annotator"),
    )
    op.create_table(
        "moves",
        *_project(),
        _number("number", primary_key=True),
        _number("copy", primary_key=True),
        _number("seq", primary_key=True),
        sa.Column("action", sa.String(12), nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        _author("annotator"),
        sa.Column("tree_seq", sa.Integer),
        sa.Column("reason", sa.Text, nullable=False),
        _author("author", nullable=False),
        _time("at"),
        sa.Column("verified", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.ForeignKeyConstraint(_PIECE, _PIECES, name="fk_moves_piece"),
    )


def _project(*targets: str) -> list[sa.Column[str]]:
    return [sa.Column("project_id", sa.String(8), *map(sa.ForeignKey, targets), primary_key=True)]


def _number(name: str, *, primary_key: bool = False, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=primary_key, autoincrement=False, nullable=nullable)


def _author(name: str, *, nullable: bool = True) -> sa.Column[str]:
    return sa.Column(name, sa.String(60), sa.ForeignKey("authors.name"), nullable=nullable)


def _time(name: str) -> sa.Column[object]:
    return sa.Column(name, Utc, nullable=False)
