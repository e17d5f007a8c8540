"""Tables of the database; `migrations/` brings an older one to them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, Text
from sqlalchemy.types import TypeDecorator

REVISION = "0009"
"""Newest migration; a database of another revision is migrated when it is opened, or refused."""


class Utc(TypeDecorator[datetime]):
    """Time in UTC, aware in Python whatever the database stores."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Return the stored value."""
        time = value and value.astimezone(UTC)
        return time and time.replace(tzinfo=None) if dialect.name == "sqlite" else time

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Return an aware time in UTC."""
        return value and (value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC))


metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def _verified() -> Column[bool]:
    return Column("verified", Boolean, nullable=False, server_default=sa.false())


def _author(name: str, **options: Any) -> Column[str]:
    return Column(name, String(60), ForeignKey("authors.name"), **options)


authors = Table(
    "authors",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("folded", String(240), nullable=False, unique=True),
    Column("entered_at", Utc, nullable=False),
    Column("issuer", Text),
    Column("subject", String(255)),
    Column("called", String(60)),
    Column("email", String(255)),
    Index("uq_authors_issuer_subject", "issuer", "subject", unique=True),
)

corpora = Table(
    "corpora",
    metadata,
    Column("id", String(8), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("folded", String(400), nullable=False, unique=True),
    Column("version", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("licence", Text, nullable=False),
    Column("source", Text, nullable=False),
)

corpus_changes = Table(
    "corpus_changes",
    metadata,
    Column("corpus_id", String(8), ForeignKey("corpora.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("change", String(16), nullable=False),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
    Column("added", Integer, nullable=False),
    Column("retired", Integer, nullable=False),
    _verified(),
)

_CHANGES = ["corpus_changes.corpus_id", "corpus_changes.version"]

_RETIRED = sa.text("retired IS NOT NULL")  # few of many premises

premises = Table(
    "premises",
    metadata,
    Column("corpus_id", String(8), ForeignKey("corpora.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("key", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("source_id", Text),
    Column("added", Integer, nullable=False),
    Column("retired", Integer),
    Column("corrects", String(16)),
    Column("extra", JSON(none_as_null=True)),
    sa.UniqueConstraint("corpus_id", "key", "added"),
    sa.ForeignKeyConstraint(["corpus_id", "added"], _CHANGES, name="fk_premises_added_in"),
    sa.ForeignKeyConstraint(["corpus_id", "retired"], _CHANGES, name="fk_premises_retired_in"),
    Index(None, "corpus_id", "retired", "position", sqlite_where=_RETIRED, postgresql_where=_RETIRED),
)

trees = Table(
    "trees",
    metadata,
    Column("id", String(8), primary_key=True),
    Column("corpus_id", String(8), ForeignKey("corpora.id")),
    Column("hypothesis", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("created_at", Utc, nullable=False),
    _author("created_by", nullable=False),
    Column("changed_at", Utc, nullable=False),
    _author("changed_by", nullable=False),
    Column("authors", JSON, nullable=False),
    Column("premises", Integer, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("judgements", Integer, nullable=False),
    Column("example", Boolean, nullable=False),
    Column("archived_at", Utc),
    _author("archived_by"),
    Index(None, "changed_at"),
)

events = Table(
    "events",
    metadata,
    Column("tree_id", String(8), ForeignKey("trees.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
    Column("act", String(16), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("evidence", JSON(none_as_null=True)),
    _verified(),
)

presence = Table(
    "presence",
    metadata,
    Column("tree_id", String(8), ForeignKey("trees.id"), primary_key=True),
    _author("author", primary_key=True),
    Column("node", String(40), nullable=False),
    Column("at", Utc, nullable=False),
    _verified(),
    Index(None, "at"),
)

shares = Table(
    "shares",
    metadata,
    Column("token", String(43), primary_key=True),
    Column("tree_id", String(8), ForeignKey("trees.id")),
    Column("comparison", JSON(none_as_null=True)),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
    _verified(),
    Index(None, "tree_id"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(30), primary_key=True),
    Column("name", String(80), nullable=False),  # in small letters, empty where it is unknown
    Column("open", Boolean, nullable=False),
    Column("state", String(12), nullable=False),
    Column("queued", Utc, nullable=False),
    Column("home", String(16)),
    Column("attempt", Integer, nullable=False),
    Column("machine", String(16)),
    Column("beat", Float),
    *(Column(name, Text, nullable=False) for name in ("spec", "status")),
    *(Column(name, Text) for name in ("cancel", "progress", "outcome", "result", "placed")),
    *(Column(name, Text) for name in ("inputs", "checkpoint")),
)
_is_open = jobs.c.open
Index("uq_jobs_open_name", jobs.c.name, unique=True, sqlite_where=_is_open, postgresql_where=_is_open)

job_events = Table(
    "job_events",
    metadata,
    Column("job_id", String(30), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("content", Text, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("machine", String(16), primary_key=True),
    Column("content", Text, nullable=False),
    Column("beat", Float, nullable=False),
)

active_models = Table(
    "active_models",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
)

SINCE_0007 = (jobs, job_events, workers, active_models)
"""Tables that backups of earlier revisions do not have."""

projects = Table(
    "projects",
    metadata,
    Column("id", String(8), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("folded", String(400), nullable=False, unique=True),
    Column("corpus_id", String(8), ForeignKey("corpora.id")),
    Column("corpus_version", Integer),
    Column("overlap", Integer, nullable=False),
    Column("share", Float, nullable=False),
    Column("shuffled", Boolean, nullable=False),
    Column("idle_hours", Float, nullable=False),
    Column("created_at", Utc, nullable=False),
    _author("created_by", nullable=False),
    Column("archived_at", Utc),
)

guidelines = Table(
    "guidelines",
    metadata,
    Column("project_id", String(8), ForeignKey("projects.id"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("project_id", String(8), ForeignKey("projects.id"), primary_key=True),
    Column("member", String(255), primary_key=True),  # name of an author, or e-mail
    Column("role", String(10), nullable=False),
)

hypotheses = Table(
    "hypotheses",
    metadata,
    Column("project_id", String(8), ForeignKey("projects.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Column("key", String(16), nullable=False),
    Column("copies", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("source", JSON(none_as_null=True)),
    Column("revealed_at", Utc),
    sa.UniqueConstraint("project_id", "key"),
)

_NUMBERED = ["project_id", "number"]
_INDEPENDENT = sa.text("copy > 0")  # 0 is the agreed tree

pieces = Table(
    "pieces",
    metadata,
    Column("project_id", String(8), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("copy", Integer, primary_key=True, autoincrement=False),
    Column("state", String(12), nullable=False),
    _author("annotator"),
    Column("assignee", String(255)),
    Column("at", Utc, nullable=False),
    Column("moves", Integer, nullable=False),
    sa.ForeignKeyConstraint(
        _NUMBERED, ["hypotheses.project_id", "hypotheses.number"], name="fk_pieces_hypothesis"
    ),
    Index(
        "uq_pieces_annotator",
        *_NUMBERED,
        "annotator",
        unique=True,
        sqlite_where=_INDEPENDENT,
        postgresql_where=_INDEPENDENT,
    ),
)

_PIECE = ["project_id", "number", "copy"]
_PIECES = ["pieces.project_id", "pieces.number", "pieces.copy"]

copies = Table(
    "copies",
    metadata,
    Column("tree_id", String(8), ForeignKey("trees.id"), primary_key=True),
    Column("project_id", String(8), nullable=False),
    Column("number", Integer, nullable=False),
    Column("copy", Integer, nullable=False),
    _author("annotator", nullable=False),
    Column("submitted_seq", Integer),
    sa.ForeignKeyConstraint(_PIECE, _PIECES, name="fk_copies_piece"),
    sa.UniqueConstraint(*_PIECE, "annotator"),
)

moves = Table(
    "moves",
    metadata,
    Column("project_id", String(8), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("copy", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("action", String(12), nullable=False),
    Column("state", String(12), nullable=False),
    _author("annotator"),
    Column("tree_seq", Integer),
    Column("reason", Text, nullable=False),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
    _verified(),
    sa.ForeignKeyConstraint(_PIECE, _PIECES, name="fk_moves_piece"),
)

choices = Table(
    "choices",
    metadata,
    Column("tree_id", String(8), ForeignKey("trees.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("choice", String(8), nullable=False),
    Column("difference", String(16)),
    Column("holders", JSON, nullable=False),  # trees that have what was chosen
    Column("first_seq", Integer),
    Column("last_seq", Integer),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
    _verified(),
)

comments = Table(
    "comments",
    metadata,
    Column("tree_id", String(8), ForeignKey("trees.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("thread", Integer, nullable=False),  # number of its first comment
    Column("about", String(10), nullable=False),
    Column("node", String(40)),
    Column("key", String(16)),
    Column("text", Text, nullable=False),
    Column("mentions", JSON, nullable=False),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
    _verified(),
    Column("resolved_at", Utc),
    _author("resolved_by"),
)

versions = Table(
    "versions",
    metadata,
    Column("tree_id", String(8), ForeignKey("trees.id"), primary_key=True),
    Column("name", String(100), primary_key=True),
    Column("seq", Integer, nullable=False),
    _author("author", nullable=False),
    Column("at", Utc, nullable=False),
)
